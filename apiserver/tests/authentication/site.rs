//! Certificates of a server, in files.

use std::sync::Arc;

use bailiwick_apiserver::{Tls, TlsFiles};
use bailiwick_test_host::pki::{Authority, Identity};
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// A folder with a serving certificate and pools of authorities.
pub(crate) struct Pki {
    pub(crate) tls: Arc<Tls>,
    /// Signs the serving certificate.
    pub(crate) authority: Authority,
    folder: TempDir,
}

impl Pki {
    pub(crate) fn new(clients: &str, proxies: Option<&str>) -> Self {
        let (authority, folder) = (Authority::new("serving").unwrap(), TempDir::new().unwrap());
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let serving = authority.server("server", &[]).unwrap();
        let files = TlsFiles {
            certificate: write("tls.crt", &serving.certificate),
            key: write("tls.key", &serving.key),
            client_ca: Some(write("client-ca.crt", clients)),
            request_header_ca: proxies.map(|proxies| write("request-header-ca.crt", proxies)),
        };
        let tls = Arc::new(Tls::load(&files).unwrap());
        Self { tls, authority, folder }
    }

    /// Replaces a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Replaces the serving certificate.
    pub(crate) fn serve_with(&self, identity: &Identity) {
        self.write("tls.key", &identity.key);
        self.write("tls.crt", &identity.certificate);
    }
}

/// DER in base64, as PEM.
pub(crate) fn pem(base64: &str) -> String {
    let lines: Vec<_> = base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

pub(crate) fn chain(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).map(Result::unwrap).collect()
}
