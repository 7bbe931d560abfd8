//! Two of us on one etcd, restarted one after the other under load.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bailiwick_test_host::Port;
use http::Method;
use http_body_util::BodyExt;
use rustix::process::Signal;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::direct::{Direct, Unanswered};
use crate::process::folder;
use crate::world::{ENTRIES, entry, world};

const WRITERS: usize = 4;
const WATCHERS: usize = 4;
/// How long both run between restarts.
const LIFE: Duration = Duration::from_millis(1_500);
/// How often a client that behaves well tries before it complains.
const TRIES: usize = 100;

/// what one replica acknowledged, the other shows at once; and while they are restarted in turn, no request
/// that is tried again is lost, and no event.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_one_server_while_they_are_restarted_in_turn() {
    let (_turn, world) = world().await;
    let folders = [folder(), folder()];
    let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
    let prefix = "--etcd-prefix=/replicas";
    let delay = "--shutdown-delay-duration=300ms";
    let start = async |number: usize| {
        let (folder, port) = (folders[number].path(), ports[number].number());
        world.start_on(folder, port, &[prefix, delay]).await
    };
    let mut servers = [Some(start(0).await), Some(start(1).await)];
    let identity = world.cluster.tls().user("master", &["system:masters"]).unwrap();
    let replicas = [0, 1]
        .map(|number: usize| Direct::new(([127, 0, 0, 1], ports[number].number()).into(), &world.ca, Some(&identity)))
        .to_vec();
    let beginning = revision(&replicas[0].get(ENTRIES).await.expect(200));

    let stop = CancellationToken::new();
    let writers: Vec<_> =
        (0..WRITERS).map(|number| tokio::spawn(write(replicas.clone(), number, stop.clone()))).collect();
    let finished = CancellationToken::new();
    let watchers: Vec<_> = (0..WATCHERS)
        .map(|number| tokio::spawn(watch(replicas.clone(), number, beginning, finished.clone())))
        .collect();
    for (number, signal) in [(0, Signal::TERM), (1, Signal::TERM), (0, Signal::KILL), (1, Signal::KILL)] {
        sleep(LIFE).await;
        let server = servers[number].take().unwrap();
        server.signal(signal);
        assert_eq!(server.end().await.code(), (signal == Signal::TERM).then_some(0));
        servers[number] = Some(start(number).await);
    }
    sleep(LIFE).await;
    stop.cancel();
    let mut written = BTreeSet::new();
    let mut repeated = 0;
    for writer in writers {
        let wrote = writer.await.unwrap();
        repeated += wrote.repeated;
        written.extend(wrote.names);
    }
    for replica in &replicas {
        let list = replica.get(ENTRIES).await.expect(200);
        let listed: BTreeSet<String> = list["items"].as_array().unwrap().iter().map(name).collect();
        assert_eq!(listed, written);
    }
    // Watchers end with the next event, which is theirs alone.
    finished.cancel();
    replicas[0].send(Method::POST, ENTRIES, &[], &entry("the-end")).await.unwrap().expect(201);
    let mut resumed = 0;
    for watcher in watchers {
        let seen = timeout(Duration::from_secs(60), watcher).await.expect("the watchers end").unwrap();
        let names: BTreeSet<String> = seen.events.keys().filter(|name| *name != "the-end").cloned().collect();
        assert_eq!(names, written, "every object was told of");
        assert!(seen.events.values().all(|times| *times == 1), "and once: {:?}", seen.events);
        resumed += seen.watches - 1;
    }
    println!("{} written, {repeated} requests repeated, {resumed} watches resumed", written.len());
    assert!(written.len() > 100 && repeated > 0 && resumed >= WATCHERS);
    for server in servers.into_iter().flatten() {
        server.stop().await;
    }
}

pub(crate) struct Wrote {
    pub(crate) names: Vec<String>,
    pub(crate) repeated: usize,
}

/// Makes objects with one replica, and looks for each with the next.
pub(crate) async fn write(replicas: Vec<Direct>, number: usize, stop: CancellationToken) -> Wrote {
    let mut wrote = Wrote { names: Vec::new(), repeated: 0 };
    while !stop.is_cancelled() {
        let count = wrote.names.len();
        let name = format!("claim-{number}-{count}");
        let body = entry(&name);
        // What is there already was made by an attempt whose answer was lost.
        let made = repeat(&replicas, count, &mut wrote.repeated, Method::POST, ENTRIES, &body, &[201, 409]).await;
        let path = format!("{ENTRIES}/{name}");
        let found = repeat(&replicas, made + 1, &mut wrote.repeated, Method::GET, &path, "", &[200, 404]).await;
        let _ = found;
        wrote.names.push(name);
    }
    wrote
}

/// Asks the replicas in turn, beginning with `first`, until one answers. Gives who did.
async fn repeat(
    replicas: &[Direct],
    first: usize,
    repeated: &mut usize,
    method: Method,
    path: &str,
    body: &str,
    wanted: &[u16],
) -> usize {
    for attempt in 0..TRIES {
        let replica = &replicas[(first + attempt) % replicas.len()];
        match replica.send(method.clone(), path, &[], body).await {
            Ok(answer) if wanted.contains(&answer.code) => {
                assert_ne!(answer.code, 404, "{path} was acknowledged, and is not there: {}", answer.body);
                assert!(answer.code != 409 || attempt > 0, "{path} is there already: {}", answer.body);
                return first + attempt;
            }
            // Told to come back, or told that nobody knows.
            Ok(answer) => assert!(matches!(answer.code, 429 | 500..=504), "{path}: {} {}", answer.code, answer.body),
            Err(Unanswered(_)) => {}
        }
        *repeated += 1;
        sleep(Duration::from_millis(50)).await;
    }
    panic!("{path} was not answered in {TRIES} tries");
}

#[derive(Default)]
pub(crate) struct Seen {
    /// How often each object was said to be new.
    pub(crate) events: BTreeMap<String, usize>,
    pub(crate) watches: usize,
}

/// Follows all objects, and goes on with the next replica wherever it was interrupted.
pub(crate) async fn watch(replicas: Vec<Direct>, number: usize, beginning: u64, finished: CancellationToken) -> Seen {
    let (mut seen, mut last) = (Seen::default(), beginning);
    loop {
        let replica = &replicas[(number + seen.watches) % replicas.len()];
        seen.watches += 1;
        let path = format!("{ENTRIES}?watch=true&allowWatchBookmarks=true&resourceVersion={last}");
        let Ok(response) = replica.open(Method::GET, &path, &[], "").await else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let code = response.status().as_u16();
        if code != 200 {
            assert!(matches!(code, 429 | 500..=504), "a watch at {last} is answered by {code}");
            sleep(Duration::from_millis(50)).await;
            continue;
        }
        let (mut body, mut buffer) = (response.into_body(), Vec::new());
        while let Some(Ok(frame)) = body.frame().await {
            buffer.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
            while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).unwrap();
                let told = revision(&event["object"]);
                assert!(told >= last, "{told} after {last}");
                last = told;
                match event["type"].as_str().unwrap() {
                    "ADDED" => *seen.events.entry(name(&event["object"])).or_default() += 1,
                    "BOOKMARK" => {}
                    other => panic!("{other}: {event}"),
                }
            }
            if finished.is_cancelled() && seen.events.contains_key("the-end") {
                return seen;
            }
        }
    }
}

pub(crate) fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

pub(crate) fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_else(|| panic!("no version in {object}")).parse().unwrap()
}
