use super::*;

fn rules(annotations: &[(&str, &str)]) -> Result<TypeRules, TypeError> {
    let owned = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    TypeRules::of_annotations(&owned.collect())
}

/// SMITH-16, SMITH-18, SMITH-20, SMITH-33, M-SMITH-1: pairs, both spellings, and only whole keys.
#[test]
fn annotations() {
    assert_eq!(rules(&[]), Ok(TypeRules::default()));
    for era in ["Tpr", "Cr"] {
        let key = |name: &str| format!("smith.atlassian.com/{era}{name}");
        let found = rules(&[
            (&key("ReadyWhenFieldPath"), "{$.status.state}"),
            (&key("ReadyWhenFieldValue"), "Ready"),
            (&key("ReadyWhenExistsKind"), "ResourceBinding"),
            (&key("ReadyWhenExistsVersion"), "smith.atlassian.com/v1"),
            (&key("OutputNameField"), "status.secretName"),
        ])
        .unwrap();
        assert_eq!(found.field, Some(("status.state".parse().unwrap(), "Ready".to_owned())));
        let exists = found.exists.unwrap();
        assert_eq!((exists.kind.as_str(), exists.api_version.as_str()), ("ResourceBinding", "smith.atlassian.com/v1"));
        assert_eq!(exists.output_name, Some("status.secretName".parse().unwrap()));
        for (has, lacks) in [
            ("ReadyWhenFieldPath", "ReadyWhenFieldValue"),
            ("ReadyWhenFieldValue", "ReadyWhenFieldPath"),
            ("ReadyWhenExistsKind", "ReadyWhenExistsVersion"),
            ("ReadyWhenExistsVersion", "ReadyWhenExistsKind"),
        ] {
            assert_eq!(rules(&[(&key(has), "x")]), Err(TypeError::Alone(key(has), key(lacks))));
        }
        let broken = rules(&[(&key("ReadyWhenFieldPath"), "a..b"), (&key("ReadyWhenFieldValue"), "x")]);
        assert!(matches!(broken, Err(TypeError::Path { .. })), "{broken:?}");
    }
    let short = rules(&[("smith.a.c/TprReadyWhenFieldPath", "a"), ("smith.a.c/TprReadyWhenFieldValue", "b")]);
    assert!(short.unwrap().is_empty());
}
