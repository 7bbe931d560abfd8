//! Whether certificates that were found can still be used.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rcgen::{KeyPair, PublicKeyData};
use time::OffsetDateTime;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::{Pem, parse_x509_pem};

use super::Pair;

/// Checks that an authority can sign, now.
pub(super) fn authority(pair: &Pair, now: OffsetDateTime) -> Result<(), String> {
    let pem = parse_pem(&pair.certificate).ok_or("its certificate is not PEM")?;
    let certificate = pem.parse_x509().map_err(|error| format!("its certificate cannot be read: {error}"))?;
    if !fits(&certificate, &pair.key) {
        return Err("its key belongs to another certificate".to_owned());
    }
    if !certificate.is_ca() {
        return Err("its certificate is not that of an authority".to_owned());
    }
    if certificate.validity().not_after.timestamp() <= now.unix_timestamp() {
        return Err("it has expired".to_owned());
    }
    Ok(())
}

/// Whether a certificate has its key, is the authority's, carries exactly these names, and is valid for long enough.
pub(super) fn is_good_until(pair: &Pair, authority: &Pair, names: &[String], until: OffsetDateTime) -> bool {
    let (Some(pem), Some(authority)) = (parse_pem(&pair.certificate), parse_pem(&authority.certificate)) else {
        return false;
    };
    let (Ok(certificate), Ok(authority)) = (pem.parse_x509(), authority.parse_x509()) else { return false };
    fits(&certificate, &pair.key)
        && certificate.verify_signature(Some(authority.public_key())).is_ok()
        && certificate.validity().not_after.timestamp() > until.unix_timestamp()
        && names_of(&certificate) == names.iter().cloned().collect()
}

fn parse_pem(text: &str) -> Option<Pem> {
    parse_x509_pem(text.as_bytes()).ok().map(|(_rest, pem)| pem)
}

fn fits(certificate: &X509Certificate<'_>, key: &str) -> bool {
    KeyPair::from_pem(key).is_ok_and(|key| key.der_bytes() == certificate.public_key().subject_public_key.as_ref())
}

fn names_of(certificate: &X509Certificate<'_>) -> BTreeSet<String> {
    let names = certificate.subject_alternative_name().ok().flatten();
    names
        .iter()
        .flat_map(|extension| &extension.value.general_names)
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => {
                let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
                v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)).ok().map(|ip| ip.to_string())
            }
            _ => None,
        })
        .collect()
}
