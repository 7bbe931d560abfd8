//! Starting: the first time, again, and when it cannot be.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use bailiwick_test_host::pki::Authority;
use bailiwick_test_host::{Etcd, Port};
use http::Method;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::{Instant, timeout};

use crate::direct::Direct;
use crate::process::{PATIENCE, Server, failure, folder, program, run};

#[tokio::test]
async fn the_first_start_makes_everything_and_says_what_to_do() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    assert!(server.printed.contains("a certificate authority, a serving certificate, an administrator's certificate"));
    let export = format!("export KUBECONFIG={}", server.data.join("admin.kubeconfig").display());
    for expected in [&export, "kubectl api-resources", "kubectl get organizations"] {
        assert!(server.printed.contains(expected), "{expected}: {}", server.printed);
    }
    let modes = modes(&server.data);
    assert_eq!(modes["."], 0o700);
    assert_eq!((modes["pki"], modes["store"]), (0o700, 0o700));
    for file in ["admin.kubeconfig", "pki/ca.key", "pki/serving.key", "pki/admin.key", "store/store.redb"] {
        assert_eq!(modes[file], 0o600, "{file}");
    }

    let kubectl = server.kubectl().await;
    assert_eq!(kubectl.run(["get", "--raw", "/livez"]).await.unwrap().success().unwrap(), "ok");
    server.stop().await;
}

#[tokio::test]
async fn the_second_start_finds_everything_again() {
    let folder = folder();
    let first = Server::start(folder.path(), &[]).await;
    let (authority, first_url, data) = (read(&first.data, "pki/ca.crt"), first.url.clone(), first.data.clone());
    let kubeconfig = read(&data, "admin.kubeconfig");
    assert!(kubeconfig.contains(&first_url));
    first.stop().await;

    let second = Server::start(folder.path(), &["--bind-address=127.0.0.1"]).await;
    assert_eq!(read(&data, "pki/ca.crt"), authority);
    assert!(!second.printed.contains("Made"), "{}", second.printed);
    assert!(!second.printed.contains("Try"), "{}", second.printed);
    assert!(second.printed.contains("export KUBECONFIG="));
    // Rewritten for the new port, with the same certificate inside.
    assert_eq!(read(&data, "admin.kubeconfig"), kubeconfig.replace(&first_url, &second.url));
    let kubectl = second.kubectl().await;
    assert_eq!(kubectl.run(["get", "--raw", "/readyz"]).await.unwrap().success().unwrap(), "ok");
    second.stop().await;
}

#[tokio::test]
async fn flags_come_from_the_environment_too() {
    let folder = folder();
    let mut command = program(folder.path(), &["serve"]);
    command.env("BAILIWICK_SECURE_PORT", "0").env("BAILIWICK_BIND_ADDRESS", "0.0.0.0").env("BAILIWICK_V", "6");
    let server = Server::start_command(folder.path(), command).await;
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    server.kubectl().await.run(["get", "--raw", "/livez"]).await.unwrap().success().unwrap();
    server.stop().await;

    let version = program(folder.path(), &["version"]).env("BAILIWICK_SECURE_PORT", "0").output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&version.stdout), format!("Bailiwick {}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn certificates_of_ones_own_are_used() {
    let folder = folder();
    let authority = Authority::new("mine").unwrap();
    let identity = authority.server("me", &[]).unwrap();
    std::fs::write(folder.path().join("tls.crt"), format!("{}{}", identity.certificate, authority.certificate()))
        .unwrap();
    std::fs::write(folder.path().join("tls.key"), identity.key).unwrap();
    let own = ["--tls-cert-file=tls.crt", "--tls-private-key-file=tls.key"];
    let server = Server::start(folder.path(), &own).await;
    assert!(!server.data.join("pki/serving.crt").exists());
    server.kubectl().await.run(["get", "--raw", "/livez"]).await.unwrap().success().unwrap();
    server.stop().await;

    std::fs::write(folder.path().join("clients.crt"), authority.certificate()).unwrap();
    let server = Server::start(folder.path(), &[&own[..], &["--client-ca-file=clients.crt"]].concat()).await;
    assert!(server.printed.contains("no kubeconfig was written"), "{}", server.printed);
    server.stop().await;
}

#[tokio::test]
async fn etcd_is_used_when_it_is_named() {
    let etcd = Etcd::options().start().await.unwrap();
    let folder = folder();
    let servers = format!("--etcd-servers={}", etcd.endpoints().join(","));
    let server = Server::start(folder.path(), &[&servers, "--etcd-prefix=/registry"]).await;
    assert!(!server.data.join("store").exists());
    server.kubectl().await.run(["get", "--raw", "/livez"]).await.unwrap().success().unwrap();
    server.stop().await;
}

/// a server that is started while etcd is away waits for it, says what it waits for, and never that something does not
/// exist. It can be stopped meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn etcd_is_waited_for() {
    let etcd = Etcd::options().start().await.unwrap();
    let (folder, port) = (folder(), Port::reserve().unwrap());
    let servers = format!("--etcd-servers={}", etcd.endpoints().join(","));
    etcd.member(0).kill().await.unwrap();
    let arguments = [&format!("--secure-port={}", port.number()), &servers, "--shutdown-delay-duration=0s"];
    let start = || {
        let mut child = program(folder.path(), &arguments).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        (child, log)
    };

    let (mut child, mut log) = start();
    let mut waits = 0;
    let waiting = async {
        while let Some(line) = log.next_line().await.unwrap() {
            let says = ["waiting for etcd", "etcd cannot be reached at", "check that it runs, has a leader"];
            waits += usize::from(says.iter().all(|words| line.contains(words)));
            // For longer than one look takes.
            if waits == 2 {
                return;
            }
        }
    };
    timeout(PATIENCE, waiting).await.expect("a word in time");
    assert_eq!(waits, 2);
    let ca = std::fs::read_to_string(folder.path().join("bailiwick-data/pki/ca.crt")).unwrap();
    let direct = Direct::new(([127, 0, 0, 1], port.number()).into(), &ca, None);
    assert_eq!(direct.get("/livez?exclude=etcd").await.code, 200);
    assert_eq!(direct.get("/readyz").await.code, 500);
    let answer = direct.get("/api/v1/namespaces").await;
    assert_eq!((answer.code, &answer.headers["retry-after"]), (503, &"1".parse().unwrap()));
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(timeout(PATIENCE, child.wait()).await.expect("an end in time").unwrap().code(), Some(128 + 15));

    let (mut child, _log) = start();
    etcd.member(0).start().await.unwrap();
    etcd.wait_ready().await.unwrap();
    let began = Instant::now();
    while !matches!(direct.send(Method::GET, "/readyz", &[], "").await, Ok(answer) if answer.code == 200) {
        assert!(began.elapsed() < PATIENCE, "not ready");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    child.kill().await.unwrap();
}

#[tokio::test]
async fn a_folder_in_use_is_said_so() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let error = failure(&run(folder.path(), &["--secure-port=0"]).await);
    let expected = format!("the data folder bailiwick-data is in use by process {}: stop that process", server.pid());
    assert!(error.contains(&expected), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn a_port_in_use_is_said_so() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = failure(&run(folder.path(), &[&format!("--secure-port={port}")]).await);
    assert!(error.contains(&format!("127.0.0.1:{port} is in use by another process: ")), "{error}");
    assert!(error.contains("choose another port"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_used_is_said_in_one_sentence() {
    let folder = folder();
    std::fs::write(folder.path().join("rubbish"), "rubbish").unwrap();
    for (arguments, expected) in [
        (&["--secure-prt=0"][..], "unexpected argument '--secure-prt'"),
        (&["--request-timeout=fast"], "invalid duration \"fast\""),
        (&["--data-dir=rubbish/data"], "cannot create the folder rubbish/data"),
        (&["--client-ca-file=missing"], "cannot read missing: No such file"),
        (&["--client-ca-file=rubbish"], "the certificate authorities in rubbish cannot be used"),
        (&["--tls-cert-file=rubbish", "--tls-private-key-file=rubbish"], "the serving certificate in rubbish"),
        (&["--bind-address=203.0.113.1"], "203.0.113.1:0 is not an address of this machine"),
        (&["--mode=aggregated"], "this is no pod of a cluster"),
        (&["--mode=standalone", "--kubeconfig=rubbish"], "--mode=standalone asks no cluster"),
        (&["--kubeconfig=missing"], "the kubeconfig missing cannot be used"),
        (&["--kubeconfig=rubbish"], "the kubeconfig rubbish cannot be used"),
        (&["--etcd-servers=nonsense"], "the etcd endpoint \"nonsense\" cannot be used"),
    ] {
        let error = failure(&run(folder.path(), &[&["--secure-port=0"], arguments].concat()).await);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

/// The permissions of everything below a folder.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    let mut modes = BTreeMap::from([(".".to_owned(), mode(folder))]);
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            modes.insert(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(), mode(&path));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    modes
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}
