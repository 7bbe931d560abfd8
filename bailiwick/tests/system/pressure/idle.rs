//! Many who only hold on: watches without events, connections without requests.

use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{metrics, sum};
use crate::claims::{define, everywhere};
use crate::client::Endpoint;
use crate::memory::{mebibytes, resident};
use crate::process::{Server, folder};
use crate::turn::turn;

/// How many watch.
const WATCHERS: &str = "BAILIWICK_TEST_IDLE_WATCHERS";
const DEFAULT_WATCHERS: usize = 2_000;
const WATCHES_ON_A_CONNECTION: usize = 100;
const MOST_EACH: u64 = 40 << 10;
const HALF_OPEN: usize = 300;
/// The promise is 10 s; what comes after it is the time to notice.
const CLOSED_WITHIN: Duration = Duration::from_secs(14);

/// R-24 (a).
#[tokio::test(flavor = "multi_thread")]
async fn idle_watchers_cost_little() {
    let _turn = turn().await;
    let folder = folder();
    // Who watch as well.
    let server = Server::start(folder.path(), &["--controllers="]).await;
    let endpoint = Endpoint::of(&server);
    define(&endpoint.connect().await.unwrap()).await;
    let count = std::env::var(WATCHERS).map_or(DEFAULT_WATCHERS, |count| count.parse().unwrap());
    let before = resident(server.pid());
    let (mut connections, mut watches) = (Vec::new(), Vec::new());
    while watches.len() < count {
        let client = endpoint.connect().await.unwrap();
        for _ in 0..WATCHES_ON_A_CONNECTION {
            watches.push(client.watch(&format!("{}?watch=true", everywhere())).await.unwrap());
        }
        connections.push(client);
    }
    let each = resident(server.pid()).saturating_sub(before) / watches.len() as u64;
    println!("{} watches: {each} bytes each", watches.len());
    assert!(each <= MOST_EACH, "{each}");
    let samples = metrics(&connections[0]).await;
    assert_eq!(sum(&samples, "apiserver_longrunning_requests", &["verb=\"WATCH\""]), watches.len() as f64);
    server.stop().await;
}

/// R-24 (e).
#[tokio::test(flavor = "multi_thread")]
async fn half_open_connections_are_closed() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let endpoint = Endpoint::of(&server);
    let (before, began) = (resident(server.pid()), Instant::now());
    let (mut silent, mut slow) = (Vec::new(), Vec::new());
    for number in 0..HALF_OPEN {
        let mut stream = TcpStream::connect(endpoint.address()).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(&[0x16, 3, 1]).await.unwrap();
        }
        silent.push(stream);
        if number % 5 == 0 {
            let mut stream = endpoint.raw().await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
            slow.push(stream);
        }
    }
    let opened = began.elapsed();
    assert_eq!(endpoint.connect().await.unwrap().get("/livez").await.unwrap().code, 200);
    let grown = resident(server.pid()).saturating_sub(before);
    let mut rest = [0; 64];
    let silent = join_all(silent.iter_mut().map(async |stream| drop(stream.read(&mut [0; 64]).await)));
    timeout(CLOSED_WITHIN, silent).await.expect("silent connections are closed");
    for stream in &mut slow {
        // An answer, or none, and the end.
        while timeout(CLOSED_WITHIN, stream.read(&mut rest))
            .await
            .expect("slow heads are given up")
            .is_ok_and(|n| n > 0)
        {}
    }
    println!("opened in {opened:?}, all closed after {:?}, {} MiB meanwhile", began.elapsed(), mebibytes(grown));
    assert!(began.elapsed() < opened + CLOSED_WITHIN);
    server.stop().await;
}
