//! Whoever acts for others gains them nothing: what is done is done as an account that they may act as, and by nobody else.

use http::{HeaderValue, Method};
use serde_json::{Value, json};

use crate::client::{JSON, request};
use crate::market::{Market, claims, core, entries};
use crate::objects::{claim, condition, config_map, entry, list, local};
use crate::site::{Person, Site};
use crate::witness::nothing_was_done_as_ourselves;

in_both_modes!(
    what_follows_from_a_claim_is_done_as_its_account,
    no_way_of_writing_gets_through,
    nobody_gains_by_a_claim,
    nothing_is_adopted,
    nothing_is_removed_that_was_not_made,
    no_claim_follows_from_itself,
);

/// CAT-49, M-CAT-7, D-01, D-02, D-06, D-11, I2: the host's own audit log shows as whom each copy was made, and each source read.
async fn what_follows_from_a_claim_is_done_as_its_account(site: &mut Market) {
    site.publish(&entry("both", local(&[("Secret", "creds"), ("ConfigMap", "settings")]))).await;
    site.claimed(&claim("mine", "both", json!({ "keepSynchronized": true }))).await;
    let copy = core("a", "configmaps", "settings");
    site.root()
        .merge(&core("shop", "configmaps", "settings"), &json!({ "data": { "colour": "red" } }))
        .await
        .expect(200);
    site.until(&copy, |copy| copy["data"]["colour"] == "red").await;
    site.user("eddie").delete(&format!("{}/mine", claims("a"))).await.expect(200);
    site.until_gone(&copy).await;
    let deeds = nothing_was_done_as_ourselves(&site.site.asked_of_host());
    let (maker, publisher) = ("system:serviceaccount:a:maker", "system:serviceaccount:shop:publisher");
    let did = |user: &str, verb: &str, resource: &str, namespace: &str| {
        deeds.iter().any(|deed| {
            (&*deed.user, &*deed.verb, &*deed.resource, &*deed.namespace) == (user, verb, resource, namespace)
        })
    };
    for resource in ["secrets", "configmaps"] {
        assert!(
            did(maker, "create", resource, "a") && did(publisher, "get", resource, "shop"),
            "{resource}: {deeds:#?}"
        );
    }
    assert!(did(maker, "patch", "configmaps", "a") && did(publisher, "watch", "configmaps", "shop"), "{deeds:#?}");
    for deed in deeds.iter().filter(|deed| deed.user == publisher) {
        assert!(matches!(deed.verb.as_str(), "get" | "list" | "watch") && deed.namespace == "shop", "{deed:?}");
    }
    assert!(deeds.iter().filter(|deed| deed.user == maker).all(|deed| deed.namespace == "a"), "{deeds:#?}");
}

/// A way to gain something: who tries it, with which object, and how they are refused.
struct Path {
    id: &'static str,
    who: &'static str,
    /// Where the object would be.
    collection: String,
    object: Value,
    code: u16,
}

/// The table of paths: D-01, D-03 to D-08, D-11, D-13 and D-14, each in every way to write (D-15), through the cluster and past
/// it, and the invariants in the end. Whichever way is taken, all rules are asked.
async fn no_way_of_writing_gets_through(site: &mut Market) {
    let allowed =
        |plural: &str| json!({ "apiGroups": ["catalog.bailiwick.dev"], "resources": [plural], "verbs": ["*"] });
    site.grant("shop", "dev", allowed("resourcecatalogentries"), "User/dev").await;
    site.grant("a", "fay", allowed("resourcecatalogclaims"), "User/fay").await;
    site.bind("a", "fay-claims", "Role/claim-gold", "User/fay").await;
    let mut hidden = entry("hidden", list(json!([config_map("x", json!({}))])));
    hidden["metadata"]["labels"] = json!({ "tier": "none" });
    site.user("pat").post(&entries("shop"), &hidden).await.expect(201);
    site.publish(&entry("base", local(&[("Secret", "creds")]))).await;
    site.claimed(&claim("base", "base", json!({}))).await;
    let mut paths = Vec::new();
    let mut path = |id, who, collection: &str, object: Value, code| {
        paths.push(Path { id, who, collection: collection.to_owned(), object, code });
    };
    let (in_a, in_b, in_shop) = (claims("a"), claims("b"), entries("shop"));
    for name in ["", "../shop/publisher", "shop:publisher", "shop/publisher", "Maker"] {
        path("D-01", "eddie", &in_a, claim("bad", "base", json!({ "serviceAccountName": name })), 422);
        let mut foreign = entry("bad", local(&[("Secret", "creds")]));
        foreign["spec"]["serviceAccountName"] = json!(name);
        path("D-01", "pat", &in_shop, foreign, 422);
    }
    let role =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "x" } });
    let mut elsewhere = config_map("x", json!({}));
    elsewhere["metadata"]["namespace"] = json!("b");
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": { "name": "t" },
    });
    let unknown = json!({ "apiVersion": "nobody.example.dev/v1", "kind": "Nothing", "metadata": { "name": "x" } });
    for object in [role, elsewhere, token, unknown] {
        path("D-03", "pat", &in_shop, entry("bad", list(json!([object]))), 422);
    }
    // What a claimant says about copies is about their names and labels, and nothing else.
    for name_prefix in ["../../../b/configmaps/", "x/", "%2e%2e%2f", "X\n", "-"] {
        path("D-04", "eddie", &in_a, claim("bad", "base", json!({ "namePrefix": name_prefix })), 422);
    }
    for labels in [json!({ "a b": "c" }), json!({ "app": "x\nkind: Role" })] {
        path("D-04", "eddie", &in_a, claim("bad", "base", json!({ "additionalLabels": labels })), 422);
    }
    path("D-14", "pat", &in_shop, entry("bad", list(json!([claim("again", "bad", json!({}))]))), 422);
    let stale = json!({ "resourceCatalogEntry": { "namespace": "shop", "name": "base", "uid": "another" } });
    path("D-05", "eddie", &in_a, claim("bad", "base", stale), 409);
    path("D-05", "dev", &in_shop, entry("bad", local(&[("Secret", "creds"), ("ConfigMap", "settings")])), 403);
    path("D-06", "dev", &in_shop, entry("bad", local(&[("Secret", "creds")])), 403);
    for name in ["absent", "hidden"] {
        path("D-07, D-13", "eddie", &in_a, claim("bad", name, json!({})), 422);
    }
    let labelled = json!({ "additionalLabels": { "by": "another" } });
    path("D-08", "system:serviceaccount:b:maker", &in_a, claim("bad", "base", labelled.clone()), 403);
    path("D-08", "bea", &in_b, claim("bad", "base", labelled.clone()), 403);
    path("D-11", "fay", &in_a, claim("bad", "base", labelled.clone()), 403);
    for who in ["nora", "vera"] {
        path("A1", who, &in_a, claim("bad", "base", labelled.clone()), 403);
        path("A1", who, &in_shop, entry("bad", local(&[("Secret", "creds")])), 403);
    }
    let (before, ways) = (everything(site).await, site.site.ways().await);
    for path in paths {
        for way in &ways {
            path.is_refused(site, &way.acting_as(path.who)).await;
        }
        path.is_not_for_strangers(site).await;
    }
    assert_eq!(everything(site).await, before, "nothing has changed");
}

/// All that the paths could have changed.
async fn everything(site: &Market) -> Vec<Value> {
    let mut all = Vec::new();
    for path in [claims("a"), claims("b"), entries("shop")] {
        let list = site.root().get(&path).await.expect(200);
        all.extend(
            list["items"].as_array().unwrap().iter().map(|object| json!([object["metadata"]["uid"], object["spec"]])),
        );
    }
    all
}

// === impl Path ===

impl Path {
    /// Tries every way to write, on an object that is not there and on the one that is called `base`.
    async fn is_refused(&self, site: &Market, person: &Person) {
        let Self { id, who, collection, object, .. } = self;
        let spec = &object["spec"];
        let base = site.root().get(&format!("{collection}/base")).await;
        self.expect("create", person.post(collection, object).await.code);
        self.expect("dry run", person.post(&format!("{collection}?dryRun=All"), object).await.code);
        let mut generated = object.clone();
        generated["metadata"] = json!({ "generateName": "bad-", "labels": object["metadata"]["labels"] });
        self.expect("generated name", person.post(collection, &generated).await.code);
        self.expect("apply", self.apply(person, "bad").await);
        if *id == "A1" {
            // Those who may write here may also remove.
            self.expect("deletecollection", person.delete(&format!("{collection}?dryRun=All")).await.code);
        }
        if base.code != 200 {
            return;
        }
        let (at, mut replaced) = (format!("{collection}/base"), base.json());
        replaced["spec"] = spec.clone();
        self.expect("replace", person.put(&at, &replaced).await.code);
        self.expect("replace, dry run", person.put(&format!("{at}?dryRun=All"), &replaced).await.code);
        let mut cleared = json!({ "resourceList": null, "localResources": null });
        cleared.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let patch = if collection.ends_with("entries") { cleared } else { spec.clone() };
        self.expect("merge", person.merge(&at, &json!({ "spec": patch })).await.code);
        let operations = json!([{ "op": "replace", "path": "/spec", "value": spec }]);
        let patched = person.send(Method::PATCH, &at, "application/json-patch+json", Some(&operations)).await;
        self.expect("JSON patch", patched.code);
        self.expect("forced apply", self.apply(person, "base").await);
        let forged = json!({ "status": { "requester": { "username": "root" }, "localResources": null } });
        let status = person.merge(&format!("{at}/status"), &forged).await;
        // fay and dev were given everything but the status of others' objects.
        assert_eq!(status.code, 403, "{id}: {who} writes a status: {}", status.text());
    }

    /// Whoever has no credential is let in by nothing that they say of themselves.
    async fn is_not_for_strangers(&self, site: &Market) {
        let forged = || {
            let mut request = request(Method::POST, &self.collection, JSON, self.object.to_string().into());
            for (header, value) in
                [("x-remote-user", self.who), ("x-remote-group", "system:masters"), ("impersonate-user", self.who)]
            {
                request.headers_mut().insert(header, HeaderValue::from_static(value));
            }
            request
        };
        let code = site.site.stranger_asks(forged).await.code;
        assert!(matches!(code, 401 | 403), "{}: a stranger as {}: {code}", self.id, self.who);
    }

    async fn apply(&self, person: &Person, name: &str) -> u16 {
        let mut object = self.object.clone();
        object["metadata"]["name"] = json!(name);
        let path = format!("{}/{name}?fieldManager=someone&force=true", self.collection);
        person.send(Method::PATCH, &path, "application/apply-patch+yaml", Some(&object)).await.code
    }

    fn expect(&self, way: &str, code: u16) {
        assert_eq!(code, self.code, "{}: {} by {way}: {}", self.id, self.who, self.object);
    }
}

/// I1, I4, D-02, D-03, D-09: an account that may do nothing makes nothing, and nobody reads what they could not read before.
async fn nobody_gains_by_a_claim(site: &mut Market) {
    site.publish(&entry("creds", local(&[("Secret", "creds")]))).await;
    site.account("a", "weak").await;
    let weak = claim("mine", "creds", json!({ "serviceAccountName": "weak" }));
    site.user("eddie").post(&claims("a"), &weak).await.expect(201);
    let told = site.until(&format!("{}/mine", claims("a")), |claim| condition(claim, "Ready").1 == "Forbidden").await;
    assert!(!told.to_string().contains("hunter2"));
    site.root().get(&core("a", "secrets", "creds")).await.expect(404);
    let events = site.root().get("/apis/events.k8s.io/v1/namespaces/a/events").await.expect(200);
    assert!(!events.to_string().contains("hunter2") && !events.to_string().contains("aHVudGVyMg"), "{events}");
    // An account of another namespace cannot be named.
    for name in ["../shop/publisher", "shop:publisher", "shop/publisher", ""] {
        let code = site
            .user("eddie")
            .post(&claims("a"), &claim("bad", "creds", json!({ "serviceAccountName": name })))
            .await
            .code;
        assert_eq!(code, 422, "{name}");
    }
    // The publisher's account is bereft of its right: nothing is read as anyone else.
    site.revoke("shop", "publisher").await;
    site.user("eddie").post(&claims("a"), &claim("late", "creds", json!({ "namePrefix": "late-" }))).await.expect(201);
    let told =
        site.until(&format!("{}/late", claims("a")), |claim| condition(claim, "Ready").1 == "SourceForbidden").await;
    assert_eq!(told["status"]["createdResources"], json!(null));
    // Credentials of accounts are never shared.
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": { "name": "token", "annotations": { "kubernetes.io/service-account.name": "publisher" } },
    });
    site.bind("shop", "publisher", "Role/publisher", "ServiceAccount/publisher").await;
    site.make("shop", "secrets", &token).await;
    site.user("pat").post(&entries("shop"), &entry("token", local(&[("Secret", "token")]))).await.expect(422);
    site.user("pat").post(&entries("shop"), &entry("token", list(json!([token])))).await.expect(422);
}

/// D-09: whoever may write the status of claims cannot have their accounts remove what is not theirs.
async fn nothing_is_removed_that_was_not_made(site: &mut Market) {
    site.publish(&entry("set", list(json!([config_map("x", json!({}))])))).await;
    let foreign = site.make("a", "configmaps", &config_map("theirs", json!({ "keep": "me" }))).await;
    let mine = site.claimed(&claim("mine", "set", json!({ "keepSynchronized": true }))).await;
    let at = format!("{}/mine", claims("a"));
    let made = mine["status"]["createdResources"].clone();
    let uid = &foreign["metadata"]["uid"];
    let told = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": uid });
    let forged = json!({ "status": { "createdResources": [made[0], told] } });
    site.root().merge(&format!("{at}/status"), &forged).await.expect(200);
    site.user("eddie").merge(&at, &json!({ "spec": { "generation": 1 } })).await.expect(200);
    let told = site.until(&at, |claim| claim["status"]["generation"] == 1).await;
    assert_eq!(told["status"]["createdResources"], made, "it is not the claim's");
    assert_eq!(site.root().get(&core("a", "configmaps", "theirs")).await.expect(200), foreign);
}

/// D-14: a claim makes a Bundle that makes a claim of the same entry: that is refused, and told where someone looks for it. Nor do
/// claims follow from one another without end.
async fn no_claim_follows_from_itself(site: &mut Market) {
    let again = claim("again", "loop", json!({ "namePrefix": "again-" }));
    let bundle = json!({
        "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "Bundle", "metadata": { "name": "loop" },
        "spec": { "serviceAccountName": "maker", "resources": [{ "name": "again", "spec": again }] },
    });
    site.publish(&entry("loop", list(json!([bundle])))).await;
    site.bind("a", "maker-claims", "Role/claim-gold", "ServiceAccount/maker").await;
    site.claimed(&claim("mine", "loop", json!({ "namePrefix": "my-" }))).await;
    let at = "/apis/bundle.bailiwick.dev/v1alpha1/namespaces/a/bundles/my-loop";
    let told = site.until(at, |bundle| bundle["status"]["resources"][0]["message"].is_string()).await;
    let message = told["status"]["resources"][0]["message"].as_str().unwrap();
    assert!(message.contains("the claim would follow from itself"), "{message}");
    let all = site.root().get(&claims("a")).await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 1, "{all}");
    // One from the other.
    let eddie = site.user("eddie");
    let mut owner: Option<Value> = None;
    for number in 0..5 {
        let name = format!("set-{number}");
        site.publish(&entry(&name, list(json!([config_map(&name, json!({}))])))).await;
        let mut next = claim(&name, &name, json!({}));
        if let Some(owner) = &owner {
            next["metadata"]["ownerReferences"] = json!([{
                "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
            }]);
        }
        let answer = eddie.post(&claims("a"), &next).await;
        if number < 4 {
            owner = Some(answer.expect(201));
            continue;
        }
        let refusal = answer.expect(422);
        assert!(refusal["message"].as_str().unwrap().contains("follows from more than 3 others"), "{refusal}");
    }
}

/// I4, D-12: a server that tells all it can in its log does not tell what is in Secrets.
#[tokio::test]
async fn the_log_tells_no_secret() {
    let site = Market::open(Site::alone_with(&["--v=10"]).await).await;
    site.publish(&entry("creds", local(&[("Secret", "creds")]))).await;
    site.claimed(&claim("mine", "creds", json!({ "keepSynchronized": true }))).await;
    site.account("a", "weak").await;
    let weak = claim("refused", "creds", json!({ "serviceAccountName": "weak", "namePrefix": "weak-" }));
    site.user("eddie").post(&claims("a"), &weak).await.expect(201);
    site.until(&format!("{}/refused", claims("a")), |claim| condition(claim, "Ready").1 == "Forbidden").await;
    let log = site.site.server.stop_and_tell().await;
    assert!(log.contains("is tried again"), "it tells much");
    assert!(!log.contains("hunter2") && !log.contains("aHVudGVyMg"), "and no secret");
}

/// D-10, D-CAT-12: what someone made in advance, however it looks, is not taken over.
async fn nothing_is_adopted(site: &mut Market) {
    site.publish(&entry("set", list(json!([config_map("x", json!({ "from": "entry" }))])))).await;
    let mut bait = config_map("x", json!({ "from": "bait" }));
    bait["metadata"]["labels"] = json!({ "bailiwick.dev/derived-from": "resourcecatalogclaims" });
    bait["metadata"]["annotations"] = json!({ "catalog.bailiwick.dev/claim-uid": "any" });
    let bait = site.make("a", "configmaps", &bait).await;
    site.user("eddie").post(&claims("a"), &claim("mine", "set", json!({ "keepSynchronized": true }))).await.expect(201);
    site.until(&format!("{}/mine", claims("a")), |claim| condition(claim, "Ready").1 == "AlreadyExists").await;
    let there = site.root().get(&core("a", "configmaps", "x")).await.expect(200);
    assert_eq!(there, bait);
}
