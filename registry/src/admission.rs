//! What a write depends on beyond its own object, and what is written along with it.
//!
//! Rules that span objects hold because both sides are one transaction: whoever admits a write adds what must still be true
//! when it happens, or what changes with it. If something of that has changed meanwhile, they are asked again.

use async_trait::async_trait;
use bailiwick_machinery::Object;
use bailiwick_storage::{self as storage, At, Key, Revision, Store, Txn};

use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::requester;
use crate::served_kind::ServedKind;
use crate::turns::Turn;
use crate::update::Part;
use crate::write::{MAX_ATTEMPTS, contended};

/// A rule over more than one object.
#[async_trait]
pub trait Admission: Send + Sync + 'static {
    /// Completes an object that is about to be created or, if there is an `old` one, to take its place: what follows from other
    /// objects, or from who asks. It is validated afterwards, and asked again if others were faster.
    async fn prepare(
        &self,
        _ctx: &Ctx<'_>,
        _registry: &Registry,
        _kind: &ServedKind,
        _object: &mut Object,
        _old: Option<&Object>,
    ) -> Result<()> {
        Ok(())
    }

    /// Lets a write pass, with what has to be true or to be written at the same moment, or refuses it. A dry run asks the
    /// same, and writes nothing.
    async fn admit(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn>;

    /// Whether its refusal counts more than what is wrong with the object itself, because Kubernetes asks it first.
    fn precedes_validation(&self) -> bool {
        false
    }
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
    /// Writes what `own` writes to `key`, with all that its admission adds. None in a dry run, where nothing is written.
    pub(crate) async fn commit_admitted(
        &self,
        ctx: &Ctx<'_>,
        mut proposal: Proposal<'_>,
        key: &Key,
        own: Txn,
        dry_run: bool,
    ) -> Result<Option<Revision>, Failure> {
        proposal.dry_run = dry_run;
        // Where the engine must be asked for the newest state, the cached one is tried first.
        proposal.at = if self.cache().known_revision().is_some() { At::Latest } else { At::Any };
        let mut turn: Option<Turn<'_>> = None;
        for _ in 0..MAX_ATTEMPTS {
            let admitted = self.admit(ctx, &proposal, own.clone()).await;
            let certain = std::mem::replace(&mut proposal.at, At::Latest) == At::Latest;
            let txn = match admitted {
                Err(_) if !certain => continue,
                admitted => admitted.map_err(Failure::Refused)?,
            };
            if dry_run {
                return Ok(None);
            }
            let beside: Vec<Key> = txn.written().filter(|written| *written != key).cloned().collect();
            if turn.is_none()
                && let Some(line) = self.turns().line_for(beside.iter())
            {
                turn = Some(self.turns().wait(line.clone()).await);
                continue;
            }
            match self.cache().commit(txn).await {
                Err(storage::Error::Conflict(conflict)) if conflict.key != *key => {
                    let lost = beside.contains(&conflict.key);
                    if lost && !turn.as_ref().is_some_and(|turn| turn.is_for(&conflict.key)) {
                        // Nobody holds one turn while waiting for another, so nobody waits in a circle.
                        drop(turn.take());
                        turn = Some(self.turns().wait(conflict.key).await);
                    }
                }
                Ok(revision) => {
                    drop(turn);
                    self.settle(proposal.kind, revision.get()).await;
                    return Ok(Some(revision));
                }
                Err(error) => return Err(Failure::Commit(error)),
            }
        }
        Err(Failure::Refused(contended(proposal.kind, proposal.name())))
    }

    /// Completes an object by its kind's own rules and by those over several objects.
    pub(crate) async fn prepare(
        &self,
        ctx: &Ctx<'_>,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let rules = kind.kind().rules();
        match old {
            None => rules.prepare_create(ctx, object).await?,
            Some(old) => rules.prepare_update(ctx, object, old).await?,
        }
        requester::stamp(ctx, kind, object, old);
        for admission in self.admissions() {
            admission.prepare(ctx, self, kind, object, old).await?;
        }
        Ok(())
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
