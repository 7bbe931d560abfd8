//! Who acts: the account that a Bundle names, for those who may act as it, and nobody else.

use http::Method;
use serde_json::{Value, json};

use crate::shop::{BUNDLES, MAPS, SECRETS, SLEEPERS, Shop, bundle, condition, map, part, secret, sleeper};
use crate::site::{API, Mode, Person, RBAC, group};
use crate::witness::nothing_was_done_as_ourselves;

in_both_modes!(
    what_follows_from_a_bundle_is_done_as_its_account,
    no_way_of_writing_gets_through,
    rights_are_asked_for_when_it_is_written,
    rights_hold_all_the_time,
    what_the_account_may_not_read_does_not_flow,
    identities_are_no_values,
    what_was_swapped_is_not_believed,
);

mod aliases {
    use super::no_way_of_writing_by_its_other_name;
    in_both_modes!(with crate::shop::Shop::open_with_aliases: no_way_of_writing_by_its_other_name);
}

/// The names by which Bundles are written: their own, and that by which others know them.
const OWN: &str = "bundle.bailiwick.dev/v1alpha1";
const ALIAS: &str = "smith.atlassian.com/v1";

/// What alice needs to write Bundles, and no more.
fn writes_bundles() -> Value {
    json!([{ "apiGroups": ["bundle.bailiwick.dev"], "resources": ["bundles"], "verbs": ["*"] }])
}

fn alice() -> Value {
    json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice" })
}

/// B-SMITH-4, M-SMITH-7: whoever writes a Bundle may act as its account, which exists and may do what is to be done; a refusal
/// says who lacks what, and how it is given.
async fn rights_are_asked_for_when_it_is_written(shop: &Shop) {
    shop.bind("alice-writes", writes_bundles(), alice()).await;
    let alice_writes = shop.site.user("alice");
    let one = bundle("one", json!([part(&[], map("a", json!({})))]));
    let refused = alice_writes.is_refused(BUNDLES, &one, "may not impersonate").await;
    let message = refused["message"].as_str().unwrap();
    for told in ["\"alice\" may not impersonate", "\"builder\"", "kubectl create role", "--user=alice"] {
        assert!(message.contains(told), "{told}: {message}");
    }
    let act_as = json!([{ "apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["builder", "weak", "gone"], "verbs": ["impersonate"] }]);
    shop.bind("alice-acts", act_as, alice()).await;
    alice_writes.post_soon(BUNDLES, &one).await;
    let ready = shop.ready("one").await;
    assert_eq!(ready["status"]["requester"]["username"], "alice");

    let with = |name: &str, account: &str| {
        let mut bundle = bundle(name, json!([part(&[], map("b", json!({})))]));
        bundle["spec"]["serviceAccountName"] = json!(account);
        bundle
    };
    let missing = alice_writes.post(BUNDLES, &with("two", "gone")).await.expect(422);
    assert!(missing["message"].as_str().unwrap().contains("kubectl create serviceaccount gone"), "{missing}");
    shop.account("weak").await;
    shop.allow("weak", json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create"] }])).await;
    let weak = alice_writes.is_refused(BUNDLES, &with("two", "weak"), "delete configmaps, patch configmaps").await;
    let message = weak["message"].as_str().unwrap();
    for told in ["\"weak\"", "--serviceaccount=shop:weak"] {
        assert!(message.contains(told), "{told}: {message}");
    }
    // Naming a stronger account in an update is asked for as well; what does not change what is asked for is not.
    alice_writes
        .merge(&format!("{BUNDLES}/one"), &json!({ "spec": { "serviceAccountName": "default" } }))
        .await
        .expect(403);
    alice_writes.merge(&format!("{BUNDLES}/one"), &json!({ "metadata": { "labels": { "a": "b" } } })).await.expect(200);
    // Nobody says who asked but the server.
    let forged = json!({ "status": { "requester": { "username": "root" } } });
    alice_writes.merge(&format!("{BUNDLES}/one"), &forged).await.expect(200);
    shop.root.merge(&format!("{BUNDLES}/one/status"), &forged).await.expect(200);
    assert_eq!(shop.bundle("one").await["status"]["requester"]["username"], "alice");
}

/// ORG-11, B-SMITH-4: what a Group gives an account is the account's, also where it is asked whether it has enough.
#[tokio::test]
async fn rights_of_groups_are_the_accounts() {
    let shop = Shop::open(Mode::Alone).await;
    let account = shop.account("grouped").await["metadata"]["name"].clone();
    let mut grouped = bundle("grouped", json!([part(&[], map("a", json!({})))]));
    grouped["spec"]["serviceAccountName"] = account;
    shop.root.post(BUNDLES, &grouped).await.expect(403);
    let bound = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "makers" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "makers" }],
    });
    shop.root.post(&format!("{RBAC}/namespaces/shop/rolebindings"), &bound).await.expect(201);
    shop.root.post(BUNDLES, &grouped).await.expect(403);
    let makers = group("makers", &["system:serviceaccount:shop:grouped"]);
    shop.root.post(&format!("{API}/groups"), &makers).await.expect(201);
    shop.root.post(BUNDLES, &grouped).await.expect(201);
    shop.ready("grouped").await;
    shop.check_invariants().await;
}

/// B-02, B-11: rights that end have ended, and no value of a Secret is told by us, though the Bundle allows it to be anywhere.
async fn rights_hold_all_the_time(shop: &Shop) {
    shop.account("limited").await;
    let rules = |resources: Value| json!([{ "apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch", "create", "patch", "delete"] }]);
    shop.allow("limited", rules(json!(["configmaps", "secrets"]))).await;
    let mut limited = bundle(
        "limited",
        json!([
            part(&[], secret("key", json!({ "password": "allowed-value" }))),
            { "name": "told", "dependsOn": ["key"], "allowSecretValues": true, "spec": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "told", "labels": { "wrong": "!$(key.data.password)!" } },
            } },
        ]),
    );
    limited["spec"]["serviceAccountName"] = json!("limited");
    shop.root.post(BUNDLES, &limited).await.expect(201);
    let told = shop.says("limited", "told", "Error", "Invalid").await;
    assert!(told["message"].as_str().unwrap().contains("metadata.labels"), "{told}");
    let events = shop.root.get("/api/v1/namespaces/shop/events").await.expect(200).to_string();
    for text in [shop.bundle("limited").await["status"].to_string(), events] {
        assert!(!text.contains("allowed-value") && !text.contains("YWxsb3dlZC12YWx1"), "{text}");
    }

    shop.change("limited", json!([part(&[], map("a", json!({ "v": "1" })))])).await;
    shop.ready("limited").await;
    shop.gone(&format!("{SECRETS}/key")).await;
    shop.forbid("limited").await;
    shop.root.delete(&format!("{MAPS}/a")).await.expect(200);
    let told = shop.says("limited", "a", "Error", "Forbidden").await;
    assert!(told["message"].as_str().unwrap().contains("system:serviceaccount:shop:limited"), "{told}");
    assert_eq!(shop.root.get(&format!("{MAPS}/a")).await.code, 404);
    let subject = json!({ "kind": "ServiceAccount", "name": "limited", "namespace": "shop" });
    shop.bind("limited-again", rules(json!(["configmaps"])), subject).await;
    shop.ready("limited").await;
    let bundle = shop.bundle("limited").await;
    assert_eq!(condition(&bundle, "Ready")["reason"], "AllReady");
}

/// B-01, B-04, I2: the host's own audit log shows that a Bundle's objects were read, followed, made, changed and removed as its
/// account, in its namespace, and by nobody else of ours.
async fn what_follows_from_a_bundle_is_done_as_its_account(shop: &Shop) {
    let resources = |word: &str| {
        json!([
            part(&[], sleeper("first", json!({ "word": word }))),
            part(&["first"], map("second", json!({ "word": "$(first.spec.word)" }))),
            part(&[], secret("key", json!({ "password": "canary-value" }))),
            { "name": "copy", "dependsOn": ["key"], "spec": {
                "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "copy" }, "data": "$((key.data))",
            } },
        ])
    };
    shop.write("seen", resources("one")).await;
    shop.until(&format!("{SLEEPERS}/first"), |_| true).await;
    shop.wake("first", "").await;
    shop.ready("seen").await;
    shop.change("seen", resources("two")).await;
    shop.until(&format!("{MAPS}/second"), |second| second["data"]["word"] == "two").await;
    // What is taken out is pruned, and the rest goes with the Bundle.
    let all = resources("two");
    shop.change("seen", json!([all[0], all[2]])).await;
    shop.ready("seen").await;
    shop.gone(&format!("{MAPS}/second")).await;
    shop.root.delete(&format!("{BUNDLES}/seen")).await.expect(200);
    shop.gone(&format!("{BUNDLES}/seen")).await;
    shop.gone(&format!("{SLEEPERS}/first")).await;
    let deeds = nothing_was_done_as_ourselves(&shop.site.asked_of_host());
    let builder = "system:serviceaccount:shop:builder";
    for resource in ["sleepers", "configmaps", "secrets"] {
        for verb in ["get", "watch", "patch", "delete"] {
            let did = deeds.iter().any(|deed| (&*deed.user, &*deed.verb, &*deed.resource) == (builder, verb, resource));
            assert!(did, "{verb} {resource}: {deeds:#?}");
        }
    }
    assert!(deeds.iter().filter(|deed| deed.user == builder).all(|deed| deed.namespace == "shop"), "{deeds:#?}");
    let other = deeds.iter().find(|deed| deed.user.starts_with("system:serviceaccount:shop:") && deed.user != builder);
    assert_eq!(other, None);
}

/// What is refused is refused in every way to write, to whoever may write Bundles: accounts that they may not act as, that are not
/// there, that are not of this namespace or that may too little; and what would leave the namespace or a Secret.
async fn no_way_of_writing_gets_through(shop: &Shop) {
    let (alice, before) = with_a_bundle(shop).await;
    let one = one();
    let mut elsewhere = map("b", json!({}));
    elsewhere["metadata"]["namespace"] = json!("default");
    let role =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "b" } });
    let table = [
        ("default", one.clone(), 403),
        ("weak", one.clone(), 403),
        ("gone", one.clone(), 422),
        ("", one.clone(), 422),
        ("../default/default", one.clone(), 422),
        ("default:default", one.clone(), 422),
        ("default/default", one, 422),
        ("builder", json!([part(&[], elsewhere)]), 422),
        ("builder", json!([part(&[], role)]), 422),
        ("builder", leak(), 422),
    ];
    nothing_gets_through(shop, OWN, (&alice, &before), &table).await;
}

/// D-SMITH-5, B-SMITH-4: nor does it by the other name of Bundles, for whoever may write them by that.
async fn no_way_of_writing_by_its_other_name(shop: &Shop) {
    let (person, before) = with_a_bundle(shop).await;
    let rules = json!([{ "apiGroups": ["smith.atlassian.com"], "resources": ["bundles"], "verbs": ["*"] }]);
    shop.bind("alice-writes-by-alias", rules, alice()).await;
    let table = [("default", one(), 403), ("builder", leak(), 422)];
    nothing_gets_through(shop, ALIAS, (&person, &before), &table).await;
}

/// Alice, who may write Bundles and act as some accounts, and a Bundle of hers.
async fn with_a_bundle(shop: &Shop) -> (Person, Value) {
    shop.bind("alice-writes", writes_bundles(), alice()).await;
    let names = json!(["builder", "weak", "gone"]);
    let act_as = json!([{ "apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": names, "verbs": ["impersonate"] }]);
    shop.bind("alice-acts", act_as, alice()).await;
    shop.account("weak").await;
    let alice = shop.site.user("alice");
    alice.post_soon(BUNDLES, &bundle("base", json!([part(&[], map("a", json!({})))]))).await;
    (alice, shop.ready("base").await)
}

/// Resources that are nothing out of the ordinary.
fn one() -> Value {
    json!([part(&[], map("b", json!({})))])
}

/// Resources of which one tells what is in another, a Secret.
fn leak() -> Value {
    json!([part(&[], secret("s", json!({ "p": "x" }))), part(&["s"], map("b", json!({ "p": "$(s.data.p)" })))])
}

/// Each account with its resources is refused with its code in every way, by this name of Bundles, and nothing comes of it.
async fn nothing_gets_through(
    shop: &Shop,
    name: &str,
    (person, before): (&Person, &Value),
    table: &[(&str, Value, u16)],
) {
    for (account, resources, code) in table {
        let spec = json!({ "serviceAccountName": account, "resources": resources });
        for (way, found) in every_way(person, name, before, &spec).await {
            assert_eq!(found, *code, "{way}: {spec}");
        }
    }
    assert_eq!(shop.bundle("base").await["spec"], before["spec"], "nothing has changed");
    let left = shop.root.get(BUNDLES).await.expect(200);
    assert_eq!(left["items"].as_array().unwrap().len(), 1, "{left:#}");
}

/// Tries to write a spec, as a new Bundle and as that of an old one, by this name of Bundles. Gives the answers.
async fn every_way(person: &Person, name: &str, old: &Value, spec: &Value) -> Vec<(&'static str, u16)> {
    let bundles = BUNDLES.replace(OWN, name);
    let mut object = bundle("bad", json!([]));
    object["apiVersion"] = json!(name);
    object["spec"] = spec.clone();
    let mut generated = object.clone();
    generated["metadata"] = json!({ "generateName": "bad-" });
    let at = format!("{bundles}/{}", old["metadata"]["name"].as_str().unwrap());
    let mut replaced = old.clone();
    replaced["apiVersion"] = json!(name);
    replaced["spec"] = spec.clone();
    let mut applied = object.clone();
    applied["metadata"] = json!({ "name": old["metadata"]["name"] });
    let operations = json!([{ "op": "replace", "path": "/spec", "value": spec }]);
    let (apply, json_patch) = ("application/apply-patch+yaml", "application/json-patch+json");
    let forced = "?fieldManager=someone&force=true";
    let patch =
        async |path: &str, kind: &str, body: &Value| person.send(Method::PATCH, path, kind, Some(body)).await.code;
    vec![
        ("create", person.post(&bundles, &object).await.code),
        ("create by the dry", person.post(&format!("{bundles}?dryRun=All"), &object).await.code),
        ("create with any name", person.post(&bundles, &generated).await.code),
        ("apply", patch(&format!("{bundles}/bad{forced}"), apply, &object).await),
        ("replace", person.put(&at, &replaced).await.code),
        ("merge", person.merge(&at, &json!({ "apiVersion": name, "spec": spec })).await.code),
        ("JSON patch", patch(&at, json_patch, &operations).await),
        ("apply to what is there", patch(&format!("{at}{forced}"), apply, &applied).await),
    ]
}

/// B-01: a Secret that the account may not read gives nothing away, though what it is told by names it.
async fn what_the_account_may_not_read_does_not_flow(shop: &Shop) {
    let annotated = json!({
        "smith.atlassian.com/CrReadyWhenExistsKind": "Lease", "smith.atlassian.com/CrReadyWhenExistsVersion": "lent.example.dev/v1",
        "smith.atlassian.com/CrOutputNameField": "status.secretName",
    });
    shop.define("lent.example.dev", "Lease", json!({})).await;
    shop.define("lent.example.dev", "Loan", annotated).await;
    shop.root.post(SECRETS, &secret("theirs", json!({ "password": "canary-value" }))).await.expect(201);
    shop.account("curious").await;
    let verbs = json!(["get", "list", "watch", "create", "patch", "delete"]);
    let mut rules = vec![
        json!({ "apiGroups": ["lent.example.dev"], "resources": ["*"], "verbs": verbs }),
        json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }),
        json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["copy"], "verbs": verbs }),
        json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] }),
    ];
    shop.allow("curious", json!(rules)).await;
    let loan =
        json!({ "apiVersion": "lent.example.dev/v1", "kind": "Loan", "metadata": { "name": "loan" }, "spec": {} });
    let copy = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "copy" },
        "stringData": { "password": "$(loan:output.data.password)" },
    });
    let mut prying = bundle("prying", json!([part(&[], loan), part(&["loan"], copy)]));
    prying["spec"]["serviceAccountName"] = json!("curious");
    shop.root.post_soon(BUNDLES, &prying).await;
    let loans = "/apis/lent.example.dev/v1/namespaces/shop";
    let loan = shop.until(&format!("{loans}/loans/loan"), |_| true).await;
    let lease = json!({
        "apiVersion": "lent.example.dev/v1", "kind": "Lease", "metadata": { "name": "lease", "ownerReferences": [{
            "apiVersion": "lent.example.dev/v1", "kind": "Loan", "name": "loan", "uid": loan["metadata"]["uid"],
        }] },
    });
    shop.root.post(&format!("{loans}/leases"), &lease).await.expect(201);
    shop.set_status(&format!("{loans}/leases/lease"), json!({ "secretName": "theirs" })).await;
    let told = shop.says("prying", "loan", "Error", "Forbidden").await;
    assert!(told["message"].as_str().unwrap().contains("secrets \"theirs\""), "{told}");
    shop.says("prying", "copy", "Blocked", "DependencyNotReady").await;
    assert_eq!(shop.root.get(&format!("{SECRETS}/copy")).await.code, 404);
    assert!(!shop.bundle("prying").await.to_string().contains("canary-value"));
    // Who is given the right is told of it by nobody, and tries again.
    rules.push(json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["theirs"], "verbs": ["get"] }));
    let role = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/curious";
    let giving = async { drop(shop.root.merge(role, &json!({ "rules": rules })).await.expect(200)) };
    shop.when_rights_change("system:serviceaccount:shop:curious", giving).await;
    shop.until(&format!("{SECRETS}/copy"), |copy| copy["data"]["password"] == "Y2FuYXJ5LXZhbHVl").await;
}

/// B-03: what makes someone an account or a new machine is nobody's value, not even for a Secret, and whatever is allowed.
async fn identities_are_no_values(shop: &Shop) {
    for (name, kind) in
        [("account", "kubernetes.io/service-account-token"), ("machine", "bootstrap.kubernetes.io/token")]
    {
        let token = json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": { "name": name, "annotations": { "kubernetes.io/service-account.name": "builder" } },
            "stringData": { "extra": "canary-value" },
        });
        let copy = format!("copy-of-{name}");
        let copy = json!({ "name": "copy", "dependsOn": [name], "allowSecretValues": true, "spec": {
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": copy }, "data": { "extra": format!("$({name}.data.extra)") },
        } });
        shop.write(name, json!([part(&[], token), copy])).await;
        let told = shop.says(name, "copy", "Error", "SecretTypeNotAllowed").await;
        assert!(told["message"].as_str().unwrap().contains(kind), "{told}");
        assert_eq!(shop.root.get(&format!("{SECRETS}/copy-of-{name}")).await.code, 404);
    }
}

/// B-05: an object that was put in the place of a dependency is not the dependency, and its values go nowhere.
async fn what_was_swapped_is_not_believed(shop: &Shop) {
    let resources = json!([
        part(&[], map("source", json!({ "word": "true" }))),
        part(&["source"], map("sink", json!({ "word": "$(source.data.word)" }))),
    ]);
    shop.write("swapped", resources).await;
    let ready = shop.ready("swapped").await;
    // So that it is not made anew before the other one is there.
    shop.forbid("builder").await;
    shop.root.delete(&format!("{MAPS}/source")).await.expect(200);
    shop.says("swapped", "source", "Error", "Forbidden").await;
    let mut false_one = map("source", json!({ "word": "false" }));
    false_one["metadata"]["labels"] = json!({ "app.kubernetes.io/managed-by": "bailiwick-bundle-controller" });
    shop.root.post(MAPS, &false_one).await.expect(201);
    let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    shop.bind("builder-again", all, json!({ "kind": "ServiceAccount", "name": "builder", "namespace": "shop" })).await;
    shop.says("swapped", "source", "Error", "NotOwned").await;
    shop.says("swapped", "sink", "Blocked", "DependencyNotReady").await;
    assert_eq!(shop.root.get(&format!("{MAPS}/sink")).await.expect(200)["data"]["word"], "true");
    let known = |bundle: &Value| bundle["status"]["inventory"][0]["object"]["uid"].clone();
    assert_eq!(known(&shop.bundle("swapped").await), known(&ready), "the false one is not taken for it");
}
