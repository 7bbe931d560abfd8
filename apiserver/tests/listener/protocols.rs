//! What is spoken.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::{Dial, get, http1_on, http2_on, text, until_closed};
use crate::server::{PATIENCE, Server, impatient, patient};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_and_http2_are_answered_over_both_versions_of_tls() {
    let server = Server::start(patient()).await;
    for dial in [Dial::http1(), Dial::http1().tls12()] {
        let (mut requests, _connection) = http1_on(server.dial(&dial).await.unwrap()).await;
        assert_eq!(text(requests.send_request(get("/")).await).await, "HTTP/1.1");
    }
    for dial in [Dial::http2(), Dial::http2().tls12()] {
        let (mut requests, _connection) = http2_on(server.dial(&dial).await.unwrap()).await;
        assert_eq!(text(requests.send_request(get("/")).await).await, "HTTP/2.0");
    }
}

/// No client library offers 1.1 any more, so the first message is written by hand; the same one with another number works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_1_1_is_refused() {
    let server = Server::start(impatient()).await;
    let answer = hello(&server, [3, 3]).await;
    assert_eq!(answer[0], 0x16, "a handshake: {answer:02x?}");
    let answer = hello(&server, [3, 2]).await;
    let [0x15, 3, _, 0, 2, 2, description] = answer[..] else { panic!("not a fatal alert: {answer:02x?}") };
    assert_eq!(description, 70, "protocol_version");
}

/// The answer to a client that speaks nothing newer than `version`.
async fn hello(server: &Server, version: [u8; 2]) -> Vec<u8> {
    let mut hello = version.to_vec();
    hello.extend([7; 32]);
    // No session; ECDHE_ECDSA_WITH_AES_128_GCM_SHA256; no compression.
    hello.extend([0, 0, 2, 0xc0, 0x2b, 1, 0]);
    let groups = [0, 10, 0, 4, 0, 2, 0, 0x1d];
    let signatures = [0, 13, 0, 4, 0, 2, 4, 3];
    let points = [0, 11, 0, 2, 1, 0];
    hello.extend([0, (groups.len() + signatures.len() + points.len()) as u8]);
    hello.extend([&groups[..], &signatures, &points].concat());
    let mut record = vec![0x16, 3, 1, 0, hello.len() as u8 + 4, 1, 0, 0, hello.len() as u8];
    record.extend(hello);
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(&record).await.unwrap();
    until_closed(socket).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_without_tls_gets_an_answer_that_says_so() {
    let server = Server::start(patient()).await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let answer = String::from_utf8(until_closed(socket).await).unwrap();
    assert!(answer.starts_with("HTTP/1.0 400 "), "{answer}");
    assert!(answer.ends_with("Client sent an HTTP request to an HTTPS server.\n"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_answers_arrive_whole() {
    let server = Server::start(patient()).await;
    let (mut http1, _connection) = server.http1().await;
    assert_eq!(text(http1.send_request(get("/large")).await).await.len(), 3 << 20);
    let (mut http2, _connection) = server.http2().await;
    let response = http2.send_request(get("/large")).await.unwrap();
    assert_eq!(response.headers()["content-length"], (3 << 20).to_string());
    assert_eq!(text(Ok(response)).await.len(), 3 << 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_can_close_its_connection() {
    let server = Server::start(patient()).await;

    let (mut http1, connection) = server.http1().await;
    let response = http1.send_request(get("/close")).await.unwrap();
    assert_eq!(response.headers()["connection"], "close");
    assert_eq!(text(Ok(response)).await, "closing");
    tokio::time::timeout(PATIENCE, connection).await.unwrap().unwrap().unwrap();

    let (mut http2, connection) = server.http2().await;
    // Requests that were made before are still answered.
    let slow = tokio::spawn(http2.send_request(get("/slow")));
    let response = http2.send_request(get("/close")).await.unwrap();
    assert!(!response.headers().contains_key("connection"));
    assert_eq!(text(Ok(response)).await, "closing");
    assert_eq!(text(slow.await.unwrap()).await, "slow");
    tokio::time::timeout(PATIENCE, connection).await.unwrap().unwrap().unwrap();
    assert!(http2.send_request(get("/")).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_costs_one_request() {
    let server = Server::start(patient()).await;
    let (mut http2, _connection) = server.http2().await;
    assert!(http2.send_request(get("/panic")).await.is_err());
    assert_eq!(text(http2.send_request(get("/")).await).await, "HTTP/2.0");
    let (mut http1, _connection) = server.http1().await;
    assert!(http1.send_request(get("/panic")).await.is_err());
    let (mut http1, _connection) = server.http1().await;
    assert_eq!(text(http1.send_request(get("/")).await).await, "HTTP/1.1");
}
