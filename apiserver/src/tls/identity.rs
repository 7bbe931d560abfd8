//! The serving certificate and its key, from PEM.

use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::provider::provider;

/// Why a certificate and a key cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The certificate's file is no PEM.
    #[error("the certificate is not PEM: {0}")]
    Certificate(#[source] pem::Error),
    /// The certificate's file holds something else.
    #[error("there is no certificate in it: give a PEM file with BEGIN CERTIFICATE")]
    NoCertificate,
    /// The key's file holds no key.
    #[error("its key cannot be read: {0}; give an unencrypted PEM file with BEGIN PRIVATE KEY")]
    Key(#[source] pem::Error),
    /// They do not fit together, or are of a kind that is not supported.
    #[error("{0}; check that the key belongs to the certificate")]
    Unusable(#[source] tokio_rustls::rustls::Error),
}

/// Reads a certificate chain and its key, and checks that they belong together.
pub(super) fn parse(certificate: &[u8], key: &[u8]) -> Result<CertifiedKey, IdentityError> {
    let chain: Vec<_> =
        CertificateDer::pem_slice_iter(certificate).collect::<Result<_, _>>().map_err(IdentityError::Certificate)?;
    if chain.is_empty() {
        return Err(IdentityError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(IdentityError::Key)?;
    CertifiedKey::from_der(chain, key, &provider()).map_err(IdentityError::Unusable)
}
