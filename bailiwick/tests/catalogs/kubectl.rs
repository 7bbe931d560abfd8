//! What people see of catalogs with kubectl.

use serde_json::json;

use crate::market::{Market, claims, core};
use crate::objects::{claim, entry, local};
use crate::shell::Shell;

in_both_modes!(kubectl_shows_and_changes_everything);

/// A claim as people write it.
const CLAIM: &str = "kubectl apply -f - <<'EOF'
apiVersion: catalog.bailiwick.dev/v1alpha1
kind: ResourceCatalogClaim
metadata: {name: mine, namespace: a}
spec: {catalogName: gold, resourceCatalogEntry: {namespace: shop, name: creds}, serviceAccountName: maker, namePrefix: one-}
EOF";
/// A catalog of everything.
const EVERYTHING: &str = "kubectl apply -f - 2>&1 <<'EOF'
apiVersion: catalog.bailiwick.dev/v1alpha1
kind: ResourceCatalog
metadata: {name: everything}
spec: {selector: {}}
EOF";

/// D-CAT-5, M-CAT-2: get, describe, explain, apply, edit, wait and delete, for each of the kinds that people look at.
async fn kubectl_shows_and_changes_everything(site: &mut Market) {
    let kubeconfig = &site.site.kubeconfig;
    let (root, eddie) = (Shell::of(kubeconfig).await, Shell::of_user(kubeconfig, "eddie").await);
    let mut creds = entry("creds", local(&[("Secret", "creds")]));
    creds["spec"]["description"] = json!("how to get in");
    site.publish(&creds).await;
    let shows = async |shell: &Shell, command: &str, words: &[&str]| {
        let printed = shell.run(&[command]).await;
        let spaced = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in words {
            assert!(spaced.contains(words), "{command} does not show {words}: {printed}");
        }
    };
    shows(&root, EVERYTHING, &["Warning: spec.selector: {} selects every entry of every namespace"]).await;
    shows(&root, "kubectl wait --for=condition=Ready rcat/everything", &["condition met"]).await;
    shows(&root, "kubectl get rcat -o wide", &["NAME ENTRIES READY AGE ACCEPT", "gold 1 True", "Authorization"]).await;
    shows(&root, "kubectl describe rcat gold", &["Entry Count: 1", "Description: how to get in"]).await;
    let entries = ["DESCRIPTION CATALOGS ACCEPTED AGE SATISFIER SERVICE ACCOUNT", "creds how to get in"];
    shows(&root, "kubectl get rce -n shop -o wide", &entries).await;
    shows(
        &root,
        "kubectl describe rce creds -n shop",
        &["Message: 1 resource", "Reason: PartlyAccepted", "kubectl create role publish-everything -n shop"],
    )
    .await;
    shows(&eddie, "kubectl get lrc -n a", &["NAME ENTRIES AGE gold 1"]).await;
    shows(&eddie, "kubectl describe lrc gold -n a", &["Description: how to get in", "Namespace: shop"]).await;
    let explained = ["keepSynchronized <boolean>", "they can change without warning", "enum: Delete, Orphan"];
    shows(&eddie, "kubectl explain rcc.spec", &explained).await;

    shows(&eddie, CLAIM, &["mine created"]).await;
    shows(&eddie, "kubectl wait --for=condition=Ready rcc/mine -n a", &["condition met"]).await;
    shows(&eddie, CLAIM, &["mine unchanged"]).await;
    let columns = ["NAME CATALOG ENTRY READY AGE SYNCED RESOURCES SERVICE ACCOUNT", "mine gold creds True", "1 maker"];
    shows(&eddie, "kubectl get rcc -n a -o wide", &columns).await;
    site.until("/apis/events.k8s.io/v1/namespaces/a/events", |list| !list["items"].as_array().unwrap().is_empty())
        .await;
    shows(&eddie, "kubectl describe rcc mine -n a", &["Normal Realized", "claim-controller 1 resource"]).await;
    let edited = "KUBE_EDITOR=\"sed -i 's/namePrefix: one-/namePrefix: two-/; s/^  serviceAccountName/  generation: 7\\n&/'\" \
                  kubectl edit rcc mine -n a";
    shows(&eddie, edited, &["mine edited"]).await;
    shows(&eddie, "kubectl wait --for=jsonpath={.status.generation}=7 rcc/mine -n a", &["condition met"]).await;
    site.root().get(&core("a", "secrets", "two-creds")).await.expect(200);
    site.until_gone(&core("a", "secrets", "one-creds")).await;
    shows(&eddie, "kubectl delete rcc mine -n a", &["deleted"]).await;
    shows(&eddie, "kubectl wait --for=delete secret/two-creds -n a --timeout=90s", &[]).await;
    site.until_gone(&format!("{}/mine", claims("a"))).await;

    // What is wrong is told where it is looked for.
    site.account("a", "weak").await;
    let weak = claim("weak", "creds", json!({ "serviceAccountName": "weak" }));
    site.user("eddie").post(&claims("a"), &weak).await.expect(201);
    shows(&eddie, "kubectl wait --for=condition=Ready=False rcc/weak -n a", &["condition met"]).await;
    let told = ["Reason: Forbidden", "kubectl create role weak-makes-secrets -n a", "Warning Forbidden"];
    site.until("/apis/events.k8s.io/v1/namespaces/a/events", |list| list.to_string().contains("\"Forbidden\"")).await;
    shows(&eddie, "kubectl describe rcc weak -n a", &told).await;
}
