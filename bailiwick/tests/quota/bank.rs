//! Many clients of two servers, one of which is killed or put to sleep again and again: at no moment there is more than was
//! allotted, on any level, and in the end nothing is missing.

mod state;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick_test_host::{Etcd, Random};
use futures::future::join_all;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::{Answer, Client, Endpoint, Events, Unanswered};
use crate::estate::{Estate, quota, quotas, text, until};
use crate::process::Server;
use crate::site::{Person, Site};
use state::{Fact, State};

const CLIENTS: u64 = 16;
const PROJECTS: usize = 8;
/// In thousandths of a CPU.
const CPU: u64 = 10_000;
const MAPS: u64 = 60;
/// How many writes happen between two disturbances; `BAILIWICK_TEST_BANK=250000` makes a million of them in all.
const WRITES_EACH: usize = 150;
/// What happens to one of the servers. It sleeps for longer than anything stays reserved.
const NEMESES: [Nemesis; 4] =
    [Nemesis::Kill, Nemesis::Sleep(Duration::from_millis(6_500)), Nemesis::Kill, Nemesis::Kill];
/// How long what was reserved in vain may stay so, once nobody writes any more; and what a slow machine takes to find that out,
/// on which one of the servers has just been started.
const RELEASED: Duration = Duration::from_secs(5 + 5);

#[derive(Clone, Copy)]
enum Nemesis {
    Kill,
    Sleep(Duration),
}

/// R-29, QUOTA-14, B-QUOTA-1, Q-01, Q-02, Q-06: sixteen clients make, resize and delete quotas and the objects that these count,
/// through two servers, one of which is killed and put to sleep. In no state the projects have more than the allocation allows,
/// what is in use counted where it is more; and in none an object was made beyond a quota. In the end what is told to be used is
/// what there is, nothing stays reserved, and all that is left can be given away, and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_nothing_is_made() {
    let seed = std::env::var("BAILIWICK_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(11_u64);
    let writes = std::env::var("BAILIWICK_TEST_BANK").map_or(WRITES_EACH, |writes| writes.parse().unwrap());
    println!("seed: {seed}");
    let etcd = Etcd::start().await.unwrap();
    let [first, mut second] = Site::replicas(&etcd).await;
    let endpoints = [Endpoint::of(&first.server), Endpoint::of(&second.server)];
    let root = first.root();
    let estate = Estate { site: first, root };
    open_accounts(&estate).await;
    let mut state = State::default();
    let (mut of_quotas, mut of_maps) = (
        Follower::start(&estate.root, "resourcequotas", &mut state).await,
        Follower::start(&estate.root, "configmaps", &mut state).await,
    );
    let (over, done) = (AtomicBool::new(false), AtomicUsize::new(0));

    let client = |number: u64| {
        let (over, done, endpoint) = (&over, &done, &endpoints[(number % 2) as usize]);
        async move {
            let mut random = Random::new(seed + number);
            let mut way = None;
            while !over.load(Ordering::Relaxed) {
                match step(&mut random, &mut way, endpoint).await {
                    Ok(answer) => {
                        // One that has slept finds that its time with etcd is over.
                        let is_late = || answer.text().contains("ServerTimeout");
                        let is_known = matches!(answer.code, 200 | 201 | 403 | 404 | 409 | 429 | 503 | 504);
                        assert!(is_known || is_late(), "{}", answer.text());
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
    let nemeses = async {
        let folder = second.server.data.parent().unwrap().to_owned();
        let port = second.server.address().port();
        let flag = format!("--etcd-servers={}", etcd.endpoints().join(","));
        for nemesis in NEMESES {
            let enough = done.load(Ordering::Relaxed) + writes;
            while done.load(Ordering::Relaxed) < enough {
                sleep(Duration::from_millis(20)).await;
            }
            match nemesis {
                Nemesis::Sleep(time) => {
                    second.server.signal(Signal::STOP);
                    sleep(time).await;
                    second.server.signal(Signal::CONT);
                }
                Nemesis::Kill => {
                    second.server.signal(Signal::KILL);
                    while second.server.is_alive() {
                        sleep(Duration::from_millis(10)).await;
                    }
                    second.server = Server::start_on(&folder, port, &[&flag]).await;
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    };
    tokio::join!(
        join_all((0..CLIENTS).map(client)),
        nemeses,
        of_quotas.follow(&estate.root, &over),
        of_maps.follow(&estate.root, &over)
    );
    let quiet = Instant::now();
    let mut facts = [of_quotas.facts, of_maps.facts].concat();
    facts.sort_by_key(|(revision, _)| *revision);
    let states = facts.len();
    facts.into_iter().for_each(|(revision, fact)| state.take(revision, fact));
    let done = done.load(Ordering::Relaxed);
    println!("{done} writes, {states} states, at most {:?} of {CPU} and {MAPS}", state.most);
    assert!(states > 100 && state.most[0] > CPU / 2 && state.most[1] > MAPS / 2, "too little has happened");

    nothing_is_reserved(&estate, &state).await;
    println!("nothing was reserved any more after {:?}", quiet.elapsed());
    assert!(quiet.elapsed() < RELEASED, "something stays reserved for {:?}", quiet.elapsed());
    what_is_left_can_be_given_away(&estate, &state).await;
    second.server.stop().await;
}

/// An allocation, and projects in which a quota counts objects for as long as they are there.
async fn open_accounts(estate: &Estate) {
    let hard = json!({ "cpu": "10", "configmaps": MAPS });
    estate.allot("all", &json!({ "matchLabels": { "owner": "alice" } }), &hard).await;
    for number in 0..PROJECTS {
        let name = format!("p{number}");
        estate.project(&name, &json!({ "owner": "alice" })).await;
        estate.create(&name, "objects", &json!({ "count/configmaps": "2" })).await.expect(201);
    }
}

/// What is told to be used is what there is, by the allocation and by each quota.
async fn nothing_is_reserved(estate: &Estate, state: &State) {
    let [cpu, maps] = state.totals();
    let is_told = || async {
        let used = estate.local("p0", "all").await["used"].clone();
        let told = [state::thousandths(&used["cpu"]), state::count(&used["configmaps"])];
        (told == [cpu, maps]).then_some(())
    };
    until(is_told, || format!("what is told to be used is never {cpu} and {maps}")).await;
    estate.used_becomes("all", "cpu", &shown(cpu)).await;
    let all_tell = || async {
        let list = estate.root.get("/api/v1/resourcequotas").await.expect(200);
        let tells = |quota: &Value| {
            let used = &quota["status"]["used"]["count/configmaps"];
            used.is_null() || state::count(used) == state.live(&text(&quota["metadata"]["namespace"]))
        };
        list["items"].as_array().unwrap().iter().all(tells).then_some(())
    };
    until(all_tell, || "some quota never tells what there is".to_owned()).await;
}

async fn what_is_left_can_be_given_away(estate: &Estate, state: &State) {
    let rest = CPU - state.totals()[0] + state.charge("p0")[0];
    estate.root.delete(&format!("{}/second", quotas("p0"))).await;
    let hard = json!({ "cpu": format!("{rest}m") });
    let answer = match state.has("p0", "default") {
        true => estate.set("p0", "default", &hard).await,
        false => estate.create("p0", "default", &hard).await,
    };
    assert!(answer.code < 300, "all that is left can be given away: {}", answer.text());
    estate.create("p1", "third", &json!({ "cpu": format!("{}m", state.charge("p1")[0] + 1) })).await.expect(403);
}

/// One thing that a client does.
async fn step(random: &mut Random, way: &mut Option<Client>, endpoint: &Endpoint) -> Result<Answer, Unanswered> {
    if way.is_none() {
        *way = Some(endpoint.connect().await?);
    }
    let Some(client) = way else { return Err(Unanswered::new("no way")) };
    let namespace = format!("p{}", random.below(PROJECTS));
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let map = format!("m{}", random.below(16));
    let (cpu, count) = (format!("{}m", random.below(3_000)), random.below(16));
    let (name, hard) = match random.below(3) {
        0 => ("default", json!({ "cpu": cpu })),
        1 => ("second", json!({ "cpu": cpu, "count/configmaps": count })),
        _ => ("objects", json!({ "count/configmaps": count })),
    };
    let one = format!("{}/{name}", quotas(&namespace));
    match random.below(16) {
        0..5 => client.post(&maps, &json!({ "metadata": { "name": map } })).await,
        5..8 => client.delete(&format!("{maps}/{map}")).await,
        8..11 => client.post(&quotas(&namespace), &quota(name, &hard)).await,
        11 if name != "objects" => client.delete(&one).await,
        _ => client.merge(&one, &json!({ "spec": { "hard": hard } })).await,
    }
}

/// Follows all objects of a kind, from a list on.
struct Follower {
    path: String,
    events: Events,
    facts: Vec<(u64, Fact)>,
    reached: u64,
}

// === impl Follower ===

impl Follower {
    async fn start(root: &Person, plural: &str, state: &mut State) -> Self {
        let path = format!("/api/v1/{plural}");
        let list = root.get(&path).await.expect(200);
        let reached = text(&list["metadata"]["resourceVersion"]).parse().unwrap();
        for item in list["items"].as_array().unwrap() {
            state.take(reached, Fact::of(&json!({ "type": "ADDED", "object": item }), plural));
        }
        let events = root.watch(&format!("{path}?watch=true&resourceVersion={reached}")).await;
        Self { path, events, facts: Vec::new(), reached }
    }

    /// Until nothing more comes once all is over.
    async fn follow(&mut self, root: &Person, over: &AtomicBool) {
        loop {
            let event = tokio::select! {
                event = self.events.next() => event.unwrap(),
                () = sleep(Duration::from_millis(500)), if over.load(Ordering::Relaxed) => return,
                () = sleep(Duration::from_secs(1)) => continue,
            };
            let Some(event) = event else {
                // Watches end after some time, and go on where they were.
                let from = format!("{}?watch=true&resourceVersion={}", self.path, self.reached);
                self.events = root.watch(&from).await;
                continue;
            };
            self.reached = text(&event["object"]["metadata"]["resourceVersion"]).parse().unwrap();
            let plural = self.path.rsplit('/').next().unwrap_or_default();
            self.facts.push((self.reached, Fact::of(&event, plural)));
        }
    }
}

fn shown(thousandths: u64) -> String {
    match thousandths % 1_000 {
        0 => (thousandths / 1_000).to_string(),
        _ => format!("{thousandths}m"),
    }
}
