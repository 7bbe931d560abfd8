//! A cluster for these tests, and the program's commands about it.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use bailiwick_test_host::{Cluster, Kubectl};
use tokio::time::{Instant, sleep};

use super::process::{PATIENCE, folder, program, run};

/// How often to look whether something that takes a moment has happened.
const POLL: Duration = Duration::from_millis(200);

/// What the program prints to be applied.
pub(crate) async fn manifests(arguments: &[&str]) -> String {
    let folder = folder();
    let output = run(folder.path(), &[&["install"], arguments].concat()).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `bailiwick COMMAND` about a cluster.
pub(crate) async fn about(cluster: &Cluster, arguments: &[&str]) -> Output {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let folder = folder();
    let mut command = program(folder.path(), &[arguments, &[kubeconfig.as_str()]].concat());
    tokio::time::timeout(3 * PATIENCE, command.output()).await.expect("an end in time").unwrap()
}

/// Lines on the standard output.
pub(crate) fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// kubectl as a user of the cluster.
pub(crate) async fn user(cluster: &Cluster, name: &str, groups: &[&str]) -> Kubectl {
    Kubectl::new(&cluster.user(name, groups).unwrap()).await.unwrap()
}

/// Runs a command that must succeed; its words are separated by spaces.
pub(crate) async fn done(kubectl: &Kubectl, command: &str) -> String {
    kubectl.run(command.split(' ')).await.unwrap().success().unwrap()
}

/// The same, for a command that succeeds once the cluster has noticed something.
pub(crate) async fn done_soon(kubectl: &Kubectl, command: &str) -> String {
    let start = Instant::now();
    loop {
        match kubectl.run(command.split(' ')).await.unwrap().success() {
            Ok(text) => return text,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
        }
        sleep(POLL).await;
    }
}

/// The same, for one that is to be refused with these words, once the cluster has noticed something.
pub(crate) async fn refused_soon(kubectl: &Kubectl, command: &str, words: &str) {
    let start = Instant::now();
    loop {
        let output = kubectl.run(command.split(' ')).await.unwrap();
        if !output.status.success() && output.stderr.contains(words) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{words}: {output:?}");
        sleep(POLL).await;
    }
}

/// Runs a command that reads `input` and must be refused with these words.
pub(crate) async fn refused_with(kubectl: &Kubectl, command: &str, input: &str, words: &str) {
    let output = kubectl.run_with(command.split(' '), input).await.unwrap();
    assert!(!output.status.success() && output.stderr.contains(words), "{words}: {output:?}");
}

/// The top of the repository.
pub(crate) fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
