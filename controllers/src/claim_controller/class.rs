//! Classes that claims use are held: one that is deleted goes when the last claim has gone, and says so meanwhile.

use bailiwick_api::claims::{CLASS_FINALIZER, ObjectRef};
use bailiwick_api::{KindReference, some_of};
use serde_json::json;

use super::former::stays_with;
use super::index::{Key, class_kinds};
use super::objects::{Objects, finalizers, is_going, metadata_patch, text, without_finalizer};
use super::{Shared, WorkError, about};

// === impl Shared ===

impl Shared {
    /// Holds a class that is used, lets one go that nobody uses any more, or tells why it stays.
    pub(super) async fn look_at_class(&self, key: &Key) -> Result<(), WorkError> {
        let (class, users, sees_users, is_named) = {
            let index = self.index();
            let class = index.classes.get(key).cloned();
            let is_named = index.definitions.values().any(|definition| stays_with(&definition.object, &key.kind));
            (class, index.class_users(key), index.sees_users_of(&key.kind), is_named)
        };
        let Some(class) = class else { return Ok(()) };
        match (is_going(&class), finalizers(&class).contains(&CLASS_FINALIZER)) {
            // Someone has let go of it. Who names it will do so in the end.
            (false, false) if is_named && !users.is_empty() => {
                return self.hold_class(&ObjectRef::of(&class)).await.map(drop);
            }
            (true, true) => {}
            _ => return Ok(()),
        }
        if users.is_empty() {
            // Those that were not seen yet may use it; it is looked at again when they were.
            return if sees_users { self.let_go_of_unused(key).await } else { Ok(()) };
        }
        let note = format!(
            "it is deleted when no claim uses it any more; it is used by {}",
            some_of(users.iter().map(|key| &key.place))
        );
        self.announcer.warn(&about(&class), "Delete", "InUse", &note).await;
        Ok(())
    }

    /// Lets a class go that nobody uses, as far as was seen, if that is so.
    async fn let_go_of_unused(&self, key: &Key) -> Result<(), WorkError> {
        let definitions = self.definitions_now().await?;
        let naming = definitions.iter().filter(|definition| class_kinds(definition).contains(&key.kind));
        let claims: Vec<&KindReference> = naming.map(|definition| &definition.spec.claim).collect();
        if !claims.iter().all(|claim| self.index().sees_claims(claim)) {
            return Ok(());
        }
        let used = self.used_now(claims).await?;
        if used.classes.contains(key) {
            return Err(WorkError::Told("a claim has just begun to use it".to_owned()));
        }
        self.let_go_of_class(key).await
    }

    /// Stops holding a class.
    pub(super) async fn let_go_of_class(&self, key: &Key) -> Result<(), WorkError> {
        let found = {
            let index = self.index();
            index.classes.get(key).cloned()
        };
        let Some(found) = found else { return Ok(()) };
        let facts = self.index().facts_of(text(&found, "/apiVersion"), text(&found, "/kind"));
        let Some(facts) = facts else { return Ok(()) };
        let classes = Objects::new(&self.deputy, &facts, &key.place.namespace);
        let patch = metadata_patch(&found, json!({ "finalizers": without_finalizer(&found, CLASS_FINALIZER) }));
        match classes.patch(&key.place.name, &patch).await {
            Err(WorkError::Host(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
            result => result.map(drop),
        }
    }
}
