//! What happens after a write, on a server behind a cluster: of several servers one does it, as the account that they have in
//! the cluster.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::CONTROLLERS_LEASE;
use bailiwick_apiserver::{InProcess, Server};
use bailiwick_controllers::{
    CatalogClaimController, CatalogController, Clients, LeaderElection, LeaderElectionOptions, OrganizationController,
    QuotaController,
};
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
use crate::flags::{ControllerName, HostFlags};

/// After which time the cluster is asked again who we are.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// What a service account is called among users, before its namespace.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Competes for the Lease, and runs the controllers while it is held. Ends some time after `stopped`, when the Lease was given
/// back. The Lease is in the namespace of the Service, if one is named, or else of our account, where it has the right to it.
pub(crate) fn start(
    server: &Arc<Server>,
    cluster: Client,
    namespace: Option<String>,
    flags: HostFlags,
    stopped: CancellationToken,
) -> JoinHandle<()> {
    let (server, identity) = (server.clone(), identity());
    tokio::spawn(async move {
        let Some(account) = stopped.run_until_cancelled(account(&cluster)).await else { return };
        let namespace = namespace.or_else(|| home(&account.name).map(str::to_owned));
        let namespace = namespace.unwrap_or_else(|| cluster.default_namespace().to_owned());
        let options = LeaderElectionOptions::default();
        let election = LeaderElection::new(cluster.clone(), &namespace, CONTROLLERS_LEASE, &identity, options);
        election.run(stopped, || lead(server.clone(), cluster.clone(), account.clone(), flags.clone())).await;
    })
}

/// The namespace of a service account.
fn home(user: &str) -> Option<&str> {
    user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':').map(|(namespace, _)| namespace)
}

async fn lead(server: Arc<Server>, cluster: Client, account: User, flags: HostFlags) {
    let own = Client::new(InProcess::new(server, account.clone()), "default");
    let acting = Clients { own: own.clone(), host: cluster.clone(), act_as: Arc::new(ClusterHost(cluster.clone())) };
    let organizations = OrganizationController::new(own.clone(), cluster.clone(), now).with_role_bindings(account.name);
    let catalogs = CatalogController::new(acting.clone(), now);
    let claims = CatalogClaimController::new(acting, now);
    let quotas = QuotaController::new(own, cluster);
    tokio::join!(
        when(flags.runs(ControllerName::Organization), organizations.run()),
        when(flags.runs(ControllerName::Catalog), catalogs.run()),
        when(flags.runs(ControllerName::CatalogClaim), claims.run()),
        when(flags.runs(ControllerName::Quota), quotas.run()),
    );
}

/// Runs what is wanted. What is not wanted does not end, because others go on.
async fn when(is_wanted: bool, controller: impl Future<Output = ()>) {
    if is_wanted { controller.await } else { std::future::pending().await }
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
