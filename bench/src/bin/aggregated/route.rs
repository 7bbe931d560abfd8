//! One way to one object.

use std::time::{Duration, Instant};

use bailiwick_bench::Failure;
use bailiwick_bench::client::Client;
use bailiwick_test_host::pki::Identity;
use bytes::Bytes;
use http::Method;

/// A connection, and what is asked for on it.
pub(crate) struct Route {
    name: &'static str,
    path: &'static str,
    client: Client,
}

// === impl Route ===

impl Route {
    /// Connects to `host:port`, as a user.
    pub(crate) async fn open(
        name: &'static str,
        authority: &str,
        ca: &str,
        user: &Identity,
        path: &'static str,
    ) -> Result<Self, Failure> {
        let (certificate, key) = (user.certificate.as_bytes(), user.key.as_bytes());
        Ok(Self { name, path, client: Client::connect(authority, ca.as_bytes(), certificate, key).await? })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// How long a request takes, the median of so many.
    pub(crate) async fn measure(&mut self, requests: usize) -> Result<Duration, Failure> {
        let mut times = Vec::with_capacity(requests);
        for _ in 0..requests {
            let began = Instant::now();
            self.client.expect(Method::GET, self.path, Bytes::new()).await?;
            times.push(began.elapsed());
        }
        Ok(crate::median(&mut times))
    }
}
