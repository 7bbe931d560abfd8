//! What people do with kubectl, whatever way leads to the server.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use bailiwick_test_host::Kubectl;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

/// kubectl in one namespace of one server.
pub(crate) struct Shell(pub(crate) Kubectl);

pub(crate) async fn discover(shell: &Shell) {
    let resources = shell.run("api-resources").await;
    for expected in [
        "organizations",
        "groups",
        "orggroups",
        "resourcecatalogentries",
        "rce",
        "catalog.bailiwick.dev/v1alpha1",
        "cm",
    ] {
        assert!(resources.contains(expected), "{expected}: {resources}");
    }
    let namespaced = shell.run("api-resources --namespaced=true -o name").await;
    let ours: Vec<&str> = namespaced.lines().filter(|name| name.ends_with(".bailiwick.dev")).collect();
    for expected in [
        "localresourcecatalogs.catalog",
        "resourcecatalogclaims.catalog",
        "resourcecatalogentries.catalog",
        "orgrolebindings.org",
    ] {
        assert!(ours.contains(&format!("{expected}.bailiwick.dev").as_str()), "{expected}: {ours:?}");
    }
    assert!(namespaced.lines().any(|name| name == "configmaps"), "{namespaced}");
    let wide = shell.run("api-resources -o wide").await;
    assert!(wide.contains("create,delete,deletecollection,get,list,patch,update,watch"), "{wide}");
    let versions = shell.run("api-versions").await;
    for expected in ["catalog.bailiwick.dev/v1alpha1", "org.bailiwick.dev/v1alpha1", "v1"] {
        assert!(versions.lines().any(|version| version == expected), "{expected}: {versions}");
    }
    assert!(shell.run("version").await.contains("Server Version"));
}

pub(crate) async fn read_and_write(shell: &Shell) {
    shell.create(&[("hammer", "tools", "gold"), ("atlas", "books", "silver"), ("saw", "tools", "silver")]).await;
    let again = shell.fail_with("create --validate=false -f -", &manifest("hammer", "tools", "gold")).await;
    assert!(again.contains("AlreadyExists"), "{again}");
    assert!(shell.fail("get rce missing").await.contains("Error from server (NotFound)"));

    let table = shell.run("get rce").await;
    let header: Vec<_> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["NAME", "DESCRIPTION", "CATALOGS", "ACCEPTED", "AGE"]);
    assert_eq!(first_words(&table)[1..], ["atlas", "hammer", "saw"]);
    assert_eq!(first_words(&shell.run("get rce --no-headers -o wide").await), ["atlas", "hammer", "saw"]);
    assert!(shell.run("get rce -A").await.starts_with("NAMESPACE"));
    let labels = shell.run("get rce -L tier hammer saw").await;
    assert!(labels.lines().next().unwrap().ends_with("TIER") && labels.contains("gold"), "{labels}");
    assert_eq!(
        shell.run("get rce -o name").await,
        ["atlas", "hammer", "saw"].map(|name| format!("resourcecatalogentry.catalog.bailiwick.dev/{name}\n")).concat()
    );
    let sorted = shell.run("get rce --no-headers --sort-by=.spec.description").await;
    assert_eq!(first_words(&sorted)[0], "atlas", "{sorted}");
    let by_version = shell.run("get rce --no-headers --sort-by=.metadata.resourceVersion").await;
    assert_eq!(first_words(&by_version), ["hammer", "atlas", "saw"]);
    for (selector, expected) in [
        ("--field-selector=metadata.name=hammer", &["hammer"][..]),
        ("--field-selector=metadata.name!=saw,metadata.name!=atlas", &["hammer"]),
        ("-l tier=silver", &["atlas", "saw"]),
        ("-l tier!=silver", &["hammer"]),
        ("-l !tier", &[]),
        ("--chunk-size=1", &["atlas", "hammer", "saw"]),
    ] {
        let found = shell.run(&format!("get rce --no-headers --ignore-not-found {selector}")).await;
        assert_eq!(first_words(&found), expected, "{selector}");
    }
    let refused = shell.fail("get rce --field-selector=spec.unknown=x").await;
    assert!(refused.contains("field label not supported"), "{refused}");
    let yaml = shell.run("get rce hammer -o yaml").await;
    assert!(yaml.starts_with("apiVersion: catalog.bailiwick.dev/v1alpha1\nkind: ResourceCatalogEntry\n"), "{yaml}");
    let described = shell.run("describe rce hammer").await;
    assert!(described.contains("Description:") && described.contains("tier=gold"), "{described}");

    shell.run("label rce hammer colour=red tier=bronze --overwrite").await;
    shell.run("label rce hammer colour-").await;
    shell.run("annotate rce hammer note=first").await;
    shell.run(r#"patch rce hammer --type=merge -p {"spec":{"extension":{"sharp":true}}}"#).await;
    shell.run(r#"patch rce hammer --type=json -p [{"op":"replace","path":"/spec/description","value":"books"}]"#).await;
    shell.run(r#"patch rce hammer --subresource=status --type=merge -p {"status":{"serviceAccount":{"name":"seven","uid":"7"}}}"#).await;
    let hammer = shell.json("hammer").await;
    assert_eq!(hammer["metadata"]["labels"], serde_json::json!({"tier": "bronze"}));
    assert_eq!(hammer["metadata"]["annotations"]["note"], "first");
    assert_eq!(hammer["spec"]["extension"]["sharp"], true);
    assert_eq!(hammer["spec"]["description"], "books");
    assert_eq!(hammer["status"]["serviceAccount"]["uid"], "7");
}

pub(crate) async fn edit_and_replace(shell: &Shell, folder: &std::path::Path) {
    let editor = folder.join("editor.sh");
    std::fs::write(&editor, "#!/bin/sh\nsed -i 's/description: tools/description: edited/' \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = shell.0.command(["edit", "--validate=false", "rce", "saw"]);
    let output = command.env("KUBE_EDITOR", &editor).stdin(Stdio::null()).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut saw = shell.json("saw").await;
    assert_eq!(saw["spec"]["description"], "edited");

    saw["spec"]["description"] = "replaced".into();
    shell.run_with("replace --validate=false -f -", &saw.to_string()).await;
    assert_eq!(shell.json("saw").await["spec"]["description"], "replaced");
    // Its version is the one before.
    let stale = shell.fail_with("replace --validate=false -f -", &saw.to_string()).await;
    assert!(stale.contains("Conflict"), "{stale}");
}

pub(crate) async fn wait_and_watch(shell: &Shell) {
    shell.run("wait rce/saw --for=jsonpath={.spec.description}=replaced --timeout=10s").await;
    let mut watch = shell.0.command(["get", "rce", "saw", "-w", "--no-headers"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut line = async || timeout(SOON, lines.next_line()).await.expect("a line").unwrap().unwrap();
    assert!(line().await.contains("replaced"));
    let change = async {
        let ready = r#"{"type":"Ready","status":"True","reason":"Made","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}"#;
        let patch = format!(r#"{{"status":{{"serviceAccount":{{"name":"three","uid":"3"}},"conditions":[{ready}]}}}}"#);
        let arguments = ["patch", "rce", "saw", "--subresource=status", "--type=merge", "-p", &patch];
        shell.0.run(arguments).await.unwrap().success().unwrap();
    };
    tokio::join!(
        shell.run("wait rce/saw --for=condition=Ready --timeout=20s"),
        shell.run("wait rce/saw --for=jsonpath={.status.serviceAccount.uid}=3 --timeout=20s"),
        change
    );
    let changed = line().await;
    assert!(changed.contains("replaced"), "{changed}");
    tokio::join!(shell.run("wait rce/saw --for=delete --timeout=20s"), shell.run("delete rce saw"));
    line().await;
    watch.kill().await.unwrap();
}

pub(crate) async fn delete(shell: &Shell) {
    shell.create(&[("kept", "tools", "gold"), ("other", "tools", "gold")]).await;
    shell.run(r#"patch rce kept --type=merge -p {"metadata":{"finalizers":["test.bailiwick.dev/hold"]}}"#).await;
    let held = shell.run("delete rce kept --wait=false").await;
    assert!(held.contains("deleted"), "{held}");
    assert!(shell.json("kept").await["metadata"]["deletionTimestamp"].is_string());
    let release = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        shell.run(r#"patch rce kept --type=json -p [{"op":"remove","path":"/metadata/finalizers"}]"#).await;
    };
    // It returns only when the object is gone.
    tokio::join!(shell.run("delete rce kept --wait --timeout=20s"), release);
    assert!(shell.fail("get rce kept").await.contains("NotFound"));

    shell.run("delete rce --all").await;
    assert_eq!(shell.run("get rce -o name").await, "");
}

pub(crate) async fn apply_and_explain(shell: &Shell) {
    let applied = "resourcecatalogentry.catalog.bailiwick.dev/plane";
    let manifest = manifest("plane", "tools", "gold");
    assert_eq!(shell.run_with("apply -f -", &manifest).await, format!("{applied} created\n"));
    let other = manifest.replace("description: tools", "description: books");
    assert_eq!(shell.run_with("apply -f -", &other).await, format!("{applied} configured\n"));
    assert_eq!(shell.json("plane").await["spec"]["description"], "books");
    let conflict = shell.fail_with("apply --server-side --field-manager=other -f -", &manifest).await;
    assert!(conflict.contains(".spec.description"), "{conflict}");
    let forced = "apply --server-side --force-conflicts --field-manager=other -f -";
    assert_eq!(shell.run_with(forced, &manifest).await, format!("{applied} serverside-applied\n"));
    assert_eq!(shell.json("plane").await["spec"]["description"], "tools");
    let unknown = shell.fail_with("apply -f -", &manifest.replace("description", "descriptoin")).await;
    assert!(unknown.contains("unknown field \"spec.descriptoin\""), "{unknown}");
    let explained = shell.run("explain rce.spec.description").await;
    assert!(explained.contains("FIELD: description <string>"), "{explained}");
    shell.run("delete rce plane").await;
}

/// The first word of each line.
fn first_words(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

fn manifest(name: &str, catalog: &str, tier: &str) -> String {
    format!(
        "apiVersion: catalog.bailiwick.dev/v1alpha1\nkind: ResourceCatalogEntry\nmetadata:\n  name: {name}\n  labels:\n    tier: {tier}\nspec:\n  description: {catalog}\n  extension:\n    apiVersion: example.com/v1\n    kind: Template\n"
    )
}

// === impl Shell ===

impl Shell {
    /// Creates entries of catalogs. Without validation by the client, which needs the server's schemas.
    pub(crate) async fn create(&self, entries: &[(&str, &str, &str)]) {
        let manifests: Vec<_> = entries.iter().map(|(name, catalog, tier)| manifest(name, catalog, tier)).collect();
        self.run_with("create --validate=false -f -", &manifests.join("---\n")).await;
    }

    /// What a command that succeeds prints. Its words have no spaces in them.
    pub(crate) async fn run(&self, command: &str) -> String {
        self.run_with(command, "").await
    }

    pub(crate) async fn run_with(&self, command: &str, input: &str) -> String {
        self.0.run_with(command.split(' '), input).await.unwrap().success().unwrap()
    }

    /// What a command that fails complains of.
    pub(crate) async fn fail(&self, command: &str) -> String {
        self.fail_with(command, "").await
    }

    pub(crate) async fn fail_with(&self, command: &str, input: &str) -> String {
        let output = self.0.run_with(command.split(' '), input).await.unwrap();
        assert!(!output.status.success(), "{command} succeeded: {}", output.stdout);
        output.stderr
    }

    pub(crate) async fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.run(&format!("get rce {name} -o json")).await).unwrap()
    }
}
