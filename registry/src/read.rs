//! Reading one object, and many.

use std::num::NonZeroUsize;
use std::sync::Arc;

use bailiwick_storage::cache::{Object, Snapshot};
use bailiwick_storage::{self as storage, At, Key, Prefix, Revision};

use crate::encoded::Encoded;
use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;

/// How many objects are read at once from the store where the cache does not reach back far enough.
const STORED_PAGE: NonZeroUsize = NonZeroUsize::new(1_000).expect("1,000 is not zero");

/// Which objects to list.
#[derive(Clone, Debug)]
pub struct ListRequest<'r> {
    /// Of this namespace only.
    pub namespace: Option<&'r str>,
    /// Only these.
    pub selection: &'r Selection,
    /// As of when.
    pub at: At,
    /// Behind this key, relative to the collection: where another list ended.
    pub after: Option<&'r str>,
    /// Not more than so many.
    pub limit: Option<NonZeroUsize>,
}

/// Objects of a kind.
#[derive(Debug)]
pub struct List {
    /// The revision of the whole list.
    pub revision: u64,
    /// The objects, in the order of their keys.
    pub objects: Vec<Arc<Object>>,
    /// Behind which key to go on, if there is more.
    pub next: Option<String>,
    /// How many follow, where that is known.
    pub remaining: Option<usize>,
}

// === impl Registry ===

impl Registry {
    /// One object.
    pub async fn get(&self, kind: &ServedKind, namespace: &str, name: &str, at: At) -> Result<Encoded> {
        let key = kind.key(namespace, name).map_err(|_| not_found(kind, name))?;
        let (_, object) = self.cache().get_object(&key, at).await.map_err(|error| failed("get", kind, error))?;
        let object = object.ok_or_else(|| not_found(kind, name))?;
        encoded(kind, &object)
    }

    /// The objects of a collection.
    pub async fn list(&self, kind: &ServedKind, request: &ListRequest<'_>) -> Result<List> {
        let range = range(kind, request.namespace)?;
        let after = match request.after {
            None => None,
            Some(relative) => Some(range.key(relative).map_err(|error| {
                Error::BadRequest(format!("invalid continue token: continue key is not valid: {error}"))
            })?),
        };
        match self.cache().snapshot(request.at).await {
            Ok(snapshot) => Ok(from_snapshot(kind, &snapshot, &range, after.as_ref(), request)),
            Err(storage::Error::Expired { .. }) => self.list_stored(kind, &range, after, request).await,
            Err(error) => Err(failed("list", kind, error)),
        }
    }

    /// The objects of a kind of the cluster whose names begin like this, in order, and as of when.
    pub(crate) async fn list_beginning_with(
        &self,
        kind: &ServedKind,
        beginning: &str,
        at: At,
    ) -> Result<(u64, Vec<Arc<Object>>)> {
        let range = range(kind, None)?;
        let snapshot = self.cache().snapshot(at).await.map_err(|error| failed("list", kind, error))?;
        // What cannot be the beginning of a name is not.
        let Ok(first) = range.key(beginning) else { return Ok((snapshot.revision().get(), Vec::new())) };
        let exactly = snapshot.get(&first).into_iter();
        let longer =
            snapshot.range(&range, Some(&first)).take_while(|object| object.key().name().starts_with(beginning));
        Ok((snapshot.revision().get(), exactly.chain(longer).cloned().collect()))
    }

    /// A list of a time that the cache has forgotten, and the store has not.
    async fn list_stored(
        &self,
        kind: &ServedKind,
        range: &Prefix,
        mut after: Option<Key>,
        request: &ListRequest<'_>,
    ) -> Result<List> {
        let mut taken = Taken::new(request, range);
        loop {
            let options = storage::ListOptions {
                at: request.at,
                after: after.clone(),
                limit: Some(STORED_PAGE),
                values: storage::Values::Whole,
            };
            let page = self.cache().list_objects(range, &options).await.map_err(|error| failed("list", kind, error))?;
            after = page.objects.last().map(|object| object.key().clone());
            let more = page.remaining > 0;
            for (index, object) in page.objects.iter().enumerate() {
                if request.selection.matches(object) && !taken.take(object) {
                    let behind = page.objects.len() - index + page.remaining;
                    return Ok(taken.cut(page.revision, request.selection.is_everything().then_some(behind)));
                }
            }
            if !more {
                return Ok(taken.whole(page.revision));
            }
        }
    }
}

/// Objects taken into a list, up to its limit.
struct Taken<'l> {
    range: &'l Prefix,
    limit: usize,
    objects: Vec<Arc<Object>>,
}

// === impl Taken ===

impl<'l> Taken<'l> {
    fn new(request: &ListRequest<'_>, range: &'l Prefix) -> Self {
        Self { range, limit: request.limit.map_or(usize::MAX, NonZeroUsize::get), objects: Vec::new() }
    }

    /// Whether there was room for it.
    fn take(&mut self, object: &Arc<Object>) -> bool {
        let room = self.objects.len() < self.limit;
        if room {
            self.objects.push(object.clone());
        }
        room
    }

    fn whole(self, revision: Revision) -> List {
        List { revision: revision.get(), objects: self.objects, next: None, remaining: None }
    }

    fn cut(self, revision: Revision, remaining: Option<usize>) -> List {
        let next = self.objects.last().and_then(|last| self.range.relative(last.key())).map(str::to_owned);
        List { revision: revision.get(), objects: self.objects, next, remaining }
    }
}

fn from_snapshot(
    kind: &ServedKind,
    snapshot: &Snapshot,
    range: &Prefix,
    after: Option<&Key>,
    request: &ListRequest<'_>,
) -> List {
    let selection = request.selection;
    let mut taken = Taken::new(request, range);
    if selection.is_everything() {
        let count = snapshot.count(range, after);
        taken.objects.reserve(count.min(taken.limit));
        let complete = snapshot.range(range, after).all(|object| taken.take(object));
        let remaining = count.saturating_sub(taken.objects.len());
        return if complete {
            taken.whole(snapshot.revision())
        } else {
            taken.cut(snapshot.revision(), Some(remaining))
        };
    }
    match all_matching(kind, snapshot, range, after, request, |object| taken.take(object)) {
        true => taken.whole(snapshot.revision()),
        false => taken.cut(snapshot.revision(), None),
    }
}

/// Visits the objects that a selection takes, by the shortest way there is, until one is not wanted any more. Whether all
/// were.
fn all_matching(
    kind: &ServedKind,
    snapshot: &Snapshot,
    range: &Prefix,
    after: Option<&Key>,
    request: &ListRequest<'_>,
    mut visit: impl FnMut(&Arc<Object>) -> bool,
) -> bool {
    let selection = request.selection;
    let mut visit_taken = |object: &Arc<Object>| !selection.matches(object) || visit(object);
    if let (Some(name), Some(namespace)) = (selection.name(), request.namespace.or(whole_scope(kind))) {
        let found = kind.key(namespace, name).ok().and_then(|key| snapshot.get(&key));
        let behind = found.filter(|object| after.is_none_or(|after| object.key() > after));
        return behind.is_none_or(visit_taken);
    }
    match selection.terms().min_by_key(|term| snapshot.count_having(term, range)) {
        Some(term) => snapshot.having(&term, range, after).all(&mut visit_taken),
        None => snapshot.range(range, after).all(&mut visit_taken),
    }
}

/// The namespace of all objects of a kind that has none.
fn whole_scope(kind: &ServedKind) -> Option<&'static str> {
    (kind.kind().scope() == bailiwick_machinery::Scope::Cluster).then_some("")
}

pub(crate) fn range(kind: &ServedKind, namespace: Option<&str>) -> Result<Prefix> {
    // A namespace that cannot be part of a key has no objects, and cannot be told apart from an empty one but by this.
    kind.range(namespace).map_err(|error| Error::BadRequest(error.to_string()))
}

pub(crate) fn encoded(kind: &ServedKind, object: &Object) -> Result<Encoded> {
    Encoded::of(object).map_err(|error| failed("get", kind, error))
}

pub(crate) fn not_found(kind: &ServedKind, name: &str) -> Error {
    Error::NotFound { resource: kind.resource(), name: name.to_owned() }
}

pub(crate) fn failed(operation: &'static str, kind: &ServedKind, source: storage::Error) -> Error {
    Error::Storage { operation, resource: kind.resource(), source }
}
