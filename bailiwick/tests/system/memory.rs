//! How much memory a process holds.

/// Resident memory, in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

/// The same for people.
pub(crate) fn mebibytes(bytes: u64) -> u64 {
    bytes >> 20
}
