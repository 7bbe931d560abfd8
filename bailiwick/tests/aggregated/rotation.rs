//! Authorities that the cluster believes come and go while requests pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick_test_host::pki::{Authority, Identity};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::direct::Direct;
use crate::process::folder;
use crate::world::{ENTRIES, World, eventually, world};

const USER: [(&str, &str); 2] = [("x-remote-user", "admin"), ("x-remote-group", "system:masters")];
/// How many requests have to pass after each step.
const MORE: usize = 20;
/// A time that a cluster stores, and no client of kube reads.
const LAST: &str = "9999-12-31T23:59:59Z";
const CONFIG_MAP: &str = "get configmap extension-apiserver-authentication -n kube-system -o json";

/// R-20, for the authority of the front proxy: first both are believed, then the aggregator shows the new one's certificate,
/// then the old one is no longer believed. Whoever asks meanwhile notices nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_aggregators_authority_is_replaced_under_load() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.serve(folder.path(), &[]).await;
    let tls = world.cluster.tls();
    let old = Identity {
        certificate: tls.front_proxy_certificate.text().to_owned(),
        key: tls.front_proxy_key.text().to_owned(),
    };
    let authority = Authority::new("new front proxy").unwrap();
    let new = authority.client("front-proxy-client", &[]).unwrap();
    // Of the same names, and of no authority that anyone has heard of.
    let stranger = Authority::new("new front proxy").unwrap().client("front-proxy-client", &[]).unwrap();
    let [old_direct, new_direct, stranger] =
        [&old, &new, &stranger].map(|identity| world.direct(&server, Some(identity)));
    assert!(is_believed(&old_direct).await && !is_believed(&new_direct).await);

    let stop = CancellationToken::new();
    let passed = Arc::new(AtomicUsize::new(0));
    let load = tokio::spawn(ask_until(through_aggregator(world), stop.clone(), passed.clone()));
    let more = async || {
        let before = passed.load(Ordering::Relaxed);
        eventually("requests pass", async || passed.load(Ordering::Relaxed) > before + MORE || load.is_finished())
            .await;
    };
    more().await;

    // Both authorities, in the file that kube-apiserver looks at.
    write(tls.front_proxy_ca.path(), &format!("{}{}", tls.front_proxy_ca.text(), authority.certificate()));
    let both = eventually("the new authority is believed", async || is_believed(&new_direct).await).await;
    assert!(is_believed(&old_direct).await && !is_believed(&stranger).await);
    // The aggregator's own certificate.
    write(tls.front_proxy_certificate.path(), &new.certificate);
    write(tls.front_proxy_key.path(), &new.key);
    tokio::time::sleep(Duration::from_secs(2)).await;
    more().await;
    // Only the new one. kube-apiserver only adds to the ConfigMap: an administrator takes the old one out.
    write(tls.front_proxy_ca.path(), &authority.certificate());
    let only_new = only(&authority.certificate());
    let removed = eventually("the old authority is no longer believed", async || {
        let patch =
            ["patch", "configmap", "extension-apiserver-authentication", "-n", "kube-system", "--type=merge", "-p"];
        let patch = patch.into_iter().chain([only_new.as_str()]);
        world.cluster.kubectl(patch).await.unwrap().success().unwrap();
        !is_believed(&old_direct).await
    })
    .await;
    assert!(is_believed(&new_direct).await && !is_believed(&stranger).await);
    more().await;
    stop.cancel();
    load.await.unwrap();
    println!(
        "{} requests passed; both believed after {both:?}, the old one no longer after {removed:?}",
        passed.load(Ordering::Relaxed)
    );
    assert!(world.run(CONFIG_MAP).await.contains("front-proxy-client"));
    server.stop().await;
}

/// R-20, for the authorities of clients: one that the cluster's ConfigMap names from now on is believed, and one that it names no
/// more is not; those of the others stay. So it is where someone has written a time there that clients cannot read.
#[tokio::test(flavor = "multi_thread")]
async fn an_authority_of_clients_comes_and_goes() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.serve(folder.path(), &[]).await;
    let authority = Authority::new("more clients").unwrap();
    let newcomer = authority.client("newcomer", &["system:masters"]).unwrap();
    let stranger = Authority::new("more clients").unwrap().client("newcomer", &["system:masters"]).unwrap();
    let [newcomer, stranger] = [&newcomer, &stranger].map(|identity| world.direct(&server, Some(identity)));
    let known = world.master(&server);
    let is_known = async |direct: &Direct| direct.get(ENTRIES).await.code == 200;
    assert!(is_known(&known).await && !is_known(&newcomer).await);
    let place = "configmap extension-apiserver-authentication -n kube-system";
    let before = world.run(&format!("get {place} -o jsonpath={{.data.client-ca-file}}")).await;
    let change = async |patch: Value| {
        let patch = patch.to_string();
        let words = format!("patch {place} --type=merge -p");
        let words = words.split(' ').chain([patch.as_str()]);
        world.cluster.kubectl(words).await.unwrap().success().unwrap();
    };
    let name = async |authorities: &str| change(json!({"data": {"client-ca-file": authorities}})).await;
    let illegible = json!([{
        "manager": "x", "operation": "Update", "apiVersion": "v1",
        "time": LAST, "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}},
    }]);
    change(json!({"metadata": {"managedFields": illegible}})).await;
    assert!(world.run(&format!("get {place} -o yaml --show-managed-fields")).await.contains(LAST));
    name(&format!("{before}{}", authority.certificate())).await;
    let came = eventually("the new authority is believed", async || is_known(&newcomer).await).await;
    assert!(is_known(&known).await && !is_known(&stranger).await);
    name(&before).await;
    let went = eventually("it is no longer believed", async || !is_known(&newcomer).await).await;
    assert!(is_known(&known).await);
    // Forgets whose the fields are, as one entry without anything in it does.
    change(json!({"metadata": {"managedFields": [{}]}})).await;
    println!("an authority of clients was believed after {came:?}, and no longer after {went:?}");
    server.stop().await;
}

/// Files are replaced as a whole: half of one is none.
fn write(path: &std::path::Path, text: &str) {
    let aside = path.with_extension("new");
    std::fs::write(&aside, text).unwrap();
    std::fs::rename(aside, path).unwrap();
}

fn only(authority: &str) -> String {
    json!({"data": {"requestheader-client-ca-file": authority}}).to_string()
}

async fn is_believed(direct: &Direct) -> bool {
    direct.get_with(ENTRIES, &USER).await.code == 200
}

/// The administrator's way through the aggregator.
fn through_aggregator(world: &World) -> Direct {
    let identity = world.cluster.tls().user("admin", &["system:masters"]).unwrap();
    let address = world.cluster.server().strip_prefix("https://").unwrap().parse().unwrap();
    Direct::new(address, world.cluster.tls().ca.text(), Some(&identity))
}

async fn ask_until(direct: Direct, stop: CancellationToken, passed: Arc<AtomicUsize>) {
    while !stop.is_cancelled() {
        let answer = direct.get(ENTRIES).await;
        assert_eq!(answer.code, 200, "{}", answer.body);
        passed.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
