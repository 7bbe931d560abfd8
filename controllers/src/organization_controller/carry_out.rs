//! Makes, changes and removes RoleBindings in a cluster, and understands its refusals.

use std::collections::BTreeMap;

use bailiwick_api::OrgRoleBinding;
use k8s_openapi::api::rbac::v1::{RoleBinding, Subject};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, Client};

use super::FIELD_MANAGER;
use super::index::BindingState;
use super::parts::{Step, binding_of, role_binding, steps};
use super::verdict::Verdict;
use crate::place::Place;

/// What begins the name of a service account among users.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// What a refusal says that is about the role.
const ESCALATION: &str = "attempting to grant RBAC permissions not currently held";

/// Who makes RoleBindings.
pub(super) struct RoleBindings {
    client: Client,
    /// Whom the cluster knows the client as.
    account: String,
}

/// What became of an OrgRoleBinding in the cluster.
#[derive(Default)]
pub(super) struct CarriedOut {
    /// The RoleBindings there are now, in order.
    pub(super) names: Vec<String>,
    /// Why it has no effect although it should. It is tried again, in case someone did something about it.
    pub(super) trouble: Option<Verdict>,
}

/// Why it is not known yet what becomes of it: something changed meanwhile, or the cluster does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Again(String);

/// Why a step was not taken.
enum Obstacle {
    /// It is told to people.
    Told(Verdict),
    Again(Again),
}

/// The RoleBindings of one OrgRoleBinding, as they change.
struct Work<'w> {
    account: &'w str,
    role_bindings: Api<RoleBinding>,
    binding: Option<&'w OrgRoleBinding>,
    there: BTreeMap<String, RoleBinding>,
}

// === impl RoleBindings ===

impl RoleBindings {
    pub(super) fn new(client: Client, account: String) -> Self {
        Self { client, account }
    }

    /// Does what is to be done for an OrgRoleBinding.
    pub(super) async fn carry_out(&self, place: &Place, state: &BindingState) -> Result<CarriedOut, Again> {
        let mut work = Work {
            account: &self.account,
            role_bindings: Api::namespaced(self.client.clone(), &place.namespace),
            binding: state.binding.as_ref(),
            there: state.derived.clone(),
        };
        let mut trouble = None;
        for step in steps(state.binding.as_ref(), &state.subjects, &state.derived) {
            match work.take(step).await {
                Ok(()) => {}
                Err(Obstacle::Told(verdict)) => {
                    trouble = Some(verdict);
                    break;
                }
                Err(Obstacle::Again(again)) => return Err(again),
            }
        }
        Ok(CarriedOut { names: work.there.into_keys().collect(), trouble })
    }
}

// === impl Work ===

impl Work<'_> {
    async fn take(&mut self, step: Step) -> Result<(), Obstacle> {
        match step {
            Step::Remove(name) => self.remove(&name).await,
            Step::Keep(name, subjects) => match self.replace(&name, subjects).await {
                // Whoever may not bind a role any more may not take it from one of several either, only from all of them.
                Err(kube::Error::Api(status)) if status.is_forbidden() => self.remove(&name).await,
                result => result.map_err(|error| self.obstacle(error)),
            },
            Step::Extend(name, subjects) => self.replace(&name, subjects).await.map_err(|error| self.obstacle(error)),
            Step::Make(name, subjects) => self.make(name, subjects).await,
        }
    }

    async fn remove(&mut self, name: &str) -> Result<(), Obstacle> {
        let Some(found) = self.there.get(name) else { return Ok(()) };
        let preconditions = Preconditions {
            uid: found.metadata.uid.clone(),
            resource_version: found.metadata.resource_version.clone(),
        };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match self.role_bindings.delete(name, &params).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(Obstacle::Again(Again(error.to_string()))),
            Ok(_) => {}
        }
        self.there.remove(name);
        Ok(())
    }

    async fn replace(&mut self, name: &str, subjects: Vec<Subject>) -> kube::Result<()> {
        let Some(found) = self.there.get_mut(name) else { return Ok(()) };
        let changed = RoleBinding { subjects: Some(subjects), ..found.clone() };
        *found = self.role_bindings.replace(name, &post(), &changed).await?;
        Ok(())
    }

    async fn make(&mut self, name: String, subjects: Vec<Subject>) -> Result<(), Obstacle> {
        let Some(binding) = self.binding else { return Ok(()) };
        match self.role_bindings.create(&post(), &role_binding(binding, name.clone(), subjects)).await {
            Ok(made) => {
                self.there.insert(name, made);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => Err(self.double(&name).await),
            Err(error) => Err(self.obstacle(error)),
        }
    }

    /// Someone else has made a RoleBinding of this name: a controller like this one, or someone who has nothing to do with it.
    async fn double(&self, name: &str) -> Obstacle {
        match self.role_bindings.get_opt(name).await {
            Ok(Some(found)) if binding_of(&found).is_none() => Obstacle::Told(Verdict::ineffective(
                "NameTaken",
                format!(
                    "the RoleBinding \"{name}\" is needed for this, and there is one of that name that was not made for it: \
                     remove or rename it, or give this binding another name"
                ),
            )),
            _ => Obstacle::Again(Again(format!("the RoleBinding \"{name}\" has just been made or removed"))),
        }
    }

    fn obstacle(&self, error: kube::Error) -> Obstacle {
        match (error, self.binding) {
            (kube::Error::Api(status), Some(binding)) if status.is_forbidden() => {
                Obstacle::Told(refused(self.account, &binding.role_ref.name, &status))
            }
            (kube::Error::Api(status), Some(binding))
                if status.is_not_found() && status.message.contains("clusterroles") =>
            {
                let role = &binding.role_ref.name;
                Obstacle::Told(Verdict::ineffective("RoleMissing", format!("there is no ClusterRole \"{role}\"")))
            }
            (error, _) => Obstacle::Again(Again(error.to_string())),
        }
    }
}

/// What to do about a refusal: of a role that the account may not bind, or of something that the cluster forbids otherwise.
fn refused(account: &str, role: &str, status: &Status) -> Verdict {
    if !status.message.contains(ESCALATION) {
        let message = format!(
            "the cluster refuses the RoleBinding: {}; if it is a right that is missing, a cluster administrator restores it \
             with: bailiwick install | kubectl apply -f -",
            status.message
        );
        return Verdict::ineffective("Refused", message);
    }
    let who = match account.strip_prefix(SERVICE_ACCOUNT) {
        Some(name) => format!("--serviceaccount={name}"),
        None => format!("--user={account}"),
    };
    let name = format!("bailiwick:bind:{role}");
    Verdict::ineffective(
        "RoleNotAllowed",
        format!(
            "Bailiwick may not bind the ClusterRole \"{role}\". A cluster administrator allows it with: kubectl create \
             clusterrole {name} --verb=bind --resource=clusterroles.rbac.authorization.k8s.io --resource-name={role} && \
             kubectl create clusterrolebinding {name} --clusterrole={name} {who}"
        ),
    )
}

fn post() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}
