//! To whom the fields of a resource belong that was created and is applied from then on.
//!
//! What is created belongs to an update of its manager, and an apply of the same manager is another owner: fields that are not
//! applied any more would stay, because the update still owns them. So what the creation owns is made what an apply owns.

use kube::core::DynamicObject;
use serde_json::Value;

/// The owners of an object's fields, with those of this manager's creation as those of an apply; `None` if they are so already.
pub(crate) fn taken_over(object: &DynamicObject, manager: &str) -> Option<Value> {
    let mut owners = serde_json::to_value(object.metadata.managed_fields.as_ref()?).ok()?;
    let list = owners.as_array_mut()?;
    let is_of = |owner: &Value, operation: &str| {
        owner["manager"] == manager
            && owner["operation"] == operation
            && owner.get("subresource").is_none_or(Value::is_null)
    };
    let created = list.iter().position(|owner| is_of(owner, "Update"))?;
    match list.iter().any(|owner| is_of(owner, "Apply")) {
        true => drop(list.remove(created)),
        false => list[created]["operation"] = "Apply".into(),
    }
    Some(owners)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::taken_over;

    fn object(owners: &Value) -> kube::core::DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "managedFields": owners },
        }))
        .unwrap()
    }

    fn owner(manager: &str, operation: &str) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {} })
    }

    #[test]
    fn what_was_created_is_applied_from_then_on() {
        let made = object(&json!([owner("someone", "Update"), owner("us", "Update")]));
        let expected = json!([owner("someone", "Update"), owner("us", "Apply")]);
        assert_eq!(taken_over(&made, "us"), Some(expected.clone()));
        assert_eq!(taken_over(&object(&expected), "us"), None);
        let both = object(&json!([owner("us", "Apply"), owner("us", "Update")]));
        assert_eq!(taken_over(&both, "us"), Some(json!([owner("us", "Apply")])));
    }
}
