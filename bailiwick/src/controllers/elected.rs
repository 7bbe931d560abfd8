//! What happens after a write, on a server behind a cluster: of several servers one does it, as the account that they have in
//! the cluster.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::{CONTROLLERS_LEASE, PROVISIONER, ServiceAccountRef};
use bailiwick_apiserver::{InProcess, Server};
use bailiwick_controllers::{
    ClaimController, ClaimDefinitionController, Clients, LeaderElection, LeaderElectionOptions, OrganizationController,
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
use crate::acting::ClusterHost;
use crate::flags::{ControllerName, HostFlags};

/// After which time the cluster is asked again who we are.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Competes for the Lease in this namespace, and runs the controllers while it is held. Ends some time after `stopped`, when
/// the Lease was given back.
pub(crate) fn start(
    server: &Arc<Server>,
    cluster: Client,
    namespace: &str,
    flags: &HostFlags,
    stopped: CancellationToken,
) -> JoinHandle<()> {
    let (server, identity) = (server.clone(), identity());
    let options = LeaderElectionOptions::default();
    let election = LeaderElection::new(cluster.clone(), namespace, CONTROLLERS_LEASE, &identity, options);
    let (namespace, flags) = (namespace.to_owned(), flags.clone());
    tokio::spawn(async move {
        election.run(stopped, || lead(server.clone(), cluster.clone(), namespace.clone(), flags.clone())).await;
    })
}

/// Runs the controllers that the flags ask for, as long as it is polled.
async fn lead(server: Arc<Server>, cluster: Client, namespace: String, flags: HostFlags) {
    let account = account(&cluster).await;
    let own = Client::new(InProcess::new(server, account.clone()), "default");
    let acting = Clients { own: own.clone(), host: cluster.clone(), act_as: Arc::new(ClusterHost(cluster.clone())) };
    let mut running = JoinSet::new();
    if flags.runs(ControllerName::Organization) {
        running.spawn(OrganizationController::new(own, cluster, now).with_role_bindings(account.name).run());
    }
    match ServiceAccountRef::new(&namespace, PROVISIONER) {
        Ok(provisioner) if flags.runs(ControllerName::ClaimDefinition) => {
            running.spawn(ClaimDefinitionController::new(acting.clone(), provisioner.clone(), now).run());
            running.spawn(ClaimController::new(acting, provisioner, now).run());
        }
        Ok(_) => {}
        Err(error) => tracing::error!(%error, "claims are not satisfied"),
    }
    // They end with this future, and not before.
    while running.join_next().await.is_some() {}
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
