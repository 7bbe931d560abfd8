//! What catalogs gather, and who decides about it.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};

use crate::market::{Market, claims, entries};
use crate::objects::{API, catalog, causes, claim, condition, entry, list, local, uses};
use crate::process::PATIENCE;
use crate::site::{Person, Site};

/// How many entries are written at the same time, where there are many.
const AT_ONCE: usize = 32;

in_both_modes!(
    cluster_administrators_control_catalogs,
    catalogs_gather_entries_by_label,
    entries_are_accepted_from_those_who_may_publish,
    claimants_see_what_they_can_claim,
    all_entries_of_a_catalog_can_be_read
);

/// CAT-1, CAT-9, CAT-10, CAT-15, CAT-23, M-CAT-1, D-CAT-13: cluster administrators control which catalogs exist; what is in them nobody writes.
async fn cluster_administrators_control_catalogs(site: &mut Market) {
    let (root, ada) = (site.root(), site.user("ada"));
    let silver = catalog(
        "silver",
        json!({ "selector": { "tier": "silver" }, "claimableFrom": { "matchLabels": { "x": "y" } } }),
    );
    let path = format!("{API}/resourcecatalogs");
    ada.post(&path, &silver).await.expect(403);
    let made = root.post(&path, &silver).await.expect(201);
    assert_eq!(made["spec"], silver["spec"], "what was written is kept");
    for patch in [json!({ "spec": { "selector": {} } }), json!({ "metadata": { "labels": { "a": "b" } } })] {
        site.user("pat").merge(&format!("{path}/silver"), &patch).await.expect(403);
    }
    let mut seen = site.until(&format!("{path}/silver"), |catalog| condition(catalog, "Ready").0 == "True").await;
    seen["status"]["entries"] =
        json!([{ "namespace": "x", "name": "y", "uid": "z", "generation": 1, "description": "" }]);
    let written = root.put(&format!("{path}/silver"), &seen).await.expect(200);
    assert_eq!(written["status"]["entries"], json!(null));
    let discovery = root.get(API).await.expect(200);
    let resources = discovery["resources"].as_array().unwrap();
    for (name, kind, namespaced) in [
        ("resourcecatalogs", "ResourceCatalog", false),
        ("resourcecatalogentries", "ResourceCatalogEntry", true),
        ("resourcecatalogclaims", "ResourceCatalogClaim", true),
        ("localresourcecatalogs", "LocalResourceCatalog", true),
    ] {
        let resource = resources.iter().find(|resource| resource["name"] == name).unwrap();
        assert_eq!((&resource["kind"], &resource["namespaced"]), (&json!(kind), &json!(namespaced)));
    }
    for (spec, field) in [
        (json!({ "selector": { "a b": "c" } }), "spec.selector"),
        (
            json!({ "claimableFrom": { "matchExpressions": [{ "key": "a", "operator": "Near" }] } }),
            "spec.claimableFrom",
        ),
        (json!({ "accept": { "policy": "NamespaceSelector" } }), "spec.accept.namespaceSelector"),
        (json!({ "accept": { "namespaceSelector": {} } }), "spec.accept.namespaceSelector"),
        (json!({ "accept": { "policy": "Whoever" } }), "spec.accept.policy"),
    ] {
        let refusal = root.post(&path, &catalog("bad", spec.clone())).await.expect(422);
        assert!(causes(&refusal).iter().any(|(at, _)| at.starts_with(field)), "{spec}: {refusal}");
    }
}

/// CAT-8, CAT-11, CAT-12, CAT-13, CAT-16, CAT-17, CAT-18, CAT-19, CAT-20, CAT-21, CAT-22, CAT-24, CAT-26, CAT-41, CAT-43,
/// D-CAT-5, D-CAT-10: entries of all namespaces with the labels are in the catalog, by reference, for as long as they have them.
async fn catalogs_gather_entries_by_label(site: &mut Market) {
    let root = site.root();
    let all = catalog("all", json!({ "selector": {}, "accept": { "policy": "All" } }));
    root.post(&format!("{API}/resourcecatalogs"), &all).await.expect(201);
    let greeting = || list(json!([crate::objects::config_map("hello", json!({ "a": "b" }))]));
    for namespace in ["shop", "a", "b"] {
        let mut object = entry("greeting", greeting());
        object["spec"]["description"] = json!("says hello");
        object["metadata"]["labels"]["tier"] = json!(if namespace == "b" { "silver" } else { "gold" });
        root.post(&entries(namespace), &object).await.expect(201);
    }
    let (all, gold) = (format!("{API}/resourcecatalogs/all"), format!("{API}/resourcecatalogs/gold"));
    let shown = site.until(&all, |catalog| catalog["status"]["entryCount"] == 3).await;
    let places: Vec<_> =
        shown["status"]["entries"].as_array().unwrap().iter().map(|info| info["namespace"].clone()).collect();
    assert_eq!(places, ["a", "b", "shop"]);
    let shown = site.until(&gold, |catalog| catalog["status"]["entryCount"] == 2).await;
    let live = root.get(&format!("{}/greeting", entries("shop"))).await.expect(200);
    let info = json!({
        "namespace": "shop", "name": "greeting", "uid": live["metadata"]["uid"], "generation": 1, "description": "says hello",
    });
    assert_eq!(shown["status"]["entries"][1], info, "this is told, and nothing else");
    assert_eq!(live["status"]["catalogs"], json!(["all", "gold"]));
    let mut quickest = PATIENCE;
    for number in 0..3 {
        let began = Instant::now();
        root.post(&entries("shop"), &entry(&format!("quick-{number}"), greeting())).await.expect(201);
        site.until(&gold, |catalog| catalog["status"]["entryCount"] == 3 + number).await;
        quickest = quickest.min(began.elapsed());
    }
    assert!(quickest < Duration::from_secs(1), "it took {quickest:?}");
    for number in 0..3 {
        root.delete(&format!("{}/quick-{number}", entries("shop"))).await.expect(200);
    }
    site.until(&gold, |catalog| catalog["status"]["entryCount"] == 2).await;
    assert_eq!((&live["status"]["generation"], condition(&live, "Accepted").0), (&json!(1), "True"));
    // What is told follows the entry.
    let at = format!("{}/greeting", entries("shop"));
    root.merge(&at, &json!({ "spec": { "description": "waves" } })).await.expect(200);
    let shown = site.until(&gold, |catalog| catalog["status"]["entries"][1]["generation"] == 2).await;
    assert_eq!(shown["status"]["entries"][1]["description"], "waves");
    root.merge(&at, &json!({ "metadata": { "labels": { "tier": "lead" } } })).await.expect(200);
    site.until(&gold, |catalog| catalog["status"]["entryCount"] == 1).await;
    site.until(&at, |entry| entry["status"]["catalogs"] == json!(["all"])).await;
    // Another of the same name is another.
    let old = root.get(&format!("{}/greeting", entries("a"))).await.expect(200);
    root.delete(&format!("{}/greeting", entries("a"))).await.expect(200);
    site.until(&gold, |catalog| catalog["status"]["entryCount"] == 0).await;
    root.post(&entries("a"), &entry("greeting", greeting())).await.expect(201);
    let shown = site.until(&gold, |catalog| catalog["status"]["entryCount"] == 1).await;
    assert_ne!(shown["status"]["entries"][0]["uid"], old["metadata"]["uid"]);
    // Nobody selects it, and it is valid.
    let mut plain = entry("plain", greeting());
    plain["metadata"]["labels"] = json!({});
    root.merge(&all, &json!({ "spec": { "selector": null } })).await.expect(200);
    let made = root.post(&entries("shop"), &plain).await.expect(201);
    assert_eq!(condition(&made, "Accepted"), ("False", "NotSelected"));
    site.until(&all, |catalog| catalog["status"]["entryCount"] == 0 && condition(catalog, "Ready").1 == "NoSelector")
        .await;
}

/// I5, CAT-14: whoever has an entry refused by any number of catalogs, at any length, does not keep what they have lost the right to.
#[tokio::test]
async fn a_right_is_lost_whatever_else_is_refused() {
    let site = Market::open(Site::alone().await).await;
    let (root, name) = (site.root(), format!("p{}", "u".repeat(500)));
    site.bind("shop", "long", "ClusterRole/admin", &format!("User/{name}")).await;
    site.bind("shop", "long-publishes", "Role/publish-gold", &format!("User/{name}")).await;
    let greeting = list(json!([crate::objects::config_map("hello", json!({}))]));
    site.user(&name).post(&entries("shop"), &entry("greeting", greeting)).await.expect(201);
    let at = format!("{}/greeting", entries("shop"));
    site.accepted("greeting").await;
    for number in 0..110 {
        let refuses = catalog(&format!("refuses-{number}"), json!({ "selector": {} }));
        root.post(&format!("{API}/resourcecatalogs"), &refuses).await.expect(201);
    }
    let told =
        site.until(&at, |entry| entry["status"]["errors"].as_array().is_some_and(|errors| errors.len() == 100)).await;
    assert_eq!(condition(&told, "Accepted"), ("True", "PartlyAccepted"));
    site.revoke("shop", "long-publishes").await;
    let told = site.until(&at, |entry| entry["status"]["catalogs"].is_null()).await;
    assert_eq!(condition(&told, "Accepted"), ("False", "Refused"));
    let wanted = claim("mine", "greeting", json!({}));
    site.user("eddie").post(&claims("a"), &wanted).await.expect(422);
    site.check_invariants().await;
}

/// CAT-14, CAT-42, M-CAT-2: a catalog refuses entries whose publisher may not publish in it, and says so to them.
async fn entries_are_accepted_from_those_who_may_publish(site: &mut Market) {
    let content = list(json!([crate::objects::config_map("hello", json!({}))]));
    // eddie may write entries in his namespace, and publish nowhere.
    site.user("eddie").post(&entries("a"), &entry("sneaky", content.clone())).await.expect(201);
    let at = format!("{}/sneaky", entries("a"));
    let refused = site.until(&at, |entry| condition(entry, "Accepted").1 == "Refused").await;
    assert_eq!(refused["status"]["catalogs"], json!(null));
    assert_eq!(
        (&refused["status"]["errors"][0]["catalog"], &refused["status"]["errors"][0]["reason"]),
        (&json!("gold"), &json!("PublishForbidden"))
    );
    let message = refused["status"]["errors"][0]["message"].as_str().unwrap();
    for words in ["user \"eddie\" may not \"publish\"", "kubectl create role publish-gold -n a --verb=publish"] {
        assert!(message.contains(words), "{message}");
    }
    // A right that is given counts, and one that is taken does not any more.
    site.grant("a", "publish-gold", uses("publish", "gold"), "User/eddie").await;
    let accepted = site.until(&at, |entry| entry["status"]["catalogs"] == json!(["gold"])).await;
    assert_eq!((&accepted["status"]["errors"], condition(&accepted, "Accepted").0), (&json!(null), "True"));
    site.revoke("a", "publish-gold").await;
    site.until(&at, |entry| condition(entry, "Accepted").1 == "Refused").await;
    // By namespace.
    let spec = json!({
        "selector": { "tier": "gold" },
        "accept": { "policy": "NamespaceSelector", "namespaceSelector": { "matchLabels": { "trusted": "yes" } } },
    });
    site.root().post(&format!("{API}/resourcecatalogs"), &catalog("trusted", spec)).await.expect(201);
    site.until(&at, |entry| entry["status"]["errors"].as_array().is_some_and(|errors| errors.len() == 2)).await;
    site.root()
        .merge("/api/v1/namespaces/a", &json!({ "metadata": { "labels": { "trusted": "yes" } } }))
        .await
        .expect(200);
    let partly = site.until(&at, |entry| entry["status"]["catalogs"] == json!(["trusted"])).await;
    assert_eq!(condition(&partly, "Accepted"), ("True", "PartlyAccepted"));
}

/// CAT-22, CAT-30, D-07, D-CAT-10: who can claim sees what can be claimed where, and not how.
async fn claimants_see_what_they_can_claim(site: &mut Market) {
    let mut creds = entry("creds", local(&[("Secret", "creds")]));
    creds["spec"]["description"] = json!("the database");
    site.publish(&creds).await;
    site.until(&format!("{API}/resourcecatalogs/gold"), |catalog| catalog["status"]["entryCount"] == 1).await;
    let eddie = site.user("eddie");
    eddie.get(&format!("{}/creds", entries("shop"))).await.expect(403);
    let path = |namespace: &str| format!("{API}/namespaces/{namespace}/localresourcecatalogs");
    let seen = eddie.get(&path("a")).await.expect(200);
    assert_eq!(seen["items"].as_array().unwrap().len(), 1);
    let gold = &seen["items"][0];
    assert_eq!((&gold["metadata"]["name"], &gold["entryCount"]), (&json!("gold"), &json!(1)));
    assert_eq!(gold["entries"][0]["description"], "the database");
    assert!(!seen.to_string().contains("Secret") && !seen.to_string().contains("hunter2"), "{seen}");
    eddie.get(&format!("{}/gold", path("a"))).await.expect(200);
    eddie.get(&path("b")).await.expect(403);
    let bea = site.user("bea");
    assert_eq!(bea.get(&path("b")).await.expect(200)["items"], json!([]));
    bea.get(&format!("{}/gold", path("b"))).await.expect(404);
    // A catalog that cannot be used here is not seen, whatever was delegated.
    let nowhere = json!({ "spec": { "claimableFrom": { "matchLabels": { "open": "yes" } } } });
    site.root().merge(&format!("{API}/resourcecatalogs/gold"), &nowhere).await.expect(200);
    assert_eq!(eddie.get(&path("a")).await.expect(200)["items"], json!([]));
}

/// CAT-22, CAT-30, D-07: a catalog of any size is read part by part, by administrators and by those who can claim from it.
async fn all_entries_of_a_catalog_can_be_read(site: &mut Market) {
    let (root, eddie) = (site.root(), site.user("eddie"));
    let all = catalog("all", json!({ "selector": { "tier": "gold" }, "accept": { "policy": "All" } }));
    root.post(&format!("{API}/resourcecatalogs"), &all).await.expect(201);
    for number in 0..25 {
        let object = entry(&format!("e{number:02}"), json!({ "extension": { "apiVersion": "x/v1", "kind": "Foo" } }));
        root.post(&entries(if number % 2 == 0 { "a" } else { "shop" }), &object).await.expect(201);
    }
    site.until(&format!("{API}/resourcecatalogs/all"), |catalog| catalog["status"]["entryCount"] == 25).await;
    let names = all_entries(&root, &format!("{API}/resourcecatalogs/all/entries"), 10).await;
    assert_eq!(names.len(), 25);
    assert!(names.is_sorted(), "{names:?}");
    root.get(&format!("{API}/resourcecatalogs/none/entries")).await.expect(404);
    // Whoever cannot claim from it does not learn that it is there; whoever can sees the same.
    let shown = |catalog: &str| format!("{API}/namespaces/a/localresourcecatalogs/{catalog}/entries");
    eddie.get(&format!("{API}/resourcecatalogs/all/entries")).await.expect(403);
    let (hidden, absent) = (eddie.get(&shown("all")).await.expect(404), eddie.get(&shown("none")).await.expect(404));
    assert_eq!(hidden.to_string().replace("all", "none"), absent.to_string());
    site.grant("a", "claim-all", uses("claim", "all"), "User/eddie").await;
    assert_eq!(all_entries(&eddie, &shown("all"), 7).await, names);
    site.user("bea").get(&shown("all")).await.expect(403);
    eddie.get(&shown("all").replace("namespaces/a", "namespaces/b")).await.expect(403);
    let closed = json!({ "spec": { "claimableFrom": { "matchLabels": { "open": "yes" } } } });
    root.merge(&format!("{API}/resourcecatalogs/all"), &closed).await.expect(200);
    eddie.get(&shown("all")).await.expect(404);
}

/// CAT-22, CAT-30: beyond 1,000 entries a claimant sees how many there are, and all of them; no answer is larger for that, and of
/// entries that say much it has fewer.
#[tokio::test]
async fn claimants_see_all_of_a_large_catalog() {
    let site = Market::open(Site::alone().await).await;
    let (root, eddie) = (site.root(), site.user("eddie"));
    let all = catalog("all", json!({ "selector": { "tier": "gold" }, "accept": { "policy": "All" } }));
    root.post(&format!("{API}/resourcecatalogs"), &all).await.expect(201);
    site.grant("a", "claim-all", uses("claim", "all"), "User/eddie").await;
    let (path, long) = (entries("shop"), "x".repeat(4_000));
    let publish = async |number: usize| {
        let name = format!("e{number:04}");
        let mut object = entry(&name, json!({ "extension": { "apiVersion": "x/v1", "kind": "Foo" } }));
        if number >= 1_000 {
            object["spec"]["description"] = json!(long);
        }
        root.post(&path, &object).await.expect(201);
        format!("shop/{name}")
    };
    let expected: Vec<String> = stream::iter(0..1_200).map(publish).buffered(AT_ONCE).collect().await;
    site.until(&format!("{API}/resourcecatalogs/all"), |catalog| catalog["status"]["entryCount"] == 1_200).await;
    let path = format!("{API}/namespaces/a/localresourcecatalogs/all");
    let seen = eddie.get(&path).await.expect(200);
    let told = seen["entries"].as_array().unwrap().len();
    assert_eq!((told, &seen["entryCount"]), (1_000, &json!(1_200)));
    assert_eq!(all_entries(&eddie, &format!("{path}/entries"), 100_000).await, expected);
    let last = eddie.get(&format!("{path}/entries?continue=shop%2Fe0999")).await.expect(200);
    let told = last["entries"].as_array().unwrap().len();
    assert!((100..200).contains(&told) && last["continue"] == format!("shop/e{}", 999 + told), "{told} of 200");
    // Whatever is claimed of it is found, wherever it stands.
    let claimed = json!({ "catalogName": "all", "resourceCatalogEntry": { "namespace": "shop", "name": "e1199" } });
    eddie.post(&claims("a"), &claim("last", "e1199", claimed)).await.expect(201);
}

/// All entries below a catalog, of which no answer has more than these.
async fn all_entries(person: &Person, path: &str, limit: usize) -> Vec<String> {
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let page = person.get(&format!("{path}?limit={limit}&continue={after}")).await.expect(200);
        let infos = page["entries"].as_array().unwrap();
        assert!(infos.len() <= limit.min(1_000) && page.to_string().len() < 600 * 1024);
        let place =
            |info: &Value| format!("{}/{}", info["namespace"].as_str().unwrap(), info["name"].as_str().unwrap());
        names.extend(infos.iter().map(place));
        match page["continue"].as_str() {
            Some(next) => after = next.replace('/', "%2F"),
            None => return names,
        }
    }
}
