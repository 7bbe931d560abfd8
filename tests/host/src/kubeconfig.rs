//! Kubeconfig files: one cluster, one user with a certificate, everything inline, so that the file is enough.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::error::Error;
use crate::pki::Identity;

/// Writes a kubeconfig for the server at the URL `server`, whose certificate is signed by `ca`, PEM.
pub(crate) fn write(path: &Path, server: &str, ca: &str, identity: &Identity) -> Result<(), Error> {
    let [ca, certificate, key] =
        [ca, &identity.certificate, &identity.key].map(|pem| BASE64_STANDARD.encode(pem.as_bytes()));
    let text = format!(
        "apiVersion: v1
kind: Config
clusters:
- name: host
  cluster:
    server: {server}
    certificate-authority-data: {ca}
users:
- name: user
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: host
  context:
    cluster: host
    user: user
current-context: host
"
    );
    fs::write(path, text).map_err(Error::file(path))
}
