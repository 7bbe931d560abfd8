//! Rights that are taken from someone, one at a time: what followed from them ends, and begins again with them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::market::{Market, claims, core, entries};
use crate::objects::{API, RBAC, bound, claim, condition, config_map, entry, list, local, role, uses};
use crate::site::{self, Mode, Site};

in_both_modes!(each_right_counts_as_long_as_it_is_held, what_is_withdrawn_can_be_given_up);

/// For how long the answer to a question about rights is taken for true, and a little more.
const REMEMBERED: Duration = Duration::from_secs(3);
/// How soon a right that was taken has no effect any more.
const REVOKED_WITHIN: Duration = Duration::from_secs(10);

/// I5, D-05: whose right it is and what it is for: a claim that follows ends to follow when one is lost that it takes, though
/// its source is watched and remembered; and nobody else gets anything by it.
async fn each_right_counts_as_long_as_it_is_held(site: &mut Market) {
    let root = site.root();
    site.publish(&entry("settings", local(&[("ConfigMap", "settings")]))).await;
    site.claimed(&claim("mine", "settings", json!({ "keepSynchronized": true }))).await;
    let (at, copy, source) =
        (format!("{}/mine", claims("a")), core("a", "configmaps", "settings"), core("shop", "configmaps", "settings"));
    let change = async |value: &str| {
        root.merge(&source, &json!({ "data": { "colour": value } })).await.expect(200);
    };
    change("first").await;
    site.until(&copy, |copy| copy["data"]["colour"] == "first").await;
    let mut lost = vec![
        // The publisher's account may not read.
        ("shop", "publisher", "SourceForbidden"),
        // The publisher may not publish.
        ("shop", "publish-gold", "NotAllowed"),
        // The claimant may not act as the account.
        ("a", "eddie", "NotAllowed"),
    ];
    if site.site.mode == Mode::Behind {
        // The server may not act as accounts, where it reads and where it writes.
        lost.extend([("shop", "bailiwick-acts", "NotActing"), ("a", "bailiwick-acts", "NotActing")]);
    }
    for (number, (namespace, binding, reason)) in lost.into_iter().enumerate() {
        let (value, before) = (format!("value {number}"), root.get(&copy).await.expect(200)["data"].clone());
        let given = root.get(&format!("{RBAC}/namespaces/{namespace}/rolebindings/{binding}")).await.expect(200);
        site.revoke(namespace, binding).await;
        let began = Instant::now();
        sleep(REMEMBERED).await;
        change(&value).await;
        site.until(&at, |claim| condition(claim, "Synced") == ("False", reason)).await;
        assert!(began.elapsed() < REVOKED_WITHIN, "{binding} in {namespace}: it took {:?}", began.elapsed());
        assert_eq!(root.get(&copy).await.expect(200)["data"], before, "{binding} in {namespace}");
        if reason == "SourceForbidden" {
            // What is remembered of it is not given to anyone new either.
            let late = claim("late", "settings", json!({ "namePrefix": "late-" }));
            site.user("eddie").post(&claims("a"), &late).await.expect(201);
            site.until(&format!("{}/late", claims("a")), |claim| condition(claim, "Ready").1 == reason).await;
            root.get(&core("a", "configmaps", "late-settings")).await.expect(404);
        }
        site.give_back(namespace, &given).await;
        site.until(&copy, |copy| copy["data"]["colour"] == *value).await;
        site.until(&at, |claim| condition(claim, "Synced").0 == "True").await;
    }
}

/// D-CAT-14: whoever has a claim that has lost its entry can still say that it need not follow, and what becomes of what it made;
/// and nothing else.
async fn what_is_withdrawn_can_be_given_up(site: &mut Market) {
    let (root, eddie) = (site.root(), site.user("eddie"));
    site.publish(&entry("set", list(json!([config_map("x", json!({}))])))).await;
    site.claimed(&claim("mine", "set", json!({ "keepSynchronized": true }))).await;
    let at = format!("{}/mine", claims("a"));
    root.delete(&format!("{}/set", entries("shop"))).await.expect(200);
    site.until(&at, |claim| condition(claim, "Synced") == ("False", "SourceGone")).await;
    let say = async |field: &str, value: Value| eddie.merge(&at, &json!({ "spec": { field: value } })).await;
    say("additionalLabels", json!({ "more": "yes" })).await.expect(422);
    say("generation", json!(7)).await.expect(422);
    say("keepSynchronized", json!(false)).await.expect(200);
    let told = site
        .until(&at, |claim| {
            claim["status"]["observedGeneration"] == claim["metadata"]["generation"]
                && condition(claim, "Synced").0.is_empty()
        })
        .await;
    assert_eq!(condition(&told, "Ready").0, "True", "what it has is there: {told}");
    say("keepSynchronized", json!(true)).await.expect(422);
    // Who may not act as the account does not say what is done as it.
    let fay = json!({ "apiGroups": ["catalog.bailiwick.dev"], "resources": ["resourcecatalogclaims"], "verbs": ["*"] });
    site.grant("a", "fay", fay, "User/fay").await;
    let orphan = json!({ "spec": { "deletionPolicy": "Orphan" } });
    site.user("fay").merge(&at, &orphan).await.expect(403);
    // Nor does it take the right to claim.
    site.revoke("a", "eddie-claims").await;
    say("deletionPolicy", json!("Orphan")).await.expect(200);
    eddie.delete(&at).await.expect(200);
    site.until_gone(&at).await;
    let left = root.get(&core("a", "configmaps", "x")).await.expect(200);
    assert_eq!(left["metadata"]["ownerReferences"], json!(null));
}

/// I5: who has left a Group of the server, or of an organization, has what came with it no more: neither do claims follow that
/// they wrote, nor is published what they published.
#[tokio::test]
async fn who_has_left_a_group_has_its_rights_no_more() {
    let site = Market::open(Site::alone().await).await;
    let root = site.root();
    let organizations = site::API;
    root.post(&format!("{organizations}/groups"), &site::group("engineers", &["gil"])).await.expect(201);
    let bindings = |namespace: &str| format!("{RBAC}/namespaces/{namespace}/rolebindings");
    for (namespace, name, role) in [
        ("a", "engineers", "ClusterRole/edit"),
        ("a", "engineers-claim", "Role/claim-gold"),
        ("shop", "engineers", "ClusterRole/edit"),
        ("shop", "engineers-publish", "Role/publish-gold"),
    ] {
        let binding = bound(name, namespace, role, "Group/engineers");
        root.post(&bindings(namespace), &binding).await.expect(201);
    }
    let gil = site.user("gil");
    let theirs = |name: &str| entry(name, list(json!([config_map(name, json!({}))])));
    gil.post(&entries("shop"), &theirs("gils")).await.expect(201);
    site.accepted("gils").await;
    // And someone who is in a group of the organization that owns the project.
    let acme = site::organization("Acme", json!({ "adminUsers": ["alice"], "memberUsers": ["olga"] }));
    root.post(&format!("{organizations}/organizations"), &acme).await.expect(201);
    let owned = json!({ "metadata": { "labels": { "openshift.io/owner": "organizations__Acme" } } });
    root.merge("/api/v1/namespaces/shop", &owned).await.expect(200);
    let press = site::org_group("Acme:press", &["olga"]);
    root.post(&format!("{organizations}/organizations/Acme/groups"), &press).await.expect(201);
    let mut publishes = role("publishes-gold", uses("publish", "gold"));
    publishes["kind"] = json!("ClusterRole");
    root.post(&format!("{RBAC}/clusterroles"), &publishes).await.expect(201);
    for role in ["edit", "publishes-gold"] {
        let binding = site::binding(role, role, &["Acme:press"]);
        root.post(&format!("{organizations}/namespaces/shop/orgrolebindings"), &binding).await.expect(201);
    }
    let olga = site.user("olga");
    olga.post_soon(&entries("shop"), &theirs("olgas")).await;
    let published = site.accepted("olgas").await;
    assert_eq!(published["status"]["requester"]["groups"], json!(["system:authenticated"]), "what came with her");
    // gil claims, and follows.
    site.publish(&entry("settings", local(&[("ConfigMap", "settings")]))).await;
    gil.post(&claims("a"), &claim("gils", "settings", json!({ "keepSynchronized": true }))).await.expect(201);
    site.ready("a", "gils").await;
    // They are put out of their groups.
    root.merge(&format!("{organizations}/groups/engineers"), &json!({ "users": [] })).await.expect(200);
    root.merge(&format!("{organizations}/orggroups/Acme:press"), &json!({ "users": [] })).await.expect(200);
    let began = Instant::now();
    for name in ["gils", "olgas"] {
        // At once for whoever is about to claim it.
        let wanted = claim("new", name, json!({}));
        site.user("eddie").post(&format!("{}?dryRun=All", claims("a")), &wanted).await.expect(422);
        let at = format!("{}/{name}", entries("shop"));
        site.until(&at, |entry| entry["status"]["catalogs"].is_null()).await;
    }
    sleep(REMEMBERED).await;
    root.merge(&core("shop", "configmaps", "settings"), &json!({ "data": { "colour": "red" } })).await.expect(200);
    let at = format!("{}/gils", claims("a"));
    site.until(&at, |claim| condition(claim, "Synced") == ("False", "NotAllowed")).await;
    assert!(began.elapsed() < REVOKED_WITHIN, "it took {:?}", began.elapsed());
    assert_eq!(root.get(&core("a", "configmaps", "settings")).await.expect(200)["data"]["colour"], "blue");
    // Who is in a group again may publish again.
    root.merge(&format!("{organizations}/orggroups/Acme:press"), &json!({ "users": ["olga"] })).await.expect(200);
    site.accepted("olgas").await;
    root.delete(&format!("{organizations}/namespaces/shop/orgrolebindings/publishes-gold")).await.expect(200);
    site.until(&format!("{}/olgas", entries("shop")), |entry| entry["status"]["catalogs"].is_null()).await;
    site.until(&format!("{API}/resourcecatalogs/gold"), |gold| gold["status"]["entryCount"] == 1).await;
    site.check_invariants().await;
}
