//! Certificates for peers on loopback: an authority, what it signs, and the files that programs want to be given.
//!
//! They are valid for centuries, so that no test depends on the day it runs.

mod subject;

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use rcgen::BasicConstraints;
use rcgen::CertificateParams;
use rcgen::CertifiedIssuer;
use rcgen::DistinguishedName;
use rcgen::DnType;
use rcgen::ExtendedKeyUsagePurpose;
use rcgen::IsCa;
use rcgen::KeyPair;
use rcgen::KeyUsagePurpose;
use rcgen::PKCS_RSA_SHA256;
use rcgen::RsaKeySize;

use crate::error::Error;

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key.
#[derive(Debug)]
pub struct Identity {
    /// The certificate, PEM.
    pub certificate: String,
    /// The private key, PEM.
    pub key: String,
}

/// A PEM document, in memory and on disk.
#[derive(Debug)]
pub struct Pem {
    text: String,
    path: PathBuf,
}

// === impl Authority ===

impl Authority {
    /// Makes an authority called `name`.
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished_name(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// The authority's own certificate, PEM.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// Signs a server on `localhost`, `127.0.0.1` and `names`. The certificate also serves as a client's: etcd's gateway calls its
    /// own server with it.
    pub fn server(&self, common_name: &str, names: &[&str]) -> Result<Identity, Error> {
        let names: Vec<String> = ["localhost", "127.0.0.1"].iter().chain(names).map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = distinguished_name(common_name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// Signs a client. Kubernetes reads the common name as the user and each organization as a group.
    pub fn client(&self, common_name: &str, organizations: &[&str]) -> Result<Identity, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished_name(common_name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let mut identity = self.sign(params)?;
        if !organizations.is_empty() {
            identity.certificate =
                subject::replace(&identity.certificate, common_name, organizations, self.issuer.key())?;
        }
        Ok(identity)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Identity, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

/// A new RSA key, PEM: what Kubernetes signs the tokens of service accounts with.
pub fn rsa_key() -> Result<String, Error> {
    Ok(KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?.serialize_pem())
}

// === impl Pem ===

impl Pem {
    /// Writes `text` to `path`.
    pub fn write(path: &Path, text: String) -> Result<Self, Error> {
        fs::write(path, &text).map_err(Error::file(path))?;
        Ok(Self { text, path: path.to_owned() })
    }

    /// The document.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file that holds it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn distinguished_name(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

#[cfg(test)]
mod tests;
