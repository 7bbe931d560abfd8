//! S-07: what no proper HTTP/2 client sends.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Dial, until_closed};
use crate::server::{PATIENCE, Server, impatient, patient};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// GET https://a/never, in HPACK.
const REQUEST: &[u8] = b"\x82\x87\x44\x06/never\x41\x01a";
const ENHANCE_YOUR_CALM: u32 = 11;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_resets_ends_the_connection() {
    let server = Server::start(patient()).await;
    let mut attack = opening();
    for stream in (1..2_000).step_by(2) {
        attack.extend(frame(HEADERS, END_STREAM | END_HEADERS, stream, REQUEST));
        attack.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
    }
    assert_eq!(ended_with(&server, attack).await, ENHANCE_YOUR_CALM);
    crate::server::eventually("no request is left", || server.counters.requests.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_without_end_end_the_connection() {
    let server = Server::start(patient()).await;
    let mut attack = opening();
    attack.extend(frame(HEADERS, END_STREAM, 1, REQUEST));
    // A literal header, never indexed, of a kilobyte.
    let field = [&b"\x10\x01b\x7f\x81\x07"[..], &[b'x'; 1_024]].concat();
    for _ in 0..4_000 {
        attack.extend(frame(CONTINUATION, 0, 1, &field));
    }
    assert_eq!(ended_with(&server, attack).await, ENHANCE_YOUR_CALM);
}

/// A client that leaves no room for even one byte of an answer holds the answer no longer than one that stops reading.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_room_is_given_up() {
    let server = Server::start(impatient()).await;
    let initial_window_size = [0, 4, 0, 0, 0, 0];
    let mut opening = [PREFACE, &frame(SETTINGS, 0, 0, &initial_window_size)].concat();
    opening.extend(frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\x82\x87\x44\x08/endless\x41\x01a"));
    let mut stream = server.dial(&Dial::http2()).await.unwrap();
    stream.write_all(&opening).await.unwrap();
    let bodies = || server.counters.endless_bodies.load(Ordering::SeqCst);
    crate::server::eventually("an answer", || bodies() == 1).await;
    crate::server::eventually("no answer", || bodies() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pings_whose_answers_are_not_read_end_the_connection() {
    let server = Server::start(impatient()).await;
    let mut stream = server.dial(&Dial::http2()).await.unwrap();
    let mut opening = opening();
    // A request under way, so that the connection is not merely idle.
    opening.extend(frame(HEADERS, END_STREAM | END_HEADERS, 1, REQUEST));
    stream.write_all(&opening).await.unwrap();
    let pings = frame(PING, 0, 0, &[0; 8]).repeat(1_000);
    let flooding = async { while stream.write_all(&pings).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, flooding).await.expect("an end to it");
    crate::server::eventually("no request is left", || server.counters.requests.load(Ordering::SeqCst) == 0).await;
}

/// Clients that hear good-bye first may take it for the answer: curl does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_comes_before_good_bye() {
    let server = Server::start(patient()).await;
    for _ in 0..50 {
        let mut stream = server.dial(&Dial::http2()).await.unwrap();
        let mut opening = opening();
        opening.extend(frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\x82\x87\x44\x06/close\x41\x01a"));
        stream.write_all(&opening).await.unwrap();
        let mut kinds = Vec::new();
        while kinds.last() != Some(&GOAWAY) {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            stream.read_exact(&mut vec![0; length as usize]).await.unwrap();
            kinds.push(head[3]);
        }
        kinds.retain(|kind| [HEADERS, DATA, GOAWAY].contains(kind));
        assert_eq!(kinds[..2], [HEADERS, DATA], "{kinds:?}");
    }
}

/// Sends all of it, as far as the server takes it, and returns the reason of its GOAWAY.
async fn ended_with(server: &Server, attack: Vec<u8>) -> u32 {
    let (reader, mut writer) = tokio::io::split(server.dial(&Dial::http2()).await.unwrap());
    let writing = tokio::spawn(async move {
        let _ = writer.write_all(&attack).await;
        let _ = writer.flush().await;
        writer
    });
    let received = until_closed(reader).await;
    writing.abort();
    let mut rest = &received[..];
    while let [a, b, c, kind, _, _, _, _, _, after @ ..] = rest {
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        let (payload, next) = after.split_at(length.min(after.len()));
        if *kind == GOAWAY {
            return u32::from_be_bytes(payload[4..8].try_into().unwrap());
        }
        rest = next;
    }
    panic!("no GOAWAY in {} bytes", received.len());
}

fn opening() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
