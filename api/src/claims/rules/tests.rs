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
    let translated = rules.translated(&claim).unwrap();
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
