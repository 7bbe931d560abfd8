use std::process::Command;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use super::*;

fn is_alive(pid: u32) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}

/// Waits until nobody has the pid of a process that was ours.
fn assert_ends(pid: u32) {
    let start = Instant::now();
    while is_alive(pid) {
        assert!(start.elapsed() < Duration::from_secs(10), "process {pid} is still there");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn drop_ends_a_process_even_if_it_is_paused() {
    let process = Process::spawn(Command::new("sleep").arg("600")).unwrap();
    process.signal(Signal::STOP).unwrap();
    let pids = [process.child.id(), process.guard.id()];
    drop(process);
    pids.into_iter().for_each(assert_ends);
}

#[test]
fn the_guard_ends_the_process_when_its_pipe_closes() {
    let mut process = Process::spawn(Command::new("sleep").arg("600")).unwrap();
    assert!(!process.has_ended());
    drop(process.guard.stdin.take());
    process.child.wait().unwrap();
    assert!(process.has_ended());
}
