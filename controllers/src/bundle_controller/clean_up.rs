//! Removing what was created: what is not wanted any more, and everything when the Bundle goes. What depends on something goes
//! before it, and nothing goes that is not known by its UID to be the Bundle's.

use bailiwick_api::InventoryItem;
use futures::future::join_all;

use super::hands::Trouble;
use super::observed::{controller, is_going};
use super::resource::Site;
use super::watches::Interest;

/// What is left, and why.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// What still exists, or may.
    pub(super) items: Vec<InventoryItem>,
    /// What was removed.
    pub(super) gone: Vec<InventoryItem>,
    /// What could not be removed.
    pub(super) troubles: Vec<Trouble>,
}

/// What became of one object.
enum Fate {
    /// It is not there, or not the Bundle's.
    Gone,
    /// It is going.
    Going,
    /// It could not be removed.
    Stays(Trouble),
}

// === impl Site ===

impl Site<'_> {
    /// Removes these, each after those that depend on it. `others` are in the Bundle and stay.
    pub(super) async fn remove(&self, mut items: Vec<InventoryItem>) -> Left {
        let mut left = Left::default();
        loop {
            let is_free = |item: &InventoryItem| {
                !items.iter().any(|other| other.resource != item.resource && other.depends_on.contains(&item.resource))
            };
            let (free, bound): (Vec<_>, Vec<_>) = items.iter().cloned().partition(is_free);
            let fates = join_all(free.iter().map(|item| self.remove_one(item))).await;
            let mut stay = Vec::new();
            let before = left.gone.len();
            for (item, fate) in free.into_iter().zip(fates) {
                match fate {
                    Fate::Gone => left.gone.push(item),
                    Fate::Going => stay.push(item),
                    Fate::Stays(trouble) => {
                        left.troubles.push(trouble);
                        stay.push(item);
                    }
                }
            }
            items = stay.into_iter().chain(bound).collect();
            // What is going is asked for again when it is gone, not now.
            if left.gone.len() == before || items.is_empty() || !left.troubles.is_empty() {
                left.items = items;
                return left;
            }
        }
    }

    async fn remove_one(&self, item: &InventoryItem) -> Fate {
        self.try_remove(item).await.unwrap_or_else(Fate::Stays)
    }

    async fn try_remove(&self, item: &InventoryItem) -> Result<Fate, Trouble> {
        let object = &item.object;
        let found = self.shared.kinds.find_in_any_version(&object.api_version, &object.kind).await;
        let Some(kind) = found.map_err(|error| Trouble::Again(error.to_string()))? else { return Ok(Fate::Gone) };
        self.listen(&kind, Interest::Name(object.name.clone()));
        let Some(found) = self.hands.get(&kind, &object.name).await? else { return Ok(Fate::Gone) };
        let uid = found.pointer("/metadata/uid").and_then(|uid| uid.as_str()).unwrap_or_default();
        let is_same = object.uid.is_empty() || object.uid == uid;
        let is_ours = controller(&found).is_some_and(|(owner, _)| owner == self.uid());
        if !is_same || !is_ours {
            return Ok(Fate::Gone);
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
