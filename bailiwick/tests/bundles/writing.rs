//! What is refused when a Bundle is written, and with which words.

use serde_json::{Value, json};

use crate::shop::{BUNDLES, MAPS, Shop, bundle, map, part, secret, sleeper};
use crate::site::causes;

in_both_modes!(what_is_wrong_is_refused, what_cannot_fit_is_refused);

/// SMITH-3, SMITH-4, SMITH-7, SMITH-14, B-SMITH-3, B-06, B-08, D-SMITH-3, D-SMITH-12: what is wrong is told with its place, and
/// nothing comes of it.
async fn what_is_wrong_is_refused(shop: Shop) {
    let refused = async |resources: Value, field: &str, why: &str| {
        let answer = shop.root.post(BUNDLES, &bundle("wrong", resources)).await.expect(422);
        let causes = causes(&answer);
        assert!(causes.iter().any(|(at, told)| at == field && told.contains(why)), "{field}, {why}: {causes:?}");
    };
    let a = || part(&[], map("a", json!({ "x": "1" })));
    let b = |text: &str| part(&["a"], map("b", json!({ "x": text })));
    refused(json!([a(), a()]), "spec.resources[1].name", "Duplicate").await;
    refused(json!([part(&["nobody"], map("a", json!({})))]), "spec.resources[0].dependsOn[0]", "nobody").await;
    let circle = json!([
        part(&["c"], map("a", json!({}))),
        part(&["a"], map("b", json!({}))),
        part(&["b"], map("c", json!({})))
    ]);
    refused(circle, "spec.resources[0].dependsOn", "a -> c -> b -> a").await;
    let indirect = json!([a(), b("1"), part(&["b"], map("c", json!({ "x": "$(a.data.x)" })))]);
    refused(indirect, "spec.resources[2].spec.data.x", "only direct dependencies").await;
    refused(json!([a(), b("$(a.data.*)")]), "spec.resources[1].spec.data.x", "is not part of a path").await;
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
    let many: Vec<Value> = (0..201).map(|number| part(&[], map(&format!("m{number}"), json!({})))).collect();
    refused(json!(many), "spec.resources", "200").await;
    assert_eq!(shop.root.get(&format!("{MAPS}/a")).await.code, 404);
    assert_eq!(shop.root.get(&format!("{BUNDLES}/wrong")).await.code, 404);
}

/// M-SMITH-8, SMITH-9: what cannot fit the host's schema is told while whoever wrote it is still there.
async fn what_cannot_fit_is_refused(shop: Shop) {
    let refused = async |resources: Value, field: &str, why: &str| {
        let answer = shop.root.post(BUNDLES, &bundle("unfit", resources)).await.expect(422);
        let causes = causes(&answer);
        assert!(causes.iter().any(|(at, told)| at == field && told.contains(why)), "{field}, {why}: {causes:?}");
    };
    let a = || part(&[], map("a", json!({ "x": "1" })));
    refused(json!([part(&[], map("a", json!({ "x": 1 })))]), "spec.resources[0].spec.data.x", "string").await;
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
