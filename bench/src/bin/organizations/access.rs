//! Deciding what organizations give, in this process: each has a project, in which all its groups are bound.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bailiwick_registry::rbac::{self, LivePolicy, PolicyChange, PolicyObject};
use bailiwick_registry::{
    Attributes, AuthorizationTarget, Authorizer, Decision, Directory, Error, ProjectAccess, Projects, Registry,
    ResourceAttributes, User, follow_bindings,
};
use serde_json::json;

use crate::{Failure, GROUPS_EACH, ORGANIZATIONS, USERS_EACH, make, part, user};

const QUESTIONS: usize = 50_000;

/// The project `p7` is that of `Org7`.
struct Owners;

#[async_trait]
impl Projects for Owners {
    async fn owner_of(&self, namespace: &str) -> Result<Option<String>, Error> {
        Ok(self.known_owner_of(namespace))
    }

    fn known_owner_of(&self, namespace: &str) -> Option<String> {
        namespace.strip_prefix('p').map(|number| format!("Org{number}"))
    }

    async fn is_known(&self, _: &str) -> bool {
        true
    }

    async fn owned_by(&self, organization: &str) -> Result<Vec<String>, Error> {
        Ok(organization.strip_prefix("Org").map(|number| format!("p{number}")).into_iter().collect())
    }
}

pub(crate) async fn measure(registry: &Arc<Registry>, directory: &Arc<Directory>) -> Result<(), Failure> {
    let policy = Arc::new(LivePolicy::default());
    let roles = rbac::cluster_roles().into_iter();
    policy.apply(roles.map(|role| PolicyChange::Set(Box::new(PolicyObject::ClusterRole(role)))));
    let access = Arc::new(ProjectAccess::new(directory.clone(), policy, Arc::new(Owners)));
    let ours = User { name: "bailiwick".to_owned(), groups: vec!["system:masters".to_owned()], ..User::default() };
    access.set_account(ours);
    for organization in 0..ORGANIZATIONS {
        for group in 0..GROUPS_EACH {
            let metadata = json!({"name": format!("b{group}"), "namespace": format!("p{organization}")});
            let name = format!("Org{organization}:group{group}");
            make(
                registry,
                "orgrolebindings",
                json!({
                    "metadata": metadata, "roleRef": {"name": "system:basic-user"}, "orgGroups": [name],
                }),
            )
            .await?;
        }
    }
    follow_bindings(registry, &access).await?;
    let (mut times, mut allowed) = (Vec::with_capacity(QUESTIONS), 0);
    for question in 0..QUESTIONS {
        let organization = (question * 7_919) % ORGANIZATIONS;
        let user = User { name: user(organization, question % USERS_EACH), ..User::default() };
        let namespace = format!("p{organization}");
        let resource = ResourceAttributes {
            group: "authorization.k8s.io",
            resource: "selfsubjectaccessreviews",
            namespace: &namespace,
            ..ResourceAttributes::default()
        };
        let target = AuthorizationTarget::Resource(resource);
        let began = Instant::now();
        let decision = access.authorize(&Attributes { user: &user, verb: "create", target }).await?;
        times.push(began.elapsed());
        allowed += usize::from(matches!(decision, Decision::Allow(_)));
    }
    let (median, p99) = (part(&mut times, 500), part(&mut times, 990));
    println!("what organizations give: {median:?} median, {p99:?} p99; {} of 100 allowed", allowed * 100 / QUESTIONS);
    Ok(())
}
