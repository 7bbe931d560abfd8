use super::*;

/// S-11
#[test]
fn what_only_this_machine_reaches_is_told_from_the_rest() {
    let inward = |address: &str| is_inward(address.parse().unwrap());
    for address in [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "169.254.169.254",
        "::1",
        "::",
        "fe80::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
    ] {
        assert!(inward(address), "{address}");
    }
    for address in
        ["10.0.0.1", "192.168.1.1", "169.253.0.1", "203.0.113.1", "2001:db8::1", "fd00::1", "::ffff:10.0.0.1"]
    {
        assert!(!inward(address), "{address}");
    }
}
