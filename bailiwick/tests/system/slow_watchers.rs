//! Watchers that do not read.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::claims::{VALUE, claim, collection, everywhere, make_namespaces, object};
use crate::client::{Client, Endpoint, request};
use crate::memory::{mebibytes, resident};
use crate::process::{Server, folder};
use crate::turn::turn;

/// How many watchers there are; a tenth of them are slow.
const WATCHERS: &str = "BAILIWICK_TEST_WATCHERS";
const DEFAULT_WATCHERS: usize = 200;
const WATCHERS_ON_A_CONNECTION: usize = 10;
const NAMESPACES: usize = 10;
const OBJECTS: usize = 5;
/// Many, so that a slow disk, which takes all that wait at once, does not slow them down.
const WRITERS: usize = 50;
/// Of each writer: together 500 a second, half of them to each server.
const WRITE_EVERY: Duration = Duration::from_millis(200);
/// On a machine with other things to do. A run with fewer shows nothing.
const LEAST_RATE: f64 = 50.0;
/// Who is blocked waits for the slow ones, which is longer than this.
const MOST_DELAY: Duration = Duration::from_secs(3);
const PADDING_BYTES: usize = 2 << 10;
const BASELINE: Duration = Duration::from_secs(5);
const WINDOW: Duration = Duration::from_millis(500);
const MOST_SLOWER: f64 = 1.2;
/// The server waits 10 s for a client that has no room left, which it has after a second or two.
const SLOW_ENDS_WITHIN: Duration = Duration::from_secs(18);
/// What a slow watcher may have been sent before it ended: what it and the sockets have room for.
const HELD_FOR_SLOW: usize = 8 << 20;
const SLOW_ROOM: u32 = 64 << 10;
const TRICKLE_BYTES_PER_SECOND: usize = 1 << 10;
const MARK: &[u8] = b"\"test.bailiwick.dev/value\":\"";

/// Delays, in the order in which they were measured.
#[derive(Clone, Default)]
struct Delays(Arc<Mutex<Vec<Duration>>>);

/// Why a slow watcher is slow.
#[derive(Clone, Copy, Debug)]
enum Slowness {
    /// It reads nothing of its stream.
    Blocked,
    /// It reads nothing of its connection.
    BlockedConnection,
    /// It reads very little.
    Trickle,
}

/// A server with writers and healthy watchers.
struct Site {
    server: Server,
    endpoint: Endpoint,
    /// Before the first write.
    beginning: u64,
    delivery: Delays,
    writing: Delays,
    tasks: JoinSet<()>,
    _folder: TempDir,
}

/// slow watchers are ended, cost little memory, and neither block nor delay anybody else.
///
/// What delays cost is compared with a second server that does the same at the same time but has no slow watchers: on a
/// machine that has other things to do, the same server differs more from itself a moment ago.
#[tokio::test(flavor = "multi_thread")]
async fn slow_watchers_hurt_nobody_else() {
    let _turn = turn().await;
    let count = std::env::var(WATCHERS).map_or(DEFAULT_WATCHERS, |count| count.parse().unwrap());
    let (slow, healthy) = (count / 10, count - count / 10);
    let (origin, stop) = (Instant::now(), CancellationToken::new());
    let twin = Site::open(healthy, origin, &stop).await;
    let site = Site::open(healthy, origin, &stop).await;
    sleep(Duration::from_secs(1)).await;
    let memory_before = resident(site.server.pid());
    let baseline = compare(&site, &twin, sleep(BASELINE)).await;

    let mut slow_ones = JoinSet::new();
    for number in 0..slow {
        let slowness = [Slowness::Blocked, Slowness::Trickle, Slowness::BlockedConnection][number % 3];
        slow_ones.spawn(watch_slowly(slowness, site.endpoint.clone(), site.beginning));
    }
    let mut memory_most = memory_before;
    let ended = async { while slow_ones.join_next().await.map(Result::unwrap).is_some() {} };
    let sample = async {
        loop {
            sleep(Duration::from_millis(200)).await;
            memory_most = memory_most.max(resident(site.server.pid()));
        }
    };
    let ended = async {
        tokio::select! {
            () = ended => {}
            () = sample => {}
        }
    };
    let with_slow = compare(&site, &twin, ended).await;
    stop.cancel();
    site.close().await;
    twin.close().await;
    println!("without slow watchers {baseline:?}\nwith slow watchers    {with_slow:?}");
    println!("memory: {} MiB, at most {} MiB", mebibytes(memory_before), mebibytes(memory_most));

    assert!(with_slow.rate >= LEAST_RATE, "only {:.0} writes a second: this run shows nothing", with_slow.rate);
    assert!(with_slow.delivery.p99 <= MOST_DELAY, "{with_slow:?}");
    assert!(with_slow.writing.p99 <= MOST_DELAY, "{with_slow:?}");
    let slower = with_slow.delivery_ratio / baseline.delivery_ratio.max(1.0);
    assert!(slower <= MOST_SLOWER, "deliveries take {slower:.2} times as long beside slow watchers");
    let grown = mebibytes(memory_most - memory_before);
    assert!(grown <= 96 + slow as u64, "grew by {grown} MiB");
}

/// What two servers did while something else went on.
#[derive(Debug)]
struct Comparison {
    /// Of the first.
    delivery: Summary,
    /// Of the first.
    writing: Summary,
    /// Writes a second to the first.
    rate: f64,
    /// How much longer deliveries take at the first than at the second: p99 of each second, the middle of these.
    delivery_ratio: f64,
}

async fn compare(site: &Site, twin: &Site, meanwhile: impl Future<Output = ()>) -> Comparison {
    drop((site.delivery.take(), site.writing.take(), twin.delivery.take()));
    let (began, mut meanwhile) = (Instant::now(), pin!(meanwhile));
    let (mut delivery, mut ratios) = (Vec::new(), Vec::new());
    while timeout(WINDOW, &mut meanwhile).await.is_err() {
        let (here, there) = (site.delivery.take(), twin.delivery.take());
        ratios.push(Summary::of(&here).p99.as_secs_f64() / Summary::of(&there).p99.as_secs_f64());
        delivery.extend(here);
    }
    let writing = site.writing.take();
    ratios.sort_unstable_by(f64::total_cmp);
    Comparison {
        rate: writing.len() as f64 / began.elapsed().as_secs_f64(),
        delivery: Summary::of(&delivery),
        writing: Summary::of(&writing),
        delivery_ratio: ratios[ratios.len() / 2],
    }
}

// === impl Site ===

impl Site {
    async fn open(healthy: usize, origin: Instant, stop: &CancellationToken) -> Self {
        let folder = folder();
        let server = Server::start(folder.path(), &[]).await;
        let endpoint = Endpoint::of(&server);
        let client = endpoint.connect().await.unwrap();
        create_objects(&client).await;
        let beginning = client.get(&everywhere()).await.unwrap().revision();
        let (delivery, writing) = (Delays::default(), Delays::default());
        let mut tasks = JoinSet::new();
        for first in (0..healthy).step_by(WATCHERS_ON_A_CONNECTION) {
            let client = endpoint.connect().await.unwrap();
            for number in first..healthy.min(first + WATCHERS_ON_A_CONNECTION) {
                let path = format!("{}?watch=true&resourceVersion={beginning}", collection(&namespace(number)));
                let body = client.open(request(Method::GET, &path, "", Bytes::new())).await.unwrap().into_body();
                // The connection lasts as long as its watchers.
                tasks.spawn(read_healthy(client.clone(), body, origin, delivery.clone(), stop.clone()));
            }
        }
        for number in 0..WRITERS {
            let client = endpoint.connect().await.unwrap();
            tasks.spawn(write(number, client, origin, writing.clone(), stop.clone()));
        }
        Self { server, endpoint, beginning, delivery, writing, tasks, _folder: folder }
    }

    /// Once all are told to stop.
    async fn close(mut self) {
        while self.tasks.join_next().await.map(Result::unwrap).is_some() {}
        self.server.stop().await;
    }
}

fn namespace(number: usize) -> String {
    format!("ns-{}", number % NAMESPACES)
}

async fn create_objects(client: &Client) {
    for number in 0..NAMESPACES {
        make_namespaces(client, [&*namespace(number)]).await;
        for name in 0..OBJECTS {
            let claim = claim(&format!("claim-{name}"), "tools", "gold", "0");
            client.post(&collection(&namespace(number)), &claim).await.unwrap().expect(201);
        }
    }
}

/// Writes when each write began.
async fn write(number: usize, client: Client, origin: Instant, delays: Delays, stop: CancellationToken) {
    let mut pace = interval(WRITE_EVERY);
    pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let padding = "p".repeat(PADDING_BYTES);
    for turn in 0.. {
        pace.tick().await;
        if stop.is_cancelled() {
            return;
        }
        let began = origin.elapsed();
        let patch = json!({"metadata": {"annotations": {VALUE: began.as_nanos().to_string(), "padding": padding}}});
        let path = object(&namespace(number), &format!("claim-{}", turn % OBJECTS));
        client.merge(&path, &patch).await.unwrap().expect(200);
        delays.add(origin.elapsed() - began);
    }
}

/// Reads as fast as it can, and looks when each event began.
async fn read_healthy(
    _connection: Client,
    mut body: Incoming,
    origin: Instant,
    delays: Delays,
    stop: CancellationToken,
) {
    let mut line = Vec::new();
    while let Some(frame) = stop.run_until_cancelled(body.frame()).await {
        let frame = frame.expect("a healthy watch does not end").expect("nor break");
        line.extend_from_slice(frame.data_ref().unwrap());
        while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            let at = line[..end].windows(MARK.len()).position(|window| window == MARK).unwrap() + MARK.len();
            let digits: Vec<_> = line[at..end].iter().copied().take_while(u8::is_ascii_digit).collect();
            let began: u64 = String::from_utf8(digits).unwrap().parse().unwrap();
            delays.add(origin.elapsed().saturating_sub(Duration::from_nanos(began)));
            line.drain(..=end);
        }
    }
}

/// Takes what it takes, and looks in the end whether the server has given it up.
async fn watch_slowly(slowness: Slowness, endpoint: Endpoint, beginning: u64) {
    let path = format!("{}?watch=true&resourceVersion={beginning}", everywhere());
    let got = match slowness {
        Slowness::BlockedConnection => {
            let mut stream = endpoint.raw().await.unwrap();
            let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            sleep(SLOW_ENDS_WITHIN).await;
            let mut rest = Vec::new();
            // Whether it ends with an error does not matter, only that it does.
            let _ = timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await.expect("an end");
            rest.len()
        }
        Slowness::Blocked | Slowness::Trickle => {
            let client = endpoint.connect_with(Some(SLOW_ROOM)).await.unwrap();
            let mut body = client.open(request(Method::GET, &path, "", Bytes::new())).await.unwrap().into_body();
            let mut got = match slowness {
                Slowness::Trickle => trickle(&mut body).await,
                _ => {
                    sleep(SLOW_ENDS_WITHIN).await;
                    0
                }
            };
            let drain = async {
                while let Some(Ok(frame)) = body.frame().await {
                    got += frame.data_ref().map_or(0, Bytes::len);
                }
            };
            timeout(Duration::from_secs(5), drain).await.unwrap_or_else(|_| panic!("{slowness:?} goes on"));
            got
        }
    };
    assert!(got <= HELD_FOR_SLOW, "{slowness:?} got {got} bytes");
}

/// Reads as much a second as it is allowed to. Gives how much it was.
async fn trickle(body: &mut Incoming) -> usize {
    let began = Instant::now();
    let mut got = 0;
    while began.elapsed() < SLOW_ENDS_WITHIN {
        let Some(Ok(frame)) = body.frame().await else { break };
        let length = frame.data_ref().map_or(0, Bytes::len);
        got += length;
        let pause = Duration::from_millis((1_000 * length / TRICKLE_BYTES_PER_SECOND) as u64);
        sleep(pause.min(SLOW_ENDS_WITHIN.saturating_sub(began.elapsed()))).await;
    }
    sleep(SLOW_ENDS_WITHIN.saturating_sub(began.elapsed())).await;
    got
}

/// Some delays in two figures.
#[derive(Debug)]
struct Summary {
    #[allow(dead_code, reason = "shown")]
    median: Duration,
    p99: Duration,
}

// === impl Delays ===

impl Delays {
    fn add(&self, delay: Duration) {
        self.0.lock().unwrap().push(delay);
    }

    /// Those since the last time.
    fn take(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

// === impl Summary ===

impl Summary {
    fn of(delays: &[Duration]) -> Self {
        let mut delays = delays.to_vec();
        delays.sort_unstable();
        let at = |share: usize| delays[(delays.len() * share / 100).min(delays.len() - 1)];
        Self { median: at(50), p99: at(99) }
    }
}
