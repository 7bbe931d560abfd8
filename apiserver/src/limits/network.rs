//! On whose account something is counted while nobody knows yet who sends it: on that of where it comes from.

use std::net::{IpAddr, Ipv6Addr};

/// The address; of IPv6 its network of 64 bits. Whoever has one address there usually has all of them.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests;
