//! Reading a kubeconfig: where a server is, whom it trusts, and as whom to come. Only what is embedded in the file is used.

use std::fs;
use std::path::Path;

use bailiwick_machinery::decode::from_yaml;
use bailiwick_test_host::pki::Identity;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::error::Error;

/// What the current context of a kubeconfig says.
#[derive(Debug)]
pub struct Kubeconfig {
    /// The server's host and port.
    pub authority: String,
    /// The authority of the server's certificate, PEM.
    pub ca: String,
    /// The user's certificate.
    pub identity: Identity,
}

// === impl Kubeconfig ===

impl Kubeconfig {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read(path).map_err(Error::file(path))?;
        let decoded = from_yaml(&text).map_err(|source| Error::Yaml { path: path.to_owned(), source })?;
        Self::parse(&decoded.value).map_err(|field| Error::Kubeconfig { path: path.to_owned(), field })
    }

    fn parse(config: &Value) -> Result<Self, &'static str> {
        let context = named(&config["contexts"], &config["current-context"]).ok_or("current-context")?;
        let cluster = named(&config["clusters"], &context["context"]["cluster"]).ok_or("clusters")?;
        let user = named(&config["users"], &context["context"]["user"]).ok_or("users")?;
        let server = cluster["cluster"]["server"].as_str().and_then(|server| server.strip_prefix("https://"));
        Ok(Self {
            authority: server.ok_or("server (with https)")?.trim_end_matches('/').to_owned(),
            ca: embedded(&cluster["cluster"]["certificate-authority-data"]).ok_or("certificate-authority-data")?,
            identity: Identity {
                certificate: embedded(&user["user"]["client-certificate-data"]).ok_or("client-certificate-data")?,
                key: embedded(&user["user"]["client-key-data"]).ok_or("client-key-data")?,
            },
        })
    }
}

fn named<'a>(list: &'a Value, name: &Value) -> Option<&'a Value> {
    list.as_array()?.iter().find(|item| item["name"] == *name)
}

fn embedded(value: &Value) -> Option<String> {
    String::from_utf8(BASE64_STANDARD.decode(value.as_str()?).ok()?).ok()
}
