//! What happens after a write, on a server behind a cluster: of several servers one does it, as the account that they have in
//! the cluster.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::CONTROLLERS_LEASE;
use bailiwick_apiserver::{InProcess, Server};
use bailiwick_controllers::{Clients, LeaderElection, LeaderElectionOptions, OrganizationController};
use bailiwick_registry::User;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::now;
use crate::acting::ClusterHost;

/// After which time the cluster is asked again who we are.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Competes for the Lease in this namespace, and runs the controllers while it is held. Ends some time after `stopped`, when
/// the Lease was given back.
pub(crate) fn start(
    server: &Arc<Server>,
    cluster: Client,
    namespace: &str,
    stopped: CancellationToken,
) -> JoinHandle<()> {
    let (server, identity) = (server.clone(), identity());
    let options = LeaderElectionOptions::default();
    let election = LeaderElection::new(cluster.clone(), namespace, CONTROLLERS_LEASE, &identity, options);
    tokio::spawn(async move { election.run(stopped, || lead(server.clone(), cluster.clone())).await })
}

async fn lead(server: Arc<Server>, cluster: Client) {
    let account = account(&cluster).await;
    let own = Client::new(InProcess::new(server, account.clone()), "default");
    let _acting = Clients { own: own.clone(), host: cluster.clone(), act_as: Arc::new(ClusterHost(cluster.clone())) };
    OrganizationController::new(own, cluster, now).with_role_bindings(account.name).run().await;
}

/// Whom the cluster knows us as: nothing is done here in anyone else's name.
async fn account(cluster: &Client) -> User {
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
