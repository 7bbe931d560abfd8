//! Classes that claims use are held: one that is deleted goes when the last claim has gone, and says so meanwhile.

use bailiwick_api::claims::{CLASS_FINALIZER, ObjectRef};
use serde_json::json;

use super::index::{Key, class_key};
use super::objects::{Objects, finalizers, is_going, metadata_patch, text, with_finalizer, without_finalizer};
use super::{Shared, WorkError, about};

/// How many claims are named that keep a class from going.
const NAMED: usize = 10;

// === impl Shared ===

impl Shared {
    /// Lets a class go that nobody uses any more, or tells why it stays.
    pub(super) async fn look_at_class(&self, key: &Key) -> Result<(), WorkError> {
        let (class, users) = {
            let index = self.index();
            let class = index.classes.get(&key.kind).and_then(|classes| classes.get(&key.place)).cloned();
            (class, index.class_users(key))
        };
        let Some(class) = class.filter(|class| is_going(class) && finalizers(class).contains(&CLASS_FINALIZER)) else {
            return Ok(());
        };
        if users.is_empty() {
            return self.let_go_of_class(key).await;
        }
        let some: Vec<String> = users.iter().take(NAMED).map(|key| key.place.to_string()).collect();
        let note = format!("it is deleted when no claim uses it any more; {} do: {}", users.len(), some.join(", "));
        self.announcer.warn(&about(&class), "Delete", "InUse", &note).await;
        Ok(())
    }

    /// Holds the class that a claim is about to use.
    pub(super) async fn hold_class(&self, class: &ObjectRef) -> Result<(), WorkError> {
        let key = class_key(class);
        let (found, facts) = {
            let index = self.index();
            let found = index.classes.get(&key.kind).and_then(|classes| classes.get(&key.place)).cloned();
            (found, index.facts_of(&class.api_version, &class.kind))
        };
        let (Some(found), Some(facts)) = (found, facts) else { return Ok(()) };
        if finalizers(&found).contains(&CLASS_FINALIZER) {
            return Ok(());
        }
        let classes = Objects::new(&self.deputy, &facts, &class.namespace);
        let patch = metadata_patch(&found, json!({ "finalizers": with_finalizer(&found, CLASS_FINALIZER) }));
        let held = match classes.patch(&class.name, &patch).await {
            // Others hold it at the same moment, or someone has changed it.
            Err(WorkError::Host(kube::Error::Api(status))) if status.is_conflict() => {
                let Some(found) = classes.get(&class.name).await? else { return Ok(()) };
                let patch = metadata_patch(&found, json!({ "finalizers": with_finalizer(&found, CLASS_FINALIZER) }));
                classes.patch(&class.name, &patch).await?
            }
            held => held?,
        };
        // Until it is seen by the watch, others need not try the same.
        let _ = self.index().see_class(&key.kind, &key.place, Some(held));
        Ok(())
    }

    /// Stops holding a class.
    pub(super) async fn let_go_of_class(&self, key: &Key) -> Result<(), WorkError> {
        let found = {
            let index = self.index();
            index.classes.get(&key.kind).and_then(|classes| classes.get(&key.place)).cloned()
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
