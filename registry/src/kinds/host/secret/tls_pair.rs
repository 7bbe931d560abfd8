//! Whether something can be a certificate and its key, in the words of Go's `crypto/tls`.
//!
//! What is inside the blocks is not read: whether the certificate is one, and whether the key fits it, is not told.

/// What a PEM block is called that holds a certificate.
const CERTIFICATE: &str = "CERTIFICATE";
const PRIVATE_KEY: &str = "PRIVATE KEY";

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// What to say of a certificate and a key that cannot be used together.
pub(super) fn pair_warning(certificate: &[u8], key: &[u8]) -> Option<String> {
    certificate_warning(&block_types(certificate)).or_else(|| key_warning(&block_types(key)))
}

fn certificate_warning(found: &[String]) -> Option<String> {
    if found.iter().any(|found| found == CERTIFICATE) {
        return None;
    }
    Some(match found {
        [] => "tls: failed to find any PEM data in certificate input".to_owned(),
        [only] if only.ends_with(PRIVATE_KEY) => "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched".to_owned(),
        found => format!("tls: failed to find \"{CERTIFICATE}\" PEM block in certificate input after skipping PEM blocks of the following types: [{}]", found.join(" ")),
    })
}

fn key_warning(found: &[String]) -> Option<String> {
    let is_key = |found: &String| found == PRIVATE_KEY || found.ends_with(" PRIVATE KEY");
    if found.iter().any(is_key) {
        return None;
    }
    Some(match found {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [only] if only == CERTIFICATE => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        found => format!(
            "tls: failed to find PEM block with type ending in \"{PRIVATE_KEY}\" in key input after skipping PEM blocks of the following types: [{}]",
            found.join(" ")
        ),
    })
}

/// The types of all blocks that begin and end.
fn block_types(pem: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(pem);
    let mut types = Vec::new();
    let mut open: Option<&str> = None;
    for line in text.lines().map(str::trim_end) {
        let named = |prefix: &str| line.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(DASHES));
        if let Some(begun) = named(BEGIN) {
            open = Some(begun);
        } else if let Some(ended) = named(END)
            && open.take() == Some(ended)
        {
            types.push(ended.to_owned());
        }
    }
    types
}

#[cfg(test)]
mod tests;
