//! Requests that come when they are due, whatever became of those before: as from so many clients that none of them notices
//! how the others fare. What a request takes is counted from when it was due.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use http::{HeaderValue, Method, Request};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::overload::{Outcome, USER, let_in};
use crate::claims::{TIER, claim, collection, make_namespaces};
use crate::client::{Answer, Client, Endpoint, Outgoing, request};
use crate::cores::Cores;
use crate::process::{Server, folder};
use crate::turn::turn;

/// Reads under way that the server allows. One user has three of them, and as many more may wait.
const SEATS: usize = 4;
const AT_ONCE: usize = 6;
/// What is read: lists of these that are looked through for what none has.
const OBJECTS: usize = 500;
/// What one list is to take at least, so that ten times as many as the server can do are no burden for their clients.
const LIST_TAKES: Duration = Duration::from_millis(5);
const MAX_TERMS: usize = 512;
const CONNECTIONS: usize = 16;
/// How many seconds each rate is kept up.
const SECONDS: &str = "BAILIWICK_TEST_OVERLOAD";
const DEFAULT_SECONDS: u64 = 3;
/// For how long it is measured how much the server can do.
const MEASURED_FOR: Duration = Duration::from_secs(1);
/// One round without a disturbance by whatever else the machine does is enough.
const ROUNDS: usize = 5;
/// Of what the server can do: it keeps up with the one, and cannot keep up with the other.
const BEARABLE: f64 = 0.8;
const UNBEARABLE: f64 = 10.0;
/// Without optimization a refusal costs five times as much, and is most of what the server does then.
const MOST_SLOWER: f64 = if cfg!(debug_assertions) { 3.0 } else { 2.0 };
const ACCEPTED_WITHIN: Duration = Duration::from_secs(1);

/// R-22, in short: what is accepted of ten times too much takes no more than twice as long as what comes at a rate that the
/// server can bear, in a program that is built for use.
#[test]
fn what_is_accepted_of_too_much_is_done_soon() {
    let cores = Cores::available();
    cores.of_clients(offer_too_much(&cores));
}

async fn offer_too_much(cores: &Cores) {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[&format!("--max-requests-inflight={SEATS}")]).await;
    cores.give_server(server.pid());
    let endpoint = Endpoint::of(&server);
    let client = endpoint.connect().await.unwrap();
    make_namespaces(&client, ["load"]).await;
    for number in 0..OBJECTS {
        let claim = claim(&format!("claim-{number}"), "tools", "gold", "0");
        client.post(&collection("load"), &claim).await.unwrap().expect(201);
    }
    let_in(&client).await;
    let connecting = (0..CONNECTIONS).map(|_| endpoint.connect());
    let clients: Vec<Client> = join_all(connecting).await.into_iter().map(Result::unwrap).collect();
    let path = costly_list(&client).await;

    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let capacity = capacity(&clients, &path).await;
        let borne = offer(&clients, &path, capacity * BEARABLE, round as u64).await;
        let pushed = offer(&clients, &path, capacity * UNBEARABLE, round as u64).await;
        let slower = pushed.p99().as_secs_f64() / borne.p99().as_secs_f64();
        println!(
            "{capacity:.0} a second: p99 at {BEARABLE} of it {:?}, at {UNBEARABLE} times {:?}: {slower:.2}; {} done, {} refused",
            borne.p99(),
            pushed.p99(),
            pushed.good(),
            pushed.refused(),
        );
        assert!(pushed.refused() > pushed.good(), "there was not too much");
        rounds.push((slower, pushed.p99()));
        if slower <= MOST_SLOWER && pushed.p99() <= ACCEPTED_WITHIN {
            return server.stop().await;
        }
    }
    panic!("what is accepted waits too long, in every round: {rounds:?}");
}

/// A list that is short and takes its time: every object is what is not asked for, and only the last term says so.
async fn costly_list(client: &Client) -> String {
    let mut terms = 1;
    loop {
        let selector = (0..terms).map(|number| format!("no{number}!=1")).collect::<Vec<_>>().join(",");
        let path = format!("{}?labelSelector={selector},{TIER}!=gold", collection("load"));
        let mut fastest = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            client.get(&path).await.unwrap().expect(200);
            fastest = fastest.min(began.elapsed());
        }
        if fastest >= LIST_TAKES || terms == MAX_TERMS {
            println!("a list with {terms} terms takes {fastest:?}");
            return path;
        }
        terms *= 2;
    }
}

fn list(path: &str) -> Request<Outgoing> {
    let mut list = request(Method::GET, path, "", Bytes::new());
    list.headers_mut().insert("impersonate-user", HeaderValue::from_static(USER));
    list
}

/// How many a second are done while there is always one more to do.
async fn capacity(clients: &[Client], path: &str) -> f64 {
    let (began, until) = (Instant::now(), Instant::now() + MEASURED_FOR);
    let ask = async |client: &Client| {
        let mut done = 0;
        while Instant::now() < until {
            client.send(list(path)).await.unwrap().expect(200);
            done += 1;
        }
        done
    };
    let done: usize = join_all(clients.iter().take(AT_ONCE).map(ask)).await.into_iter().sum();
    done as f64 / began.elapsed().as_secs_f64()
}

/// So many a second, at moments that have nothing to do with one another.
async fn offer(clients: &[Client], path: &str, rate: f64, seed: u64) -> Arc<Outcome> {
    let outcome = Arc::new(Outcome::default());
    let (mut due, mut moments, mut tasks) = (Instant::now(), Moments(seed), JoinSet::new());
    let seconds = env::var(SECONDS).map_or(DEFAULT_SECONDS, |text| text.parse().unwrap());
    let until = due + Duration::from_secs(seconds);
    for client in clients.iter().cycle() {
        due += moments.next(rate);
        if due >= until {
            break;
        }
        sleep_until(due).await;
        let (client, list, outcome) = (client.clone(), list(path), outcome.clone());
        tasks.spawn(async move {
            let answer = Answer::read(client.open(list).await.unwrap()).await.unwrap();
            outcome.count(answer.code, due.elapsed());
        });
        while tasks.try_join_next().is_some_and(|ended| ended.is_ok()) {}
    }
    tasks.join_all().await;
    outcome
}

/// When requests come: the same in every run (splitmix64).
struct Moments(u64);

// === impl Moments ===

impl Moments {
    /// How long it is until the next.
    fn next(&mut self, rate: f64) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let unit = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
        Duration::from_secs_f64(-(1.0 - unit).ln() / rate)
    }
}
