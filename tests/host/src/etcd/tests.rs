use std::net::TcpListener;

use super::*;
use crate::http;

#[tokio::test]
async fn one_member_serves() {
    let etcd = Etcd::start().await.unwrap();
    let version = http::get(etcd.member(0).address(), "/version").await.unwrap();
    assert!(version.body.contains("\"etcdserver\":\"3.7.3\""), "{version:?}");
    etcd.etcdctl(["put", "key", "value"]).await.unwrap();
    assert_eq!(etcd.etcdctl(["get", "key"]).await.unwrap(), "key\nvalue\n");
    assert_eq!(etcd.leader().await.unwrap(), 0);
}

#[tokio::test]
async fn a_member_comes_back_with_its_data_and_goes_without() {
    let etcd = Etcd::start().await.unwrap();
    let (member, endpoints) = (etcd.member(0), etcd.endpoints());
    etcd.etcdctl(["put", "key", "value"]).await.unwrap();

    member.kill().await.unwrap();
    assert!(!member.is_running());
    assert!(matches!(member.pause(), Err(Error::NotRunning { .. })));
    member.start().await.unwrap();
    member.wait_ready().await.unwrap();
    assert_eq!(etcd.etcdctl(["get", "key"]).await.unwrap(), "key\nvalue\n");

    assert!(matches!(member.wipe(), Err(Error::Running { .. })));
    assert!(matches!(member.start().await, Err(Error::Running { .. })));
    member.stop().await.unwrap();
    member.wipe().unwrap();
    member.start().await.unwrap();
    member.wait_ready().await.unwrap();
    assert_eq!(etcd.etcdctl(["get", "key"]).await.unwrap(), "");
    assert_eq!(etcd.endpoints(), endpoints);
}

#[tokio::test]
async fn three_members_elect_another_leader_when_theirs_is_killed_or_paused() {
    let etcd = Etcd::options().members(3).start().await.unwrap();
    let first = etcd.leader().await.unwrap();
    etcd.etcdctl(["put", "key", "value"]).await.unwrap();

    etcd.member(first).kill().await.unwrap();
    let second = etcd.leader().await.unwrap();
    assert_ne!(second, first);
    etcd.member(first).start().await.unwrap();
    etcd.wait_ready().await.unwrap();

    etcd.member(second).pause().unwrap();
    let third = etcd.leader().await.unwrap();
    assert_ne!(third, second);
    etcd.member(second).resume().unwrap();
    etcd.wait_ready().await.unwrap();
    assert_eq!(etcd.etcdctl(["get", "key"]).await.unwrap(), "key\nvalue\n");

    let id = cluster_id(&etcd).await;
    etcd.recreate().await.unwrap();
    assert_eq!(etcd.etcdctl(["get", "key"]).await.unwrap(), "");
    assert_eq!(cluster_id(&etcd).await, id);
}

async fn cluster_id(etcd: &Etcd) -> String {
    let answer = etcd.etcdctl(["get", "key", "--write-out=json"]).await.unwrap();
    let (_, id) = answer.split_once("\"cluster_id\":").unwrap();
    id.split(',').next().unwrap().to_owned()
}

#[tokio::test]
async fn with_tls_the_right_certificates_are_needed_on_both_sides() {
    let etcd = Etcd::options().tls().start().await.unwrap();
    assert!(etcd.endpoints()[0].starts_with("https://127.0.0.1:"), "{:?}", etcd.endpoints());
    etcd.etcdctl(["put", "key", "value"]).await.unwrap();
    assert_eq!(etcd.etcdctl(["get", "key"]).await.unwrap(), "key\nvalue\n");

    let tls = etcd.tls().unwrap();
    for (ca, certificate, key) in [
        (&tls.stranger_ca, &tls.client_certificate, &tls.client_key),
        (&tls.ca, &tls.stranger_certificate, &tls.stranger_key),
    ] {
        assert!(!connects(&etcd, ca, certificate, key).await, "{ca:?} {certificate:?}");
    }
    assert!(connects(&etcd, &tls.ca, &tls.client_certificate, &tls.client_key).await);
}

/// Whether etcd's client gets through with these.
async fn connects(etcd: &Etcd, ca: &Pem, certificate: &Pem, key: &Pem) -> bool {
    let mut command = Command::new(&etcd.etcdctl);
    command.args(["get", "key", "--command-timeout=500ms", "--endpoints"]).args(etcd.endpoints());
    command.arg("--cacert").arg(ca.path()).arg("--cert").arg(certificate.path()).arg("--key").arg(key.path());
    forget_environment(command.as_std_mut());
    command.output().await.unwrap().status.success()
}

#[tokio::test]
async fn with_auth_a_password_is_needed() {
    let etcd = Etcd::start().await.unwrap();
    etcd.enable_auth("bailiwick", "secret").await.unwrap();
    etcd.etcdctl(["put", "key", "value"]).await.unwrap();
    etcd.root.lock().unwrap().take();
    let refused = etcd.etcdctl(["get", "key"]).await.unwrap_err();
    assert!(refused.to_string().contains("user name is empty"), "{refused}");
    let read = etcd.etcdctl(["get", "key", "--user", "bailiwick:secret"]).await.unwrap();
    assert_eq!(read, "key\nvalue\n");
}

#[tokio::test]
async fn flags_reach_the_member_and_a_wrong_one_shows_in_the_error() {
    let error = Etcd::options().flag("--no-such-flag").start().await.unwrap_err();
    assert!(matches!(error, Error::Ended { .. }), "{error:?}");
    assert!(error.to_string().contains("no-such-flag"), "{error}");
}

#[tokio::test]
async fn a_port_in_use_is_told_from_other_failures() {
    let etcd = Etcd::start().await.unwrap();
    etcd.member(0).kill().await.unwrap();
    let _squatter = TcpListener::bind(etcd.member(0).address()).unwrap();
    etcd.member(0).daemon().spawn().unwrap();
    let error = etcd.member(0).wait_ready().await.unwrap_err();
    assert!(matches!(error, Error::PortTaken { .. }), "{error:?}");
}

#[tokio::test]
async fn a_link_can_be_cut_and_restored() {
    let etcd = Etcd::start().await.unwrap();
    let link = etcd.link(0).await.unwrap();
    assert!(http::get(link.address(), "/version").await.is_ok());
    link.cut().await.unwrap();
    assert!(http::get(link.address(), "/version").await.is_err());
    link.restore().await.unwrap();
    assert!(http::get(link.address(), "/version").await.is_ok());
}

#[tokio::test]
async fn nothing_is_left_after_drop() {
    let etcd = Etcd::start().await.unwrap();
    let (folder, address) = (etcd.folder.path().to_owned(), etcd.member(0).address());
    drop(etcd);
    assert!(!folder.exists());
    assert!(http::get(address, "/version").await.is_err());
}

#[tokio::test]
async fn a_failing_test_keeps_the_data() {
    let etcd = Etcd::start().await.unwrap();
    let (folder, address) = (etcd.folder.path().to_owned(), etcd.member(0).address());
    let failing_test = std::thread::spawn(move || {
        let _etcd = etcd;
        panic!("this is the failing test");
    });
    failing_test.join().unwrap_err();
    assert!(folder.join("m0.log").exists());
    assert!(http::get(address, "/version").await.is_err());
    std::fs::remove_dir_all(folder).unwrap();
}
