//! Who may claim, and what they get.

use serde_json::{Value, json};

use crate::market::{Market, claims, core, entries};
use crate::objects::{API, RBAC, bound, causes, claim, condition, config_map, entry, list, local};
use crate::site::{Mode, Site};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

in_both_modes!(
    a_catalog_is_used_where_and_by_whom_it_may_be,
    a_claim_is_realized,
    a_claim_is_of_an_entry_of_the_catalog,
    a_list_is_made_where_it_is_claimed,
    each_resource_fails_by_itself,
    what_a_host_refuses_is_told_in_short,
    a_claim_acts_as_its_account_alone
);

/// CAT-2, CAT-3, CAT-51, M-CAT-8, D-CAT-1: a catalog is used where a cluster administrator lets it be used, by those to whom that was delegated.
async fn a_catalog_is_used_where_and_by_whom_it_may_be(site: &mut Market) {
    site.publish(&entry("creds", local(&[("Secret", "creds")]))).await;
    let object = claim("mine", "creds", json!({}));
    let (root, ada, eddie, bea) = (site.root(), site.user("ada"), site.user("eddie"), site.user("bea"));
    let refusal = bea.post(&claims("b"), &object).await.expect(403);
    assert_eq!(refusal["details"]["causes"][0]["reason"], "ClaimForbidden");
    assert!(refusal["message"].as_str().unwrap().contains("--verb=claim"), "{refusal}");
    eddie.post(&claims("a"), &object).await.expect(201);
    let rules = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": { "namespace": "a" },
    });
    let rules = eddie.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &rules).await.expect(201);
    let shown = rules["status"]["resourceRules"].as_array().unwrap();
    assert!(shown.contains(&crate::objects::uses("claim", "gold")), "whoever asks sees it: {rules}");
    // ada holds the right, and gives it on; bea does not, and cannot.
    let path = |namespace: &str, plural: &str| format!("{RBAC}/namespaces/{namespace}/{plural}");
    let gives = bound("fay-claims", "a", "Role/claim-gold", "User/fay");
    let giving = async { drop(ada.post(&path("a", "rolebindings"), &gives).await.expect(201)) };
    site.when_rights_change("a", "fay", giving).await;
    site.bind("a", "fay-edits", "ClusterRole/edit", "User/fay").await;
    site.user("fay").post(&claims("a"), &claim("fays", "creds", json!({ "namePrefix": "fays-" }))).await.expect(201);
    site.ready("a", "fays").await;
    let takes = crate::objects::role("claim-gold", crate::objects::uses("claim", "gold"));
    bea.post(&path("b", "roles"), &takes).await.expect(403);
    // Revoked: no new claims, and what is there stays.
    site.ready("a", "mine").await;
    site.revoke("a", "eddie-claims").await;
    eddie.post(&claims("a"), &claim("second", "creds", json!({}))).await.expect(403);
    root.get(&core("a", "secrets", "creds")).await.expect(200);
    // A cluster administrator closes it for a project, whatever has been delegated there.
    let gold = format!("{API}/resourcecatalogs/gold");
    root.merge(&gold, &json!({ "spec": { "claimableFrom": { "matchLabels": { "open": "yes" } } } })).await.expect(200);
    let refusal = ada.post(&claims("a"), &claim("third", "creds", json!({}))).await.expect(403);
    assert_eq!(refusal["details"]["causes"][0]["reason"], "NotExposed");
    root.merge("/api/v1/namespaces/a", &json!({ "metadata": { "labels": { "open": "yes" } } })).await.expect(200);
    ada.post(&claims("a"), &claim("third", "creds", json!({ "namePrefix": "third-" }))).await.expect(201);
}

/// CAT-4, CAT-27, CAT-48, CAT-50, CAT-54, CAT-58, CAT-62, CAT-63, M-CAT-6, M-CAT-9: an editor claims, and gets copies in the own namespace.
async fn a_claim_is_realized(site: &mut Market) {
    let published = site.publish(&entry("both", local(&[("Secret", "creds"), ("ConfigMap", "settings")]))).await;
    let labels = json!({ "metadata": { "labels": { "app": "theirs", "kept": "yes" } } });
    site.root().merge(&core("shop", "configmaps", "settings"), &labels).await.expect(200);
    let more = json!({ "namePrefix": "my-", "additionalLabels": { "app": "web" } });
    let mine = site.claimed(&claim("mine", "both", more)).await;
    let copy = site.root().get(&core("a", "secrets", "my-creds")).await.expect(200);
    let source = site.root().get(&core("shop", "secrets", "creds")).await.expect(200);
    assert_eq!((&copy["data"], &copy["type"]), (&source["data"], &source["type"]));
    assert_eq!(
        copy["metadata"]["labels"],
        json!({ "app": "web", "bailiwick.dev/derived-from": "resourcecatalogclaims" })
    );
    let owner = &copy["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&json!("ResourceCatalogClaim"), &mine["metadata"]["uid"]));
    assert_eq!(copy["metadata"]["annotations"]["catalog.bailiwick.dev/source-uid"], source["metadata"]["uid"]);
    let settings = site.root().get(&core("a", "configmaps", "my-settings")).await.expect(200);
    let labels = &settings["metadata"]["labels"];
    assert_eq!((&labels["app"], &labels["kept"]), (&json!("web"), &json!("yes")), "what was there is overwritten");
    assert_eq!(
        mine["status"]["createdResources"],
        json!([
            { "apiVersion": "v1", "kind": "Secret", "name": "my-creds", "uid": copy["metadata"]["uid"] },
            { "apiVersion": "v1", "kind": "ConfigMap", "name": "my-settings", "uid": settings["metadata"]["uid"] },
        ])
    );
    let status = &mine["status"];
    assert_eq!((&status["entryGeneration"], &status["observedGeneration"]), (&json!(1), &json!(1)));
    assert_eq!((&status["errors"], &status["requester"]["username"]), (&json!(null), &json!("eddie")));
    assert_eq!(mine["spec"]["resourceCatalogEntry"]["uid"], published["metadata"]["uid"], "it is pinned");
    // Nothing elsewhere.
    assert_eq!(site.root().get("/api/v1/namespaces/b/secrets").await.expect(200)["items"], json!([]));
    let events = "/apis/events.k8s.io/v1/namespaces/a/events";
    site.until(events, |list| list["items"].as_array().unwrap().iter().any(|event| event["reason"] == "Realized"))
        .await;
}

/// Operators see what controllers have to do, and how long it takes, under Kubernetes' names.
#[tokio::test]
async fn controllers_are_measured() {
    let site = Market::open(Site::alone().await).await;
    site.publish(&entry("settings", local(&[("ConfigMap", "settings")]))).await;
    site.claimed(&claim("mine", "settings", json!({}))).await;
    let text = site.root().get("/metrics").await.text();
    for (name, controller) in [
        ("adds_total", "catalog-claim-controller"),
        ("work_duration_seconds_count", "catalog-claim-controller"),
        ("queue_duration_seconds_count", "catalog-controller"),
        ("adds_total", "serviceaccount-controller"),
    ] {
        let start = format!("workqueue_{name}{{name=\"{controller}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_default();
        assert!(value.parse::<u64>().is_ok_and(|count| count > 0), "{start}{value}");
    }
    for name in ["depth", "retries_total"] {
        assert!(text.contains(&format!("\nworkqueue_{name}{{name=\"bundle-controller\"}} 0\n")), "{name}");
    }
}

/// CAT-52, CAT-53, CAT-54, D-CAT-9 and SRV-8: a claim is of an entry that is in the catalog, and remains the claim of that.
async fn a_claim_is_of_an_entry_of_the_catalog(site: &mut Market) {
    site.publish(&entry("creds", local(&[("Secret", "creds")]))).await;
    let mut hidden = entry("hidden", list(json!([config_map("x", json!({}))])));
    hidden["metadata"]["labels"] = json!({ "tier": "none" });
    site.user("pat").post(&entries("shop"), &hidden).await.expect(201);
    let eddie = site.user("eddie");
    let refusal = |name: &str| {
        let (eddie, object) = (eddie.clone(), claim("mine", name, json!({})));
        async move { eddie.post(&claims("a"), &object).await.expect(422) }
    };
    let text = |refusal: &Value, name: &str| refusal.to_string().replace(name, "NAME");
    let (absent, invisible) = (refusal("absent").await, refusal("hidden").await);
    assert_eq!(text(&absent, "absent"), text(&invisible, "hidden"), "they are told of in the same words");
    assert_eq!(causes(&absent)[0].0, "spec.resourceCatalogEntry");
    assert!(causes(&absent)[0].1.contains("kubectl get localresourcecatalogs gold -n a -o yaml"), "{absent}");
    let with_uid = |uid: &str| {
        let mut object = claim("mine", "creds", json!({}));
        object["spec"]["resourceCatalogEntry"]["uid"] = json!(uid);
        object
    };
    eddie.post(&claims("a"), &with_uid("stale")).await.expect(409);
    // A catalog that is not there, for someone who could claim from it; and for someone who could not.
    let mut nowhere = claim("mine", "creds", json!({}));
    nowhere["spec"]["catalogName"] = json!("none");
    eddie.post(&claims("a"), &nowhere).await.expect(403);
    let refused = site.root().post(&claims("a"), &nowhere).await.expect(422);
    assert_eq!(causes(&refused)[0].0, "spec.catalogName");
    let made = site.claimed(&claim("mine", "creds", json!({}))).await;
    let at = format!("{}/mine", claims("a"));
    for (patch, field) in [
        (json!({ "spec": { "catalogName": "other" } }), "spec.catalogName"),
        (json!({ "spec": { "resourceCatalogEntry": { "name": "other" } } }), "spec.resourceCatalogEntry.name"),
    ] {
        let code = site.root().merge(&at, &patch).await;
        assert!(code.code == 422 && code.text().contains(field), "{patch}: {}", code.text());
    }
    // Who leaves the UID out means the same entry.
    let mut again = made.clone();
    again["spec"]["resourceCatalogEntry"].as_object_mut().unwrap().remove("uid");
    again["spec"]["additionalLabels"] = json!({ "x": "y" });
    let seen = eddie.get(&at).await.expect(200);
    again["metadata"]["resourceVersion"] = seen["metadata"]["resourceVersion"].clone();
    let kept = eddie.put(&at, &again).await.expect(200);
    assert_eq!(kept["spec"]["resourceCatalogEntry"]["uid"], made["spec"]["resourceCatalogEntry"]["uid"]);
    eddie.merge(&at, &json!({ "spec": { "resourceCatalogEntry": { "uid": "stale" } } })).await.expect(409);
    // Another entry of the same name is claimed by whoever says that they mean that one.
    site.root().delete(&format!("{}/creds", entries("shop"))).await.expect(200);
    let anew = site.publish(&entry("creds", local(&[("Secret", "creds")]))).await["metadata"]["uid"].clone();
    let labelled = json!({ "spec": { "additionalLabels": { "x": "z" } } });
    let refusal = eddie.merge(&at, &labelled).await.expect(409);
    assert!(refusal["message"].as_str().unwrap().contains(anew.as_str().unwrap()), "{refusal}");
    let meant = json!({ "spec": { "resourceCatalogEntry": { "uid": anew } } });
    assert_eq!(eddie.merge(&at, &meant).await.expect(200)["spec"]["resourceCatalogEntry"]["uid"], anew);
}

/// CAT-7, CAT-28, CAT-39: resources of a list are made where they are claimed, in order, of any kind.
async fn a_list_is_made_where_it_is_claimed(site: &mut Market) {
    let root = site.root();
    let widgets = format!("{CRDS}/widgets.example.dev");
    root.post(CRDS, &widget_kind()).await.expect(201);
    site.until("/apis/example.dev/v1/widgets", |_| true).await;
    let made = json!({ "apiGroups": ["", "example.dev"], "resources": ["resourcequotas", "widgets"], "verbs": ["*"] });
    site.grant("a", "more", made, "ServiceAccount/maker").await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "cap" }, "spec": { "hard": { "pods": "3" } },
    });
    let widget = |size: Value| json!({ "apiVersion": "example.dev/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "size": size } });
    let mut resources = vec![
        config_map("first", json!({ "n": "1" })),
        quota,
        widget(json!(7)),
        crate::objects::secret("last", json!({})),
    ];
    let mut wanted = vec!["ConfigMap", "ResourceQuota", "Widget", "Secret"];
    if site.site.mode == Mode::Behind {
        resources.push(deployment());
        wanted.push("Deployment");
    }
    let bad = entry("bad", list(json!([widget(json!("big"))])));
    let refusal = site.user("pat").post(&entries("shop"), &bad).await.expect(422);
    assert_eq!(causes(&refusal)[0].0, "spec.resourceList.resources[0].spec.size", "{refusal}");
    site.publish(&entry("set", list(json!(resources)))).await;
    let mine = site.claimed(&claim("mine", "set", json!({}))).await;
    let made = mine["status"]["createdResources"].as_array().unwrap();
    let kinds: Vec<&str> = made.iter().map(|made| made["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, wanted);
    if site.site.mode == Mode::Behind {
        root.get("/apis/apps/v1/namespaces/a/deployments/web").await.expect(200);
        root.get("/apis/apps/v1/namespaces/shop/deployments/web").await.expect(404);
    }
    root.get(&core("a", "resourcequotas", "cap")).await.expect(200);
    let made = root.get("/apis/example.dev/v1/namespaces/a/widgets/w").await.expect(200);
    assert_eq!(made["spec"], json!({ "size": 7 }));
    root.get(&core("shop", "configmaps", "first")).await.expect(404);
    // A cluster is not to have it any more.
    root.delete(&widgets).await.expect(200);
    site.until_gone(&widgets).await;
}

/// What only a cluster has.
fn deployment() -> Value {
    let labels = json!({ "app": "web" });
    let pod = json!({
        "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "example.dev/web" }] },
    });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "replicas": 0, "selector": { "matchLabels": labels }, "template": pod },
    })
}

/// A kind of someone's own.
fn widget_kind() -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "spec": { "type": "object", "properties": { "size": { "type": "integer" } } } },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.dev" },
        "spec": {
            "group": "example.dev", "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } },
            ],
        },
    })
}

/// CAT-6, CAT-59, CAT-61, CAT-62: what the account may not make is not made, and what is there is not taken; the rest is made,
/// stays, and is completed when it can be.
async fn each_resource_fails_by_itself(site: &mut Market) {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "gift" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory" }],
    });
    let long = "n".repeat(253);
    let resources = [
        config_map("first", json!({})),
        binding,
        config_map("taken", json!({ "mine": "no" })),
        config_map(&long, json!({})),
        config_map("last", json!({})),
    ];
    site.publish(&entry("set", list(json!(resources)))).await;
    site.make("a", "configmaps", &config_map("my-taken", json!({ "theirs": "yes" }))).await;
    site.user("eddie").post(&claims("a"), &claim("mine", "set", json!({ "namePrefix": "my-" }))).await.expect(201);
    let at = format!("{}/mine", claims("a"));
    let told =
        site.until(&at, |claim| claim["status"]["errors"].as_array().is_some_and(|errors| errors.len() == 3)).await;
    let errors: Vec<(&str, &str)> = told["status"]["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| (error["kind"].as_str().unwrap(), error["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(errors, [("RoleBinding", "Forbidden"), ("ConfigMap", "AlreadyExists"), ("ConfigMap", "NameTooLong")]);
    assert_eq!(condition(&told, "Ready"), ("False", "Incomplete"));
    let remedy = "kubectl create role maker-makes-rolebindings -n a --verb=get,list,watch,create,patch,delete \
                  --resource=rolebindings.rbac.authorization.k8s.io";
    let message = told["status"]["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains(remedy), "what to do is told: {message}");
    let made: Vec<&str> = told["status"]["createdResources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|made| made["name"].as_str().unwrap())
        .collect();
    assert_eq!(made, ["my-first", "my-last"]);
    site.root().get(&format!("{RBAC}/namespaces/a/rolebindings/my-gift")).await.expect(404);
    let theirs = site.root().get(&core("a", "configmaps", "my-taken")).await.expect(200);
    assert_eq!((&theirs["data"], &theirs["metadata"]["ownerReferences"]), (&json!({ "theirs": "yes" }), &json!(null)));
    // Once the name is free it is made, and the others are left alone.
    let first = site.root().get(&core("a", "configmaps", "my-first")).await.expect(200);
    site.root().delete(&core("a", "configmaps", "my-taken")).await.expect(200);
    site.until(&at, |claim| claim["status"]["errors"].as_array().is_some_and(|errors| errors.len() == 2)).await;
    assert_eq!(
        site.root().get(&core("a", "configmaps", "my-taken")).await.expect(200)["data"],
        json!({ "mine": "no" })
    );
    assert_eq!(site.root().get(&core("a", "configmaps", "my-first")).await.expect(200), first);
}

/// CAT-59, CAT-61: however much a host has to say about what it refuses, the claim tells of it, and the rest is made.
async fn what_a_host_refuses_is_told_in_short(site: &mut Market) {
    let mut labelled = config_map("labelled", json!({}));
    labelled["metadata"]["labels"] = json!({ "long": "x".repeat(40_000) });
    site.publish(&entry("set", list(json!([labelled, config_map("plain", json!({}))])))).await;
    site.user("eddie").post(&claims("a"), &claim("mine", "set", json!({}))).await.expect(201);
    let at = format!("{}/mine", claims("a"));
    let told = site.until(&at, |claim| condition(claim, "Ready") == ("False", "Invalid")).await;
    let message = told["status"]["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("metadata.labels") && message.len() <= 1_024, "{message}");
    assert_eq!(told["status"]["createdResources"][0]["name"], "plain");
}

/// CAT-57, D-CAT-8: a claim waits for its account, does nothing as anyone else, and does not take another for it.
async fn a_claim_acts_as_its_account_alone(site: &mut Market) {
    site.publish(&entry("set", list(json!([config_map("made", json!({}))])))).await;
    let late = claim("mine", "set", json!({ "serviceAccountName": "late", "keepSynchronized": true }));
    site.user("eddie").post(&claims("a"), &late).await.expect(201);
    let at = format!("{}/mine", claims("a"));
    let waits = site.until(&at, |claim| condition(claim, "Ready").1 == "ActAsUnresolved").await;
    assert_eq!(waits["status"]["createdResources"], json!(null));
    site.bind("a", "late", "ClusterRole/edit", "ServiceAccount/late").await;
    site.account("a", "late").await;
    site.ready("a", "mine").await;
    // Another account of the same name is not the one that was named.
    site.root().delete(&core("a", "serviceaccounts", "late")).await.expect(200);
    site.account("a", "late").await;
    site.until(&at, |claim| condition(claim, "Synced").1 == "ActAsReplaced").await;
    site.user("eddie").merge(&at, &json!({ "spec": { "generation": 1 } })).await.expect(200);
    site.until(&at, |claim| condition(claim, "Synced").0 == "True" && claim["status"]["generation"] == 1).await;
    // Whoever names none means the default account, which may do nothing here.
    let mut unnamed = claim("plain", "set", json!({ "namePrefix": "plain-" }));
    unnamed["spec"].as_object_mut().unwrap().remove("serviceAccountName");
    site.user("eddie").post(&claims("a"), &unnamed).await.expect(201);
    let told = site.until(&format!("{}/plain", claims("a")), |claim| condition(claim, "Ready").1 == "Forbidden").await;
    assert_eq!(told["status"]["serviceAccount"]["name"], "default");
    // Who may not act as an account cannot have a claim act as it, now or later.
    let fay = json!({ "apiGroups": ["catalog.bailiwick.dev"], "resources": ["resourcecatalogclaims"], "verbs": ["*"] });
    site.grant("a", "fay", fay, "User/fay").await;
    site.bind("a", "fay-claims", "Role/claim-gold", "User/fay").await;
    let refusal = site.user("fay").post(&claims("a"), &claim("hers", "set", json!({}))).await.expect(403);
    assert_eq!(refusal["details"]["causes"][0]["reason"], "ActAsForbidden");
    site.user("fay").merge(&at, &json!({ "spec": { "serviceAccountName": "maker" } })).await.expect(403);
    site.user("fay").merge(&at, &json!({ "metadata": { "labels": { "by": "fay" } } })).await.expect(200);
}
