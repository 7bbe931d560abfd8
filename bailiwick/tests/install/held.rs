//! Claims, resources and classes at the time of their servers' removal: nobody else lets them go. They are looked for by what holds
//! them, so no server is needed to have some.

use bailiwick_test_host::{Cluster, Kubectl};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::host::{about, done, done_soon, lines, manifests};
use crate::life::OUTSIDE;
use crate::process::{PATIENCE, folder, program};

/// A kind that a definition made, and one that somebody wrote.
const KINDS: [(&str, &str, &str); 2] =
    [("Database", "databases", "Namespaced"), ("ServerClass", "serverclasses", "Cluster")];

const CLAIM: &str = "Database \"shop\" in \"default\"";
const CLASS: &str = "ServerClass \"small\"";
/// One where the servers are.
const INSIDE: &str = "Database \"inside\" in \"bailiwick-system\"";

/// As long as it is there, a removal waits for the servers to end, when all but the namespace is gone.
const LAST_SERVER: &str = "
apiVersion: v1
kind: Pod
metadata: {name: last, namespace: bailiwick-system, labels: {app.kubernetes.io/name: bailiwick}}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - {name: last, image: last, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}
";

pub(crate) async fn nothing_is_removed_while_something_is_held(cluster: &Cluster) {
    let admin = cluster.admin();
    for (kind, plural, scope) in KINDS {
        define(admin, kind, plural, scope).await;
    }
    for (kind, name, finalizers) in [
        ("Database", "name: shop", "claim.bailiwick.dev/claim, example.org/theirs"),
        ("Database", "name: free", "example.org/theirs"),
        ("ServerClass", "name: small", "claim.bailiwick.dev/in-use"),
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

/// What comes to be held while servers are removed; what is of a kind that nobody serves at the moment; and what is where the servers
/// were, which does not go with them.
pub(crate) async fn what_is_held_later_or_out_of_sight_is_said(cluster: &Cluster) {
    let admin = cluster.admin();
    admin.apply(&manifests(&OUTSIDE).await).await.unwrap();
    let (kind, plural, scope) = KINDS[0];
    define(admin, kind, plural, scope).await;
    done_soon(admin, "get serviceaccount default -n bailiwick-system").await;
    admin.apply(LAST_SERVER).await.unwrap();
    let said = timeout(3 * PATIENCE, held_meanwhile(cluster)).await.expect("an end in time");
    assert!(said.iter().any(|line| line.starts_with(&format!("held: {INSIDE}: "))), "{said:#?}");

    serve(admin, "false").await;
    let unknown = format!("held: it is not known which objects are, of the kind {kind} ({plural}.example.org): ");
    let is_told = |said: &[String]| said.iter().filter(|line| line.starts_with(&unknown)).count() == 1;
    let told = lines(&about(cluster, &["uninstall"]).await);
    assert!(is_told(&told), "{told:#?}");
    let told = lines(&about(cluster, &["uninstall", "--release"]).await);
    assert!(is_told(&told), "{told:#?}");
    let output = about(cluster, &["uninstall", "--yes"]).await;
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: nothing was removed: "), "{output:?}");
    let output = about(cluster, &["uninstall", "--yes", "--release"]).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.starts_with("error: what is held of kinds that cannot be listed (1) was not let go"), "{error}");
    let said = lines(&output);
    assert!(is_told(&said) && !said.iter().any(|line| line.starts_with("removed; ")), "{said:#?}");
    let kept = "kept Namespace \"bailiwick-system\": ";
    let unknown = format!("{kept}it is not known what is in it, of the kind {kind} ({plural}.example.org)");
    assert!(said.iter().any(|line| line.starts_with(&unknown)), "{said:#?}");

    serve(admin, "true").await;
    done_soon(admin, "get databases.example.org inside -n bailiwick-system").await;
    let output = about(cluster, &["uninstall", "--yes", "--release"]).await;
    assert!(output.status.success(), "{output:?}");
    let said = lines(&output);
    assert!(said.contains(&format!("let go of {INSIDE}")), "{said:#?}");
    let kept = format!("{kept}{INSIDE} was not installed by Bailiwick");
    assert!(said.iter().any(|line| line.starts_with(&kept)), "{said:#?}");
    // By now it looks like anybody's.
    let said = lines(&about(cluster, &["uninstall", "--yes"]).await);
    assert!(said[0].starts_with(&kept), "{said:#?}");
    let finalizers = "get databases.example.org inside -n bailiwick-system -o jsonpath={.metadata.finalizers[*]}";
    assert_eq!(done(admin, finalizers).await, "");

    done(admin, "delete crd databases.example.org --timeout=30s").await;
    assert!(about(cluster, &["uninstall", "--yes"]).await.status.success());
    done_soon(admin, "wait --for=delete namespace/bailiwick-system --timeout=30s").await;
}

/// What a removal says that finds nothing held at first, and something when it waits for the last server to end.
async fn held_meanwhile(cluster: &Cluster) -> Vec<String> {
    let admin = cluster.admin();
    let (folder, kubeconfig) = (folder(), format!("--kubeconfig={}", cluster.kubeconfig().display()));
    let mut child = program(folder.path(), &["uninstall", "--yes", &kubeconfig]).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    while let Some(line) = printed.next_line().await.unwrap() {
        let is_account = line.starts_with("removed ServiceAccount \"bailiwick\"");
        said.push(line);
        if is_account {
            let inside = object("Database", "name: inside, namespace: bailiwick-system", "claim.bailiwick.dev/claim");
            admin.apply(&inside).await.unwrap();
            done(admin, "delete pod last -n bailiwick-system --force --grace-period=0").await;
        }
    }
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{said:#?}: {output:?}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.starts_with("error: the servers were removed, and have come to hold something"), "{error}");
    assert!(error.contains("--release"), "{error}");
    said
}

async fn define(admin: &Kubectl, kind: &str, plural: &str, scope: &str) {
    let definition = format!(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {plural}.example.org}}, spec: {{\
         group: example.org, scope: {scope}, names: {{kind: {kind}, plural: {plural}}}, versions: [\
         {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}}}"
    );
    admin.apply(&definition).await.unwrap();
    done_soon(admin, &format!("get {plural}.example.org -A")).await;
}

/// Whether databases are served. They are stored all the same.
async fn serve(admin: &Kubectl, served: &str) {
    let patch = format!("[{{\"op\":\"replace\",\"path\":\"/spec/versions/0/served\",\"value\":{served}}}]");
    done(admin, &format!("patch crd databases.example.org --type=json -p {patch}")).await;
}

fn object(kind: &str, metadata: &str, finalizers: &str) -> String {
    format!("{{apiVersion: example.org/v1, kind: {kind}, metadata: {{{metadata}, finalizers: [{finalizers}]}}}}")
}
