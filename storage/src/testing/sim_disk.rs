//! A disk in memory that can fail, run full, and lose its power.
//!
//! It keeps what was written apart from what was synced, and a trace of everything that was asked of it. From the trace
//! it makes *crash images*: the file as a disk could show it after power was lost at some point. Whatever was synced
//! before that point is there; of what was written since, any sectors may be there or not, in any combination.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::embedded::{Disk, DiskFile};

const PAGE: usize = 4_096;
/// What a disk writes as a whole or not at all.
const SECTOR: usize = 512;

/// The disk. Clones are the same disk.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

/// One of the files on the disk.
struct SimFile {
    disk: SimDisk,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Store,
    Aside,
}

/// A file's bytes, cheap to copy.
#[derive(Clone, Default)]
pub struct Image {
    pages: Vec<Arc<[u8; PAGE]>>,
    len: u64,
}

/// Something that was done to the disk.
#[derive(Clone)]
pub enum Operation {
    /// Bytes were written.
    Write {
        /// Where.
        offset: u64,
        /// What.
        data: Arc<[u8]>,
    },
    /// The file was cut or extended.
    SetLen(u64),
    /// Everything before became durable.
    Sync,
    /// A file that was made aside took the place of the store's own, durably.
    Adopt(Image),
}

/// A failure to come.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// How many operations still succeed.
    pub after: usize,
    /// What the failing one answers.
    pub error: io::ErrorKind,
    /// Whether only the one operation fails, or all from then on.
    pub lasting: bool,
    /// Whether a write that fails leaves the first half of its bytes behind.
    pub partial: bool,
}

#[derive(Default)]
struct State {
    image: Image,
    /// A file that is being made. Its operations can fail, but a crash before it is adopted leaves nothing of it.
    aside: Image,
    trace: Vec<Operation>,
    failure: Option<Failure>,
    failed: usize,
    capacity: Option<u64>,
}

// === impl SimDisk ===

impl SimDisk {
    /// A disk that holds `image`.
    pub fn from_image(image: Image) -> Self {
        let disk = Self::default();
        disk.lock().image = image;
        disk
    }

    /// What was done so far.
    pub fn trace(&self) -> Vec<Operation> {
        self.lock().trace.clone()
    }

    /// How many operations were done so far.
    pub fn operations(&self) -> usize {
        self.lock().trace.len()
    }

    /// The file as the running system sees it.
    pub fn image(&self) -> Image {
        self.lock().image.clone()
    }

    /// Plans a failure, or none.
    pub fn fail(&self, failure: Option<Failure>) {
        let mut state = self.lock();
        state.failure = failure;
        state.failed = 0;
    }

    /// How many operations have failed since the failure was planned.
    pub fn failed(&self) -> usize {
        self.lock().failed
    }

    /// How many bytes the disk has room for.
    pub fn set_capacity(&self, capacity: Option<u64>) {
        self.lock().capacity = capacity;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn perform(&self, place: Place, operation: Operation) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(Failure { error, partial, .. }) = state.due_failure() {
            if let (true, Operation::Write { offset, data }) = (partial, operation) {
                let data = data[..data.len() / 2].into();
                state.carry_out(place, Operation::Write { offset, data });
            }
            return Err(error.into());
        }
        state.check_capacity(&operation)?;
        state.carry_out(place, operation);
        Ok(())
    }

    fn file(&self, place: Place) -> Arc<dyn DiskFile> {
        Arc::new(SimFile { disk: self.clone(), place })
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimDisk")
    }
}

impl Disk for SimDisk {
    fn open(&self) -> io::Result<Option<Arc<dyn DiskFile>>> {
        Ok((!self.lock().image.is_empty()).then(|| self.file(Place::Store)))
    }

    fn create(&self) -> io::Result<Arc<dyn DiskFile>> {
        self.lock().aside = Image::default();
        Ok(self.file(Place::Aside))
    }

    fn adopt(&self) -> io::Result<()> {
        let aside = std::mem::take(&mut self.lock().aside);
        self.perform(Place::Store, Operation::Adopt(aside))
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let state = self.lock();
        Ok(state.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(state.image.allocated())))
    }
}

// === impl SimFile ===

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimFile")
    }
}

impl DiskFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.lock().file(self.place).len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.lock().file(self.place).read(offset, out)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.perform(self.place, Operation::Write { offset, data: data.into() })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.perform(self.place, Operation::SetLen(len))
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.perform(self.place, Operation::Sync)
    }
}

// === impl State ===

impl State {
    fn file(&mut self, place: Place) -> &mut Image {
        match place {
            Place::Store => &mut self.image,
            Place::Aside => &mut self.aside,
        }
    }

    fn carry_out(&mut self, place: Place, operation: Operation) {
        self.file(place).apply(&operation);
        if place == Place::Store {
            self.trace.push(operation);
        }
    }

    /// The failure of the operation that is under way, if it is to fail.
    fn due_failure(&mut self) -> Option<Failure> {
        let failure = self.failure.as_mut()?;
        if failure.after > 0 {
            failure.after -= 1;
            return None;
        }
        let due = *failure;
        if !due.lasting {
            self.failure = None;
        }
        self.failed += 1;
        Some(due)
    }

    fn check_capacity(&self, operation: &Operation) -> io::Result<()> {
        let (Some(capacity), Operation::Write { offset, data }) = (self.capacity, operation) else {
            return Ok(());
        };
        if self.image.allocated() + self.image.missing(*offset, data.len()) > capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

// === impl Image ===

/// A page that was never written takes up no space, as in a file with holes.
static HOLE: std::sync::LazyLock<Arc<[u8; PAGE]>> = std::sync::LazyLock::new(|| Arc::new([0; PAGE]));

impl Image {
    /// The image after power was lost when the first `at` operations of `trace` had been asked for. `start` is the file
    /// before the first of them. `kept` says of each sector that was written but not synced whether it is there.
    pub fn after_crash(start: &Self, trace: &[Operation], at: usize, mut kept: impl FnMut() -> bool) -> Self {
        let durable = |operation: &Operation| matches!(operation, Operation::Sync | Operation::Adopt(_));
        let synced = trace[..at].iter().rposition(durable).map_or(0, |last| last + 1);
        let mut image = start.clone();
        trace[..synced].iter().for_each(|operation| image.apply(operation));
        for operation in &trace[synced..at] {
            match operation {
                Operation::Write { offset, data } => image.write_sectors(*offset, data, &mut kept),
                Operation::SetLen(len) if kept() => image.set_len(*len),
                Operation::SetLen(_) | Operation::Sync | Operation::Adopt(_) => {}
            }
        }
        image
    }

    /// Flips one bit.
    pub fn flip_bit(&mut self, bit: u64) {
        let byte = (bit / 8) as usize;
        let page = Arc::make_mut(&mut self.pages[byte / PAGE]);
        page[byte % PAGE] ^= 1 << (bit % 8);
    }

    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Write { offset, data } => self.write(*offset, data),
            Operation::SetLen(len) => self.set_len(*len),
            Operation::Sync => {}
            Operation::Adopt(file) => *self = file.clone(),
        }
    }

    fn set_len(&mut self, len: u64) {
        self.pages.resize_with((len as usize).div_ceil(PAGE), || HOLE.clone());
        let tail = len as usize % PAGE;
        if tail > 0
            && len < self.len
            && let Some(last) = self.pages.last_mut()
        {
            Arc::make_mut(last)[tail..].fill(0);
        }
        self.len = len;
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        let end = offset + data.len() as u64;
        if end > self.len {
            self.set_len(end);
        }
        let mut at = offset as usize;
        let mut rest = data;
        while !rest.is_empty() {
            let within = at % PAGE;
            let (now, later) = rest.split_at(rest.len().min(PAGE - within));
            Arc::make_mut(&mut self.pages[at / PAGE])[within..within + now.len()].copy_from_slice(now);
            at += now.len();
            rest = later;
        }
    }

    fn write_sectors(&mut self, offset: u64, data: &[u8], kept: &mut impl FnMut() -> bool) {
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(SECTOR - at as usize % SECTOR));
            if kept() {
                self.write(at, now);
            }
            at += now.len() as u64;
            rest = later;
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset + out.len() as u64 > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut at = offset as usize;
        let mut rest = out;
        while !rest.is_empty() {
            let within = at % PAGE;
            let (now, later) = rest.split_at_mut((PAGE - within).min(rest.len()));
            now.copy_from_slice(&self.pages[at / PAGE][within..within + now.len()]);
            at += now.len();
            rest = later;
        }
        Ok(())
    }

    fn allocated(&self) -> u64 {
        (self.pages.iter().filter(|page| !Arc::ptr_eq(page, &HOLE)).count() * PAGE) as u64
    }

    /// How many bytes a write would allocate.
    fn missing(&self, offset: u64, len: usize) -> u64 {
        let (first, last) = (offset as usize / PAGE, (offset as usize + len).div_ceil(PAGE));
        let hole = |page: &usize| self.pages.get(*page).is_none_or(|page| Arc::ptr_eq(page, &HOLE));
        ((first..last).filter(hole).count() * PAGE) as u64
    }
}
