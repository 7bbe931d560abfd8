//! Watching while the server is restarted.

use std::time::{Duration, Instant};

use bailiwick_test_host::{Etcd, Port};
use rustix::process::Signal;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::claims::{everywhere, make_namespaces};
use crate::client::{Client, Endpoint};
use crate::follower::{Begin, Followed, Follower};
use crate::history::{History, State, Wanted};
use crate::process::{Server, folder};
use crate::turn::turn;
use crate::writer::{CATALOGS, Log, NAMESPACES, OBJECTS, TIERS, Writer};

const WRITERS: usize = 4;
/// Of each writer: together 200 a second.
const WRITE_EVERY: Duration = Duration::from_millis(20);
const FOLLOWERS: usize = 100;
/// How long the server runs between its ends.
const LIFE: Duration = Duration::from_millis(2_500);
const ENDS: [Signal; 5] = [Signal::TERM, Signal::KILL, Signal::TERM, Signal::KILL, Signal::KILL];
/// A run with fewer writes a second, while the server runs, shows nothing.
const LEAST_RATE: f64 = 100.0;
const CATCH_UP: Duration = Duration::from_secs(30);

/// R-06, with the embedded store.
#[tokio::test(flavor = "multi_thread")]
async fn watches_lose_nothing_when_the_server_is_restarted() {
    let _turn = turn().await;
    follow_through_restarts(&[]).await;
}

/// R-06, with etcd.
#[tokio::test(flavor = "multi_thread")]
async fn watches_lose_nothing_when_the_server_in_front_of_etcd_is_restarted() {
    let _turn = turn().await;
    let etcd = Etcd::options().start().await.unwrap();
    follow_through_restarts(&[&format!("--etcd-servers={}", etcd.endpoints().join(","))]).await;
}

async fn follow_through_restarts(arguments: &[&str]) {
    let folder = folder();
    let port = Port::reserve().unwrap();
    let mut server = Server::start_on(folder.path(), port.number(), arguments).await;
    let endpoint = Endpoint::of(&server);
    let client = endpoint.connect().await.unwrap();
    make_namespaces(&client, NAMESPACES).await;
    let beginning = client.get(&everywhere()).await.unwrap().revision();

    let stop = CancellationToken::new();
    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        writers.spawn(Writer::new(number, endpoint.clone()).run(WRITE_EVERY, stop.clone()));
    }
    // So that those who begin with a state have one to begin with.
    sleep(Duration::from_secs(1)).await;
    let (until_tx, until_rx) = watch::channel(None);
    let mut followers = JoinSet::new();
    for number in 0..FOLLOWERS {
        followers.spawn(follower(number, beginning, &endpoint).run(until_rx.clone()));
    }
    let mut running = Duration::from_secs(1);
    for end in ENDS {
        sleep(LIFE).await;
        running += LIFE;
        server.signal(end);
        assert_eq!(server.end().await.code(), (end == Signal::TERM).then_some(0));
        server = Server::start_on(folder.path(), port.number(), arguments).await;
    }
    sleep(LIFE).await;
    running += LIFE;
    stop.cancel();
    let logs: Vec<Log> = timeout(CATCH_UP, writers.join_all()).await.expect("the writers end");

    let client = endpoint.connect().await.unwrap();
    let through = final_revision(&client).await;
    until_tx.send(Some(through)).unwrap();
    let began = Instant::now();
    let followed: Vec<Followed> = timeout(CATCH_UP, followers.join_all()).await.expect("the followers catch up");
    println!("the followers took {:?} to catch up", began.elapsed());

    let history = History::read(&client, &everywhere(), beginning, through).await;
    check_list(&client, &history).await;
    let written: usize = logs.iter().map(|log| log.check(&history)).sum();
    assert_eq!(written, history.events.len(), "every event is somebody's write");
    let acknowledged: usize = logs.iter().map(Log::acknowledged).sum();
    let rate = acknowledged as f64 / running.as_secs_f64();
    assert!(rate >= LEAST_RATE, "only {rate:.0} writes a second: this run shows nothing");
    let delivered: usize = followed.iter().map(|followed| followed.check(&history).unwrap()).sum();
    let bookmarks: usize = followed.iter().map(|followed| followed.bookmarks).sum();
    let watches: usize = followed.iter().map(|followed| followed.watches).sum();
    println!(
        "{written} writes ({rate:.0}/s), {acknowledged} acknowledged, {delivered} deliveries, {bookmarks} bookmarks, {watches} watches"
    );
    assert!(watches >= FOLLOWERS * (1 + ENDS.len()), "every follower began again after each end");
    assert!(bookmarks >= FOLLOWERS);
    server.stop().await;
}

/// A follower of each sort in turn.
fn follower(number: usize, beginning: u64, endpoint: &Endpoint) -> Follower {
    let turn = number / 5;
    let namespace = || Some(NAMESPACES[turn % NAMESPACES.len()].to_owned());
    let wanted = match number % 5 {
        0 if turn.is_multiple_of(2) => Wanted::default(),
        0 | 1 => Wanted { namespace: namespace(), ..Wanted::default() },
        2 => {
            let name = format!("claim-{}-{}", turn % WRITERS, turn as u64 % OBJECTS);
            Wanted { name: Some(name), ..Wanted::default() }
        }
        3 => Wanted { tier: Some(TIERS[turn % 2].to_owned()), ..Wanted::default() },
        _ => Wanted { catalog: Some(CATALOGS[turn % 2].to_owned()), ..Wanted::default() },
    };
    let begin = match (number % 5, turn % 3) {
        // One object's history may be empty for so long that the end of a state without marker cannot be told.
        (2, 0) | (_, 1) => Begin::StreamedList,
        (_, 0) => Begin::AnyState,
        _ => Begin::After(beginning),
    };
    Follower { wanted, begin, seconds: 3 + (number % 7) as u64, endpoint: endpoint.clone() }
}

async fn final_revision(client: &Client) -> u64 {
    client.get(&everywhere()).await.unwrap().revision()
}

/// The objects there are in the end are those that the history leaves.
async fn check_list(client: &Client, history: &History) {
    let list = client.get(&everywhere()).await.unwrap().expect(200);
    let listed: Vec<_> = list["items"].as_array().unwrap().iter().map(State::of).collect();
    let left: Vec<_> = history.state_at(u64::MAX).into_values().map(|(_, state)| state).collect();
    assert_eq!(listed, left);
}
