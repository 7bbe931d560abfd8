//! Says of groups of organizations, and of what is bound to them, whether they come to something; and binds roles in a cluster
//! that knows nothing of organizations.
//!
//! All objects that matter are followed by watches and kept in an [`Index`], which tells for each change what it touches. Only
//! that is looked at again, and written only if it differs. Nothing is done before everything was seen once: whoever does not
//! know a group yet would take away what it gives.
//!
//! Several may run at once: each write names the state that it means, and what one has done the others find done. So it runs
//! on every replica, and nobody keeps a role for as long as it takes to notice that a leader is gone. Whoever does not lead
//! leaves the one who does a [head start](HEAD_START), after which there is usually nothing left to do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bailiwick_api::{Group, OrgGroup, OrgRoleBinding, Organization};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{ListParams, PartialObjectMeta};
use kube::{Api, Client};

use crate::announce::Announcer;
use crate::first_look::FirstLook;
use crate::leader_election::Leads;
use crate::place::Place;
use crate::queue::Queue;
use crate::status::StatusError;

mod account;
mod announce;
mod carry_out;
mod follow;
mod index;
mod links;
mod parts;
mod status;
mod verdict;

use account::Account;
use announce::Announcements;
use carry_out::{CarriedOut, RoleBindings};
use index::{Index, Work};
use parts::Step;

const WORKERS: usize = 4;
/// How long others wait until they do what is for the leader to do. What a change takes until it counts, without a leader,
/// is this and a moment.
const HEAD_START: Duration = Duration::from_millis(500);
/// The longest pause before it is tried again to take something from someone. What is to be given can wait for longer.
const LONGEST_WITH_A_ROLE: Duration = Duration::from_secs(1);
/// Whom the fields belong to that are set here.
const FIELD_MANAGER: &str = "bailiwick-organization-controller";

/// Keeps the status of OrgGroups and OrgRoleBindings true, and RoleBindings for them where they are needed.
pub struct OrganizationController {
    own: Client,
    host: Client,
    now: fn() -> SystemTime,
    account: Option<String>,
    leads: Option<Leads>,
}

/// What the parts of the controller share.
struct Shared {
    own: Client,
    now: fn() -> SystemTime,
    /// Who binds roles, where the host's authorization does not know of organizations.
    role_bindings: Option<RoleBindings>,
    announcements: Announcements,
    /// Whether this is the one who goes first, where there are several.
    leads: Option<Leads>,
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
        Self { own, host, now, account: None, leads: None }
    }

    /// Also makes RoleBindings at the host, which knows its client as this user.
    #[must_use]
    pub fn with_role_bindings(self, account: String) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Goes first while this replica leads, and else leaves whoever does a head start.
    #[must_use]
    pub fn with_head_start(self, leads: Leads) -> Self {
        Self { leads: Some(leads), ..self }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { own, host, now, account, leads } = self;
        let role_bindings = account.map(|account| RoleBindings::new(host.clone(), Account::new(account)));
        let kinds = if role_bindings.is_some() { 6 } else { 5 };
        let shared = Arc::new(Shared {
            own: own.clone(),
            now,
            role_bindings,
            announcements: Announcements::new(Announcer::new(host.clone(), FIELD_MANAGER)),
            leads,
            index: Mutex::default(),
            queue: Queue::fair("organization-controller", Work::namespace),
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

    /// Has something looked at: at once, or when the leader has had time for it.
    fn want(&self, work: impl IntoIterator<Item = Work>) {
        match self.leads.as_ref().is_none_or(Leads::now) {
            true => self.queue.extend(work),
            false => work.into_iter().for_each(|work| self.queue.postpone(work, HEAD_START)),
        }
    }

    async fn look_at(&self, work: &Work) -> Result<(), WorkError> {
        match work {
            Work::Group(name) => {
                let state = self.index().group_state(name);
                let Some(state) = state else { return Ok(()) };
                status::write_group(&self.own, &state, (self.now)()).await?;
                self.announcements.tell_group(&state.group, &state.verdict);
                Ok(())
            }
            Work::Binding(place) => self.look_at_binding(place).await,
        }
    }

    async fn look_at_binding(&self, place: &Place) -> Result<(), WorkError> {
        let account = self.role_bindings.as_ref().map(RoleBindings::account);
        let state = self.index().binding_state(place, account);
        let failed = |why: String| WorkError::NotCarriedOut {
            namespace: place.namespace.clone(),
            name: place.name.clone(),
            why,
        };
        let carried_out = match &self.role_bindings {
            Some(role_bindings) => {
                let steps = parts::steps(state.binding.as_ref(), &state.subjects, &state.derived);
                if steps.iter().any(Step::is_end) {
                    self.queue.shorten_pause(&Work::Binding(place.clone()), LONGEST_WITH_A_ROLE);
                }
                // What ends because the namespace is nobody's ends by the word of the cluster, whatever is stored here.
                if !steps.is_empty() && state.owner.is_some() {
                    self.check_store(&place.namespace).await.map_err(|error| failed(error.to_string()))?;
                }
                role_bindings.carry_out(place, &state, steps).await.map_err(|again| failed(again.to_string()))?
            }
            None => CarriedOut::default(),
        };
        let CarriedOut { names, trouble } = carried_out;
        if let Some((binding, verdict)) = state.binding.as_ref().zip(trouble.as_ref().or(state.verdict.as_ref())) {
            status::write_binding(&self.own, binding, verdict, names, (self.now)()).await?;
            self.announcements.tell_binding(binding, verdict);
        }
        if let (None, Some(trouble)) = (&state.binding, &trouble) {
            tracing::warn!(namespace = place.namespace, binding = place.name, "{}", trouble.message);
        }
        trouble.map_or(Ok(()), |trouble| Err(failed(trouble.message)))
    }

    /// Reads what is stored, as of now. A replica that cannot may have been cut off from it for long, and would give again what
    /// others have taken away.
    async fn check_store(&self, namespace: &str) -> kube::Result<()> {
        let bindings: Api<OrgRoleBinding> = Api::namespaced(self.own.clone(), namespace);
        bindings.list_metadata(&ListParams::default().limit(1)).await.map(|_| ())
    }
}
