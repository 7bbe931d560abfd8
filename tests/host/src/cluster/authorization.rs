//! Someone else who says what users of the cluster may do.

use std::fs;
use std::path::Path;

use super::ClusterTls;
use crate::error::Error;
use crate::kubeconfig;

/// A webhook that kube-apiserver asks what users may do. It is called with a certificate of the cluster's authority, in which
/// the caller's name is [`AuthorizationWebhook::CALLER`].
#[derive(Debug, Clone)]
pub struct AuthorizationWebhook {
    /// Where it is.
    pub url: String,
    /// Who vouches for its certificate, PEM.
    pub ca: String,
    /// The `AuthorizationConfiguration`; in it, [`AuthorizationWebhook::KUBECONFIG`] stands for the file by which it is found.
    pub configuration: String,
}

// === impl AuthorizationWebhook ===

impl AuthorizationWebhook {
    /// Who calls it.
    pub const CALLER: &'static str = "kube-apiserver";
    /// What stands for the path of the kubeconfig.
    pub const KUBECONFIG: &'static str = "/webhook.kubeconfig";

    /// Writes the files for kube-apiserver, and gives its flag.
    pub(super) fn write(&self, folder: &Path, tls: &ClusterTls) -> Result<String, Error> {
        let reached = folder.join("authorization-webhook.kubeconfig");
        kubeconfig::write(&reached, &self.url, &self.ca, &tls.user(Self::CALLER, &[])?)?;
        let file = folder.join("authorization.yaml");
        let text = self.configuration.replace(Self::KUBECONFIG, &reached.display().to_string());
        fs::write(&file, text).map_err(Error::file(&file))?;
        Ok(format!("--authorization-config={}", file.display()))
    }
}
