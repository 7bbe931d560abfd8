//! What is refused when a Bundle is written, and with which words.

use serde_json::{Value, json};

use crate::shop::{BUNDLES, MAPS, Shop, bundle, map, part, secret, sleeper};
use crate::site::causes;

in_both_modes!(what_is_wrong_is_refused, what_reaches_too_far_is_refused, what_cannot_fit_is_refused);

/// These resources are refused, at this field, with these words and for no other reason.
async fn is_refused(shop: &Shop, resources: Value, field: &str, why: &str) {
    let answer = shop.root.post(BUNDLES, &bundle("wrong", resources)).await.expect(422);
    let causes = causes(&answer);
    assert!(matches!(&causes[..], [(at, told)] if at == field && told.contains(why)), "{field}, {why}: {causes:?}");
}

/// SMITH-3, SMITH-4, SMITH-7, SMITH-14, B-SMITH-3, B-04, B-08, D-SMITH-2, D-SMITH-3, D-SMITH-11, D-SMITH-12: what is wrong is
/// told with its place, and nothing comes of it.
async fn what_is_wrong_is_refused(shop: &Shop) {
    let refused = async |resources: Value, field: &str, why: &str| is_refused(shop, resources, field, why).await;
    let a = || part(&[], map("a", json!({ "x": "1" })));
    let b = |text: &str| part(&["a"], map("b", json!({ "x": text })));
    let twice = json!([a(), { "name": "a", "spec": map("b", json!({})) }]);
    refused(twice, "spec.resources[1]", "Duplicate").await;
    refused(json!([{ "name": "a", "spec": "text" }]), "spec.resources[0].spec", "object").await;
    refused(json!([part(&["nobody"], map("a", json!({})))]), "spec.resources[0].dependsOn[0]", "nobody").await;
    let circle = json!([
        part(&["c"], map("a", json!({}))),
        part(&["a"], map("b", json!({}))),
        part(&["b"], map("c", json!({})))
    ]);
    refused(circle, "spec.resources[0].dependsOn", "a -> c -> b -> a").await;
    let indirect = json!([a(), b("1"), part(&["b"], map("c", json!({ "x": "$(a.data.x)" })))]);
    refused(indirect, "spec.resources[2].spec.data.x", "only direct dependencies").await;
    refused(json!([a(), b("$(oops")]), "spec.resources[1].spec.data.x", "$$(").await;
    refused(json!([a(), b("$(other.x)")]), "spec.resources[1].spec.data.x", "there is no resource").await;
    refused(json!([a(), b("x $((a.data))")]), "spec.resources[1].spec.data.x", "must be all of the text").await;
    let elsewhere =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "default" } });
    refused(json!([part(&[], elsewhere)]), "spec.resources[0].spec.metadata.namespace", "\"shop\"").await;
    let cluster = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } });
    refused(json!([part(&[], cluster)]), "spec.resources[0].spec.kind", "cluster as a whole").await;
    let leak =
        json!([part(&[], secret("s", json!({ "p": "x" }))), part(&["s"], map("m", json!({ "p": "$(s.data.p)" })))]);
    refused(leak, "spec.resources[1].spec.data.p", "may only become data of a Secret").await;
    let mut told = part(&["s"], map("m", json!({ "p": "$(s.data.p)" })));
    told["allowSecretValues"] = json!(true);
    let passed_on = part(&["m"], map("n", json!({ "p": "$(m.data.p)" })));
    let leak = json!([part(&[], secret("s", json!({ "p": "x" }))), told, passed_on]);
    refused(leak, "spec.resources[2].spec.data.p", "may only become data of a Secret").await;
    // What an object is must be known; what it is called may come from another.
    let placed = |object: &Value| json!([a(), { "name": "b", "dependsOn": ["a"], "spec": object }]);
    let mut named = map("$(a.metadata.name)-too", json!({}));
    shop.root.post(&format!("{BUNDLES}?dryRun=All"), &bundle("named", placed(&named))).await.expect(201);
    for (field, pointer) in
        [("apiVersion", "/apiVersion"), ("kind", "/kind"), ("metadata.namespace", "/metadata/namespace")]
    {
        let before = named.clone();
        named["metadata"]["namespace"] = json!("shop");
        *named.pointer_mut(pointer).unwrap() = json!("$(a.data.x)");
        refused(placed(&named), &format!("spec.resources[1].spec.{field}"), "references cannot stand here").await;
        named = before;
    }
    // What names a kind or an object names no other place.
    let other = |api_version: &str, name: &str| {
        json!([part(&[], json!({ "apiVersion": api_version, "kind": "ConfigMap", "metadata": { "name": name } }))])
    };
    for place in ["bundle.bailiwick.dev/v1alpha1/bundles", "bundle.bailiwick.dev/v1alpha1/bundles?watch=true", "../v1"]
    {
        let mut resources = other(place, "a");
        resources[0]["name"] = json!("a");
        refused(resources, "spec.resources[0].spec.apiVersion", "must be a version").await;
    }
    for name in ["?limit=1", "a/b", ".."] {
        let mut resources = other("v1", name);
        resources[0]["name"] = json!("a");
        refused(resources, "spec.resources[0].spec.metadata.name", "one part of a path").await;
    }
    let many: Vec<Value> = (0..201).map(|number| part(&[], map(&format!("m{number}"), json!({})))).collect();
    refused(json!(many), "spec.resources", "200").await;
    let texts: serde_json::Map<String, Value> =
        (0..1001).map(|number| (format!("k{number}"), json!("$(a.data.x)"))).collect();
    refused(json!([a(), part(&["a"], map("b", json!(texts)))]), "spec.resources", "at most 1000 references").await;
    // What could be stored, but not together with its status.
    let large = json!([part(&[], map("a", json!({ "x": "x".repeat(1024 * 1024 - 16 * 1024) })))]);
    refused(large, "spec", "leave room for the status").await;
    assert_eq!(shop.root.get(&format!("{MAPS}/a")).await.code, 404);
    assert_eq!(shop.root.get(&format!("{BUNDLES}/wrong")).await.code, 404);
}

/// B-06, B-10: a path names one field; nothing searches, nothing looks into the records about an object, and no code is run.
async fn what_reaches_too_far_is_refused(shop: &Shop) {
    let a = part(&[], map("a", json!({ "x": "1" })));
    let deep = format!("a{}", ".x".repeat(33));
    for (path, why) in [
        ("a.data.*", "is not part of a path"),
        ("a.data[*]", "an index is a number"),
        ("a..x", "a field has no name"),
        ("a.data[?(@.x)]", "an index is a number"),
        ("a.data[-1]", "an index is a number"),
        ("a.data[12345678]", "an index is a number"),
        ("a.data[0:1]", "is not part of a path"),
        ("a.data['x", "does not end"),
        (&deep, "at most 32 segments"),
        ("a", "the path is empty"),
        ("a:status.x", "\"binding\" or \"output\""),
        ("a.metadata.managedFields", "cannot be used"),
        ("a.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']", "cannot be used"),
        ("a.metadata.annotations['bundle.bailiwick.dev/x']", "cannot be used"),
    ] {
        let b = part(&["a"], map("b", json!({ "x": format!("$({path})") })));
        is_refused(shop, json!([a, b]), "spec.resources[1].spec.data.x", why).await;
    }
    // What looks like a way to what all objects of a language have is a field like any other, which is not there.
    let b = part(&["a"], map("b", json!({ "x": "$(a.data.__proto__.constructor)" })));
    shop.write("prototype", json!([a, b])).await;
    shop.says("prototype", "b", "Blocked", "FieldMissing").await;
    let plugin = json!([{ "name": "p", "spec": { "plugin": { "name": "x", "objectName": "y", "spec": {} } } }]);
    is_refused(shop, plugin, "spec.resources[0].spec.plugin", "no plugins are run").await;
}

/// M-SMITH-8, SMITH-9: what cannot fit the host's schema is told while whoever wrote it is still there.
async fn what_cannot_fit_is_refused(shop: &Shop) {
    let refused = async |resources: Value, field: &str, why: &str| is_refused(shop, resources, field, why).await;
    let a = || part(&[], map("a", json!({ "x": "1" })));
    refused(json!([part(&[], map("a", json!({ "x": 1 })))]), "spec.resources[0].spec.data.x", "string").await;
    // It may stand where Smith had it in the end.
    let inner = json!([{ "name": "a", "spec": { "object": map("a", json!({ "x": 1 })) } }]);
    refused(inner, "spec.resources[0].spec.object.data.x", "string").await;
    refused(
        json!([a(), part(&["a"], map("b", json!({ "x": "$(a.data)" })))]),
        "spec.resources[1].spec.data.x",
        "use \"$((…))\"",
    )
    .await;
    refused(
        json!([a(), part(&["a"], map("b", json!("$((a.data.x))")))]),
        "spec.resources[1].spec.data",
        "object is wanted",
    )
    .await;
    let unknown = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "dta": {} });
    refused(json!([part(&[], unknown)]), "spec.resources[0].spec.dta", "unknown field").await;
    let fine =
        json!([a(), part(&["a"], map("b", json!("$((a.data))"))), part(&["b"], sleeper("s", json!("$((b.data))")))]);
    shop.root.post(&format!("{BUNDLES}?dryRun=All"), &bundle("fine", fine)).await.expect(201);
}
