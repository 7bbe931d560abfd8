//! What an entry exposes, found out when it is written, as whoever writes it.

use bailiwick_api::{
    Condition, ConditionStatus, LocalResourceStatus, ResourceCatalogEntry, ResourceCatalogEntryStatus,
    ResourceListStatus, Satisfier, put_condition,
};
use bailiwick_machinery::Object;
use serde_json::{Value, json};

use super::CatalogRules;
use crate::error::{Error, Result};
use crate::named_account::{named, pinned};
use crate::requester::requester;
use crate::ruled_write::RuledWrite;

/// Metadata that says nothing of what is exposed, or to whom.
const BOOKKEEPING: [&str; 5] = ["finalizers", "generation", "managedFields", "ownerReferences", "resourceVersion"];

// === impl CatalogRules ===

impl CatalogRules {
    /// Finds what an entry exposes, as far as whoever writes it may expose it, and says so in its status.
    pub(super) async fn prepare_entry(
        &self,
        write: RuledWrite<'_>,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let is_going = object.metadata().deletion_timestamp().is_some();
        if is_going || old.is_some_and(|old| is_bookkeeping(object, old)) {
            return Ok(());
        }
        let entry: ResourceCatalogEntry = write.read(object)?;
        // The kind's own rules say that there must be one way, and only one.
        let Some(satisfier) = entry.spec.satisfier() else { return write.kind.validate(object) };
        let account = match &entry.spec.service_account_name {
            Some(name) => Some(named(self.exposure.authorizer(), write, name).await?),
            None => None,
        };
        let mut status = entry.status.clone().unwrap_or_default();
        status.service_account = match &account {
            Some(account) => Some(pinned(&*self.host, write, account).await?),
            None => None,
        };
        let before = (status.local_resources.take(), status.resource_list.take());
        let count = match satisfier {
            Satisfier::LocalResources(local) => {
                // The kind's own rules say that it must be named.
                let Some(account) = &account else { return write.kind.validate(object) };
                let exposed_resources = self.locate(write, account, local).await?;
                let count = exposed_resources.len();
                status.local_resources = Some(LocalResourceStatus { exposed_resources });
                count
            }
            Satisfier::ResourceList(list) => {
                let resources = self.check_list(write, list).await?;
                let count = resources.len();
                status.resource_list = Some(ResourceListStatus { resources });
                count
            }
            Satisfier::Extension(_) => 0,
        };
        if let Some(old) = old {
            let same_spec = old.fields().get("spec") == object.fields().get("spec");
            // Whoever follows the entry must notice that it exposes something else now.
            if same_spec && before != (status.local_resources.clone(), status.resource_list.clone()) {
                object.set_generation(old.metadata().generation() + 1);
            }
        }
        status.requester = Some(requester(write.ctx.user));
        resolved(write, &mut status, count);
        let status = serde_json::to_value(&status)
            .map_err(|error| Error::Failed { what: "the status of an entry", why: error.to_string() })?;
        object.fields_mut().insert("status".to_owned(), status);
        Ok(())
    }
}

fn resolved(write: RuledWrite<'_>, status: &mut ResourceCatalogEntryStatus, count: usize) {
    let condition = |condition_type: &str, status, reason: &str, message: String| Condition {
        condition_type: condition_type.to_owned(),
        status,
        observed_generation: None,
        last_transition_time: write.ctx.timestamp(),
        reason: reason.to_owned(),
        message,
    };
    let message = match count {
        0 => "claims are satisfied by a controller outside of the server".to_owned(),
        1 => "1 resource".to_owned(),
        count => format!("{count} resources"),
    };
    let found = condition(ResourceCatalogEntry::RESOURCES_RESOLVED, ConditionStatus::True, "Resolved", message);
    put_condition(&mut status.conditions, found);
    if !status.conditions.iter().any(|condition| condition.condition_type == ResourceCatalogEntry::ACCEPTED) {
        let none = condition(
            ResourceCatalogEntry::ACCEPTED,
            ConditionStatus::False,
            ResourceCatalogEntry::NOT_SELECTED,
            ResourceCatalogEntry::NOT_SELECTED_MESSAGE.to_owned(),
        );
        put_condition(&mut status.conditions, none);
    }
}

/// Whether nothing differs that has to do with what is exposed. Whoever writes all of an entry again has it looked at again.
fn is_bookkeeping(new: &Object, old: &Object) -> bool {
    let told = |object: &Object| {
        let mut metadata = object.as_value().get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        metadata.retain(|field, _| !BOOKKEEPING.contains(&field.as_str()));
        (metadata, object.fields().get("spec").cloned())
    };
    let finalizers =
        |object: &Object| json!([object.metadata().get("finalizers"), object.metadata().get("ownerReferences")]);
    told(new) == told(old) && finalizers(new) != finalizers(old)
}
