//! What a write depends on beyond its own object, and what is written along with it.
//!
//! Rules that span objects hold because both sides are one transaction: whoever admits a write adds what must still be true
//! when it happens, or what changes with it. If something of that has changed meanwhile, they are asked again.

mod identity;

use async_trait::async_trait;
use bailiwick_machinery::Object;
use bailiwick_storage::{self as storage, At, Key, Revision, Store, Txn};

use self::identity::Identity;
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::requester::{self, Extra};
use crate::served_kind::ServedKind;
use crate::turns::Turn;
use crate::update::Part;
use crate::write::{MAX_ATTEMPTS, contended};

/// How often each rule is asked to complete an object that others change in turn.
const MAX_ROUNDS: usize = 4;

/// A rule over more than one object.
#[async_trait]
pub trait Admission: Send + Sync + 'static {
    /// Who completes objects of a kind before they are validated, if this rule does.
    fn completion(&self, _kind: &ServedKind) -> Option<&dyn Completion> {
        None
    }

    /// Lets a write pass, with what has to be true or to be written at the same moment, or refuses it. A dry run asks the
    /// same, and writes nothing.
    async fn admit(&self, _ctx: &Ctx<'_>, _registry: &Registry, _proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        Ok(txn)
    }

    /// Whether its refusal counts more than what is wrong with the object itself, because Kubernetes asks it first.
    fn precedes_validation(&self) -> bool {
        false
    }
}

/// The part of a rule that completes objects.
#[async_trait]
pub trait Completion: Send + Sync {
    /// Completes an object that is about to be created or, if there is an `old` one, to take its place: what follows from other
    /// objects, or from who asks. It is validated afterwards. The rule is asked again if others were faster, and if another
    /// rule changes the object afterwards, so that what it sees last is what is stored. What was authorized, such as the name
    /// and the namespace, cannot be changed.
    async fn complete(
        &self,
        ctx: &Ctx<'_>,
        registry: &Registry,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()>;
}

/// A write that is about to happen. Neither object is there without the other but in a creation and in a removal.
#[derive(Clone, Copy)]
pub struct Proposal<'p> {
    /// The kind of the object.
    pub kind: &'p ServedKind,
    /// Which part of it is written.
    pub part: Part,
    /// The object there is.
    pub old: Option<&'p Object>,
    /// What it becomes.
    pub new: Option<&'p Object>,
    /// How new that has to be which is looked at. What is refused on the ground of something older is asked again.
    pub at: At,
    /// Whether it is only tried: nothing may come of it.
    pub dry_run: bool,
}

/// What a write does to its own object.
pub(crate) struct OwnWrite<'w, 't> {
    /// The object's key.
    pub(crate) key: &'w Key,
    /// What becomes of it.
    pub(crate) txn: Txn,
    /// The turn to write it, where there is one. It ends with the write: those who follow the kind may write the object too,
    /// and are waited for.
    pub(crate) turn: &'w mut Option<Turn<'t>>,
    /// What came with who asks, if the object says anew who that is.
    pub(crate) extra: Option<&'w Extra>,
}

/// Why a write did not happen.
pub(crate) enum Failure {
    /// It was refused.
    Refused(Error),
    /// It could not be committed.
    Commit(storage::Error),
}

// === impl Proposal ===

impl Proposal<'_> {
    /// The object's namespace; empty if it has none.
    pub fn namespace(&self) -> &str {
        self.new.or(self.old).map_or("", |object| object.metadata().namespace())
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.new.or(self.old).map_or("", |object| object.metadata().name())
    }
}

// === impl Registry ===

impl Registry {
    /// Writes an object, with all that its admission adds. None in a dry run, where nothing is written.
    pub(crate) async fn commit_admitted(
        &self,
        ctx: &Ctx<'_>,
        mut proposal: Proposal<'_>,
        own: OwnWrite<'_, '_>,
    ) -> Result<Option<Revision>, Failure> {
        // Where the engine must be asked for the newest state, the cached one is tried first.
        proposal.at = if self.cache().known_revision().is_some() { At::Latest } else { At::Any };
        let mut turn: Option<Turn<'_>> = None;
        for _ in 0..MAX_ATTEMPTS {
            let admitted = match self.keep_extra(&proposal, &own, own.txn.clone()).await {
                Ok(txn) => self.admit(ctx, &proposal, txn).await,
                Err(error) => Err(error),
            };
            let certain = std::mem::replace(&mut proposal.at, At::Latest) == At::Latest;
            let txn = match admitted {
                Err(_) if !certain => continue,
                admitted => admitted.map_err(Failure::Refused)?,
            };
            if proposal.dry_run {
                return Ok(None);
            }
            let beside: Vec<Key> = txn.written().filter(|written| *written != own.key).cloned().collect();
            if turn.is_none()
                && let Some(line) = self.turns().line_for(beside.iter())
            {
                turn = Some(self.turns().wait(line.clone()).await);
                continue;
            }
            match self.cache().commit(txn).await {
                Err(storage::Error::Conflict(conflict)) if conflict.key != *own.key => {
                    let lost = beside.contains(&conflict.key);
                    if lost && !turn.as_ref().is_some_and(|turn| turn.is_for(&conflict.key)) {
                        // Nobody holds one turn while waiting for another, so nobody waits in a circle.
                        drop(turn.take());
                        turn = Some(self.turns().wait(conflict.key).await);
                    }
                }
                Ok(revision) => {
                    drop((turn, own.turn.take()));
                    self.settle(proposal.kind, revision.get()).await;
                    return Ok(Some(revision));
                }
                Err(error) => return Err(Failure::Commit(error)),
            }
        }
        Err(Failure::Refused(contended(proposal.kind, proposal.name())))
    }

    /// Completes an object by its kind's own rules and by those over several objects. What came with who asks, if the object
    /// says anew who that is.
    pub(crate) async fn prepare(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<Option<Extra>> {
        let rules = kind.kind().rules();
        let judged = Identity::of(object);
        match old {
            None => rules.prepare_create(ctx, object).await?,
            Some(old) => rules.prepare_update(ctx, object, old).await?,
        }
        self.complete_by_all(ctx, kind, object, old).await?;
        requester::stamp(ctx, kind, object, old);
        judged.confirm(kind, object)?;
        Ok(requester::take_extra(kind, object))
    }

    /// Lets all rules complete an object until none of them changes it any more. What one of them has looked at, and another
    /// changes afterwards, is looked at again: all have seen what is stored.
    async fn complete_by_all(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let completions: Vec<_> = self.admissions().iter().filter_map(|rule| rule.completion(kind)).collect();
        if let [only] = completions[..] {
            return only.complete(ctx, self, kind, object, old).await;
        }
        let mut blind = completions.len();
        for completion in completions.iter().cycle().take(completions.len() * MAX_ROUNDS) {
            if blind == 0 {
                break;
            }
            let seen = object.clone();
            completion.complete(ctx, self, kind, object, old).await?;
            blind = if *object == seen { blind - 1 } else { completions.len() - 1 };
        }
        match blind {
            0 => Ok(()),
            _ => Err(Error::Failed { what: "the object", why: "the rules for it contradict each other".to_owned() }),
        }
    }

    /// Why a write is refused whose object is invalid: by a rule that comes before validation, or for that.
    pub(crate) async fn refusal(&self, ctx: &Ctx<'_>, proposal: &Proposal<'_>, invalid: Error) -> Error {
        for admission in self.admissions().iter().filter(|admission| admission.precedes_validation()) {
            if let Err(refused) = admission.admit(ctx, self, proposal, Txn::new()).await {
                return refused;
            }
        }
        invalid
    }

    async fn admit(&self, ctx: &Ctx<'_>, proposal: &Proposal<'_>, mut txn: Txn) -> Result<Txn> {
        for admission in self.admissions() {
            txn = admission.admit(ctx, self, proposal, txn).await?;
        }
        Ok(txn)
    }
}
