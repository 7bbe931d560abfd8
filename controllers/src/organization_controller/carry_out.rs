//! Makes, changes and removes RoleBindings in a cluster, and understands its refusals.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bailiwick_api::{OrgRoleBinding, shell_word};
use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding, Subject};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, Client};
use tokio::time::{Instant, timeout};

use super::FIELD_MANAGER;
use super::account::{Account, SERVICE_ACCOUNT};
use super::index::{BindingState, owner_of};
use super::parts::{Step, binding_of, is_going, role_binding};
use super::verdict::Verdict;
use crate::absence::{look_up, look_up_metadata};
use crate::place::Place;

/// How long the cluster may take to answer. Whoever waits for longer keeps others from losing what they are to lose.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// How long something is refused until people are told. The cluster's policies know a moment later than the cluster itself whose a
/// project is.
const REFUSED_FOR: Duration = Duration::from_millis(500);
/// The reason of what is refused for no other.
const REFUSED: &str = "Refused";
/// What a refusal says that is about the role.
const ESCALATION: &str = "attempting to grant RBAC permissions not currently held";

/// Who makes RoleBindings.
pub(super) struct RoleBindings {
    client: Client,
    /// Whom the cluster knows the client as.
    account: Account,
    /// Since when something is refused. As many at most as there are OrgRoleBindings.
    refused: Mutex<HashMap<Place, Instant>>,
}

/// What became of an OrgRoleBinding in the cluster.
#[derive(Default)]
pub(super) struct CarriedOut {
    /// The RoleBindings there are now, in order.
    pub(super) names: Vec<String>,
    /// Why it has no effect although it should, or still has one. It is tried again, in case someone did something about it.
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

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("the cluster does not answer within {} s", ANSWER_LIMIT.as_secs())]
    Late,
    #[error(transparent)]
    Cluster(kube::Error),
}

/// The RoleBindings of one OrgRoleBinding, as they change.
struct Work<'w> {
    account: &'w Account,
    place: &'w Place,
    /// Whose the namespace was when it was decided who is to have the role.
    owner: Option<&'w str>,
    namespaces: Api<Namespace>,
    role_bindings: Api<RoleBinding>,
    binding: Option<&'w OrgRoleBinding>,
    there: BTreeMap<String, RoleBinding>,
}

// === impl RoleBindings ===

impl RoleBindings {
    pub(super) fn new(client: Client, account: Account) -> Self {
        Self { client, account, refused: Mutex::default() }
    }

    pub(super) fn account(&self) -> &Account {
        &self.account
    }

    /// Does what is to be done for an OrgRoleBinding. What ends comes first, and ends as far as it can, whatever else does not;
    /// nothing begins after something that went wrong.
    pub(super) async fn carry_out(
        &self,
        place: &Place,
        state: &BindingState,
        steps: Vec<Step>,
    ) -> Result<CarriedOut, Again> {
        let mut work = Work {
            account: &self.account,
            place,
            owner: state.owner.as_deref(),
            namespaces: Api::all(self.client.clone()),
            role_bindings: Api::namespaced(self.client.clone(), &place.namespace),
            binding: state.binding.as_ref(),
            there: state.derived.clone(),
        };
        let (ending, beginning): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(Step::is_end);
        let (mut told, mut left) = (None, None);
        for step in ending {
            match work.end(step).await {
                Ok(()) => {}
                Err(Obstacle::Told(verdict)) => told = Some(verdict),
                Err(Obstacle::Again(again)) => left = Some(again),
            }
        }
        // What people are told is tried again like the rest.
        match (told, left) {
            (Some(verdict), _) => return Ok(CarriedOut { names: work.names(), trouble: Some(verdict) }),
            (None, Some(again)) => return Err(again),
            (None, None) => {}
        }
        for step in beginning {
            match work.begin(step).await {
                Ok(()) => {}
                Err(Obstacle::Told(verdict)) if verdict.reason == REFUSED && !self.lasts(place) => {
                    return Err(Again(verdict.message));
                }
                Err(Obstacle::Told(verdict)) => {
                    return Ok(CarriedOut { names: work.names(), trouble: Some(verdict) });
                }
                Err(Obstacle::Again(again)) => return Err(again),
            }
        }
        self.refused().remove(place);
        Ok(CarriedOut { names: work.names(), trouble: None })
    }

    /// Whether it has been refused for long enough to be told, now that it is again.
    fn lasts(&self, place: &Place) -> bool {
        let now = Instant::now();
        let since = *self.refused().entry(place.clone()).or_insert(now);
        now.duration_since(since) >= REFUSED_FOR
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<Place, Instant>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Work ===

impl Work<'_> {
    /// Takes something away.
    async fn end(&mut self, step: Step) -> Result<(), Obstacle> {
        match step {
            Step::Remove(name) => self.remove(&name).await,
            Step::Empty(name) => self.empty(&name).await,
            Step::Keep(name, subjects) => match self.replace(&name, subjects).await {
                // Whoever may not bind a role any more, or one that is gone, may not take it from one of several either, only
                // from all of them.
                Err(Failed::Cluster(kube::Error::Api(status))) if is_refusal(&status) => self.remove(&name).await,
                result => result.map_err(|failed| self.kept(&name, failed)),
            },
            Step::Extend(..) | Step::Make(..) => Ok(()),
        }
    }

    /// Gives something.
    async fn begin(&mut self, step: Step) -> Result<(), Obstacle> {
        match step {
            Step::Extend(name, subjects) => {
                self.check_owner().await?;
                self.replace(&name, subjects).await.map_err(|failed| self.obstacle(failed))
            }
            Step::Make(name, subjects) => {
                self.check_owner().await?;
                self.make(name, subjects).await
            }
            Step::Remove(_) | Step::Keep(..) | Step::Empty(_) => Ok(()),
        }
    }

    /// Reads whose the namespace is, as of now: what a watch has seen may be old, and what is given by that would be given by the
    /// word of a former owner.
    async fn check_owner(&self) -> Result<(), Obstacle> {
        let namespace = &self.place.namespace;
        let found = within(look_up_metadata(&self.namespaces, namespace)).await;
        let found = found.map_err(|failed| Obstacle::Again(Again(failed.to_string())))?;
        match found.as_ref().and_then(owner_of) == self.owner {
            true => Ok(()),
            false => Err(Obstacle::Again(Again(format!("the project \"{namespace}\" has just changed hands")))),
        }
    }

    async fn remove(&mut self, name: &str) -> Result<(), Obstacle> {
        let Some(found) = self.there.get(name) else { return Ok(()) };
        let preconditions = Preconditions {
            uid: found.metadata.uid.clone(),
            resource_version: found.metadata.resource_version.clone(),
        };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let going = match within(self.role_bindings.delete(name, &params)).await {
            Err(Failed::Cluster(kube::Error::Api(status))) if status.is_not_found() => None,
            Err(failed) => return Err(self.kept(name, failed)),
            Ok(answer) => answer.left(),
        };
        match going {
            // It is only marked: a finalizer keeps it, and with it the role.
            Some(going) => {
                self.there.insert(name.to_owned(), going);
                self.empty(name).await
            }
            None => {
                self.there.remove(name);
                Ok(())
            }
        }
    }

    /// Takes everyone out of a RoleBinding that is being deleted.
    async fn empty(&mut self, name: &str) -> Result<(), Obstacle> {
        match self.replace(name, Vec::new()).await {
            Err(Failed::Cluster(kube::Error::Api(status))) if is_absence_of(&status, RoleBinding::URL_PATH_SEGMENT) => {
                self.there.remove(name);
                Ok(())
            }
            result => result.map_err(|failed| self.kept(name, failed)),
        }
    }

    fn names(self) -> Vec<String> {
        self.there.into_keys().collect()
    }

    async fn replace(&mut self, name: &str, subjects: Vec<Subject>) -> Result<(), Failed> {
        let Some(found) = self.there.get_mut(name) else { return Ok(()) };
        let changed = RoleBinding { subjects: Some(subjects), ..found.clone() };
        *found = within(self.role_bindings.replace(name, &post(), &changed)).await?;
        Ok(())
    }

    async fn make(&mut self, name: String, subjects: Vec<Subject>) -> Result<(), Obstacle> {
        let Some(binding) = self.binding else { return Ok(()) };
        let wanted = role_binding(binding, name.clone(), subjects);
        match within(self.role_bindings.create(&post(), &wanted)).await {
            Ok(made) => {
                self.there.insert(name, made);
                Ok(())
            }
            Err(Failed::Cluster(kube::Error::Api(status))) if status.is_already_exists() => {
                Err(self.double(&name).await)
            }
            Err(failed) => Err(self.obstacle(failed)),
        }
    }

    /// Someone else has made a RoleBinding of this name: a controller like this one, or someone who has nothing to do with it.
    async fn double(&self, name: &str) -> Obstacle {
        match within(look_up(&self.role_bindings, name)).await {
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

    /// What keeps something from being given.
    fn obstacle(&self, failed: Failed) -> Obstacle {
        match (failed, self.binding) {
            (Failed::Cluster(kube::Error::Api(status)), Some(binding))
                if is_absence_of(&status, ClusterRole::URL_PATH_SEGMENT) =>
            {
                let role = &binding.role_ref.name;
                Obstacle::Told(Verdict::ineffective("RoleMissing", format!("there is no ClusterRole \"{role}\"")))
            }
            // Where there is nothing else of this name, there is no namespace any more.
            (Failed::Cluster(kube::Error::Api(status)), Some(binding))
                if is_for_people(&status) && !status.is_not_found() =>
            {
                Obstacle::Told(refused(self.account.name(), &binding.role_ref.name, &status))
            }
            (failed, _) => Obstacle::Again(Again(failed.to_string())),
        }
    }

    /// What keeps something from being taken away.
    fn kept(&self, name: &str, failed: Failed) -> Obstacle {
        match failed {
            Failed::Cluster(kube::Error::Api(status)) if is_for_people(&status) => {
                Obstacle::Told(not_revoked(self.place, name, self.there.get(name), &status))
            }
            failed => Obstacle::Again(Again(failed.to_string())),
        }
    }
}

/// Has the cluster answer in time. What it does not answer may have happened.
async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Failed> {
    match timeout(ANSWER_LIMIT, request).await {
        Ok(answer) => answer.map_err(Failed::Cluster),
        Err(_elapsed) => Err(Failed::Late),
    }
}

/// Whether the cluster will not do something, whoever asks again: neither because it was changed meanwhile, nor because it is
/// busy, nor because it does not know us at present.
fn is_refusal(status: &Status) -> bool {
    (400..500).contains(&status.code) && !matches!(status.code, 401 | 408 | 409 | 429)
}

/// Whether people are told: a refusal, or a failure that may be one of a webhook of theirs, and so does not pass by itself.
fn is_for_people(status: &Status) -> bool {
    is_refusal(status) || status.code == 500
}

/// Whether something cannot be done because an object of this plural is not there: the RoleBinding, or its role.
fn is_absence_of(status: &Status, plural: &str) -> bool {
    status.is_not_found() && status.details.as_ref().is_some_and(|details| details.kind == plural)
}

/// What to do about a RoleBinding that the cluster does not let go.
fn not_revoked(place: &Place, name: &str, found: Option<&RoleBinding>, status: &Status) -> Verdict {
    let (namespace, word) = (shell_word(&place.namespace), shell_word(name));
    let (refused, remedy) = match found.is_some_and(is_going) {
        false => ("be changed or removed", format!("remove it with: kubectl delete rolebinding -n {namespace} {word}")),
        // It has been deleted, so deleting it is no remedy.
        true => (
            "be emptied, which finalizers keep from going",
            format!(
                "let it go with: kubectl patch rolebinding -n {namespace} {word} --type=merge -p \
                 '{{\"metadata\":{{\"finalizers\":null}}}}'"
            ),
        ),
    };
    Verdict::ineffective(
        "NotRevoked",
        format!(
            "users who are to have lost the role may still have it: the cluster does not let the RoleBinding \"{name}\" {refused}: \
             {}. It is tried again; a cluster administrator can {remedy}",
            status.message
        ),
    )
}

/// What to do about a refusal: of a role that the account may not bind, or of something that the cluster forbids otherwise.
fn refused(account: &str, role: &str, status: &Status) -> Verdict {
    if !status.message.contains(ESCALATION) {
        let message = format!(
            "the cluster refuses the RoleBinding: {}; if it is a right that is missing, a cluster administrator restores it \
             with: bailiwick install | kubectl apply -f -",
            status.message
        );
        return Verdict::ineffective(REFUSED, message);
    }
    let who = match account.strip_prefix(SERVICE_ACCOUNT) {
        Some(name) => format!("--serviceaccount={name}"),
        None => format!("--user={}", shell_word(account)),
    };
    let name = format!("bailiwick:bind:{role}");
    let (name, word) = (shell_word(&name), shell_word(role));
    Verdict::ineffective(
        "RoleNotAllowed",
        format!(
            "Bailiwick may not bind the ClusterRole \"{role}\". A cluster administrator allows it with: kubectl create \
             clusterrole {name} --verb=bind --resource=clusterroles.rbac.authorization.k8s.io --resource-name={word} && \
             kubectl create clusterrolebinding {name} --clusterrole={name} {who}"
        ),
    )
}

fn post() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}
