//! The kubeconfig that our server writes for its administrator: one cluster, one user with a certificate, all inline.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::client::Credentials;
use crate::error::Error;

/// Whom to call and how.
pub(crate) struct Kubeconfig {
    /// `host:port`.
    pub(crate) authority: String,
    pub(crate) credentials: Credentials,
}

// === impl Kubeconfig ===

impl Kubeconfig {
    /// Reads the text of the file at `path`.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let missing = |field| Error::Kubeconfig { path: path.to_owned(), field };
        let pem = |field| {
            let decoded = BASE64_STANDARD.decode(value(text, field)?).ok()?;
            String::from_utf8(decoded).ok()
        };
        let field = |field| pem(field).ok_or_else(|| missing(field));
        let authority = value(text, "server").and_then(|server| server.strip_prefix("https://"));
        let authority = authority.ok_or_else(|| missing("server"))?.trim_end_matches('/').to_owned();
        let credentials = Credentials {
            ca: field("certificate-authority-data")?,
            certificate: field("client-certificate-data")?,
            key: field("client-key-data")?,
        };
        Ok(Self { authority, credentials })
    }
}

/// The value of a field that occurs once and is a word, be the text YAML or JSON: that is all such a file needs.
fn value<'text>(text: &'text str, field: &str) -> Option<&'text str> {
    let fields = text.split(['\n', ',', '{']).map(|field| field.trim_matches([' ', '-', '\t', '\r', '}', ']']));
    let mut values = fields.filter_map(|line| line.trim_start_matches('"').strip_prefix(field));
    let rest = values.find_map(|rest| rest.trim_start_matches('"').trim_start().strip_prefix(':'))?;
    Some(rest.trim().trim_matches('"')).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
