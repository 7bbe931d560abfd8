//! Says of groups of organizations, and of what is bound to them, whether they come to something; and binds roles in a cluster
//! that knows nothing of organizations.
//!
//! All objects that matter are followed by watches and kept in an [`Index`], which tells for each change what it touches. Only
//! that is looked at again, and written only if it differs. Nothing is done before everything was seen once: whoever does not
//! know a group yet would take away what it gives.
//!
//! Two may run at once: each write names the state that it means, and what one has done the other finds done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bailiwick_api::{Group, OrgGroup, OrgRoleBinding, Organization};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::PartialObjectMeta;
use kube::{Api, Client};

use crate::announce::Announcer;
use crate::first_look::FirstLook;
use crate::place::Place;
use crate::queue::Queue;
use crate::status::StatusError;

mod announce;
mod carry_out;
mod follow;
mod index;
mod links;
mod parts;
mod status;
mod verdict;

use carry_out::{CarriedOut, RoleBindings};
use index::{Index, Work};

const WORKERS: usize = 4;
/// Whom the fields belong to that are set here.
const FIELD_MANAGER: &str = "bailiwick-organization-controller";

/// Keeps the status of OrgGroups and OrgRoleBindings true, and RoleBindings for them where they are needed.
pub struct OrganizationController {
    own: Client,
    host: Client,
    now: fn() -> SystemTime,
    account: Option<String>,
}

/// What the parts of the controller share.
struct Shared {
    own: Client,
    now: fn() -> SystemTime,
    /// Who binds roles, where the host's authorization does not know of organizations.
    role_bindings: Option<RoleBindings>,
    announcer: Announcer,
    index: Mutex<Index>,
    queue: Queue<Work>,
    first_look: FirstLook,
}

/// Why something is tried again.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Status(#[from] StatusError),
    #[error("the OrgRoleBinding \"{name}\" in \"{namespace}\" could not be carried out: {why}")]
    NotCarriedOut { namespace: String, name: String, why: String },
}

// === impl OrganizationController ===

impl OrganizationController {
    /// One that reads our kinds, and writes their status, as the user of `own`; namespaces are those of `host`.
    pub fn new(own: Client, host: Client, now: fn() -> SystemTime) -> Self {
        Self { own, host, now, account: None }
    }

    /// Also makes RoleBindings at the host, which knows its client as this user.
    #[must_use]
    pub fn with_role_bindings(self, account: String) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { own, host, now, account } = self;
        let role_bindings = account.map(|account| RoleBindings::new(host.clone(), account));
        let kinds = if role_bindings.is_some() { 6 } else { 5 };
        let shared = Arc::new(Shared {
            own: own.clone(),
            now,
            role_bindings,
            announcer: Announcer::new(host.clone(), FIELD_MANAGER),
            index: Mutex::default(),
            queue: Queue::new("organization-controller"),
            first_look: FirstLook::at(kinds),
        });
        tokio::join!(
            shared.queue.work(
                WORKERS,
                shared.first_look.is_over(),
                &shared,
                async |shared: Arc<Shared>, work: Work| { shared.look_at(&work).await }
            ),
            shared.follow(Api::<Group>::all(own.clone())),
            shared.follow(Api::<Organization>::all(own.clone())),
            shared.follow(Api::<OrgGroup>::all(own.clone())),
            shared.follow(Api::<OrgRoleBinding>::all(own)),
            shared.follow(Api::<PartialObjectMeta<Namespace>>::all(host.clone())),
            async {
                // All of them: whoever takes the label off one that was made here does not take it out of sight.
                if shared.role_bindings.is_some() {
                    shared.follow(Api::<RoleBinding>::all(host)).await;
                }
            },
        );
    }
}

// === impl Shared ===

impl Shared {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look_at(&self, work: &Work) -> Result<(), WorkError> {
        match work {
            Work::Group(name) => {
                let state = self.index().group_state(name);
                let Some(state) = state else { return Ok(()) };
                status::write_group(&self.own, &state, (self.now)()).await?;
                announce::tell_group(&self.announcer, &state.group, &state.verdict).await;
                Ok(())
            }
            Work::Binding(place) => self.look_at_binding(place).await,
        }
    }

    async fn look_at_binding(&self, place: &Place) -> Result<(), WorkError> {
        let state = self.index().binding_state(place, self.role_bindings.is_some());
        let failed = |why: String| WorkError::NotCarriedOut {
            namespace: place.namespace.clone(),
            name: place.name.clone(),
            why,
        };
        let carried_out = match &self.role_bindings {
            Some(role_bindings) => {
                role_bindings.carry_out(place, &state).await.map_err(|again| failed(again.to_string()))?
            }
            None => CarriedOut::default(),
        };
        let CarriedOut { names, trouble } = carried_out;
        if let Some((binding, verdict)) = state.binding.as_ref().zip(trouble.as_ref().or(state.verdict.as_ref())) {
            status::write_binding(&self.own, binding, verdict, names, (self.now)()).await?;
            announce::tell_binding(&self.announcer, binding, verdict).await;
        }
        trouble.map_or(Ok(()), |trouble| Err(failed(trouble.message)))
    }
}
