//! kubectl, as people use it.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use bailiwick_test_host::Etcd;
use serde_json::Value;

use crate::process::{Server, folder};
use crate::scenario::{Shell, apply_and_explain, delete, discover, edit_and_replace, read_and_write, wait_and_watch};
use crate::turn::turn;

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
    apply_and_explain(&shell).await;
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

/// kubectl knows the Go types of these: it creates them in protobuf, and edits and applies by strategic merge patches.
async fn config_maps(shell: &Shell, folder: &std::path::Path) {
    let created = shell.run("create configmap settings --from-literal=colour=red --from-literal=size=7").await;
    assert_eq!(created, "configmap/settings created\n");
    let table = shell.run("get configmaps").await;
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
