use std::time::Instant;

use super::*;

#[test]
fn ticks_are_found_behind_any_name() {
    let rest = "S 1 42 42 0 -1 4194304 905 0 3 0 1234 66 7 8 20 0 9 0 5555 1000000 300 18446744073709551615";
    for name in ["etcd", "two words", "a) R 1 2", "((", "kube-apiserver"] {
        assert_eq!(cpu_ticks(&format!("4711 ({name}) {rest}\n")), Some(1300), "{name}");
    }
}

#[test]
fn what_is_no_stat_gives_nothing() {
    for stat in ["", "1 (a", "1 (a) S 1 2 3", "1 (a) S 1 2 3 4 5 6 7 8 9 10 eleven 12 13"] {
        assert_eq!(cpu_ticks(stat), None, "{stat:?}");
    }
}

#[test]
fn memory_is_in_kibibytes() {
    let status = "Name:\tVmRSS\nVmPeak:\t  9 kB\nVmHWM:\t     200 kB\nVmRSS:\t     100 kB\nRssAnon:\t 7 kB\n";
    assert_eq!(memory(status), Some(Memory { resident: 100 << 10, peak: 200 << 10 }));
    assert_eq!(memory("Name:\tkthread\n"), None);
    assert_eq!(memory("VmHWM:\t1 kB\nVmRSS:\t1 MB\n"), None);
}

#[test]
fn this_process_uses_time_and_memory() {
    let this = Process::this();
    let (began, before) = (Instant::now(), this.cpu().unwrap());
    let mut state = 1_u64;
    while this.cpu().unwrap() < before + Duration::from_millis(50) {
        state = std::hint::black_box(state.wrapping_mul(3));
        assert!(began.elapsed() < Duration::from_secs(60), "a busy process uses time");
    }
    let memory = this.memory().unwrap();
    assert!(memory.resident > 100 << 10 && memory.peak >= memory.resident, "{memory:?}");
}

#[test]
fn a_process_that_is_gone_is_named() {
    let error = Process(u32::MAX).cpu().unwrap_err();
    assert!(error.to_string().contains("/proc/4294967295/stat"), "{error}");
}
