//! The certificates a server makes for itself: an authority, one to serve with, one for the administrator.
//!
//! They are made when they are missing and again when they run out, always before the server takes requests. The
//! authority's key stays in the data folder, where whoever reads it owns the server, as with everything else there.

mod check;

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use crate::private_file::{self, PrivateFileError, make_folder};

const AUTHORITY_LIFE: Duration = Duration::days(10 * 365);
const CERTIFICATE_LIFE: Duration = Duration::days(365);
/// A certificate is replaced when it has less than this left.
const RENEW_BEFORE: Duration = Duration::days(30);
/// How far a client's clock may be behind.
const CLOCK_SKEW: Duration = Duration::minutes(5);

/// The folder of certificates, with its authority.
pub(crate) struct Pki {
    folder: PathBuf,
    now: OffsetDateTime,
    authority: Pair,
    made: Vec<&'static str>,
}

/// A certificate and its key, PEM.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Why certificates cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PkiError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error(
        "the certificate authority in {} cannot be used: {problem}; remove the folder to make a new one, after which every kubeconfig made from it must be replaced",
        folder.display()
    )]
    Authority { folder: PathBuf, problem: String },
    #[error("the {name} certificate cannot be made: {source}")]
    Making { name: &'static str, source: rcgen::Error },
}

// === impl Pki ===

impl Pki {
    /// Opens the folder, and makes the authority if there is none.
    pub(crate) fn open(folder: PathBuf, now: OffsetDateTime) -> Result<Self, PkiError> {
        make_folder(&folder)?;
        let mut made = Vec::new();
        let authority = match Pair::read(&folder, "ca")? {
            Some(authority) => authority,
            None => {
                made.push("a certificate authority");
                let authority = make_authority(now)?;
                authority.write(&folder, "ca")?;
                authority
            }
        };
        check::authority(&authority, now).map_err(|problem| PkiError::Authority { folder: folder.clone(), problem })?;
        Ok(Self { folder, now, authority, made })
    }

    /// Opens the folder with an authority that comes from elsewhere, instead of whichever was there.
    pub(crate) fn adopt(folder: PathBuf, authority: &Pair, now: OffsetDateTime) -> Result<Self, PkiError> {
        make_folder(&folder)?;
        if Pair::read(&folder, "ca")?.is_none_or(|found| found.certificate != authority.certificate) {
            authority.write(&folder, "ca")?;
        }
        Self::open(folder, now)
    }

    /// What had to be made, for people to read.
    pub(crate) fn made(&self) -> &[&'static str] {
        &self.made
    }

    /// The authority's certificate, PEM.
    pub(crate) fn authority(&self) -> &str {
        &self.authority.certificate
    }

    /// Where a file of the folder lies.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Sees to it that `serving.crt` and `serving.key` are valid for these names.
    pub(crate) fn serving(&mut self, names: &[String]) -> Result<(), PkiError> {
        let params = || {
            let mut params = CertificateParams::new(names)?;
            params.distinguished_name = subject("bailiwick", None);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            Ok(params)
        };
        self.ensure("serving", "a serving certificate", names, params)?;
        Ok(())
    }

    /// Sees to it that there is a valid certificate of the administrator, and returns it.
    pub(crate) fn admin(&mut self) -> Result<Pair, PkiError> {
        let params = || {
            let mut params = CertificateParams::default();
            params.distinguished_name = subject("admin", Some("system:masters"));
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            Ok(params)
        };
        self.ensure("admin", "an administrator's certificate", &[], params)
    }

    fn ensure(
        &mut self,
        name: &'static str,
        description: &'static str,
        names: &[String],
        params: impl FnOnce() -> Result<CertificateParams, rcgen::Error>,
    ) -> Result<Pair, PkiError> {
        if let Some(pair) = Pair::read(&self.folder, name)?
            && check::is_good_until(&pair, &self.authority, names, self.now + RENEW_BEFORE)
        {
            return Ok(pair);
        }
        let pair = params().and_then(|params| self.sign(params)).map_err(|source| PkiError::Making { name, source })?;
        pair.write(&self.folder, name)?;
        self.made.push(description);
        Ok(pair)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Pair, rcgen::Error> {
        (params.not_before, params.not_after) = (self.now - CLOCK_SKEW, self.now + CERTIFICATE_LIFE);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let authority_key = KeyPair::from_pem(&self.authority.key)?;
        let issuer = Issuer::from_ca_cert_pem(&self.authority.certificate, authority_key)?;
        let key = KeyPair::generate()?;
        Ok(Pair { certificate: params.signed_by(&key, &issuer)?.pem(), key: key.serialize_pem() })
    }
}

// === impl Pair ===

impl Pair {
    /// Both halves, or none: one alone is what a crash left, and is made again.
    fn read(folder: &Path, name: &str) -> Result<Option<Self>, PkiError> {
        let certificate = private_file::read(&folder.join(format!("{name}.crt")))?;
        let key = private_file::read(&folder.join(format!("{name}.key")))?;
        Ok(certificate.zip(key).map(|(certificate, key)| Self { certificate, key }))
    }

    /// The certificate last, so that where it is, its key is too.
    fn write(&self, folder: &Path, name: &str) -> Result<(), PkiError> {
        private_file::write(&folder.join(format!("{name}.key")), &self.key)?;
        private_file::write(&folder.join(format!("{name}.crt")), &self.certificate)?;
        Ok(())
    }
}

/// Whether an authority can sign, and will be able to until then.
pub(crate) fn can_sign_until(authority: &Pair, until: OffsetDateTime) -> bool {
    check::authority(authority, until).is_ok()
}

/// Makes an authority.
pub(crate) fn make_authority(now: OffsetDateTime) -> Result<Pair, PkiError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject("bailiwick-ca", None);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    (params.not_before, params.not_after) = (now - CLOCK_SKEW, now + AUTHORITY_LIFE);
    let make = || {
        let key = KeyPair::generate()?;
        Ok(Pair { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() })
    };
    make().map_err(|source| PkiError::Making { name: "authority's", source })
}

fn subject(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, common_name);
    name
}

#[cfg(test)]
mod tests;
