//! The bounds of a request's head, and of the time it may take. Each has a case on either side.

use std::time::Duration;

use bailiwick_apiserver::ListenerOptions;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::Empty;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::client::{Dial, get, http1_on, text, until_closed};
use crate::server::{PATIENCE, SHORT, Server, impatient, patient};

/// `get` adds one.
const MAX_HEADERS: usize = 500;
const MAX_HEADER_BYTES: usize = 64 << 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_headers_is_bounded() {
    let server = Server::start(patient()).await;
    for (count, expected) in [(MAX_HEADERS, 200), (MAX_HEADERS + 1, 431)] {
        assert_eq!(both(&server, || with_headers(count)).await, [expected, expected], "{count} headers");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bytes_of_headers_are_bounded() {
    let server = Server::start(patient()).await;
    for (bytes, expected) in [(MAX_HEADER_BYTES - 1_000, 200), (MAX_HEADER_BYTES + 1, 431)] {
        assert_eq!(both(&server, || with_cookie(bytes)).await, [expected, expected], "{bytes} bytes");
    }
    // Far beyond, HTTP/2 says good-bye instead: its headers are compressed together, so none can be left unread.
    assert_eq!(raw_status(&server, &with_cookie(1 << 20)).await, 431);
    let (mut http2, _connection) = server.http2().await;
    assert!(http2.send_request(with_cookie(1 << 20)).await.is_err());
}

/// R-24 (e).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_and_slow_heads_are_closed() {
    let server = Server::start(impatient()).await;
    let began = Instant::now();
    let silent = TcpStream::connect(server.address).await.unwrap();
    let mut slow_handshake = TcpStream::connect(server.address).await.unwrap();
    slow_handshake.write_all(&[0x16, 0x03, 0x01]).await.unwrap();
    let no_request = server.dial(&Dial::http1()).await.unwrap();
    let no_preface = server.dial(&Dial::http2()).await.unwrap();
    let mut preface_only = server.dial(&Dial::http2()).await.unwrap();
    preface_only.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    tokio::join!(
        until_closed(silent),
        until_closed(slow_handshake),
        until_closed(no_request),
        until_closed(no_preface),
        until_closed(preface_only),
        until_closed_while_dribbling(&server),
    );
    assert!(began.elapsed() >= SHORT);
    assert!(began.elapsed() < 10 * SHORT, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_is_not_slow() {
    let server = Server::start(impatient()).await;
    let (mut http1, _connection1) = server.http1().await;
    let (mut http2, _connection2) = server.http2().await;
    for _ in 0..2 {
        text(http1.send_request(get("/")).await).await;
        text(http2.send_request(get("/")).await).await;
        tokio::time::sleep(3 * SHORT).await;
    }
    text(http1.send_request(get("/")).await).await;
    text(http2.send_request(get("/")).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_without_requests_end() {
    let options = ListenerOptions { idle_timeout: 2 * SHORT, ..impatient() };
    let server = Server::start(options).await;
    let (mut http1, connection1) = server.http1().await;
    let (mut http2, connection2) = server.http2().await;
    // Longer than the idle timeout: a request that lasts is not idleness.
    let slow = tokio::join!(http1.send_request(get("/pauses")), http2.send_request(get("/pauses")));
    assert_eq!(text(slow.0).await, "before after");
    assert_eq!(text(slow.1).await, "before after");
    let answered = Instant::now();
    tokio::time::timeout(PATIENCE, connection1).await.unwrap().unwrap().unwrap();
    tokio::time::timeout(PATIENCE, connection2).await.unwrap().unwrap().unwrap();
    assert!(answered.elapsed() >= SHORT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_connections_is_bounded() {
    let options = ListenerOptions { max_connections: 1, ..patient() };
    let server = Server::start(options).await;
    let first = server.dial(&Dial::http1()).await.unwrap();
    let dial = Dial::http1();
    let mut second = std::pin::pin!(server.dial(&dial));
    assert!(tokio::time::timeout(SHORT / 2, second.as_mut()).await.is_err());
    drop(first);
    let second = tokio::time::timeout(PATIENCE, second).await.unwrap().unwrap();
    let (mut requests, _connection) = http1_on(second).await;
    text(requests.send_request(get("/")).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_does_not_take_all_connections() {
    let options = ListenerOptions { max_connections: 3, max_connections_per_address: 2, ..patient() };
    let server = Server::start(options).await;
    let (first, _second) = (server.dial(&Dial::http1()).await.unwrap(), server.dial(&Dial::http1()).await.unwrap());
    for _ in 0..10 {
        assert!(server.dial(&Dial::http1()).await.is_err(), "the address has its share");
    }
    drop(first);
    let dialing = async {
        loop {
            // The server notices the end a moment later.
            match server.dial(&Dial::http1()).await {
                Ok(stream) => return stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let third = tokio::time::timeout(PATIENCE, dialing).await.unwrap();
    let (mut requests, _connection) = http1_on(third).await;
    text(requests.send_request(get("/")).await).await;
}

/// The statuses over HTTP/1 and HTTP/2.
async fn both(server: &Server, request: impl Fn() -> Request<Empty<Bytes>>) -> [u16; 2] {
    let (mut http1, _connection1) = server.http1().await;
    let (mut http2, _connection2) = server.http2().await;
    let http1 = match http1.send_request(request()).await {
        Ok(response) => response.status().as_u16(),
        // The answer may be lost when the server closes while the client still writes, so it is asked once more, raw.
        Err(_) => raw_status(server, &request()).await,
    };
    [http1, http2.send_request(request()).await.unwrap().status().as_u16()]
}

/// Reads while it writes, as the client of hyper does not.
async fn raw_status(server: &Server, request: &Request<Empty<Bytes>>) -> u16 {
    let (mut reader, mut writer) = tokio::io::split(server.dial(&Dial::http1()).await.unwrap());
    let mut head = b"GET / HTTP/1.1\r\n".to_vec();
    for (name, value) in request.headers() {
        head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    head.extend(b"\r\n");
    let writing = tokio::spawn(async move {
        let _ = writer.write_all(&head).await;
    });
    let mut status = [0; 12];
    reader.read_exact(&mut status).await.unwrap();
    writing.abort();
    String::from_utf8_lossy(&status[9..]).parse().unwrap()
}

fn with_headers(count: usize) -> Request<Empty<Bytes>> {
    let mut request = get("/");
    for number in 1..count {
        let name = HeaderName::from_bytes(format!("x-{number}").as_bytes()).unwrap();
        request.headers_mut().insert(name, HeaderValue::from_static("x"));
    }
    assert_eq!(request.headers().len(), count);
    request
}

fn with_cookie(bytes: usize) -> Request<Empty<Bytes>> {
    let mut request = get("/");
    request.headers_mut().insert("cookie", HeaderValue::from_str(&"x".repeat(bytes)).unwrap());
    request
}

/// A head that goes on and on, after a first request that was quick.
async fn until_closed_while_dribbling(server: &Server) {
    let (mut reader, mut writer) = tokio::io::split(server.dial(&Dial::http1()).await.unwrap());
    writer.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\nGET / HTTP/1.1\r\n").await.unwrap();
    let dribbling = tokio::spawn(async move {
        while writer.write_all(b"a: b\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let received = until_closed(&mut reader).await;
    assert!(received.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&received));
    dribbling.abort();
}
