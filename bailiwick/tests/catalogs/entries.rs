//! What is found out about an entry when it is written.

use serde_json::{Value, json};

use crate::market::{Market, core, entries};
use crate::objects::{causes, condition, config_map, entry, list, local, secret};
use crate::site::{API as ORGANIZATIONS, Mode, group};

in_both_modes!(
    exposed_resources_are_found_when_the_entry_is_written,
    nobody_publishes_what_they_cannot_get,
    writing_an_entry_again_looks_again,
    dependencies_are_followed,
    what_is_wrong_with_an_entry_is_told
);

/// CAT-33, CAT-34, CAT-36, CAT-37, M-CAT-3, D-CAT-2: the answer to the POST says what is exposed, each with its UID; what is missing is named.
async fn exposed_resources_are_found_when_the_entry_is_written(site: &mut Market) {
    let (root, pat) = (site.root(), site.user("pat"));
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let creds = uid(&root.get(&core("shop", "secrets", "creds")).await.expect(200));
    let settings = uid(&root.get(&core("shop", "configmaps", "settings")).await.expect(200));
    let made =
        pat.post(&entries("shop"), &entry("both", local(&[("Secret", "creds"), ("ConfigMap", "settings")]))).await;
    let made = made.expect(201);
    let expected = json!([
        { "apiVersion": "v1", "kind": "Secret", "name": "creds", "uid": creds },
        { "apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": settings },
    ]);
    assert_eq!(made["status"]["localResources"]["exposedResources"], expected);
    assert_eq!(
        (made["status"]["requester"]["username"].as_str(), condition(&made, "ResourcesResolved").0),
        (Some("pat"), "True")
    );
    assert_eq!(made["status"]["serviceAccount"]["name"], "publisher");
    let missing = pat.post(&entries("shop"), &entry("none", local(&[("Secret", "creds"), ("Secret", "absent")]))).await;
    let refusal = missing.expect(422);
    assert_eq!(causes(&refusal)[0].0, "spec.localResources.exposedResources[1]");
    assert!(causes(&refusal)[0].1.contains("Secret/absent"), "{refusal}");
    pat.get(&format!("{}/none", entries("shop"))).await.expect(404);
    let mut pinned = entry("pinned", local(&[("Secret", "creds")]));
    pinned["spec"]["localResources"]["exposedResources"][0]["uid"] = json!("another");
    pat.post(&entries("shop"), &pinned).await.expect(409);
    pinned["spec"]["localResources"]["exposedResources"][0]["uid"] = creds;
    pat.post(&entries("shop"), &pinned).await.expect(201);
    // Nobody writes what the server has found, nor who asked.
    let forged =
        json!({ "status": { "localResources": { "exposedResources": [] }, "requester": { "username": "root" } } });
    let after = pat.merge(&format!("{}/pinned", entries("shop")), &forged).await.expect(200);
    assert_eq!(after["status"]["localResources"]["exposedResources"].as_array().unwrap().len(), 1);
    assert_eq!(after["status"]["requester"]["username"], "pat");
    // A dry run asks the same, and makes nothing.
    let dry = pat.post(&format!("{}?dryRun=All", entries("shop")), &entry("dry", local(&[("Secret", "creds")]))).await;
    assert_eq!(dry.expect(201)["status"]["localResources"]["exposedResources"][0]["name"], "creds");
    pat.get(&format!("{}/dry", entries("shop"))).await.expect(404);
}

/// CAT-35, CAT-44, D-CAT-11: nobody publishes what they cannot get, whoever published it before.
async fn nobody_publishes_what_they_cannot_get(site: &mut Market) {
    let writes =
        json!({ "apiGroups": ["catalog.bailiwick.dev"], "resources": ["resourcecatalogentries"], "verbs": ["*"] });
    site.grant("shop", "dev", writes, "User/dev").await;
    let acts = json!({ "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"] });
    let (dev, object) = (site.user("dev"), entry("both", local(&[("Secret", "creds"), ("ConfigMap", "settings")])));
    // Who may not act as the account may not name it.
    let refusal = dev.post(&entries("shop"), &object).await.expect(403);
    assert_eq!(refusal["details"]["causes"][0]["reason"], "ActAsForbidden", "{refusal}");
    site.grant("shop", "dev-acts", acts, "User/dev").await;
    let refusal = dev.post(&entries("shop"), &object).await.expect(403);
    let reasons: Vec<&str> = refusal["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| cause["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["GetForbidden", "GetForbidden"]);
    assert!(refusal["message"].as_str().unwrap().contains("cannot get secrets \"creds\""), "{refusal}");
    // The same for what is not there: what dev cannot get, dev does not learn of.
    let absent = dev.post(&entries("shop"), &entry("both", local(&[("Secret", "absent")]))).await.expect(403);
    assert_eq!(absent["details"]["causes"][0]["reason"], "GetForbidden");
    let reads = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] });
    site.grant("shop", "dev-reads", reads, "User/dev").await;
    let refusal = dev.post(&entries("shop"), &object).await.expect(403);
    assert_eq!(causes(&refusal).len(), 1, "{refusal}");
    dev.post(&entries("shop"), &entry("one", local(&[("ConfigMap", "settings")]))).await.expect(201);
    // An update is looked at as whoever updates, in every way to write.
    site.publish(&object).await;
    let at = format!("{}/both", entries("shop"));
    dev.merge(&at, &json!({ "spec": { "description": "mine now" } })).await.expect(403);
    dev.merge(&at, &json!({ "metadata": { "labels": { "tier": "silver" } } })).await.expect(403);
    let seen = dev.get(&at).await.expect(200);
    dev.put(&at, &seen).await.expect(403);
    let json_patch = json!([{ "op": "add", "path": "/spec/description", "value": "x" }]);
    dev.send(http::Method::PATCH, &at, "application/json-patch+json", Some(&json_patch)).await.expect(403);
    let applied = json!({
        "apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogEntry", "metadata": { "name": "both" },
        "spec": object["spec"],
    });
    let path = format!("{at}?fieldManager=dev&force=true");
    dev.send(http::Method::PATCH, &path, "application/apply-patch+yaml", Some(&applied)).await.expect(403);
}

/// CAT-38, CAT-44, D-CAT-11: another resource of the same name is exposed only when the entry is written again, which counts as a change.
async fn writing_an_entry_again_looks_again(site: &mut Market) {
    let (root, pat) = (site.root(), site.user("pat"));
    let made = site.publish(&entry("creds", local(&[("Secret", "creds")]))).await;
    root.delete(&core("shop", "secrets", "creds")).await.expect(200);
    let again = site.make("shop", "secrets", &secret("creds", json!({ "password": "new" }))).await;
    let at = format!("{}/creds", entries("shop"));
    let before = pat.get(&at).await.expect(200);
    assert_eq!(before["status"]["localResources"], made["status"]["localResources"], "nothing looks by itself");
    let after = pat.put(&at, &before).await.expect(200);
    assert_eq!(after["status"]["localResources"]["exposedResources"][0]["uid"], again["metadata"]["uid"]);
    assert_eq!((&before["metadata"]["generation"], &after["metadata"]["generation"]), (&json!(1), &json!(2)));
    assert_eq!(site.accepted("creds").await["status"]["generation"], 2);
    // The same again is nothing new.
    let same = pat.get(&at).await.expect(200);
    assert_eq!(pat.put(&at, &same).await.expect(200)["metadata"], same["metadata"]);
}

/// CAT-32, D-CAT-6: what resources depend on is exposed with them, if that is wanted. Circles end, and there is a bound.
async fn dependencies_are_followed(site: &mut Market) {
    let depends = |name: &str, on: &str| {
        let mut object = config_map(name, json!({}));
        object["metadata"]["annotations"] = json!({ "catalog.bailiwick.dev/depends-on": on });
        object
    };
    site.make("shop", "configmaps", &depends("one", "configmaps/two, secret/creds")).await;
    site.make("shop", "configmaps", &depends("two", "cm/three,cm/one")).await;
    site.make("shop", "configmaps", &depends("three", "configmaps.v1./one")).await;
    let pat = site.user("pat");
    let names = |made: &Value| -> Vec<String> {
        let exposed = made["status"]["localResources"]["exposedResources"].as_array().unwrap();
        exposed
            .iter()
            .map(|one| format!("{}/{}", one["kind"].as_str().unwrap(), one["name"].as_str().unwrap()))
            .collect()
    };
    let spec = |transitive: bool| {
        let mut spec = local(&[("ConfigMap", "one")]);
        spec["localResources"]["transitive"] = json!(transitive);
        spec
    };
    let made = pat.post(&entries("shop"), &entry("plain", spec(false))).await.expect(201);
    assert_eq!(names(&made), ["ConfigMap/one"]);
    let made = pat.post(&entries("shop"), &entry("whole", spec(true))).await.expect(201);
    assert_eq!(names(&made), ["ConfigMap/one", "ConfigMap/two", "Secret/creds", "ConfigMap/three"]);
    // Dependencies are nothing that the writer need not be able to get.
    site.make("shop", "configmaps", &depends("bad", "what/ever")).await;
    let mut bad = local(&[("ConfigMap", "bad")]);
    bad["localResources"]["transitive"] = json!(true);
    let refusal = pat.post(&entries("shop"), &entry("bad", bad)).await.expect(422);
    assert!(refusal["message"].as_str().unwrap().contains("ConfigMap \"bad\" depends on it"), "{refusal}");
    let many: Vec<String> = (0..100).map(|number| format!("cm/n{number}")).collect();
    site.make("shop", "configmaps", &depends("many", &many.join(", "))).await;
    let mut too_many = local(&[("ConfigMap", "many")]);
    too_many["localResources"]["transitive"] = json!(true);
    let refusal = pat.post(&entries("shop"), &entry("many", too_many)).await.expect(422);
    assert!(causes(&refusal)[0].1.contains("must have at most 100 items"), "{refusal}");
    // However many are named: nobody goes on to count.
    let many: Vec<String> = (0..10_000).map(|number| format!("cm/n{number}")).collect();
    site.make("shop", "configmaps", &depends("crowd", &many.join(", "))).await;
    let mut crowd = local(&[("ConfigMap", "crowd")]);
    crowd["localResources"]["transitive"] = json!(true);
    let refusal = pat.post(&entries("shop"), &entry("crowd", crowd)).await.expect(422);
    assert!(causes(&refusal)[0].1.contains("Too many: 101: must have at most 100 items"), "{refusal}");
}

/// CAT-25, CAT-31, CAT-39, CAT-40, M-CAT-5, D-CAT-2, D-CAT-3: an entry satisfies claims in one way, which can be changed, and what is wrong is named.
async fn what_is_wrong_with_an_entry_is_told(site: &mut Market) {
    let pat = site.user("pat");
    let extension =
        json!({ "apiVersion": "templates.example.com/v1", "kind": "Template", "anything": { "goes": [1, 2] } });
    let two = json!({ "extension": extension, "resourceList": { "resources": [config_map("a", json!({}))] } });
    let with = |change: fn(&mut Value)| {
        let mut object = config_map("a", json!({}));
        change(&mut object);
        list(json!([object]))
    };
    let unnamed = |field: &str| {
        let mut spec = local(&[("Secret", "creds")]);
        spec["localResources"]["exposedResources"][0].as_object_mut().unwrap().remove(field);
        spec
    };
    let cluster_role =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "x" } });
    for (spec, field) in [
        (json!({}), "spec"),
        (json!({ "description": "x" }), "spec"),
        (two, "spec.extension"),
        (
            json!({ "localResources": { "exposedResources": [{ "apiVersion": "v1", "kind": "Secret", "name": "creds" }] } }),
            "spec.serviceAccountName",
        ),
        (json!({ "extension": { "apiVersion": "x/v1" } }), "spec.extension.kind"),
        (list(json!([])), "spec.resourceList.resources"),
        (with(|object| object["kind"] = json!("Nonsense")), "spec.resourceList.resources[0].kind"),
        (
            with(|object| object["metadata"]["namespace"] = json!("a")),
            "spec.resourceList.resources[0].metadata.namespace",
        ),
        (
            with(|object| object["metadata"] = json!({ "generateName": "a-" })),
            "spec.resourceList.resources[0].metadata.name",
        ),
        (with(|object| object["metadata"]["name"] = json!("A/b")), "spec.resourceList.resources[0].metadata.name"),
        (with(|object| object["data"] = json!({ "a": 7 })), "spec.resourceList.resources[0].data"),
        (with(|object| object["colour"] = json!("red")), "spec.resourceList.resources[0].colour"),
        (
            list(json!([config_map("a", json!({})), config_map("a", json!({}))])),
            "spec.resourceList.resources[1].metadata.name",
        ),
        (list(json!([cluster_role])), "spec.resourceList.resources[0].kind"),
        (list(json!([crate::objects::claim("self", "loop", json!({}))])), "spec.resourceList.resources[0].kind"),
        (local(&[("Secret", "creds"), ("Secret", "creds")]), "spec.localResources.exposedResources[1]"),
        (unnamed("apiVersion"), "spec.localResources.exposedResources[0].apiVersion"),
        (unnamed("kind"), "spec.localResources.exposedResources[0].kind"),
        (unnamed("name"), "spec.localResources.exposedResources[0].name"),
        (local(&[("Nonsense", "creds")]), "spec.localResources.exposedResources[0].kind"),
        (local(&[("Namespace", "shop")]), "spec.localResources.exposedResources[0].kind"),
    ] {
        let refusal = pat.post(&entries("shop"), &entry("bad", spec.clone())).await.expect(422);
        assert!(causes(&refusal).iter().any(|(at, _)| at.starts_with(field)), "{spec}\n{field}: {refusal}");
    }
    let mut empty = entry("bad", json!({}));
    empty["spec"] = Value::Null;
    let refusal = pat.post(&entries("shop"), &empty).await.expect(422);
    assert_eq!(causes(&refusal).len(), 1, "it is told once: {refusal}");
    let mut unknown = local(&[("Secret", "creds")]);
    unknown["serviceAccountName"] = json!("nobody");
    let refusal = pat.post(&entries("shop"), &entry("bad", unknown)).await.expect(422);
    assert!(refusal["message"].as_str().unwrap().contains("kubectl create serviceaccount nobody"), "{refusal}");
    // An account that cannot read what is to be exposed: what to do is told.
    site.account("shop", "weak").await;
    let mut weak = local(&[("Secret", "creds")]);
    weak["serviceAccountName"] = json!("weak");
    let refusal = pat.post(&entries("shop"), &entry("bad", weak.clone())).await.expect(403);
    assert!(refusal["message"].as_str().unwrap().contains("kubectl create role weak-reads-creds"), "{refusal}");
    assert_eq!(refusal["details"]["causes"][0]["reason"], "AccountForbidden");
    if site.site.mode == Mode::Alone {
        // What a Group gives it, where that counts, is its own.
        let makers = group("makers", &["system:serviceaccount:shop:weak"]);
        site.root().post(&format!("{ORGANIZATIONS}/groups"), &makers).await.expect(201);
        site.bind("shop", "makers", "ClusterRole/edit", "Group/makers").await;
        pat.post(&entries("shop"), &entry("by-group", weak)).await.expect(201);
    }
    // The way can be changed, and what was found with it.
    let made = pat.post(&entries("shop"), &entry("turns", json!({ "extension": extension }))).await.expect(201);
    assert_eq!(made["spec"]["extension"], extension, "it is kept as it is");
    let at = format!("{}/turns", entries("shop"));
    let resources = [secret("s", json!({})), config_map("c", json!({ "a": "b" }))];
    let turned = json!({ "spec": { "extension": null, "resourceList": { "resources": resources } } });
    let turned = pat.merge(&at, &turned).await.expect(200);
    let listed = json!([
        { "apiVersion": "v1", "kind": "Secret", "name": "s" }, { "apiVersion": "v1", "kind": "ConfigMap", "name": "c" },
    ]);
    assert_eq!(turned["status"]["resourceList"]["resources"], listed);
    let back = json!({ "spec": local(&[("Secret", "creds")]) });
    let back = pat.merge(&at, &json!({ "spec": { "resourceList": null, "localResources": back["spec"]["localResources"], "serviceAccountName": "publisher" } })).await;
    let back = back.expect(200);
    assert!(back["status"]["resourceList"].is_null() && back["status"]["localResources"].is_object());
}
