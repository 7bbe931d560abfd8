//! Names that nobody has: they must not become series, nor memory.

use bytes::Bytes;
use http::Method;
use http::header::USER_AGENT;

use super::{metrics, sum};
use crate::claims::{collection, define};
use crate::client::{Endpoint, request};
use crate::memory::{mebibytes, resident};
use crate::process::{Server, folder};
use crate::turn::turn;

/// How many requests, each with names of its own.
const REQUESTS: &str = "BAILIWICK_TEST_FLOOD";
const DEFAULT_REQUESTS: usize = 4_000;
const MOST_GROWTH: u64 = 16 << 20;

/// S-20.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_nobody_has_make_no_series() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let client = Endpoint::of(&server).connect().await.unwrap();
    let count = std::env::var(REQUESTS).map_or(DEFAULT_REQUESTS, |count| count.parse().unwrap());
    define(&client).await;
    // Every shape once, so that what is made once is made.
    flood(&client, 0, 64).await;
    metrics(&client).await;
    let (before, memory) = (metrics(&client).await, resident(server.pid()));
    flood(&client, 64, count).await;
    let (after, grown) = (metrics(&client).await, resident(server.pid()).saturating_sub(memory));
    let new: Vec<&String> = after.keys().filter(|series| !before.contains_key(*series)).collect();
    assert!(new.is_empty(), "{new:?}");
    let counted = sum(&after, "apiserver_request_total", &["resource=\"other\""]);
    assert!(counted >= count as f64 / 4.0, "{counted}");
    println!("{} series, {} MiB more", after.len(), mebibytes(grown));
    assert!(grown <= MOST_GROWTH, "{grown}");
    server.stop().await;
}

async fn flood(client: &crate::client::Client, first: usize, last: usize) {
    let mut sending = tokio::task::JoinSet::new();
    for number in first..last {
        let path = match number % 8 {
            0 => format!("/apis/g{number}.example.dev/v1/things"),
            1 => format!("/apis/samples.example.com/v{number}/claims"),
            2 => format!("/apis/samples.example.com/v1alpha1/r{number}"),
            3 => format!("{}/a/s{number}", collection("default")),
            4 => format!("/nowhere{number}"),
            5 => format!("/livez/c{number}"),
            6 => format!("{}?dryRun=d{number}", collection("default")),
            _ => format!("/api/v1/namespaces/n{number}/pods/p{number}"),
        };
        let method = match number % 3 {
            0 => Method::from_bytes(format!("M{number}").as_bytes()).unwrap(),
            1 => Method::DELETE,
            _ => Method::GET,
        };
        let mut request = request(method, &path, "", Bytes::new());
        request.headers_mut().insert(USER_AGENT, format!("agent-{number}").parse().unwrap());
        let client = client.clone();
        sending.spawn(async move { client.send(request).await.unwrap().code });
        if sending.len() >= 32 {
            assert!(sending.join_next().await.unwrap().unwrap() < 500);
        }
    }
    sending.join_all().await;
}
