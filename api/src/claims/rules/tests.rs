use serde_json::{Value, json};

use super::{ClassMatch, Rules};

fn rules(strategies: Value) -> Rules {
    Rules::read(Some(&serde_json::from_value(strategies).unwrap())).unwrap()
}

fn errors(strategies: Value) -> Vec<String> {
    let errors = Rules::read(Some(&serde_json::from_value(strategies).unwrap())).expect_err("it should not be read");
    errors.iter().map(|error| format!("{}{:?}.{:?}: {}", error.field, error.index, error.child, error.why)).collect()
}

/// The definition of the seed for one cloud.
fn cloud_sql() -> Value {
    json!({
        "provisioning": ["overlay", "translate"],
        "overlay": [{ "fromClassField": ".specTemplate", "toResourceField": ".spec" }],
        "translate": [{
            "fromClaimField": ".spec.engineVersion",
            "toResourceField": ".spec.forProvider.databaseVersion",
            "transforms": { "toupper": true, "replace": { "string": ".", "with": "_" } },
        }],
    })
}

fn claim(version: &str) -> Value {
    json!({ "spec": { "engineVersion": version } })
}

/// RCD-29, RCD-30, RCD-33, RCD-35: what the seed's definition makes of a claim and a class.
#[test]
fn the_seeds_resource() {
    let class = json!({
        "specTemplate": { "forProvider": { "tier": "db-n1", "settings": { "disk": 10 } }, "reclaimPolicy": "Delete" },
    });
    let formed = rules(cloud_sql()).form(&claim("5.7"), &class).unwrap();
    let expected = json!({ "spec": {
        "forProvider": { "tier": "db-n1", "settings": { "disk": 10 }, "databaseVersion": "5_7" },
        "reclaimPolicy": "Delete",
    } });
    assert_eq!(formed, expected);
}

/// RCD-28: the later strategy wins.
#[test]
fn the_order_of_strategies_counts() {
    let class = json!({ "specTemplate": { "forProvider": { "databaseVersion": "of the class", "tier": "a" } } });
    let mut strategies = cloud_sql();
    let version = |strategies: &Value| {
        let formed = rules(strategies.clone()).form(&claim("5.7"), &class).unwrap();
        assert_eq!(formed["spec"]["forProvider"]["tier"], "a");
        formed["spec"]["forProvider"]["databaseVersion"].clone()
    };
    assert_eq!(version(&strategies), "5_7");
    strategies["provisioning"] = json!(["translate", "overlay"]);
    assert_eq!(version(&strategies), "of the class");
    strategies["provisioning"] = json!(["overlay"]);
    assert_eq!(version(&strategies), "of the class");
}

/// RCD-25, D-RCD-9: without strategies, the class's template becomes the resource's spec.
#[test]
fn nothing_said_is_a_template() {
    let class = json!({ "specTemplate": { "size": 3 }, "other": 1 });
    for rules in [Rules::read(None).unwrap(), rules(json!({}))] {
        assert_eq!(rules.form(&claim("5.7"), &class).unwrap(), json!({ "spec": { "size": 3 } }));
        assert_eq!(
            rules.form(&claim("5.7"), &json!({})).unwrap(),
            json!({}),
            "a class without a template gives nothing"
        );
    }
}

#[test]
fn several_rules_and_lists() {
    let rules = rules(json!({
        "provisioning": ["overlay", "translate"],
        "overlay": [
            { "fromClassField": ".base", "toResourceField": ".spec" },
            { "fromClassField": ".more[1]", "toResourceField": ".spec" },
            { "fromClassField": ".labels", "toResourceField": ".metadata.labels" },
        ],
        "translate": [
            { "fromClaimField": ".spec.sizes[0]", "toResourceField": ".spec.disks[0].size" },
            { "fromClaimField": ".metadata.labels[\"app.example/name\"]", "toResourceField": ".metadata.annotations[\"a/b\"]" },
            { "fromClaimField": ".spec.absent", "toResourceField": ".spec.absent" },
        ],
    }));
    let class =
        json!({ "base": { "a": 1, "b": { "c": 1 } }, "more": [0, { "b": { "d": 2 } }], "labels": { "x": "y" } });
    let claim =
        json!({ "metadata": { "labels": { "app.example/name": "shop" } }, "spec": { "sizes": [7], "absent": null } });
    let expected = json!({
        "metadata": { "labels": { "x": "y" }, "annotations": { "a/b": "shop" } },
        "spec": { "a": 1, "b": { "c": 1, "d": 2 }, "disks": [{ "size": 7 }] },
    });
    assert_eq!(rules.form(&claim, &class).unwrap(), expected);
    let translated = rules.translated(&claim, Some(&class)).unwrap();
    assert_eq!(translated.len(), 2);
    assert_eq!(translated[0], (".spec.disks[0].size".parse().unwrap(), json!(7)));
}

#[test]
fn what_cannot_be_formed_says_why() {
    let class = json!({ "specTemplate": { "forProvider": "text" } });
    let error = rules(cloud_sql()).form(&claim("5.7"), &class).expect_err("a text has no fields").to_string();
    assert!(error.contains(".spec.forProvider is not an object"), "{error}");
    let error = rules(cloud_sql()).form(&json!({ "spec": { "engineVersion": [] } }), &json!({})).expect_err("a list");
    assert!(error.to_string().contains(".spec.engineVersion of the claim cannot be translated"), "{error}");
}

/// D-14: whatever is put where a resource has its fields, labels or annotations, these are still what they must be.
#[test]
fn a_resource_has_the_form_of_one() {
    let formed = |to: &str, value: Value| {
        let rules = rules(json!({
            "provisioning": ["overlay", "translate"],
            "overlay": [{ "fromClassField": ".template", "toResourceField": ".spec" }],
            "translate": [{ "fromClaimField": ".spec.value", "toResourceField": to }],
        }));
        let formed = rules.form(&json!({ "spec": { "value": value } }), &json!({ "template": { "a": 1 } }));
        formed.map_err(|error| error.to_string())
    };
    for place in [".spec", ".metadata.labels", ".metadata.annotations"] {
        for value in [json!("text"), json!(7), json!([{}]), json!(true)] {
            let error = formed(place, value).unwrap_err();
            assert!(error.contains(&format!("{place} is not an object")), "{error}");
        }
        formed(place, json!({ "a": "b" })).unwrap();
    }
    let error = formed(".metadata.labels[0]", json!("text")).unwrap_err();
    assert!(error.contains(".metadata.labels is not an object"), "{error}");
    for (place, value) in [("labels", json!(7)), ("annotations", json!({})), ("labels", json!("l".repeat(100_000)))] {
        let result = formed(&format!(".metadata.{place}.size"), value.clone());
        match value.is_string() {
            true => drop(result.unwrap()),
            false => assert_eq!(
                result.unwrap_err(),
                format!(
                    ".metadata.{place}.size of the resource cannot be set: labels and annotations are texts, and it would \
                     be {value}"
                )
            ),
        }
    }
    formed(".spec.labels.size", json!(7)).unwrap();
}

/// RCD-28: what follows a claim is what came from it: a later strategy that sets the same counts here too.
#[test]
fn what_is_translated_counts_if_nothing_later_does() {
    let translate = |from: &str, to: &str| json!({ "fromClaimField": from, "toResourceField": to });
    let with = |provisioning: Value| {
        rules(json!({
            "provisioning": provisioning,
            "overlay": [{ "fromClassField": ".template", "toResourceField": ".spec" }],
            "translate": [
                translate(".spec.first", ".spec.size"),
                translate(".spec.region", ".spec.place.region"),
                translate(".spec.second", ".spec.size"),
                translate(".spec.kept", ".metadata.labels.kept"),
            ],
        }))
    };
    let claim = json!({ "spec": { "first": 1, "second": 2, "region": "west", "kept": "k" } });
    let names = |rules: &Rules, claim: &Value, class: Option<&Value>| -> Vec<String> {
        let fields = rules.translated(claim, class).unwrap();
        fields.iter().map(|(path, value)| format!("{path}={value}")).collect()
    };
    let all = [".spec.place.region=\"west\"", ".spec.size=2", ".metadata.labels.kept=\"k\""];
    let class = |template: Value| json!({ "template": template });
    let full = class(json!({ "size": 9, "place": { "region": "east" } }));
    let last = with(json!(["overlay", "translate"]));
    assert_eq!(names(&last, &claim, Some(&full)), all);
    assert_eq!(names(&last, &claim, None), all);
    // The second says nothing, so that the first one counts.
    let only_first = json!({ "spec": { "first": 1 } });
    assert_eq!(names(&last, &only_first, None), [".spec.size=1"]);

    let first = with(json!(["translate", "overlay"]));
    assert_eq!(names(&first, &claim, Some(&class(Value::Null))), all);
    assert_eq!(names(&first, &claim, Some(&class(json!({ "place": { "zone": 1 }, "other": 1 })))), all);
    assert_eq!(names(&first, &claim, Some(&class(json!({ "size": 9 })))), [all[0], all[2]]);
    assert_eq!(names(&first, &claim, Some(&class(json!({ "place": "nowhere" })))), [all[1], all[2]]);
    for class in [Some(&full), None] {
        assert_eq!(names(&first, &claim, class), [all[2]]);
    }
}

/// RCD-27: a field of the claim equals a field of the class, after the transforms.
#[test]
fn classes_match_by_fields() {
    let rules = rules(json!({
        "selection": ["match"],
        "match": [
            { "fromClaimField": ".spec.region", "toClassField": ".region" },
            {
                "fromClaimField": ".spec.engineVersion", "toClassField": ".specTemplate.forProvider.version",
                "transforms": { "toupper": true },
            },
        ],
    }));
    let class = |version: Value| json!({ "region": "west", "specTemplate": { "forProvider": { "version": version } } });
    assert_eq!(rules.matches_class(&claim("5.7a"), &class(json!("5.7A"))), ClassMatch::Yes);
    assert_eq!(rules.matches_class(&json!({}), &class(json!("5.7"))), ClassMatch::Yes, "the claim wants nothing");
    let differs = rules.matches_class(&claim("5.7"), &class(json!("5.6")));
    let field = ".specTemplate.forProvider.version".to_owned();
    assert_eq!(
        differs,
        ClassMatch::Differs { field: field.clone(), found: json!("5.6"), wanted: json!("5.7"), fulfilled: 1 }
    );
    assert!(matches!(rules.matches_class(&claim("5.7"), &class(json!(5.7))), ClassMatch::Differs { .. }));
    let missing = ClassMatch::Missing { field, fulfilled: 1 };
    for class in [json!({ "region": "west" }), class(Value::Null)] {
        assert_eq!(rules.matches_class(&claim("5.7"), &class), missing);
    }
    let list = json!({ "spec": { "engineVersion": ["5.7"] } });
    assert!(matches!(rules.matches_class(&list, &class(json!("5.7"))), ClassMatch::Untransformed { .. }));
}

#[test]
fn resources_that_exist_match_by_what_they_would_have_become() {
    let mut strategies = cloud_sql();
    strategies["selection"] = json!(["match"]);
    strategies["match"] = json!([{ "fromClaimField": ".spec.region", "toClassField": ".specTemplate.region" }]);
    let rules = rules(strategies);
    let claim = json!({ "spec": { "engineVersion": "5.7", "region": "west" } });
    let resource = |version: &str, region: &str| json!({ "spec": { "region": region, "forProvider": { "databaseVersion": version } } });
    assert!(rules.matches_resource(&claim, &resource("5_7", "west")));
    assert!(!rules.matches_resource(&claim, &resource("5_6", "west")));
    assert!(!rules.matches_resource(&claim, &resource("5_7", "east")));
    assert!(!rules.matches_resource(&claim, &json!({ "spec": {} })));
    assert!(rules.matches_resource(&json!({}), &json!({ "spec": {} })), "who wants nothing in particular is content");
}

/// RCD-26: a strategy that is named must say something.
#[test]
fn what_is_wrong_is_told_with_its_place() {
    let all = errors(json!({
        "selection": ["match"],
        "provisioning": ["overlay", "translate"],
        "translate": [
            { "fromClaimField": "a b", "toResourceField": ".metadata.name" },
            { "fromClaimField": ".a", "toResourceField": ".spec", "transforms": { "toupper": 1 } },
        ],
    }));
    let expected = [
        "selectionNone.None: the strategy is named here and says nothing: match",
        "translateSome(0).Some(\"fromClaimField\"): ",
        "translateSome(0).Some(\"toResourceField\"): must be a field that a resource is given",
        "translateSome(1).Some(\"transforms\"): ",
        "provisioningNone.None: the strategy is named here and says nothing: overlay",
    ];
    assert_eq!(all.len(), expected.len(), "{all:?}");
    for (error, expected) in all.iter().zip(expected) {
        assert!(error.starts_with(expected), "{error}");
    }
    for closed in [
        ".status",
        ".status.x",
        ".kind",
        ".apiVersion",
        ".metadata",
        ".metadata.namespace",
        ".metadata.ownerReferences",
        ".metadata.finalizers[0]",
        ".spec.claimRef",
        ".spec.claimRef.uid",
        "[0]",
    ] {
        let overlay = json!([{ "fromClassField": ".a", "toResourceField": closed }]);
        let errors = errors(json!({ "provisioning": ["overlay"], "overlay": overlay }));
        assert_eq!(errors.len(), 1, "{closed}: {errors:?}");
    }
}
