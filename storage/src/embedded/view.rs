//! The store as of one commit: what readers work on. A view never changes, so no reader ever waits for the writer.

use bytes::Bytes;

use super::index::{Index, Version};
use super::log::{LogError, LogReader};
use super::record::{self, Position};
use super::state::State;
use crate::error::{CorruptFault, Error, Result};
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{Batch, Change, Damaged, Event, ListOptions, Lookup, Page, Record, Values};

/// The most that a watch takes from the log in one step, so that neither memory nor a worker is held for long.
const SCAN_RECORDS: usize = 256;
const SCAN_BYTES: usize = 4 << 20;

/// One state of the store.
pub(super) struct View {
    pub(super) state: State,
    pub(super) index: Index,
    pub(super) log: LogReader,
}

// === impl View ===

impl View {
    /// Whether `revision` can still be shown.
    pub(super) fn check_kept(&self, revision: Revision) -> Result<()> {
        if revision < self.state.compacted {
            return Err(Error::Expired { requested: revision, oldest: self.state.compacted });
        }
        Ok(())
    }

    pub(super) fn get(&self, key: &Key, revision: Revision) -> Result<Lookup> {
        let record = match self.index.find(key, revision) {
            Some(version) => Some(self.load(version)?.map_err(|damaged| corrupt(&damaged))?),
            None => None,
        };
        Ok(Lookup { revision, record })
    }

    pub(super) fn list(&self, prefix: &Prefix, revision: Revision, options: &ListOptions) -> Result<Page> {
        let mut versions = self.index.range(prefix, options.after.as_ref(), revision);
        let limit = options.limit.map_or(usize::MAX, std::num::NonZeroUsize::get);
        let mut page = Page { revision, records: Vec::new(), remaining: 0, damaged: Vec::new() };
        for version in versions.by_ref().take(limit) {
            if options.values == Values::Omitted {
                page.records.push(version.record(Bytes::new()));
                continue;
            }
            match self.load(version)? {
                Ok(record) => page.records.push(record),
                Err(damaged) if options.values == Values::Whole => page.damaged.push(damaged),
                Err(damaged) => return Err(corrupt(&damaged)),
            }
        }
        page.remaining = versions.count();
        Ok(page)
    }

    /// The changes of a range behind `after`: a bounded number, whole revisions only.
    pub(super) fn changes(&self, prefix: &Prefix, after: Revision) -> Result<Batch> {
        let mut batch = Batch { through: after, events: Vec::new() };
        let (mut seen, mut bytes) = (0, 0);
        let scanned = self.log.scan(after.next()..self.state.revision.next(), |position, stored| {
            if position.revision != batch.through {
                let full = seen >= SCAN_RECORDS || bytes >= SCAN_BYTES;
                if full || position.revision != batch.through.next() {
                    return false;
                }
                batch.through = position.revision;
            }
            seen += 1;
            bytes += stored.len();
            match event(position, stored) {
                Some(event) if prefix.contains(&event.key) => {
                    batch.events.push(Event { key: self.index.share(event.key), ..event });
                }
                _ => {}
            }
            true
        });
        scanned.map_err(unreadable)?;
        // Each revision has at least one record: one without is damage, and never passed over.
        if batch.through == after {
            let key = format!("revision {}", after.next());
            return Err(Error::Corrupt { key, fault: CorruptFault::Missing });
        }
        Ok(batch)
    }

    /// The record of a version as it is stored, after it has been checked.
    pub(super) fn load_stored(&self, version: &Version) -> Result<Bytes> {
        let stored = self.log.get(version.position).map_err(unreadable)?;
        match check(version, stored.as_ref()) {
            Ok(_) => Ok(stored.unwrap_or_default()),
            Err(fault) => Err(Error::Corrupt { key: version.key.to_string(), fault }),
        }
    }

    /// The value of a version, or why it cannot be used; an error if the disk does not answer.
    fn load(&self, version: &Version) -> Result<Result<Record, Damaged>> {
        let stored = self.log.get(version.position).map_err(unreadable)?;
        Ok(check(version, stored.as_ref()).map(|value| version.record(value)).map_err(|fault| Damaged {
            key: version.key.clone(),
            revision: version.position.revision,
            fault,
        }))
    }
}

// === impl Version ===

impl Version {
    fn record(&self, value: Bytes) -> Record {
        // The index's own key, so that all who hold it share one allocation.
        Record { key: self.key.clone(), revision: self.position.revision, value }
    }
}

/// The value in the record that was found for a version.
fn check(version: &Version, stored: Option<&Bytes>) -> Result<Bytes, CorruptFault> {
    let (key, value) = record::decode(version.position, stored.ok_or(CorruptFault::Missing)?)?;
    if key != version.key {
        return Err(CorruptFault::WrongKey(key));
    }
    Ok(value.unwrap_or_default())
}

/// The event that a record tells of. A record whose head is damaged names no key; such a store is refused when it is
/// opened, so that here it can only have been damaged since, and its value will be found damaged when it is read.
fn event(position: Position, stored: &[u8]) -> Option<Event> {
    let stored = Bytes::copy_from_slice(stored);
    let (key, change) = match record::decode(position, &stored) {
        Ok((key, Some(value))) => (key, Change::Put(value)),
        Ok((key, None)) => (key, Change::Delete),
        Err(fault) => (record::decode_head(position, &stored).ok()?.key, Change::Corrupt(fault.into())),
    };
    Some(Event { revision: position.revision, key, change })
}

pub(super) fn unreadable(error: LogError) -> Error {
    Error::Unavailable { reason: format!("reading from the data folder failed: {error}").into() }
}

fn corrupt(damaged: &Damaged) -> Error {
    Error::Corrupt { key: damaged.key.to_string(), fault: damaged.fault.clone() }
}
