//! What happens after a write, on a server behind a cluster: of several servers one does it, as the account that they have in
//! the cluster. What organizations give is the exception: all of them see to that it ends when it should, one of them first.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::{CONTROLLERS_LEASE, PROVISIONER, ServiceAccountRef};
use bailiwick_apiserver::Server;
use bailiwick_controllers::{
    BundleController, CatalogClaimController, CatalogController, ClaimController, ClaimDefinitionController, Clients,
    LeaderElection, LeaderElectionOptions, Leads, OrganizationController, QuotaController,
};
use bailiwick_registry::User;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::now;
use crate::acting::{ClusterHost, in_process};
use crate::cluster::Cluster;
use crate::flags::{ControllerName, HostFlags};
use crate::requesters::OwnRequesters;

/// After which time the cluster is asked again who we are.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// After which time controllers are started again if one of them failed.
const START_AGAIN: Duration = Duration::from_secs(5);

/// What a service account is called among users, before its namespace.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Competes for the Lease, and runs the controllers while it is held; that of organizations all the time. Ends some time after
/// `stopped`, when the Lease was given back. The Lease is in our own namespace.
pub(crate) fn start(
    server: &Arc<Server>,
    Cluster { own: cluster, attentive, .. }: Cluster,
    namespace: Option<String>,
    flags: HostFlags,
    stopped: CancellationToken,
) -> JoinHandle<()> {
    let (server, identity) = (server.clone(), identity());
    tokio::spawn(async move {
        let Some(account) = stopped.run_until_cancelled(account(&cluster)).await else { return };
        let namespace = home(&cluster, namespace, &account);
        let options = LeaderElectionOptions::default();
        // Whoever hears nothing for a while does not lead any more, and all controllers begin anew.
        let election = LeaderElection::new(attentive.clone(), &namespace, CONTROLLERS_LEASE, &identity, options);
        let organizations = organizations(&server, &attentive, &account, &flags, election.leads());
        let organizations = tokio::spawn(stopped.clone().run_until_cancelled_owned(organizations));
        let lead = || lead(server.clone(), cluster.clone(), account.clone(), namespace.clone(), flags.clone());
        election.run(stopped, lead).await;
        // It has ended with `stopped`.
        let _ = organizations.await;
    })
}

/// Carries out what organizations give, if the flags ask for it.
fn organizations(
    server: &Arc<Server>,
    cluster: &Client,
    account: &User,
    flags: &HostFlags,
    leads: Leads,
) -> impl Future<Output = ()> + Send + use<> {
    let own = in_process(server.clone(), account.clone());
    let controller = OrganizationController::new(own, cluster.clone(), now);
    let controller = controller.with_role_bindings(account.name.clone()).with_head_start(leads);
    let is_wanted = flags.runs(ControllerName::Organization);
    async move {
        if is_wanted {
            controller.run().await;
        }
    }
}

/// Our own namespace: that of the Service, if one is named, or else of our account, where it has the right to a Lease.
pub(crate) fn home(cluster: &Client, service: Option<String>, account: &User) -> String {
    let account = account.name.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':'));
    let namespace = service.or_else(|| account.map(|(namespace, _)| namespace.to_owned()));
    namespace.unwrap_or_else(|| cluster.default_namespace().to_owned())
}

/// Runs the other controllers that the flags ask for, as long as it is polled. The provisioner is in the namespace of the Lease.
async fn lead(server: Arc<Server>, cluster: Client, account: User, namespace: String, flags: HostFlags) {
    let own = in_process(server.clone(), account);
    let acting = Clients {
        own: own.clone(),
        host: cluster.clone(),
        act_as: Arc::new(ClusterHost(cluster.clone())),
        requesters: Arc::new(OwnRequesters(server)),
    };
    let mut running = JoinSet::new();
    if flags.runs(ControllerName::Catalog) {
        running.spawn(CatalogController::new(acting.clone(), now).run());
    }
    if flags.runs(ControllerName::CatalogClaim) {
        running.spawn(CatalogClaimController::new(acting.clone(), now).run());
    }
    if flags.runs(ControllerName::Quota) {
        running.spawn(QuotaController::new(own, cluster, &namespace).run());
    }
    if flags.runs(ControllerName::Bundle) {
        running.spawn(BundleController::new(acting.clone(), now).run());
    }
    match ServiceAccountRef::new(&namespace, PROVISIONER) {
        Ok(provisioner) if flags.runs(ControllerName::ClaimDefinition) => {
            running.spawn(ClaimDefinitionController::new(acting.clone(), provisioner.clone(), now).run());
            running.spawn(ClaimController::new(acting, provisioner, now).run());
        }
        Ok(_) => {}
        Err(error) => tracing::error!(%error, "claims are not satisfied"),
    }
    one_ends(running).await;
}

/// Waits until a controller is not there any more, which none should: they end with whoever runs them. Whoever leads then gives that
/// up, and the next one starts all of them. There may be none, and whoever leads leads all the same.
async fn one_ends(mut running: JoinSet<()>) {
    match running.join_next().await {
        None => std::future::pending().await,
        Some(Ok(())) => tracing::error!("a controller ended; all are started again"),
        Some(Err(error)) => tracing::error!(%error, "a controller failed; all are started again"),
    }
    // One that fails at once is not started at once.
    sleep(START_AGAIN).await;
}

/// Whom the cluster knows us as: nothing is done here in anyone else's name.
pub(crate) async fn account(cluster: &Client) -> User {
    let reviews: Api<SelfSubjectReview> = Api::all(cluster.clone());
    loop {
        match reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await {
            Ok(review) => {
                let found = review.status.and_then(|status| status.user_info).unwrap_or_default();
                if let Some(name) = found.username {
                    return User { name, groups: found.groups.unwrap_or_default(), ..User::default() };
                }
                tracing::warn!("the cluster does not say who this server is to it; it is asked again");
            }
            Err(error) => {
                tracing::warn!(%error, "the cluster cannot be asked who this server is to it; it is asked again");
            }
        }
        sleep(ASK_AGAIN).await;
    }
}

/// As nobody else is called: where this server is, for people to read, and what makes it unique.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}_{}", Uuid::new_v4())
}

#[cfg(test)]
mod tests;
