//! What is printed, without a cluster.

use bailiwick_test_host::pki::Authority;

use crate::host::{manifests, top};
use crate::process::{failure, folder, run};

/// Rewrites what was recorded instead of comparing it.
const UPDATE: &str = "BAILIWICK_TEST_UPDATE";

#[tokio::test]
async fn the_file_at_the_top_is_what_is_printed_by_default() {
    let (printed, file) = (manifests(&[]).await, top().join("apiservice.yaml"));
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, &printed).unwrap();
    }
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(recorded == printed, "apiservice.yaml is old: run this test with {UPDATE}=1");
    assert_eq!(manifests(&[]).await, printed);
}

#[tokio::test]
async fn certificates_that_are_given_must_be_for_the_service() {
    let (folder, authority) = (folder(), Authority::new("mine").unwrap());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("ca.crt", &authority.certificate());
    for (name, host) in [("good", "bailiwick.bailiwick-system.svc"), ("bad", "bailiwick.elsewhere.svc")] {
        let identity = authority.server(name, &[host]).unwrap();
        write(&format!("{name}.crt"), &identity.certificate);
        write(&format!("{name}.key"), &identity.key);
    }
    let install = async |arguments: &[&str]| run(folder.path(), &[&["install"], arguments].concat()).await;
    let given = ["--cert=good.crt", "--key=good.key", "--ca=ca.crt"];
    let printed = String::from_utf8(install(&given).await.stdout).unwrap();
    assert!(printed.contains("caBundle: ") && printed.contains("--tls-cert-file=/etc/bailiwick/serving/tls.crt"));
    assert!(!printed.contains("bailiwick-authority") && !printed.contains("--service="), "{printed}");
    assert_eq!(printed.as_bytes(), install(&given).await.stdout);

    for (arguments, expected) in [
        (&["--cert=bad.crt", "--key=bad.key", "--ca=ca.crt"][..], "is not for \"bailiwick.bailiwick-system.svc\""),
        (&["--cert=good.crt", "--key=none.key", "--ca=ca.crt"], "none.key does not exist"),
        (&["--cert=good.key", "--key=good.key", "--ca=ca.crt"], "good.key holds no certificate"),
        (&["--ca=ca.crt"], "give all three, or --external-name"),
    ] {
        let error = failure(&install(arguments).await);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_said_so() {
    let folder = folder();
    for command in [&["install", "--check"][..], &["uninstall"]] {
        let error = failure(&run(folder.path(), &[command, &["--kubeconfig=missing"]].concat()).await);
        assert!(error.contains("no kubeconfig can be used: give one with --kubeconfig"), "{error}");
    }
}
