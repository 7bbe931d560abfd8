//! Which cores a server has, and which its clients, so that neither takes from the other what is measured.

use std::future::Future;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::runtime::Builder;

/// The cores of this process, divided. Where there is one only, both have it.
pub(crate) struct Cores {
    server: CpuSet,
    clients: CpuSet,
}

// === impl Cores ===

impl Cores {
    pub(crate) fn available() -> Self {
        let all = sched_getaffinity(None).unwrap();
        let mut numbers = (0..CpuSet::MAX_CPU).filter(|number| all.is_set(*number));
        let (server, clients) = (numbers.next().unwrap(), numbers.next());
        Self { server: only(server), clients: only(clients.unwrap_or(server)) }
    }

    /// Runs what clients do, on their core alone.
    pub(crate) fn of_clients<T>(&self, future: impl Future<Output = T>) -> T {
        let clients = self.clients;
        // This thread is the test's own, and ends with it.
        sched_setaffinity(None, &clients).unwrap();
        let pin = move || sched_setaffinity(None, &clients).unwrap();
        Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_start(pin)
            .enable_all()
            .build()
            .unwrap()
            .block_on(future)
    }

    /// Keeps a process on the server's core, with all threads that it has and will have.
    pub(crate) fn give_server(&self, pid: u32) {
        for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
            let thread = thread.unwrap().file_name().into_string().unwrap().parse().unwrap();
            sched_setaffinity(Pid::from_raw(thread), &self.server).unwrap();
        }
    }
}

fn only(number: usize) -> CpuSet {
    let mut cores = CpuSet::new();
    cores.set(number);
    cores
}
