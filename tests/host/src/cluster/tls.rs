//! Who is who in a cluster: authorities, the server, the administrator, the aggregator, and users made on demand.

use std::fmt;
use std::path::Path;

use super::ADMIN_GROUP;
use crate::error::Error;
use crate::pki;
use crate::pki::Authority;
use crate::pki::Identity;
use crate::pki::Pem;

/// Where Services get their addresses. Nothing routes them.
pub(super) const SERVICE_RANGE: &str = "10.0.0.0/24";

/// The name under which the aggregator speaks for users.
pub(super) const FRONT_PROXY_NAME: &str = "front-proxy-client";

/// Names of the API server for clients inside a cluster, and the address that its Service gets.
const SERVER_NAMES: [&str; 4] = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1"];

/// A cluster's authorities, certificates and keys.
#[derive(Debug)]
pub struct ClusterTls {
    /// The authority that signed the servers' and the users' certificates.
    pub ca: Pem,
    /// The administrator's certificate, with the group `system:masters`.
    pub admin_certificate: Pem,
    /// The key of [`ClusterTls::admin_certificate`].
    pub admin_key: Pem,
    /// The authority of those who may speak for others by request headers.
    pub front_proxy_ca: Pem,
    /// The certificate by which the aggregator shows that it may.
    pub front_proxy_certificate: Pem,
    /// The key of [`ClusterTls::front_proxy_certificate`].
    pub front_proxy_key: Pem,
    /// The RSA key that signs the tokens of service accounts.
    pub service_account_key: Pem,
    pub(super) server_certificate: Pem,
    pub(super) server_key: Pem,
    authority: ClientAuthority,
}

/// Kept out of debug output.
struct ClientAuthority(Authority);

// === impl ClusterTls ===

impl ClusterTls {
    pub(super) fn make(folder: &Path) -> Result<Self, Error> {
        let authority = Authority::new("cluster")?;
        let front_proxy = Authority::new("front proxy")?;
        let write = |name: &str, text: String| Pem::write(&folder.join(name), text);
        let write_identity = |name: &str, Identity { certificate, key }: Identity| {
            Ok::<_, Error>((write(&format!("{name}.crt"), certificate)?, write(&format!("{name}.key"), key)?))
        };
        let (server_certificate, server_key) =
            write_identity("server", authority.server("kube-apiserver", &SERVER_NAMES)?)?;
        let (admin_certificate, admin_key) = write_identity("admin", authority.client("admin", &[ADMIN_GROUP])?)?;
        let (front_proxy_certificate, front_proxy_key) =
            write_identity("front-proxy", front_proxy.client(FRONT_PROXY_NAME, &[])?)?;
        Ok(Self {
            ca: write("ca.crt", authority.certificate())?,
            admin_certificate,
            admin_key,
            front_proxy_ca: write("front-proxy-ca.crt", front_proxy.certificate())?,
            front_proxy_certificate,
            front_proxy_key,
            service_account_key: write("service-account.key", pki::rsa_key()?)?,
            server_certificate,
            server_key,
            authority: ClientAuthority(authority),
        })
    }

    /// Makes a certificate for a user of kube-apiserver.
    pub fn user(&self, name: &str, groups: &[&str]) -> Result<Identity, Error> {
        self.authority.0.client(name, groups)
    }

    pub(super) fn admin(&self) -> Identity {
        let [certificate, key] = [&self.admin_certificate, &self.admin_key].map(|pem| pem.text().to_owned());
        Identity { certificate, key }
    }
}

// === impl ClientAuthority ===

impl fmt::Debug for ClientAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAuthority").finish_non_exhaustive()
    }
}
