//! What happens after a write, on a server that is a host of its own: controllers, each as the user that it is in Kubernetes,
//! with no more rights than its role gives.

use std::sync::Arc;
use std::time::SystemTime;

use bailiwick_api::{PROVISIONER, PROVISIONER_NAMESPACE, ServiceAccountRef};
use bailiwick_apiserver::Server;
use bailiwick_controllers::{
    BundleController, CatalogClaimController, CatalogController, ClaimController, ClaimDefinitionController, Clients,
    GarbageCollector, NamespaceController, OrganizationController, QuotaController, RootCertificatePublisher,
    ServiceAccountController,
};
use bailiwick_registry::{Clock, SystemClock, User};
use tokio_util::sync::CancellationToken;

use crate::acting::{ActInProcess, in_process};
use crate::flags::{ControllerName, HostFlags};
use crate::requesters::OwnRequesters;

pub(crate) mod elected;

/// Who reads for those controllers whose own role is only to write.
const READER: &str = "system:kube-controller-manager";

/// Starts the controllers that the flags ask for. They end when `stopped` is cancelled, or where they stand with the process:
/// all they know is stored, and several servers may run them over one store.
pub(crate) fn start(server: &Arc<Server>, flags: &HostFlags, authorities: String, stopped: &CancellationToken) {
    let client = |user: User| in_process(server.clone(), user);
    let account = |name: &str| client(service_account(name));
    let acting = |name: &str| Clients {
        own: account(name),
        host: account(name),
        act_as: Arc::new(ActInProcess(server.clone())),
        requesters: Arc::new(OwnRequesters(server.clone())),
    };
    let reader = || client(user(READER.to_owned(), Vec::new()));
    if flags.runs(ControllerName::GarbageCollector) {
        run(GarbageCollector::new(account("generic-garbage-collector")).run(), stopped);
    }
    if flags.runs(ControllerName::Namespace) {
        run(NamespaceController::new(account("namespace-controller"), now).run(), stopped);
    }
    if flags.runs(ControllerName::ServiceAccount) {
        run(ServiceAccountController::new(reader(), account("service-account-controller")).run(), stopped);
    }
    if flags.runs(ControllerName::RootCertificatePublisher) && !authorities.is_empty() {
        let publisher = RootCertificatePublisher::new(reader(), account("root-ca-cert-publisher"), authorities);
        run(publisher.run(), stopped);
    }
    if flags.runs(ControllerName::Organization) {
        let account = account("organization-controller");
        run(OrganizationController::new(account.clone(), account, now).run(), stopped);
    }
    if flags.runs(ControllerName::Catalog) {
        run(CatalogController::new(acting("catalog-controller"), now).run(), stopped);
    }
    if flags.runs(ControllerName::CatalogClaim) {
        run(CatalogClaimController::new(acting("catalog-claim-controller"), now).run(), stopped);
    }
    if flags.runs(ControllerName::Quota) {
        let account = account("quota-controller");
        run(QuotaController::new(account.clone(), account, PROVISIONER_NAMESPACE).run(), stopped);
    }
    if flags.runs(ControllerName::Bundle) {
        run(BundleController::new(acting("bundle-controller"), now).run(), stopped);
    }
    if flags.runs(ControllerName::ClaimDefinition)
        && let Ok(provisioner) = ServiceAccountRef::new(PROVISIONER_NAMESPACE, PROVISIONER)
    {
        let clients = acting("claim-definition-controller");
        run(ClaimDefinitionController::new(clients.clone(), provisioner.clone(), now).run(), stopped);
        run(ClaimController::new(clients, provisioner, now).run(), stopped);
    }
}

fn run(controller: impl Future<Output = ()> + Send + 'static, stopped: &CancellationToken) {
    tokio::spawn(stopped.clone().run_until_cancelled_owned(controller));
}

/// A service account of `kube-system`, where those of Kubernetes' controllers are.
pub(crate) fn service_account(name: &str) -> User {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system"].map(str::to_owned);
    user(format!("system:serviceaccount:kube-system:{name}"), groups.to_vec())
}

fn user(name: String, mut groups: Vec<String>) -> User {
    groups.push("system:authenticated".to_owned());
    User { name, groups, ..User::default() }
}

fn now() -> SystemTime {
    SystemClock.now()
}
