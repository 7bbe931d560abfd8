//! Where a request comes from.

use std::net::IpAddr;

use http::HeaderMap;

/// In the extensions of a request: where its connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The other end of the connection.
    pub address: IpAddr,
    /// Whether that is the front proxy, which says itself where requests come from. Of anyone else such headers would be
    /// believed, so they are not read.
    pub is_front_proxy: bool,
}

// === impl Source ===

impl Source {
    /// The addresses on the way of a request, the last hop last.
    pub(super) fn addresses(self, headers: &HeaderMap) -> Vec<String> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        if self.is_front_proxy {
            let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let forwarded = text("x-forwarded-for").split(',').filter_map(|part| part.trim().parse::<IpAddr>().ok());
            addresses.extend(forwarded);
            let real = text("x-real-ip").parse::<IpAddr>().ok();
            addresses.extend(real.filter(|real| !addresses.contains(real)));
        }
        if addresses.last() != Some(&self.address) {
            addresses.push(self.address);
        }
        addresses.into_iter().map(|address| address.to_canonical().to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_front_proxy_is_believed() {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", "10.0.0.1, nonsense,2001:db8::1 ".parse().unwrap());
        headers.insert("x-real-ip", "10.0.0.2".parse().unwrap());
        let address = "127.0.0.1".parse().unwrap();
        let direct = Source { address, is_front_proxy: false };
        assert_eq!(direct.addresses(&headers), ["127.0.0.1"]);
        let proxied = Source { address, is_front_proxy: true };
        assert_eq!(proxied.addresses(&headers), ["10.0.0.1", "2001:db8::1", "10.0.0.2", "127.0.0.1"]);
        headers.insert("x-real-ip", "10.0.0.1".parse().unwrap());
        assert_eq!(proxied.addresses(&headers), ["10.0.0.1", "2001:db8::1", "127.0.0.1"]);
        headers.insert("x-forwarded-for", "127.0.0.1".parse().unwrap());
        headers.remove("x-real-ip");
        assert_eq!(proxied.addresses(&headers), ["127.0.0.1"]);
        let mapped = Source { address: "::ffff:127.0.0.1".parse().unwrap(), is_front_proxy: false };
        assert_eq!(mapped.addresses(&headers), ["127.0.0.1"]);
    }
}
