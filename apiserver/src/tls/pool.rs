//! A pool of certificate authorities, and what a certificate that one of them vouches for says.
//!
//! Each pool is asked by itself. There is no union of pools, so that no certificate means more than its own authority may
//! grant.

use std::fmt;

use sha2::{Digest, Sha256};
use tokio_rustls::rustls::DistinguishedName;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath, anchor_from_trusted_cert};
use x509_parser::certificate::{Validity, X509Certificate};
use x509_parser::der_parser::asn1_rs::{FromDer, Oid, oid};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use super::provider::provider;

/// The attribute in which Kubernetes finds a user's UID.
const KUBERNETES_UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// Authorities that vouch for one kind of client.
pub struct CaPool {
    authorities: Vec<Authority>,
}

/// What a verified certificate says about its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject's common name: never empty.
    pub common_name: String,
    /// The subject's organizations, in their order.
    pub organizations: Vec<String>,
    /// The subject's UID, if it carries one as Kubernetes defines it.
    pub uid: Option<String>,
    /// The SHA-256 of the certificate, which tells it from every other.
    pub fingerprint: [u8; 32],
    /// When it, or one of those that vouch for it, becomes invalid, in seconds since 1970: what was concluded from it holds no
    /// longer than that.
    pub not_after: i64,
}

/// Why a pool cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CaPoolError {
    /// The text is no PEM.
    #[error("it is not PEM: {0}")]
    Pem(#[source] pem::Error),
    /// The text holds no certificate.
    #[error("there is no certificate in it: give a PEM file with BEGIN CERTIFICATE")]
    Empty,
    /// A certificate that cannot be an authority.
    #[error("certificate {number} in it cannot be used: {problem}")]
    Authority {
        /// Which one, counted from 1.
        number: usize,
        /// What is wrong with it.
        problem: String,
    },
}

/// Why a client is not who its certificate says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// The client showed none.
    #[error("no certificate was shown")]
    Absent,
    /// No authority of the pool vouches for it, or not now, or not for clients.
    #[error("the certificate cannot be verified: {0}")]
    Untrusted(webpki::Error),
    /// The certificate of one that vouches for it cannot be read.
    #[error("the certificate of an authority between it and the pool cannot be read")]
    UnreadableAuthority,
    /// Its subject cannot be read.
    #[error("the certificate's subject cannot be read")]
    UnreadableSubject,
    /// It names nobody.
    #[error("the certificate's subject has no common name")]
    Nameless,
}

/// One authority.
struct Authority {
    anchor: TrustAnchor<'static>,
    /// webpki does not look at an authority's own dates; Go does, and so do we.
    not_before: i64,
    not_after: i64,
}

// === impl CaPool ===

impl CaPool {
    /// The authorities in a PEM text; everything else in it is passed over.
    pub fn from_pem(text: &[u8]) -> Result<Self, CaPoolError> {
        let mut authorities = Vec::new();
        for (index, certificate) in CertificateDer::pem_slice_iter(text).enumerate() {
            let certificate = certificate.map_err(CaPoolError::Pem)?;
            let authority = Authority::new(&certificate)
                .map_err(|problem| CaPoolError::Authority { number: index + 1, problem })?;
            authorities.push(authority);
        }
        if authorities.is_empty() { Err(CaPoolError::Empty) } else { Ok(Self { authorities }) }
    }

    /// Checks that this pool vouches for the first certificate of `chain` as a client, `now`, and reads whom it names.
    pub fn verify(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<ClientCertificate, CertificateError> {
        let (certificate, intermediates) = chain.split_first().ok_or(CertificateError::Absent)?;
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let anchors: Vec<_> = self
            .authorities
            .iter()
            .filter(|authority| authority.is_valid(seconds))
            .map(|authority| authority.anchor.clone())
            .collect();
        let leaf = EndEntityCert::try_from(certificate).map_err(CertificateError::Untrusted)?;
        let path = leaf.verify_for_usage(
            provider().signature_verification_algorithms.all,
            &anchors,
            intermediates,
            now,
            KeyUsage::client_auth(),
            None,
            None,
        );
        let path = path.map_err(CertificateError::Untrusted)?;
        let until = self.vouch_until(&path, seconds)?;
        let found = ClientCertificate::read(certificate)?;
        Ok(ClientCertificate { not_after: found.not_after.min(until), ..found })
    }

    /// When the first of those becomes invalid who vouch for a certificate.
    fn vouch_until(&self, path: &VerifiedPath<'_>, now: i64) -> Result<i64, CertificateError> {
        // One authority may be there under several certificates, of which the longest counts.
        let is_anchor = |authority: &&Authority| authority.anchor == *path.anchor() && authority.is_valid(now);
        let authority = self.authorities.iter().filter(is_anchor).map(|authority| authority.not_after).max();
        let mut until = authority.unwrap_or(now);
        for intermediate in path.intermediate_certificates() {
            let der = intermediate.der();
            let parsed = parse(&der).map_err(|_| CertificateError::UnreadableAuthority)?;
            until = until.min(parsed.validity().not_after.timestamp());
        }
        Ok(until)
    }

    /// Whether an authority is in both pools: the same key, under whatever certificate.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let keys = |pool: &Self| -> Vec<Vec<u8>> {
            pool.authorities.iter().map(|authority| authority.anchor.subject_public_key_info.to_vec()).collect()
        };
        let others = keys(other);
        keys(self).iter().any(|key| others.contains(key))
    }

    /// The authorities' names, for clients to choose a certificate by.
    pub(super) fn subjects(&self) -> impl Iterator<Item = DistinguishedName> {
        self.authorities.iter().map(|authority| DistinguishedName::in_sequence(&authority.anchor.subject))
    }
}

impl fmt::Debug for CaPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaPool").field("authorities", &self.authorities.len()).finish()
    }
}

// === impl ClientCertificate ===

impl ClientCertificate {
    fn read(certificate: &CertificateDer<'_>) -> Result<Self, CertificateError> {
        let parsed = parse(certificate).map_err(|_| CertificateError::UnreadableSubject)?;
        let subject = parsed.subject();
        let mut uids = texts(subject.iter_by_oid(&KUBERNETES_UID))?;
        let uid = uids.pop();
        if !uids.is_empty() || uid.as_deref() == Some("") {
            return Err(CertificateError::UnreadableSubject);
        }
        Ok(Self {
            common_name: common_name(subject)?,
            organizations: texts(subject.iter_organization())?,
            uid,
            fingerprint: Sha256::digest(certificate).into(),
            not_after: parsed.validity().not_after.timestamp(),
        })
    }
}

// === impl Authority ===

impl Authority {
    fn new(certificate: &CertificateDer<'_>) -> Result<Self, String> {
        let anchor = anchor_from_trusted_cert(certificate).map_err(|error| error.to_string())?.to_owned();
        let parsed = parse(certificate)?;
        if !parsed.basic_constraints().is_ok_and(|found| found.is_some_and(|constraints| constraints.value.ca)) {
            return Err("it is not the certificate of an authority (basicConstraints CA:TRUE)".to_owned());
        }
        let Validity { not_before, not_after } = parsed.validity();
        Ok(Self { anchor, not_before: not_before.timestamp(), not_after: not_after.timestamp() })
    }

    fn is_valid(&self, seconds: i64) -> bool {
        (self.not_before..=self.not_after).contains(&seconds)
    }
}

fn parse<'c>(certificate: &'c CertificateDer<'_>) -> Result<X509Certificate<'c>, String> {
    X509Certificate::from_der(certificate).map(|(_rest, parsed)| parsed).map_err(|error| error.to_string())
}

/// As Go does, the last one counts.
fn common_name(subject: &X509Name<'_>) -> Result<String, CertificateError> {
    let name = texts(subject.iter_common_name())?.pop().unwrap_or_default();
    if name.is_empty() { Err(CertificateError::Nameless) } else { Ok(name) }
}

fn texts<'n>(attributes: impl Iterator<Item = &'n AttributeTypeAndValue<'n>>) -> Result<Vec<String>, CertificateError> {
    attributes
        .map(|attribute| attribute.as_str().map(str::to_owned).map_err(|_| CertificateError::UnreadableSubject))
        .collect()
}
