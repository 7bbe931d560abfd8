//! Running a target on many inputs, and keeping the one that it fails on.

use std::any::Any;
use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::mutate::Mutator;
use crate::targets::Target;

/// How long one input may keep the processor busy. Tests run unoptimized and side by side with others, so it is the
/// thread's own time that counts.
const MOST_TIME: Duration = Duration::from_secs(1);

/// When an input is taken to never end; by then the thread cannot tell anymore.
const NEVER: Duration = Duration::from_secs(60);

/// The input that is running, and since when.
type Running = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

/// A target that runs.
pub struct Campaign {
    target: &'static Target,
    running: Running,
    executions: u64,
    slowest: Duration,
}

/// When to stop making inputs.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// After so many of them.
    pub executions: u64,
    /// At this time.
    pub until: Instant,
}

/// What a campaign has done.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// How many inputs it ran.
    pub executions: u64,
    /// The longest time that one took.
    pub slowest: Duration,
}

/// An input that a target fails on.
#[derive(Debug)]
pub struct Failure {
    target: &'static str,
    problem: String,
    kept: PathBuf,
}

// === impl Campaign ===

impl Campaign {
    /// A campaign that has not run anything.
    pub fn new(target: &'static Target) -> Self {
        let running = Running::default();
        watch_over(target.name, &running);
        Self { target, running, executions: 0, slowest: Duration::ZERO }
    }

    /// Runs one input.
    pub fn run(&mut self, input: &[u8]) -> Result<(), Failure> {
        *lock(&self.running) = Some((Instant::now(), input.to_vec()));
        let began = thread_time();
        let result = catch_unwind(AssertUnwindSafe(|| (self.target.run)(input)));
        let took = thread_time().saturating_sub(began);
        *lock(&self.running) = None;
        self.executions += 1;
        self.slowest = self.slowest.max(took);
        let problem = match result {
            Err(panic) => message(&*panic),
            Ok(()) if took > MOST_TIME => format!("took {took:?}"),
            Ok(()) => return Ok(()),
        };
        Err(Failure { target: self.target.name, problem, kept: keep(self.target.name, input) })
    }

    /// Runs inputs that are made of others.
    pub fn explore(&mut self, seed: u64, corpus: &[Vec<u8>], stop: Stop) -> Result<(), Failure> {
        let mut mutator = Mutator::new(seed, corpus, self.target.dictionary);
        for _ in 0..stop.executions {
            if Instant::now() >= stop.until {
                break;
            }
            self.run(&mutator.input())?;
        }
        Ok(())
    }

    /// What it has done so far.
    pub fn report(&self) -> Report {
        Report { executions: self.executions, slowest: self.slowest }
    }
}

// === impl Failure ===

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, problem, kept } = self;
        write!(f, "target {target}: {problem}\nthe input is in {}", kept.display())
    }
}

/// Ends the process when an input does not end. The watcher goes with the campaign.
fn watch_over(target: &'static str, running: &Running) {
    let running = Arc::downgrade(running);
    thread::spawn(move || {
        while let Some(running) = running.upgrade() {
            if let Some((since, input)) = &*lock(&running)
                && since.elapsed() > NEVER
            {
                eprintln!("target {target} does not end; the input is in {}", keep(target, input).display());
                std::process::abort();
            }
            drop(running);
            thread::sleep(Duration::from_millis(200));
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Writes an input to a file that stays.
fn keep(target: &str, input: &[u8]) -> PathBuf {
    let digest = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let folder = std::env::temp_dir().join("bailiwick-fuzz");
    let path = folder.join(format!("{target}-{digest:016x}"));
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input));
    if let Err(error) = written {
        eprintln!("the input cannot be written to {}: {error}; it is {input:?}", path.display());
    }
    path
}
