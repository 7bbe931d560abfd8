//! Very much at once.

use std::convert::Infallible;

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{Method, Request};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{NAMESPACE, SOON, Target};
use crate::claims::collection;
use crate::client::{JSON, Outgoing};
use crate::memory::{mebibytes, resident};
use crate::turn::turn;

const UPLOADS: usize = 64;
const UPLOAD_BYTES: usize = 100 << 20;
const PIECE_BYTES: usize = 64 << 10;
/// What all uploads together may make the server hold.
const MOST_HELD: u64 = 256 << 20;
/// By how much that may differ from one flood to the next.
const MOST_DRIFT: u64 = 64 << 20;

/// R-24 (b).
#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_are_too_large() {
    let _turn = turn().await;
    let target = Target::start().await;
    flood(&target, true).await;
    let first = flood(&target, false).await;
    flood(&target, false).await;
    let last = flood(&target, false).await;
    // The allocator keeps some of what was freed; what is lost would be lost each time.
    assert!(last <= first + MOST_DRIFT, "{first} bytes held at first, {last} in the end");
    target.end_within(MOST_HELD).await;
}

/// Gives the most memory that the server held.
async fn flood(target: &Target, announced: bool) -> u64 {
    let mut uploads = JoinSet::new();
    for number in 0..UPLOADS {
        let client = target.endpoint.connect().await.unwrap();
        uploads.spawn(async move {
            let answer = timeout(3 * SOON, client.send(upload(announced))).await;
            let answer = answer.unwrap_or_else(|_| panic!("upload {number}: no answer in time"));
            let answer = answer.unwrap_or_else(|error| panic!("upload {number}: {error}"));
            assert_eq!(answer.code, 413, "{}", answer.text());
        });
    }
    let mut most = 0;
    while let Some(ended) = uploads.join_next().await {
        ended.unwrap();
        most = most.max(resident(target.server.pid()));
    }
    println!("{UPLOADS} uploads, announced: {announced}: {} MiB", mebibytes(most));
    assert!(most <= target.memory + MOST_HELD, "{most} bytes held");
    most
}

/// Over HTTP/1 the answer to what is announced comes before any of it.
#[tokio::test]
async fn announcements_that_are_too_large() {
    let _turn = turn().await;
    let target = Target::start().await;
    for length in
        [UPLOAD_BYTES.to_string(), u64::MAX.to_string(), "99999999999999999999999".to_owned(), "-1".to_owned()]
    {
        let path = collection(NAMESPACE);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length: {length}\r\n\r\n"
        );
        let answer = raw(&target, head.as_bytes()).await;
        let refused = ["413", "400", "431"].iter().any(|code| answer.starts_with(&format!("HTTP/1.1 {code}")));
        assert!(refused, "{length}: {answer}");
    }
    target.end().await;
}

#[tokio::test]
async fn heads_that_are_too_large() {
    let _turn = turn().await;
    let target = Target::start().await;
    let path = collection(NAMESPACE);
    let many: String = (0..1_000).map(|number| format!("X-{number}: y\r\n")).collect();
    let cookie = format!("Cookie: {}\r\n", "c".repeat(1 << 20));
    for headers in [&many, &cookie] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        let answer = raw(&target, head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    let long = format!("GET {path}?labelSelector={} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(1 << 20));
    let answer = raw(&target, long.as_bytes()).await;
    assert!(["HTTP/1.1 414", "HTTP/1.1 431"].iter().any(|code| answer.starts_with(code)), "{answer}");

    let mut request = Request::get(&path);
    for number in 0..1_000 {
        request = request.header(format!("x-{number}"), "y");
    }
    let request = request.body(Outgoing::default()).unwrap();
    assert_eq!(target.endpoint.connect().await.unwrap().send(request).await.unwrap().code, 431);
    let request = Request::get(&path).header("cookie", "c".repeat(1 << 20)).body(Outgoing::default()).unwrap();
    // Its headers cannot be left unread, so the connection ends.
    if let Ok(answer) = target.endpoint.connect().await.unwrap().send(request).await {
        assert_eq!(answer.code, 431, "{}", answer.text());
    }
    target.end().await;
}

/// A body that is made while it is sent.
fn upload(announced: bool) -> Request<Outgoing> {
    let piece = Bytes::from_static(&[b' '; PIECE_BYTES]);
    let pieces = std::iter::repeat_n(piece, UPLOAD_BYTES / PIECE_BYTES);
    let pieces = stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece))));
    let mut request = Request::builder().method(Method::POST).uri(collection(NAMESPACE)).header(CONTENT_TYPE, JSON);
    if announced {
        request = request.header(CONTENT_LENGTH, UPLOAD_BYTES);
    }
    request.body(StreamBody::new(pieces).boxed_unsync()).unwrap()
}

/// Writes bytes to a connection of their own, and reads the beginning of the answer.
async fn raw(target: &Target, bytes: &[u8]) -> String {
    let mut stream = target.endpoint.raw().await.unwrap();
    // Who answers early need not read everything.
    let _ = stream.write_all(bytes).await;
    let mut answer = vec![0; 4_096];
    let length = timeout(SOON, stream.read(&mut answer)).await.expect("an answer in time").unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}
