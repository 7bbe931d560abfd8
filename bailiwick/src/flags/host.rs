//! What a server does that is a host of its own.

use std::time::Duration;

use clap::Args;

use super::duration;

/// What happens to objects by themselves.
#[derive(Clone, Debug, Args)]
pub(crate) struct HostFlags {
    /// Which controllers run, with commas between them: * is all, a name is that one, and a name with a - before it is all
    /// but that one. They are garbage-collector-controller, namespace-controller, serviceaccount-controller,
    /// root-ca-certificate-publisher-controller; and organization-controller, catalog-controller, catalog-claim-controller and
    /// quota-controller, which alone run behind a cluster, too.
    #[arg(long, env = "BAILIWICK_CONTROLLERS", value_name = "NAMES", value_delimiter = ',', default_value = "*", value_parser = controller)]
    pub(crate) controllers: Vec<String>,
    /// How long events are kept after they were last written.
    #[arg(long, env = "BAILIWICK_EVENT_TTL", value_name = "DURATION", value_parser = duration::parse_positive, default_value = "1h0m0s")]
    pub(crate) event_ttl: Duration,
}

/// The controllers there are, by the names that kube-controller-manager has for them, where it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControllerName {
    GarbageCollector,
    Namespace,
    ServiceAccount,
    RootCertificatePublisher,
    Organization,
    Catalog,
    CatalogClaim,
    Quota,
}

// === impl HostFlags ===

impl HostFlags {
    /// Whether a controller is to run. Naming it counts more than leaving it out, as with kube-controller-manager.
    pub(crate) fn runs(&self, name: ControllerName) -> bool {
        let name = name.as_str();
        let has = |wanted: &str| self.controllers.iter().any(|entry| entry == wanted);
        has(name) || (has("*") && !has(&format!("-{name}")))
    }

    /// Whether any controller is to run of those that run behind a cluster.
    pub(crate) fn runs_behind_a_cluster(&self) -> bool {
        ControllerName::BEHIND_A_CLUSTER.into_iter().any(|name| self.runs(name))
    }
}

// === impl ControllerName ===

impl ControllerName {
    const ALL: [Self; 8] = [
        Self::GarbageCollector,
        Self::Namespace,
        Self::ServiceAccount,
        Self::RootCertificatePublisher,
        Self::Organization,
        Self::Catalog,
        Self::CatalogClaim,
        Self::Quota,
    ];

    const BEHIND_A_CLUSTER: [Self; 4] = [Self::Organization, Self::Catalog, Self::CatalogClaim, Self::Quota];

    fn as_str(self) -> &'static str {
        match self {
            Self::GarbageCollector => "garbage-collector-controller",
            Self::Namespace => "namespace-controller",
            Self::ServiceAccount => "serviceaccount-controller",
            Self::RootCertificatePublisher => "root-ca-certificate-publisher-controller",
            Self::Organization => "organization-controller",
            Self::Catalog => "catalog-controller",
            Self::CatalogClaim => "catalog-claim-controller",
            Self::Quota => "quota-controller",
        }
    }
}

fn controller(text: &str) -> Result<String, String> {
    let name = text.strip_prefix('-').unwrap_or(text);
    let is_known = matches!(text, "" | "*") || ControllerName::ALL.iter().any(|known| known.as_str() == name);
    is_known.then(|| text.to_owned()).ok_or_else(|| {
        let known: Vec<&str> = ControllerName::ALL.iter().map(|known| known.as_str()).collect();
        format!("there is no such controller; name one of {}", known.join(", "))
    })
}
