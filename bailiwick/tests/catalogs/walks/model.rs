//! What people may do, by what they were given: says of each request how it is answered, and where secrets may be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The namespaces of the tenants.
pub(super) const PLACES: [&str; 4] = ["w0", "w1", "w2", "w3"];
/// Who works there. The last is never given anything.
pub(super) const PEOPLE: [&str; 5] = ["wanda", "wim", "willa", "wes", "mallory"];
/// How long what followed from a right may go on when it is lost.
const REVOKED_WITHIN: Duration = Duration::from_secs(10);

/// What someone can be given in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Right {
    /// Kubernetes' role `edit`, with which they read Secrets and act as accounts.
    Edit,
    /// To write entries and claims, and nothing else.
    Write,
    Claim,
    Publish,
}

/// What an entry publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The Secret of its namespace.
    Secret,
    /// A binding that would make mallory the administrator of where it is claimed.
    Binding,
}

/// As whom a claim acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account {
    Maker,
    /// One that may do nothing.
    Weak,
}

/// A place and a name there.
pub(super) type Key = (&'static str, String);

/// What is known of an entry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) content: Content,
    /// Whether the catalog selects it.
    pub(super) is_selected: bool,
    /// Who wrote it last.
    pub(super) writer: &'static str,
}

/// What is known of a claim.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) entry: Key,
    pub(super) account: Account,
    /// Who wrote it last.
    pub(super) writer: &'static str,
}

/// What is so.
#[derive(Default)]
pub(super) struct Model {
    rights: BTreeSet<(&'static str, &'static str, Right)>,
    /// From where the catalog can be claimed.
    pub(super) open: BTreeSet<&'static str>,
    pub(super) entries: BTreeMap<Key, Entry>,
    pub(super) claims: BTreeMap<Key, Claim>,
    /// What is in the Secret of each place, as it is shown.
    pub(super) secrets: BTreeMap<&'static str, String>,
    /// What may be in Secrets of each place, because it was there when it might be copied.
    may_be: BTreeSet<(&'static str, String)>,
    /// Where what was copied from where until not long ago.
    followed: BTreeMap<(&'static str, &'static str), Instant>,
}

// === impl Right ===

impl Right {
    pub(super) const ALL: [Self; 4] = [Self::Edit, Self::Write, Self::Claim, Self::Publish];
}

// === impl Model ===

impl Model {
    pub(super) fn may(&self, who: &'static str, place: &'static str, right: Right) -> bool {
        self.rights.contains(&(who, place, right))
    }

    pub(super) fn set(&mut self, who: &'static str, place: &'static str, right: Right, is_given: bool) {
        match is_given {
            true => self.rights.insert((who, place, right)),
            false => self.rights.remove(&(who, place, right)),
        };
    }

    pub(super) fn writes(&self, who: &'static str, place: &'static str) -> bool {
        self.may(who, place, Right::Edit) || self.may(who, place, Right::Write)
    }

    /// How it is answered if someone writes an entry, new or not.
    pub(super) fn on_entry(&self, who: &'static str, place: &'static str, content: Content, done: u16) -> u16 {
        let may_publish = match content {
            // They get the Secret themselves, and act as the account that reads it.
            Content::Secret => self.may(who, place, Right::Edit),
            Content::Binding => self.writes(who, place),
        };
        if may_publish { done } else { 403 }
    }

    pub(super) fn is_in_catalog(&self, entry: &Key) -> bool {
        let found = self.entries.get(entry);
        found.is_some_and(|found| found.is_selected && self.may(found.writer, entry.0, Right::Publish))
    }

    /// How it is answered if someone writes what a claim asks for.
    pub(super) fn on_claim(&self, who: &'static str, place: &'static str, entry: &Key, done: u16) -> u16 {
        if !self.writes(who, place) || !self.may(who, place, Right::Claim) || !self.open.contains(place) {
            return 403;
        }
        match (self.is_in_catalog(entry), self.may(who, place, Right::Edit)) {
            (false, _) => 422,
            (true, false) => 403,
            (true, true) => done,
        }
    }

    /// What is shown to someone of what can be claimed: nothing of it if they may not look, or whether the catalog is there.
    pub(super) fn sees_catalog(&self, who: &'static str, place: &'static str) -> Option<bool> {
        let may_look = self.may(who, place, Right::Edit);
        may_look.then(|| self.may(who, place, Right::Claim) && self.open.contains(place))
    }

    /// Says where secrets may be from now on.
    pub(super) fn settle(&mut self) {
        let now = Instant::now();
        for ((place, _), claim) in &self.claims {
            let entry = self.entries.get(&claim.entry);
            let is_secret = entry.is_some_and(|entry| entry.content == Content::Secret);
            let is_held = self.on_claim(claim.writer, place, &claim.entry, 200) == 200;
            if is_secret && is_held && claim.account == Account::Maker {
                self.followed.insert((claim.entry.0, place), now);
            }
        }
        self.followed.retain(|_, last| now.duration_since(*last) < REVOKED_WITHIN);
        for (from, to) in self.followed.keys() {
            self.may_be.insert((to, self.secrets[from].clone()));
        }
        for place in PLACES {
            self.may_be.insert((place, self.secrets[place].clone()));
        }
    }

    /// I4: whether something that was found in a Secret may be there.
    pub(super) fn may_be_in(&self, place: &'static str, secret: &str) -> bool {
        self.may_be.contains(&(place, secret.to_owned()))
    }
}
