use super::*;

/// Whoever has one address of IPv6 has its network; on a socket that takes both, IPv4 is no network of IPv6.
#[test]
fn one_network_does_not_take_all_connections() {
    for (here, elsewhere) in [
        (["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:1::3"], "2001:db8:0:2::1"),
        (["203.0.113.1", "::ffff:203.0.113.1", "203.0.113.1"], "203.0.113.2"),
        (["::ffff:203.0.113.1", "203.0.113.1", "::ffff:203.0.113.1"], "::ffff:203.0.113.2"),
    ] {
        let addresses = Arc::new(Addresses::new(2));
        let take = |address: &str| addresses.take(address.parse().unwrap());
        let (first, second) = (take(here[0]).unwrap(), take(here[1]).unwrap());
        assert!(take(here[2]).is_none(), "{here:?}");
        assert!(take(elsewhere).is_some(), "{elsewhere}");
        drop(first);
        let third = take(here[2]);
        assert!(third.is_some(), "{here:?}");
        drop((second, third));
        assert!(addresses.open.lock().unwrap().is_empty());
    }
}
