//! kubectl, as people use it.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use bailiwick_test_host::{Etcd, Kubectl};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::process::{Server, folder};
use crate::turn::turn;

const SOON: Duration = Duration::from_secs(20);

/// kubectl in one namespace of one server.
struct Shell(Kubectl);

#[tokio::test]
async fn kubectl_works() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let shell = Shell(server.kubectl().await);
    discover(&shell).await;
    read_and_write(&shell).await;
    edit_and_replace(&shell, folder.path()).await;
    wait_and_watch(&shell).await;
    delete(&shell).await;
    config_maps(&shell, folder.path()).await;
    server.stop().await;
}

#[tokio::test]
async fn kubectl_works_in_front_of_etcd() {
    let _turn = turn().await;
    let etcd = Etcd::options().start().await.unwrap();
    let folder = folder();
    let servers = format!("--etcd-servers={}", etcd.endpoints().join(","));
    let server = Server::start(folder.path(), &[&servers]).await;
    let shell = Shell(server.kubectl().await);
    read_and_write(&shell).await;
    delete(&shell).await;
    server.stop().await;
}

async fn discover(shell: &Shell) {
    let resources = shell.run("api-resources").await;
    for expected in
        ["organizations", "groups", "orggroups", "resourcecatalogclaims", "rcc", "catalog.bailiwick.dev/v1alpha1", "cm"]
    {
        assert!(resources.contains(expected), "{expected}: {resources}");
    }
    let namespaced = shell.run("api-resources --namespaced=true -o name").await;
    let ours: Vec<&str> = namespaced.lines().filter(|name| name.ends_with(".bailiwick.dev")).collect();
    assert_eq!(ours, ["resourcecatalogclaims.catalog.bailiwick.dev"]);
    assert!(namespaced.lines().any(|name| name == "configmaps"), "{namespaced}");
    let wide = shell.run("api-resources -o wide").await;
    assert!(wide.contains("create,delete,deletecollection,get,list,patch,update,watch"), "{wide}");
    let versions = shell.run("api-versions").await;
    for expected in ["catalog.bailiwick.dev/v1alpha1", "org.bailiwick.dev/v1alpha1", "v1"] {
        assert!(versions.lines().any(|version| version == expected), "{expected}: {versions}");
    }
    assert!(shell.run("version").await.contains("Server Version"));
}

async fn read_and_write(shell: &Shell) {
    shell.create(&[("hammer", "tools", "gold"), ("atlas", "books", "silver"), ("saw", "tools", "silver")]).await;
    let again = shell.fail_with("create --validate=false -f -", &manifest("hammer", "tools", "gold")).await;
    assert!(again.contains("AlreadyExists"), "{again}");
    assert!(shell.fail("get rcc missing").await.contains("Error from server (NotFound)"));

    let table = shell.run("get rcc").await;
    let header: Vec<_> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["NAME", "CATALOG", "ENTRY", "READY", "AGE"]);
    assert_eq!(first_words(&table)[1..], ["atlas", "hammer", "saw"]);
    assert_eq!(first_words(&shell.run("get rcc --no-headers -o wide").await), ["atlas", "hammer", "saw"]);
    assert!(shell.run("get rcc -A").await.starts_with("NAMESPACE"));
    let labels = shell.run("get rcc -L tier hammer saw").await;
    assert!(labels.lines().next().unwrap().ends_with("TIER") && labels.contains("gold"), "{labels}");
    assert_eq!(
        shell.run("get rcc -o name").await,
        ["atlas", "hammer", "saw"].map(|name| format!("resourcecatalogclaim.catalog.bailiwick.dev/{name}\n")).concat()
    );
    let sorted = shell.run("get rcc --no-headers --sort-by=.spec.catalogName").await;
    assert_eq!(first_words(&sorted)[0], "atlas", "{sorted}");
    let by_version = shell.run("get rcc --no-headers --sort-by=.metadata.resourceVersion").await;
    assert_eq!(first_words(&by_version), ["hammer", "atlas", "saw"]);
    for (selector, expected) in [
        ("--field-selector=spec.catalogName=tools", &["hammer", "saw"][..]),
        ("--field-selector=metadata.name!=saw,spec.catalogName=tools", &["hammer"]),
        ("-l tier=silver", &["atlas", "saw"]),
        ("-l tier!=silver", &["hammer"]),
        ("-l !tier", &[]),
        ("--chunk-size=1", &["atlas", "hammer", "saw"]),
    ] {
        let found = shell.run(&format!("get rcc --no-headers --ignore-not-found {selector}")).await;
        assert_eq!(first_words(&found), expected, "{selector}");
    }
    let refused = shell.fail("get rcc --field-selector=spec.unknown=x").await;
    assert!(refused.contains("field label not supported"), "{refused}");
    let yaml = shell.run("get rcc hammer -o yaml").await;
    assert!(yaml.starts_with("apiVersion: catalog.bailiwick.dev/v1alpha1\nkind: ResourceCatalogClaim\n"), "{yaml}");
    let described = shell.run("describe rcc hammer").await;
    assert!(described.contains("Catalog Name:") && described.contains("tier=gold"), "{described}");

    shell.run("label rcc hammer colour=red tier=bronze --overwrite").await;
    shell.run("label rcc hammer colour-").await;
    shell.run("annotate rcc hammer note=first").await;
    shell.run(r#"patch rcc hammer --type=merge -p {"spec":{"keepSynchronized":true}}"#).await;
    shell.run(r#"patch rcc hammer --type=json -p [{"op":"replace","path":"/spec/catalogName","value":"books"}]"#).await;
    shell.run(r#"patch rcc hammer --subresource=status --type=merge -p {"status":{"entryGeneration":7}}"#).await;
    let hammer = shell.json("hammer").await;
    assert_eq!(hammer["metadata"]["labels"], serde_json::json!({"tier": "bronze"}));
    assert_eq!(hammer["metadata"]["annotations"]["note"], "first");
    assert_eq!(hammer["spec"]["keepSynchronized"], true);
    assert_eq!(hammer["spec"]["catalogName"], "books");
    assert_eq!(hammer["status"]["entryGeneration"], 7);
}

async fn edit_and_replace(shell: &Shell, folder: &std::path::Path) {
    let editor = folder.join("editor.sh");
    std::fs::write(&editor, "#!/bin/sh\nsed -i 's/catalogName: tools/catalogName: edited/' \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = shell.0.command(["edit", "--validate=false", "rcc", "saw"]);
    let output = command.env("KUBE_EDITOR", &editor).stdin(Stdio::null()).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut saw = shell.json("saw").await;
    assert_eq!(saw["spec"]["catalogName"], "edited");

    saw["spec"]["catalogName"] = "replaced".into();
    shell.run_with("replace --validate=false -f -", &saw.to_string()).await;
    assert_eq!(shell.json("saw").await["spec"]["catalogName"], "replaced");
    // Its version is the one before.
    let stale = shell.fail_with("replace --validate=false -f -", &saw.to_string()).await;
    assert!(stale.contains("Conflict"), "{stale}");
}

/// kubectl knows the Go types of these: it creates them in protobuf, and edits and applies by strategic merge patches.
async fn config_maps(shell: &Shell, folder: &std::path::Path) {
    let created = shell.run("create configmap settings --from-literal=colour=red --from-literal=size=7").await;
    assert_eq!(created, "configmap/settings created\n");
    let table = shell.run("get configmaps --field-selector=metadata.name=settings").await;
    let words: Vec<_> = table.split_whitespace().collect();
    assert_eq!((&words[..3], &words[3..5]), (&["NAME", "DATA", "AGE"][..], &["settings", "2"][..]), "{table}");
    shell.run(r#"patch cm settings -p {"data":{"size":null,"shape":"round"}}"#).await;
    let editor = folder.join("recolour.sh");
    std::fs::write(&editor, "#!/bin/sh\nsed -i 's/colour: red/colour: blue/' \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = shell.0.command(["edit", "cm", "settings"]);
    let output = command.env("KUBE_EDITOR", &editor).stdin(Stdio::null()).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    shell.run("label cm settings tier=gold").await;
    let found: Value = serde_json::from_str(&shell.run("get cm settings -o json").await).unwrap();
    assert_eq!(found["data"], serde_json::json!({"colour": "blue", "shape": "round"}));
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\ndata:\n  a: b\n  c: d\n";
    assert_eq!(shell.run_with("apply -f -", manifest).await, "configmap/applied created\n");
    assert_eq!(shell.run_with("apply -f -", &manifest.replace("  c: d\n", "")).await, "configmap/applied configured\n");
    assert_eq!(shell.run("get cm applied -o jsonpath={.data}").await, r#"{"a":"b"}"#);
    let explained = shell.run("explain configmap.data").await;
    assert!(explained.contains("Data contains the configuration data."), "{explained}");
    let refused = shell.fail_with("apply -f -", &manifest.replace("\ndata:", "\ndate:")).await;
    assert!(refused.contains("unknown field \"date\""), "{refused}");
    let described = shell.run("describe cm settings --show-events=false").await;
    assert!(described.contains("tier=gold") && described.contains("blue"), "{described}");
    assert_eq!(shell.run("delete cm settings applied").await.lines().count(), 2);
}

async fn wait_and_watch(shell: &Shell) {
    shell.run("wait rcc/saw --for=jsonpath={.spec.catalogName}=replaced --timeout=10s").await;
    let mut watch = shell.0.command(["get", "rcc", "saw", "-w", "--no-headers"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut line = async || timeout(SOON, lines.next_line()).await.expect("a line").unwrap().unwrap();
    assert!(line().await.contains("replaced"));
    let change = async {
        let ready = r#"{"type":"Ready","status":"True","reason":"Made","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}"#;
        let patch = format!(r#"{{"status":{{"entryGeneration":3,"conditions":[{ready}]}}}}"#);
        let arguments = ["patch", "rcc", "saw", "--subresource=status", "--type=merge", "-p", &patch];
        shell.0.run(arguments).await.unwrap().success().unwrap();
    };
    tokio::join!(
        shell.run("wait rcc/saw --for=condition=Ready --timeout=20s"),
        shell.run("wait rcc/saw --for=jsonpath={.status.entryGeneration}=3 --timeout=20s"),
        change
    );
    let changed = line().await;
    assert!(changed.contains("replaced") && changed.contains("True"), "{changed}");
    tokio::join!(shell.run("wait rcc/saw --for=delete --timeout=20s"), shell.run("delete rcc saw"));
    line().await;
    watch.kill().await.unwrap();
}

async fn delete(shell: &Shell) {
    shell.create(&[("kept", "tools", "gold"), ("other", "tools", "gold")]).await;
    shell.run(r#"patch rcc kept --type=merge -p {"metadata":{"finalizers":["test.bailiwick.dev/hold"]}}"#).await;
    let held = shell.run("delete rcc kept --wait=false").await;
    assert!(held.contains("deleted"), "{held}");
    assert!(shell.json("kept").await["metadata"]["deletionTimestamp"].is_string());
    let release = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        shell.run(r#"patch rcc kept --type=json -p [{"op":"remove","path":"/metadata/finalizers"}]"#).await;
    };
    // It returns only when the object is gone.
    tokio::join!(shell.run("delete rcc kept --wait --timeout=20s"), release);
    assert!(shell.fail("get rcc kept").await.contains("NotFound"));

    shell.run("delete rcc --all").await;
    assert_eq!(shell.run("get rcc -o name").await, "");
}

/// The first word of each line.
fn first_words(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

fn manifest(name: &str, catalog: &str, tier: &str) -> String {
    format!(
        "apiVersion: catalog.bailiwick.dev/v1alpha1\nkind: ResourceCatalogClaim\nmetadata:\n  name: {name}\n  labels:\n    tier: {tier}\nspec:\n  catalogName: {catalog}\n  resourceCatalogEntry:\n    namespace: shop\n    name: {name}\n"
    )
}

// === impl Shell ===

impl Shell {
    /// Creates claims. Without validation by the client, which needs the server's schemas.
    async fn create(&self, claims: &[(&str, &str, &str)]) {
        let manifests: Vec<_> = claims.iter().map(|(name, catalog, tier)| manifest(name, catalog, tier)).collect();
        self.run_with("create --validate=false -f -", &manifests.join("---\n")).await;
    }

    /// What a command that succeeds prints. Its words have no spaces in them.
    async fn run(&self, command: &str) -> String {
        self.run_with(command, "").await
    }

    async fn run_with(&self, command: &str, input: &str) -> String {
        self.0.run_with(command.split(' '), input).await.unwrap().success().unwrap()
    }

    /// What a command that fails complains of.
    async fn fail(&self, command: &str) -> String {
        self.fail_with(command, "").await
    }

    async fn fail_with(&self, command: &str, input: &str) -> String {
        let output = self.0.run_with(command.split(' '), input).await.unwrap();
        assert!(!output.status.success(), "{command} succeeded: {}", output.stdout);
        output.stderr
    }

    async fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.run(&format!("get rcc {name} -o json")).await).unwrap()
    }
}
