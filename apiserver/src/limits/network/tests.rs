use super::*;

#[test]
fn addresses_of_one_network_count_together() {
    for (address, expected) in [
        ("203.0.113.1", "203.0.113.1"),
        ("203.0.113.2", "203.0.113.2"),
        // As a socket tells it that takes both.
        ("::ffff:203.0.113.1", "203.0.113.1"),
        ("2001:db8:0:1::1", "2001:db8:0:1::"),
        ("2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::"),
        ("2001:db8:0:2::1", "2001:db8:0:2::"),
        ("::1", "::"),
    ] {
        let parsed = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(network(parsed(address)), parsed(expected), "{address}");
    }
}
