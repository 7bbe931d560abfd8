use bailiwick_api::Bundle;
use serde_json::json;

use super::*;

fn secrets() -> HostKind {
    HostKind::core("Secret", "secrets")
}

/// Annotations, by what follows the prefix.
fn annotated(said: &[(&str, &str)]) -> BTreeMap<String, String> {
    said.iter().map(|(key, value)| (format!("{}{key}", Bundle::ANNOTATION_PREFIX), (*value).to_owned())).collect()
}

/// M-SMITH-2, SMITH-25: a rule says when objects are ready instead of annotations, right or wrong; what they put out is found as
/// before, and waited for by those who use it.
#[test]
fn rules_and_annotations() {
    let mut types = Types::default();
    let definition = secrets().definition();
    let annotations = annotated(&[
        ("CrReadyWhenFieldPath", "status.state"),
        ("CrReadyWhenFieldValue", "Ready"),
        ("CrReadyWhenExistsKind", "ConfigMap"),
        ("CrReadyWhenExistsVersion", "v1"),
        ("CrOutputNameField", "data.name"),
    ]);
    types.set_definition(&definition, Some(&annotations));
    let said = types.rules_of(&secrets()).unwrap();
    assert_eq!(said.exists.as_ref().map(|binding| binding.wanted), Some(Wanted::Always));
    let rule = json!({"metadata": {"name": "r"}, "spec": {"selector": {"kind": "Secret"}, "condition": "Synced"}});
    types.set_rule("r", Some(serde_json::from_value(rule).unwrap()));
    let ruled = types.rules_of(&secrets()).unwrap();
    assert_eq!((ruled.field, ruled.condition.as_deref()), (None, Some("Synced")));
    let binding = said.exists.map(|binding| Binding { wanted: Wanted::WhenUsed, ..binding });
    assert_eq!(ruled.exists, binding);

    types.set_definition(&definition, Some(&annotated(&[("CrReadyWhenFieldPath", "status.state")])));
    let ruled = types.rules_of(&secrets()).unwrap();
    assert_eq!((ruled.condition.as_deref(), ruled.exists), (Some("Synced"), None));
    types.set_rule("r", None);
    assert!(types.rules_of(&secrets()).is_err());
}
