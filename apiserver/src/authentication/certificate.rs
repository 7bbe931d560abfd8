//! What a connection's certificate says: found out once, and again when the authorities change or the certificate ends.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use arc_swap::ArcSwap;
use bailiwick_registry::{Clock, User};
use tokio_rustls::rustls::pki_types::UnixTime;

use super::identity::{self, CERTIFICATE, CREDENTIAL_ID};
use super::request_header::RequestHeader;
use crate::listener::Peer;
use crate::tls::{CaPool, CertificateError, ClientCertificate, Tls, Trust};

/// How long a refusal holds. The certificate may become valid while the connection lasts.
const REFUSED_FOR: Duration = Duration::from_secs(30);

/// The longest time between two looks at a certificate.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// What a connection's certificate says to each pool of authorities.
pub(super) struct Finding {
    /// The pools it was found by.
    generation: u64,
    /// When it holds, in seconds since 1970. Clocks are put back, too.
    since: i64,
    until: i64,
    /// Whether it is a front proxy's, which may name users.
    pub(super) proxy: Verdict<()>,
    /// Whose it is.
    pub(super) user: Verdict<Arc<User>>,
}

/// What one pool says.
pub(super) enum Verdict<T> {
    /// Nothing was shown, or there is nobody to ask, or it names nobody.
    Silent,
    /// It is verified.
    Verified(T),
    /// It is not to be believed.
    Refused,
}

/// Finds out what the certificate of `peer` says, unless that is known.
pub(super) fn find(tls: &Tls, headers: &ArcSwap<RequestHeader>, clock: &dyn Clock, peer: &Peer) -> Arc<Finding> {
    let now = clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let trust = tls.trust();
    let holds = |finding: &Arc<Finding>| finding.generation == trust.generation && finding.holds_at(seconds);
    peer.finding::<Finding>().filter(holds).unwrap_or_else(|| {
        // New headers are set before the pools that come with them: whoever has the pools has the headers.
        let finding = Arc::new(Finding::new(&trust, &headers.load(), peer, now));
        peer.remember(finding.clone());
        finding
    })
}

// === impl Finding ===

impl Finding {
    fn new(trust: &Trust, headers: &RequestHeader, peer: &Peer, now: Duration) -> Self {
        let since = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let mut finding = Self {
            generation: trust.generation,
            since,
            until: i64::MAX,
            proxy: Verdict::Silent,
            user: Verdict::Silent,
        };
        if peer.certificates().is_empty() {
            return finding;
        }
        if let Some(pool) = &trust.request_header_ca {
            finding.proxy = finding.ask(pool, peer, now, "a front proxy's", |certificate| {
                // Files change: what was refused at the start must not come in later.
                if headers.allows_all() && trust.pools_overlap() {
                    return Err("an authority of clients vouches for it, and no names are set apart for proxies");
                }
                headers.allows(&certificate.common_name).then_some(()).ok_or("its common name is not allowed")
            });
        }
        if let Some(pool) = &trust.client_ca {
            finding.user = finding.ask(pool, peer, now, "a client's", |certificate| Ok(Arc::new(user(&certificate))));
        }
        finding
    }

    fn holds_at(&self, seconds: i64) -> bool {
        (self.since..self.until).contains(&seconds)
    }

    /// Whether both say the same of their connection.
    pub(super) fn says(&self, other: &Self) -> bool {
        let users = |finding: &Self| match &finding.user {
            Verdict::Verified(user) => Some(user.clone()),
            Verdict::Silent | Verdict::Refused => None,
        };
        let is_proxy = |finding: &Self| matches!(finding.proxy, Verdict::Verified(()));
        users(self) == users(other) && is_proxy(self) == is_proxy(other)
    }

    /// For how long it holds, if nothing else changes; a day at most, which timers can bear.
    pub(super) fn lasts(&self, clock: &dyn Clock) -> Duration {
        let until = Duration::from_secs(u64::try_from(self.until).unwrap_or_default());
        let now = clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        until.saturating_sub(now).clamp(Duration::from_secs(1), LONGEST_WAIT)
    }

    /// Asks one pool, and notes until when its answer holds.
    fn ask<T>(
        &mut self,
        pool: &CaPool,
        peer: &Peer,
        now: Duration,
        whose: &str,
        accept: impl FnOnce(ClientCertificate) -> Result<T, &'static str>,
    ) -> Verdict<T> {
        let refused_until = i64::try_from((now + REFUSED_FOR).as_secs()).unwrap_or(i64::MAX);
        let (verdict, until) = match pool.verify(peer.certificates(), UnixTime::since_unix_epoch(now)) {
            Ok(certificate) => {
                let until = certificate.not_after;
                match accept(certificate) {
                    Ok(accepted) => (Verdict::Verified(accepted), until),
                    Err(reason) => {
                        tracing::debug!(peer = %peer.address(), reason, "a certificate is not {whose}");
                        (Verdict::Refused, until)
                    }
                }
            }
            Err(CertificateError::Absent | CertificateError::Nameless) => (Verdict::Silent, refused_until),
            Err(error) => {
                tracing::debug!(peer = %peer.address(), %error, "a certificate is not {whose}");
                (Verdict::Refused, refused_until)
            }
        };
        self.until = self.until.min(until);
        verdict
    }
}

fn user(certificate: &ClientCertificate) -> User {
    let fingerprint: String = certificate.fingerprint.iter().map(|byte| format!("{byte:02x}")).collect();
    identity::known(User {
        name: certificate.common_name.clone(),
        uid: certificate.uid.clone().unwrap_or_default(),
        groups: certificate.organizations.clone(),
        extra: [(CREDENTIAL_ID.to_owned(), vec![format!("{CERTIFICATE}{fingerprint}")])].into(),
        ..User::default()
    })
}

#[cfg(test)]
mod tests;
