//! What catalogs cost: how soon a claim is realized, how soon a changed source has reached ten thousand claims that follow it
//! and what that takes, what they take when nothing happens, and how soon an entry's change is in its catalog among many.
//!
//! ```sh
//! cargo build --release -p bailiwick -p bailiwick-bench && target/release/catalogs [PROGRAM]
//! ```
//!
//! The store is etcd with fsync, as in a cluster; one claim at a time is measured with the embedded store, as alone.

use std::time::{Duration, Instant};

use bailiwick_bench::Failure;
use bailiwick_bench::client::Client;
use bailiwick_bench::ours::Ours;
use bailiwick_bench::project::{self, config_map, named};
use bailiwick_bench::verdict;
use bailiwick_test_host::Etcd;
use serde_json::{Value, json};

/// How many claims are realized one after the other.
const SINGLE: usize = 300;
/// How many claims follow one entry, in how many namespaces.
const CLAIMS: usize = 10_000;
const NAMESPACES: usize = 10;
/// How many entries there are, in how many catalogs.
const ENTRIES: usize = 50_000;
const CATALOGS: usize = 100;
/// How many entries are changed one after the other.
const CHANGES: usize = 100;

const API: &str = "/apis/catalog.bailiwick.dev/v1alpha1";
const VERSION: &str = "catalog.bailiwick.dev/v1alpha1";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    verdict::head();
    one_by_one().await?;
    let etcd = Etcd::options().fsync().start().await?;
    let mut ours = Ours::beside()?.flag(format!("--etcd-servers={}", etcd.endpoints().join(",")));
    ours.start().await?;
    followed(&ours).await?;
    gathered(&ours).await
}

/// Claims of someone who waits for each.
async fn one_by_one() -> Result<(), Failure> {
    let mut ours = Ours::beside()?;
    ours.start().await?;
    let client = ours.client().await?;
    publish(&client).await?;
    project::open(&client, "p0", "maker").await?;
    let mut made = client.watch("/api/v1/namespaces/p0/configmaps?labelSelector=bench").await?;
    let mut times = Vec::with_capacity(SINGLE);
    for number in 0..SINGLE {
        let began = Instant::now();
        client.create(&format!("{API}/namespaces/p0/resourcecatalogclaims"), &claim(number)).await?;
        made.count(1, |_| true).await?;
        times.push(began.elapsed());
    }
    verdict::p99("a claim is realized after its POST, embedded store", Duration::from_millis(100), times);
    Ok(())
}

/// Claims that follow one source.
async fn followed(ours: &Ours) -> Result<(), Failure> {
    let client = ours.client().await?;
    publish(&client).await?;
    for number in 0..NAMESPACES {
        project::open(&client, &format!("p{number}"), "maker").await?;
    }
    let mut copies = client.watch("/api/v1/configmaps?labelSelector=bench").await?;
    let began = Instant::now();
    let claims = (0..CLAIMS)
        .map(|number| (format!("{API}/namespaces/p{}/resourcecatalogclaims", number % NAMESPACES), claim(number)));
    let (made, realized) = tokio::join!(client.create_all(claims), copies.count(CLAIMS, |_| true));
    made?;
    realized?;
    println!("| {CLAIMS} claims made and realized | – | {:.1?} | – |", began.elapsed());
    verdict::idle(&format!("{CLAIMS} claims"), ours).await?;
    let lists = lists(&client).await?;
    let (began, before) = (Instant::now(), ours.usage()?.processor);
    client.merge("/api/v1/namespaces/shop/configmaps/settings", &json!({"data": {"colour": "green"}})).await?;
    copies.count(CLAIMS, |map| map["data"]["colour"] == "green").await?;
    let (took, used) = (began.elapsed(), ours.usage()?.processor - before);
    verdict::within(format!("a changed source has reached {CLAIMS} claims, etcd"), Duration::from_secs(60), took);
    let share = used.as_secs_f64() / took.as_secs_f64();
    verdict::at_most("cores used for that", 1.0, share, |cores| format!("{cores:.2}"));
    let lists = lists_since(&client, lists).await?;
    verdict::at_most("lists made for that", 0, lists, u64::to_string);
    println!("| the server then | – | {} | – |", ours.usage()?);
    Ok(())
}

/// Entries that change, among many.
async fn gathered(ours: &Ours) -> Result<(), Failure> {
    let client = ours.client().await?;
    let catalogs = (0..CATALOGS).map(|number| {
        let mut catalog = named(VERSION, "ResourceCatalog", &format!("c{number}"));
        catalog["spec"] = json!({"selector": {"part": format!("c{number}")}, "accept": {"policy": "All"}});
        (format!("{API}/resourcecatalogs"), catalog)
    });
    client.create_all(catalogs).await?;
    project::open(&client, "many", "maker").await?;
    let mut told = client.watch(&format!("{API}/resourcecatalogs")).await?;
    let began = Instant::now();
    let entries = (0..ENTRIES).map(|number| {
        let mut entry = named(VERSION, "ResourceCatalogEntry", &format!("e{number}"));
        entry["metadata"]["labels"] = json!({"part": format!("c{}", number % CATALOGS)});
        entry["spec"] =
            json!({"resourceList": {"resources": [config_map("settings", json!({"number": number.to_string()}))]}});
        (format!("{API}/namespaces/many/resourcecatalogentries"), entry)
    });
    client.create_all(entries).await?;
    let each = ENTRIES / CATALOGS;
    told.count(CATALOGS, |catalog| entries_of(catalog).len() >= each).await?;
    println!("| {ENTRIES} entries made and gathered in {CATALOGS} catalogs | – | {:.1?} | – |", began.elapsed());
    let mut times = Vec::with_capacity(CHANGES);
    for number in 0..CHANGES {
        let (name, words) = (format!("e{}", number * 7), format!("changed in turn {number}"));
        let began = Instant::now();
        let path = format!("{API}/namespaces/many/resourcecatalogentries/{name}");
        client.merge(&path, &json!({"spec": {"description": words}})).await?;
        told.count(1, |catalog| entries_of(catalog).iter().any(|entry| entry["description"] == words)).await?;
        times.push(began.elapsed());
    }
    let what = format!("an entry's change is in its catalog among {ENTRIES} entries");
    verdict::p99(&what, Duration::from_secs(1), times);
    verdict::idle(&format!("{ENTRIES} entries, {CATALOGS} catalogs"), ours).await
}

fn entries_of(catalog: &Value) -> &[Value] {
    catalog["status"]["entries"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A project that publishes one ConfigMap in one catalog.
async fn publish(client: &Client) -> Result<(), Failure> {
    project::open(client, "shop", "publisher").await?;
    client.create("/api/v1/namespaces/shop/configmaps", &config_map("settings", json!({"colour": "blue"}))).await?;
    let mut catalog = named(VERSION, "ResourceCatalog", "gold");
    catalog["spec"] = json!({"selector": {"tier": "gold"}, "accept": {"policy": "All"}});
    client.create(&format!("{API}/resourcecatalogs"), &catalog).await?;
    let mut entry = named(VERSION, "ResourceCatalogEntry", "settings");
    entry["metadata"]["labels"] = json!({"tier": "gold"});
    entry["spec"] = json!({
        "serviceAccountName": "publisher",
        "localResources": {"exposedResources": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}]},
    });
    let mut told = client.watch(&format!("{API}/resourcecatalogs")).await?;
    client.create(&format!("{API}/namespaces/shop/resourcecatalogentries"), &entry).await?;
    told.count(1, |catalog| !entries_of(catalog).is_empty()).await
}

fn claim(number: usize) -> Value {
    let mut claim = named(VERSION, "ResourceCatalogClaim", &format!("claim-{number}"));
    claim["spec"] = json!({
        "catalogName": "gold", "resourceCatalogEntry": {"namespace": "shop", "name": "settings"},
        "serviceAccountName": "maker", "keepSynchronized": true,
        "namePrefix": format!("c{number}-"), "labels": {"bench": "copy"},
    });
    claim
}

/// How many lists the server has answered so far.
async fn lists(client: &Client) -> Result<u64, Failure> {
    let (_, text) = client.send(http::Method::GET, "/metrics", bytes::Bytes::new()).await?;
    let text = String::from_utf8(text.to_vec())?;
    let rows = text.lines().filter(|row| row.starts_with("apiserver_request_total") && row.contains("verb=\"LIST\""));
    Ok(rows.filter_map(|row| row.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64)
}

async fn lists_since(client: &Client, before: u64) -> Result<u64, Failure> {
    Ok(lists(client).await? - before)
}
