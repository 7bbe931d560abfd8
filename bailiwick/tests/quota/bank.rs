//! Many clients of two servers, one of which is killed again and again: at no moment there is more than was allotted, and in
//! the end nothing is missing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick_test_host::Etcd;
use futures::future::join_all;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::{Answer, Client, Endpoint, Unanswered};
use crate::estate::{Estate, quota, quotas, text, until};
use crate::process::Server;
use crate::site::Site;

const CLIENTS: u64 = 16;
const PROJECTS: u64 = 8;
/// In thousandths of a CPU.
const CAP: u64 = 10_000;
const KILLS: usize = 3;

/// R-29, QUOTA-14, Q-01, Q-02, Q-06: sixteen clients make, resize and delete quotas through two servers, one of which is killed
/// three times. In no state there is more than was allotted; in the end what is told to be used is what there is, nothing stays
/// reserved, and all that is left can be given away, and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_nothing_is_made() {
    let seed = std::env::var("BAILIWICK_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(11_u64);
    println!("seed: {seed}");
    let etcd = Etcd::start().await.unwrap();
    let [first, mut second] = Site::replicas(&etcd).await;
    let endpoints = [Endpoint::of(&first.server), Endpoint::of(&second.server)];
    let root = first.root();
    let estate = Estate { site: first, root };
    estate.allot("all", &json!({ "matchLabels": { "owner": "alice" } }), &json!({ "cpu": "10" })).await;
    for number in 0..PROJECTS {
        estate.project(&format!("p{number}"), &json!({ "owner": "alice" })).await;
    }
    let list = estate.root.get("/api/v1/resourcequotas").await.expect(200);
    let from = text(&list["metadata"]["resourceVersion"]);
    let mut events = estate.root.watch(&format!("/api/v1/resourcequotas?watch=true&resourceVersion={from}")).await;
    let (over, done) = (AtomicBool::new(false), AtomicUsize::new(0));

    let client = |number: u64| {
        let (over, done, endpoint) = (&over, &done, &endpoints[(number % 2) as usize]);
        async move {
            let mut random = Random((seed + number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let mut way = None;
            while !over.load(Ordering::Relaxed) {
                match step(&mut random, &mut way, endpoint).await {
                    Ok(answer) => {
                        assert!(matches!(answer.code, 200 | 201 | 403 | 404 | 409 | 503), "{}", answer.text());
                        done.fetch_add(usize::from(answer.code < 300), Ordering::Relaxed);
                    }
                    // Its server was killed: whether it was done is not known.
                    Err(_) => {
                        way = None;
                        sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        }
    };
    let kills = async {
        let folder = second.server.data.parent().unwrap().to_owned();
        let port = second.server.address().port();
        let flag = format!("--etcd-servers={}", etcd.endpoints().join(","));
        for _ in 0..KILLS {
            let before = done.load(Ordering::Relaxed);
            let began = Instant::now();
            while done.load(Ordering::Relaxed) < before + 150 && began.elapsed() < Duration::from_secs(20) {
                sleep(Duration::from_millis(20)).await;
            }
            second.server.signal(Signal::KILL);
            while second.server.is_alive() {
                sleep(Duration::from_millis(10)).await;
            }
            second.server = Server::start_on(&folder, port, &[&flag]).await;
        }
        over.store(true, Ordering::Relaxed);
    };
    let mut state = State::default();
    let watch = async {
        loop {
            tokio::select! {
                event = events.next() => state.take(&event.unwrap().expect("an event, not the end")),
                () = sleep(Duration::from_millis(500)), if over.load(Ordering::Relaxed) => break,
            }
        }
    };
    tokio::join!(join_all((0..CLIENTS).map(client)), kills, watch);
    println!("{} writes, {} states, at most {} of {CAP}", done.load(Ordering::Relaxed), state.seen, state.most);
    assert!(state.seen > 100 && state.most > CAP / 2, "too little has happened");

    let total = state.total();
    let told =
        || async { (thousandths(&text(&estate.local("p0", "all").await["used"]["cpu"])) == total).then_some(()) };
    until(told, || format!("what is told to be used is never {total}")).await;
    estate.used_becomes("all", "cpu", &shown(total)).await;
    let has = state.charge("p0");
    let rest = json!({ "cpu": format!("{}m", CAP - total + has) });
    estate.root.delete(&format!("{}/second", quotas("p0"))).await;
    let answer = match state.quotas.contains_key(&("p0".to_owned(), "default".to_owned())) {
        true => estate.set("p0", "default", &rest).await,
        false => estate.create("p0", "default", &rest).await,
    };
    assert!(answer.code < 300, "all that is left can be given away: {}", answer.text());
    estate.create("p1", "third", &json!({ "cpu": format!("{}m", state.charge("p1") + 1) })).await.expect(403);
    second.server.stop().await;
}

/// One thing that a client does.
async fn step(random: &mut Random, way: &mut Option<Client>, endpoint: &Endpoint) -> Result<Answer, Unanswered> {
    if way.is_none() {
        *way = Some(endpoint.connect().await?);
    }
    let Some(client) = way else { return Err(Unanswered::new("no way")) };
    let (namespace, name) = (format!("p{}", random.below(PROJECTS)), ["default", "second"][random.below(2) as usize]);
    let one = format!("{}/{name}", quotas(&namespace));
    let hard = json!({ "cpu": format!("{}m", random.below(3_000)) });
    match random.below(10) {
        0..3 => client.post(&quotas(&namespace), &quota(name, &hard)).await,
        3 => client.delete(&one).await,
        _ => client.merge(&one, &json!({ "spec": { "hard": hard } })).await,
    }
}

/// All quotas there are, state by state.
#[derive(Default)]
struct State {
    quotas: BTreeMap<(String, String), u64>,
    seen: usize,
    most: u64,
}

// === impl State ===

impl State {
    fn take(&mut self, event: &Value) {
        let object = &event["object"];
        let key = (text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]));
        match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => {
                self.quotas.insert(key, thousandths(&text(&object["spec"]["hard"]["cpu"])));
            }
            Some("DELETED") => drop(self.quotas.remove(&key)),
            _ => panic!("{event:#}"),
        }
        self.seen += 1;
        self.most = self.most.max(self.total());
        assert!(self.total() <= CAP, "there is more than was allotted: {:?}", self.quotas);
    }

    fn total(&self) -> u64 {
        (0..PROJECTS).map(|number| self.charge(&format!("p{number}"))).sum()
    }

    /// What a project has: the most of its quotas, as their scopes are the same.
    fn charge(&self, namespace: &str) -> u64 {
        self.quotas.iter().filter(|((place, _), _)| place == namespace).map(|(_, cpu)| *cpu).max().unwrap_or(0)
    }
}

/// Numbers by chance, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) % bound
    }
}

fn thousandths(amount: &str) -> u64 {
    match amount.strip_suffix('m') {
        Some(milli) => milli.parse().unwrap(),
        None => amount.parse::<u64>().unwrap() * 1_000,
    }
}

fn shown(thousandths: u64) -> String {
    match thousandths % 1_000 {
        0 => (thousandths / 1_000).to_string(),
        _ => format!("{thousandths}m"),
    }
}
