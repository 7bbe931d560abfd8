//! Removing what was created: what is not wanted any more, and everything when the Bundle goes. What depends on something goes
//! before it, and nothing goes that is not known by its UID to be the Bundle's. What is to stay is let go of instead.

use std::collections::{HashMap, HashSet};

use bailiwick_api::bundle::PART_OF_LABEL;
use bailiwick_api::{BundleObject, InventoryItem, Lifecycle};
use futures::future::join_all;
use serde_json::Value;

use super::hands::Trouble;
use super::observed::{controller, is_going};
use super::resource::Site;
use super::watches::Interest;
use crate::disown::Tie;
use crate::host_kinds::{HostKind, Reach};

/// What is left, and why.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// What still exists, or may.
    pub(super) items: Vec<InventoryItem>,
    /// What was removed.
    pub(super) gone: Vec<InventoryItem>,
    /// What stays, and is the Bundle's no more.
    pub(super) let_go: Vec<InventoryItem>,
    /// What may not go, and stays the Bundle's.
    pub(super) protected: Vec<InventoryItem>,
    /// What could not be removed.
    pub(super) troubles: Vec<Trouble>,
}

/// Why objects are not wanted any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// They were taken out of the Bundle.
    TakenOut,
    /// The Bundle goes.
    BundleGoes,
}

/// What became of one object.
enum Fate {
    /// It is not there, or not the Bundle's.
    Gone,
    /// It is going.
    Going,
    /// It stays, and is not the Bundle's any more.
    LetGo,
    /// It may not go.
    Protected,
    /// It could not be removed.
    Stays(Trouble),
}

/// How what is left depends on each other, by the names of resources.
struct Needs<'i>(HashMap<&'i str, HashSet<&'i str>>);

// === impl Needs ===

impl<'i> Needs<'i> {
    fn of(items: &'i [InventoryItem]) -> Self {
        let mut direct: HashMap<&str, HashSet<&str>> = HashMap::new();
        for item in items {
            let wanted = item.depends_on.iter().map(String::as_str).filter(|name| *name != item.resource);
            direct.entry(&item.resource).or_default().extend(wanted);
        }
        let all = direct.keys().map(|name| {
            let (mut needed, mut next) = (HashSet::new(), vec![*name]);
            while let Some(name) = next.pop() {
                let new = direct.get(name).into_iter().flatten().filter(|other| needed.insert(**other));
                next.extend(new);
            }
            (*name, needed)
        });
        Self(all.collect())
    }

    /// Whether a resource needs another, if only through others.
    fn has(&self, resource: &str, needed: &str) -> bool {
        resource != needed && self.0.get(resource).is_some_and(|all| all.contains(needed))
    }
}

// === impl Left ===

impl Left {
    /// Whether this is nothing of the Bundle's any more.
    pub(super) fn is_over(&self, item: &InventoryItem) -> bool {
        self.gone.contains(item) || self.let_go.contains(item)
    }

    /// Why something is still there: that it is protected, or what could not be done about it. Each reason follows a semicolon.
    pub(super) fn why(&self) -> String {
        let protected = self.protected.iter().map(|item| {
            format!(
                "{} is protected; give \"{}\" another lifecycle in the Bundle to let it go",
                item.object, item.resource
            )
        });
        let troubles = self.troubles.iter().map(ToString::to_string);
        protected.chain(troubles).map(|told| format!("; {told}")).collect()
    }

    fn ended(&self) -> usize {
        self.gone.len() + self.let_go.len()
    }
}

// === impl Site ===

impl Site<'_> {
    /// Those of these that were never made. What is about to be made is written down before, and may not come to it, or turn out
    /// to be another name of what is known.
    pub(super) async fn never_made(&self, items: &[InventoryItem], known: &[InventoryItem]) -> Vec<InventoryItem> {
        let unsure = items.iter().filter(|item| item.object.uid.is_empty());
        let looked = join_all(unsure.map(async |item| self.is_missing(item, known).await.then(|| item.clone()))).await;
        looked.into_iter().flatten().collect()
    }

    /// Whether an object is known not to be there, or to be one of these.
    async fn is_missing(&self, InventoryItem { object, .. }: &InventoryItem, known: &[InventoryItem]) -> bool {
        match self.find_made(object, |_| ()).await {
            Ok(Some((_, found))) => {
                let uid = found.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
                !uid.is_empty() && known.iter().any(|item| item.object.uid == uid)
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Something of the inventory as it is now, in whichever version it can be reached; none if it is known not to be there. What
    /// has not been made for certain is looked for by its name.
    pub(super) async fn find_made(
        &self,
        object: &BundleObject,
        before_asking: impl Fn(&HostKind),
    ) -> Result<Option<(HostKind, Value)>, Trouble> {
        let look = async || {
            let reach = self.shared.kinds.reach(&object.api_version, &object.kind).await;
            let kind = match reach.map_err(|error| Trouble::Again(error.to_string()))? {
                Reach::As(kind) => kind,
                Reach::Out => return Err(Trouble::NotServed(format!("{} is served in no version now", object.kind))),
                Reach::Gone => return Ok(None),
            };
            before_asking(&kind);
            let found = self.hands.get(&kind, &object.name).await?;
            Ok(found.map(|found| (kind, found)))
        };
        let found = look().await;
        if !matches!(found, Err(Trouble::NotServed(_))) {
            return found;
        }
        // What is remembered of the kind may not be so any more, and another version may be served.
        self.shared.kinds.forget(&object.api_version, &object.kind);
        look().await
    }

    /// Removes these, each after those that depend on it, or lets them go.
    pub(super) async fn remove(&self, mut items: Vec<InventoryItem>, occasion: Occasion) -> Left {
        let mut left = Left::default();
        loop {
            let (free, bound) = partition(items);
            let fates = join_all(free.iter().map(|item| self.remove_one(item, occasion))).await;
            let mut stay = Vec::new();
            left.protected.clear();
            let before = left.ended();
            for (item, fate) in free.into_iter().zip(fates) {
                match fate {
                    Fate::Gone => left.gone.push(item),
                    Fate::LetGo => left.let_go.push(item),
                    Fate::Going => stay.push(item),
                    Fate::Protected => {
                        left.protected.push(item.clone());
                        stay.push(item);
                    }
                    Fate::Stays(trouble) => {
                        left.troubles.push(trouble);
                        stay.push(item);
                    }
                }
            }
            items = stay.into_iter().chain(bound).collect();
            // What is going is asked for again when it is gone, not now.
            if left.ended() == before || items.is_empty() || !left.troubles.is_empty() {
                left.items = items;
                return left;
            }
        }
    }

    async fn remove_one(&self, item: &InventoryItem, occasion: Occasion) -> Fate {
        self.try_remove(item, occasion).await.unwrap_or_else(|trouble| match item.object.kind.as_str() {
            "Secret" => Fate::Stays(trouble.unquoted("Secret")),
            _ => Fate::Stays(trouble),
        })
    }

    async fn try_remove(&self, item: &InventoryItem, occasion: Occasion) -> Result<Fate, Trouble> {
        let object = &item.object;
        let listen = |kind: &HostKind| self.listen(kind, Interest::Name(object.name.clone()));
        let Some((kind, found)) = self.find_made(object, listen).await? else { return Ok(Fate::Gone) };
        let uid = found.pointer("/metadata/uid").and_then(|uid| uid.as_str()).unwrap_or_default();
        let is_same = object.uid.is_empty() || object.uid == uid;
        let is_ours = controller(&found).is_some_and(|(owner, _)| owner == self.uid());
        let tie = Tie { owner: self.uid(), label: Some((PART_OF_LABEL, &self.apply_set)) };
        if !is_same || !is_ours {
            // What has no owner any more, as people have asked for, is not said to be part of anything.
            if object.uid == uid && controller(&found).is_none() {
                let untied = self.hands.disown(&kind, &object.name, uid, tie).await;
                untied.or_else(|trouble| if matches!(trouble, Trouble::Again(_)) { Err(trouble) } else { Ok(()) })?;
            }
            return Ok(Fate::Gone);
        }
        match (item.lifecycle, occasion) {
            (Lifecycle::Protect, _) => return Ok(Fate::Protected),
            (Lifecycle::Orphan, _) | (Lifecycle::Retain, Occasion::BundleGoes) => {
                self.hands.disown(&kind, &object.name, uid, tie).await?;
                return Ok(Fate::LetGo);
            }
            (Lifecycle::Delete, _) | (Lifecycle::Retain, Occasion::TakenOut) => {}
        }
        if !is_going(&found) {
            self.hands.delete(&kind, &object.name, uid).await?;
        }
        Ok(match self.hands.get(&kind, &object.name).await? {
            Some(found) if found.pointer("/metadata/uid").and_then(|now| now.as_str()) == Some(uid) => Fate::Going,
            Some(_) | None => Fate::Gone,
        })
    }
}

/// Those that can go now, and those that others need. Objects of several generations of a Bundle may need each other in a circle,
/// though those of one never do: none of these waits for the others, unless one of them is to stay.
fn partition(items: Vec<InventoryItem>) -> (Vec<InventoryItem>, Vec<InventoryItem>) {
    let needs = Needs::of(&items);
    let keeps = |other: &InventoryItem, item: &InventoryItem| {
        needs.has(&other.resource, &item.resource)
            && (other.lifecycle == Lifecycle::Protect || !needs.has(&item.resource, &other.resource))
    };
    let is_free: Vec<bool> = items.iter().map(|item| !items.iter().any(|other| keeps(other, item))).collect();
    drop(needs);
    let (free, bound): (Vec<_>, Vec<_>) = items.into_iter().zip(is_free).partition(|(_, is_free)| *is_free);
    let items = |items: Vec<(InventoryItem, bool)>| items.into_iter().map(|(item, _)| item).collect();
    (items(free), items(bound))
}

#[cfg(test)]
mod tests;
