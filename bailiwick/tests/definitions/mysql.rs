//! The example of the proposal, word by word: MySQL on two clouds.

use serde_json::{Value, json};

use crate::estate::{CRDS, Estate, RBAC, custom_resource, merge, named};
use crate::shell::{Block, Shell};
use crate::site::{Site, eventually};

const ALIAS: &str = "/apis/core.crossplane.io/v1alpha1";
const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// What the seed shows, as it is written there: a definition of claims, and one of what satisfies them for each cloud.
const SEED: &str = include_str!("seed.yaml");

/// RCD-4, RCD-8, RCD-18, RCD-28 to RCD-33, RCD-38, RCD-44, RCD-45, D-RCD-2: people apply the seed's definitions as they are written,
/// through the group they were proposed in; the same claim is satisfied on either cloud.
#[tokio::test]
async fn the_seed_as_it_is_written() {
    seed(&Estate::alone("mysql").await).await;
}

/// RCD-4, RCD-38, RCD-44, RCD-45, D-RCD-15: the same behind a cluster, whose administrator wants that group to be ours, has started
/// the server so, and has applied what `bailiwick install --alias-groups` prints.
#[tokio::test(flavor = "multi_thread")]
async fn the_seed_behind_a_cluster() {
    let estate = Estate::at(Site::behind_with(&["--alias-groups=true"]).await, "mysql").await;
    let root = &estate.root;
    let cluster = estate.site.cluster();
    cluster.install_with(&["--alias-groups"]).await;
    eventually("the group is ours", async || root.get(&format!("{ALIAS}/resourceclaimdefinitions")).await.code == 200)
        .await;
    let groups = ["database.crossplane.io", "database.gcp.crossplane.io", "database.azure.crossplane.io"];
    let rules = json!({ "rules": [{ "apiGroups": groups, "resources": ["*"], "verbs": ["*"] }] });
    root.merge(&format!("{RBAC}/clusterroles/provisioner-mysql"), &rules).await.expect(200);
    seed(&estate).await;

    // Nothing is left of it for other tests.
    let claims = format!("/apis/database.crossplane.io/v1alpha1/namespaces/{}/mysqlinstances", estate.namespace);
    root.delete(&format!("{claims}/alone")).await.expect(200);
    estate.gone(&format!("{claims}/alone")).await;
    for path in [
        format!("{ALIAS}/resourcebindingdefinitions/mysqlinstance-cloudsqlinstance"),
        format!("{ALIAS}/resourceclaimdefinitions/mysqlinstance"),
    ] {
        root.delete(&path).await;
        estate.gone(&path).await;
    }
    let kinds = root.get(CRDS).await.expect(200);
    for kind in kinds["items"].as_array().unwrap() {
        let name = kind["metadata"]["name"].as_str().unwrap();
        if name.ends_with(".crossplane.io") {
            root.delete(&format!("{CRDS}/{name}")).await.expect(200);
            estate.gone(&format!("{CRDS}/{name}")).await;
        }
    }
    cluster.install_with(&[]).await;
    for name in ["v1.smith.atlassian.com", "v1alpha1.core.crossplane.io"] {
        root.delete(&format!("{SERVICES}/{name}")).await.expect(200);
    }
}

async fn seed(estate: &Estate) {
    let root = &estate.root;
    let shell = Shell::of(&estate.site.kubeconfig).await;
    eventually("kubectl knows the group", async || {
        shell.print("kubectl get resourcebindingdefinitions.v1alpha1.core.crossplane.io").await.is_done
    })
    .await;
    // As the seed has it, the second definition of bindings is called like the first, and takes its place.
    let printed = apply(&shell, SEED).await;
    for done in ["created", "configured"] {
        assert!(printed.contains(&format!("/mysqlinstance-cloudsqlinstance {done}")), "{done}: {printed}");
    }
    let path = format!("{ALIAS}/resourcebindingdefinitions/mysqlinstance-cloudsqlinstance");
    let found = root.get(&path).await.expect(200);
    assert_eq!(found["spec"]["resources"][0]["resource"]["kind"], "MySQLServer");
    let documents: Vec<&str> = SEED.split("---\n").collect();
    let [_, gcp, azure] = documents[..] else { panic!("the seed shows something else") };
    apply(&shell, gcp).await;
    apply(&shell, &azure.replace("name: mysqlinstance-cloudsqlinstance", "name: mysqlinstance-mysqlserver")).await;
    let home = root
        .get("/apis/claim.bailiwick.dev/v1alpha1/resourcebindingdefinitions/mysqlinstance-mysqlserver")
        .await
        .expect(200);
    assert_eq!(home["apiVersion"], "claim.bailiwick.dev/v1alpha1");

    let claims = format!("/apis/database.crossplane.io/v1alpha1/namespaces/{}/mysqlinstances", estate.namespace);
    eventually("claims can be made", async || root.get(&claims).await.code == 200).await;
    let claim = |name: &str, version: &str| {
        json!({
            "apiVersion": "database.crossplane.io/v1alpha1", "kind": "MySQLInstance", "metadata": { "name": name },
            "spec": { "engineVersion": version },
        })
    };
    root.post(&claims, &claim("wrong", "5.8")).await.expect(422);

    make_cloud(estate, "database.gcp.crossplane.io", &[("CloudSQLInstance", "cloudsqlinstances", "v1beta1")]).await;
    make_cloud(
        estate,
        "database.gcp.crossplane.io",
        &[("CloudSQLInstanceClass", "cloudsqlinstanceclasses", "v1beta1")],
    )
    .await;
    estate.definition_says("mysqlinstance-cloudsqlinstance", "Ready", "True", "Ready").await;
    let class = json!({
        "apiVersion": "database.gcp.crossplane.io/v1beta1", "kind": "CloudSQLInstanceClass",
        "metadata": { "name": "standard", "annotations": { "claim.bailiwick.dev/is-default-class": "true" } },
        "specTemplate": { "forProvider": { "tier": "db-n1-standard-1" } },
    });
    root.post("/apis/database.gcp.crossplane.io/v1beta1/cloudsqlinstanceclasses", &class).await.expect(201);
    root.post(&claims, &claim("on-gcp", "5.7")).await.expect(201);
    let bound = satisfied(estate, &format!("{claims}/on-gcp"), 1).await;
    let instance = root.get(&resource_path(&bound["status"]["bindings"][0]["resourceRef"])).await.expect(200);
    assert_eq!(instance["spec"]["forProvider"], json!({ "tier": "db-n1-standard-1", "databaseVersion": "5_7" }));

    let azure_kinds = [
        ("MySQLServer", "mysqlservers", "v1beta1"),
        ("SQLServerClass", "sqlserverclasses", "v1beta1"),
        ("MySQLServerVirtualNetworkRule", "mysqlservervirtualnetworkrules", "v1alpha3"),
        ("MySQLServerVirtualNetworkRuleClass", "mysqlservervirtualnetworkruleclasses", "v1alpha3"),
    ];
    make_cloud(estate, "database.azure.crossplane.io", &azure_kinds).await;
    estate.definition_says("mysqlinstance-mysqlserver", "Ready", "True", "Ready").await;
    let server = json!({
        "apiVersion": "database.azure.crossplane.io/v1beta1", "kind": "SQLServerClass", "metadata": { "name": "mysql57" },
        "specTemplate": { "forProvider": { "version": "5.7" } },
    });
    root.post("/apis/database.azure.crossplane.io/v1beta1/sqlserverclasses", &server).await.expect(201);
    let rule = json!({
        "apiVersion": "database.azure.crossplane.io/v1alpha3", "kind": "MySQLServerVirtualNetworkRuleClass",
        "metadata": { "name": "open", "annotations": { "claim.bailiwick.dev/is-default-class": "true" } },
        "specTemplate": { "properties": { "ignoreMissing": true } },
    });
    root.post("/apis/database.azure.crossplane.io/v1alpha3/mysqlservervirtualnetworkruleclasses", &rule)
        .await
        .expect(201);
    // A match counts more than a default: the same claim is satisfied by the other cloud now.
    root.post(&claims, &claim("on-azure", "5.7")).await.expect(201);
    let bound = satisfied(estate, &format!("{claims}/on-azure"), 2).await;
    let kinds: Vec<&Value> =
        bound["status"]["bindings"].as_array().unwrap().iter().map(|b| &b["resourceRef"]["kind"]).collect();
    assert_eq!(kinds, ["MySQLServer", "MySQLServerVirtualNetworkRule"]);
    // And of the version that no class there has, by the first again.
    root.post(&claims, &claim("older", "5.6")).await.expect(201);
    let bound = satisfied(estate, &format!("{claims}/older"), 1).await;
    assert_eq!(bound["status"]["bindings"][0]["resourceRef"]["kind"], "CloudSQLInstance");

    let mut table = root.get(&claims).await.expect(200);
    assert_eq!(table["items"].as_array().unwrap().len(), 3);
    table = root.send(http::Method::GET, &claims, "", None).await.expect(200);
    assert_eq!(table["kind"], "MySQLInstanceList");
    let definition = root.get(&format!("{CRDS}/mysqlinstances.database.crossplane.io")).await.expect(200);
    let columns = definition["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap();
    assert_eq!(columns[1]["name"], "Class-Kind");

    // RCD-38: without definitions nothing is done any more, and with them it is again.
    for name in ["mysqlinstance-mysqlserver", "mysqlinstance-cloudsqlinstance"] {
        root.delete(&format!("{ALIAS}/resourcebindingdefinitions/{name}")).await;
    }
    for name in ["on-gcp", "on-azure", "older"] {
        root.delete(&format!("{claims}/{name}")).await.expect(200);
    }
    for name in ["mysqlinstance-mysqlserver", "mysqlinstance-cloudsqlinstance"] {
        estate.gone(&format!("{ALIAS}/resourcebindingdefinitions/{name}")).await;
    }
    root.post(&claims, &claim("alone", "5.7")).await.expect(201);
    apply(&shell, gcp).await;
    satisfied(estate, &format!("{claims}/alone"), 1).await;
}

/// Applies definitions as people do, and gives what that prints.
async fn apply(shell: &Shell, text: &str) -> String {
    shell.follow(&Block { section: "", language: "yaml", text }).await
}

/// Kinds of a cloud: everything they hold is kept.
async fn make_cloud(estate: &Estate, group: &str, kinds: &[(&str, &str, &str)]) {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    for (kind, plural, version) in kinds {
        let properties =
            json!({ "spec": open, "status": open, "specTemplate": open, "reclaimPolicy": { "type": "string" } });
        let mut definition = custom_resource(group, kind, plural, "Cluster", properties);
        definition["spec"]["versions"][0]["name"] = json!(version);
        merge(&mut definition, &json!({}));
        estate.root.post(CRDS, &definition).await.expect(201);
    }
}

/// Does what a provider does until a claim is satisfied.
async fn satisfied(estate: &Estate, claim: &str, count: usize) -> Value {
    let mut found = Value::Null;
    eventually("the claim is satisfied", async || {
        found = estate.root.get(claim).await.expect(200);
        let bindings = found["status"]["bindings"].as_array().cloned().unwrap_or_default();
        for binding in
            bindings.iter().filter(|binding| binding["ready"] != true && binding["resourceRef"]["uid"].is_string())
        {
            let resource = estate.root.get(&resource_path(&binding["resourceRef"])).await.expect(200);
            let condition = json!({ "type": "Ready", "status": "True", "reason": "Tested" });
            let path = format!("{}/status", resource_path(&binding["resourceRef"]));
            assert_eq!(named(&resource)["uid"], binding["resourceRef"]["uid"]);
            estate.root.merge(&path, &json!({ "status": { "conditions": [condition] } })).await.expect(200);
        }
        found["status"]["bindingPhase"] == "Bound" && bindings.len() == count
    })
    .await;
    found
}

fn resource_path(named: &Value) -> String {
    let (api_version, name) = (named["apiVersion"].as_str().unwrap(), named["name"].as_str().unwrap());
    let plural = format!("{}s", named["kind"].as_str().unwrap().to_lowercase());
    format!("/apis/{api_version}/{plural}/{name}")
}
