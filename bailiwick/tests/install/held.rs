//! Claims, resources and classes at the time of their servers' removal: nobody else lets them go. They are looked for by what holds
//! them, so no server is needed to have some.

use bailiwick_test_host::{Cluster, Kubectl};

use crate::host::{about, done, done_soon, lines};

/// A kind that a definition made, and one that somebody wrote.
const KINDS: [(&str, &str, &str); 2] =
    [("Database", "databases", "Namespaced"), ("ServerClass", "serverclasses", "Cluster")];

const CLAIM: &str = "Database \"shop\" in \"default\"";
const CLASS: &str = "ServerClass \"small\"";

pub(crate) async fn nothing_is_removed_while_something_is_held(cluster: &Cluster) {
    let admin = cluster.admin();
    for (kind, plural, scope) in KINDS {
        let definition = format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {plural}.example.org}}, spec: {{\
             group: example.org, scope: {scope}, names: {{kind: {kind}, plural: {plural}}}, versions: [\
             {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}}}"
        );
        admin.apply(&definition).await.unwrap();
        done_soon(admin, &format!("get {plural}.example.org -A")).await;
    }
    let object = |kind: &str, name: &str, finalizers: &str| {
        format!("{{apiVersion: example.org/v1, kind: {kind}, metadata: {{name: {name}, finalizers: [{finalizers}]}}}}")
    };
    for (kind, name, finalizers) in [
        ("Database", "shop", "claim.bailiwick.dev/claim, example.org/theirs"),
        ("Database", "free", "example.org/theirs"),
        ("ServerClass", "small", "claim.bailiwick.dev/in-use"),
    ] {
        admin.apply(&object(kind, name, finalizers)).await.unwrap();
    }

    let installed =
        "get deployments,clusterrolebindings,apiservices -A -o name -l app.kubernetes.io/managed-by=bailiwick-install";
    let before = done(admin, installed).await;
    let told = lines(&about(cluster, &["uninstall"]).await);
    let held: Vec<_> = told.iter().filter(|line| line.starts_with("held: ")).collect();
    assert_eq!(held.len(), 3, "{told:#?}");
    for (line, words) in held.iter().zip([CLAIM, CLASS, "all of it is let go while the servers run"]) {
        assert!(line.starts_with(&format!("held: {words}")), "{words}: {told:#?}");
    }
    assert!(held[2].contains("kubectl delete databases.example.org --all --all-namespaces"), "{told:#?}");
    assert!(told.last().unwrap().ends_with("delete the claims first, or say --release"), "{told:#?}");

    let output = about(cluster, &["uninstall", "--yes"]).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: nothing was removed: "), "{output:?}");
    assert_eq!(done(admin, installed).await, before);
}

pub(crate) fn are_told_to_be_let_go(told: &[String]) {
    let expected = [CLAIM, CLASS].map(|place| format!("would let go of {place}, which stays as it is"));
    let found: Vec<_> = told.iter().filter(|line| line.starts_with("would let go of ")).collect();
    assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{told:#?}");
}

/// They are there still, with what others hold them by.
pub(crate) async fn are_let_go(admin: &Kubectl) {
    let finalizers = "get databases.example.org shop -n default -o jsonpath={.metadata.finalizers[*]}";
    assert_eq!(done(admin, finalizers).await, "example.org/theirs");
    done(admin, "delete serverclasses.example.org small --timeout=30s").await;
    for name in ["shop", "free"] {
        let patch = "{\"metadata\":{\"finalizers\":null}}";
        done(admin, &format!("patch databases.example.org {name} -n default --type=merge -p {patch}")).await;
    }
    done(admin, "delete crd databases.example.org serverclasses.example.org --timeout=30s").await;
}
