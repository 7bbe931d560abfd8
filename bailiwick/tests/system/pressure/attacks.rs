//! S-07: what no proper HTTP/2 client sends, to the program itself: it lives on, stays small, and serves others meanwhile.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::{metrics, open_files, sum};
use crate::client::{Client, Endpoint};
use crate::memory::{mebibytes, resident};
use crate::process::{Server, folder};
use crate::turn::turn;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `GET https://a/livez` in HPACK.
const GET: &[u8] = b"\x82\x87\x44\x06/livez\x41\x01a";
/// `POST https://a/apis` in HPACK.
const POST: &[u8] = b"\x83\x87\x44\x05/apis\x41\x01a";
/// For how many milliseconds an attack goes on, unless the server ends it first.
const ATTACK: &str = "BAILIWICK_TEST_ATTACK";
const DEFAULT_ATTACK: u64 = 800;
const LINES: usize = 4;
const MOST_GROWTH: u64 = 64 << 20;
/// Others are answered within this. These run without optimization, beside their attackers.
const OTHERS_WITHIN: Duration = Duration::from_secs(2);

/// What is sent, again and again, each time on the next streams.
type Attack = fn(stream: u32) -> Vec<u8>;

const ATTACKS: [(&str, Attack); 9] = [
    ("rapid reset", |stream| [get(stream), reset(stream)].concat()),
    ("made you reset: a window of nothing", |stream| [get(stream), frame(WINDOW_UPDATE, 0, stream, &[0; 4])].concat()),
    ("made you reset: data after the end", |stream| [get(stream), frame(DATA, 0, stream, b"x")].concat()),
    ("headers without end", |stream| match stream {
        1 => frame(HEADERS, END_STREAM, 1, GET),
        _ => frame(CONTINUATION, 0, 1, &[&b"\x10\x01b\x7f\x81\x07"[..], &[b'x'; 1_024]].concat()),
    }),
    ("settings", |_| frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0xff, 0xff])),
    ("settings of tables", |stream| {
        frame(SETTINGS, 0, 0, &[&[0, 1, 0, 0][..], &(stream as u16).to_be_bytes()].concat())
    }),
    ("pings", |_| frame(PING, 0, 0, &[7; 8])),
    ("empty data", |stream| match stream {
        1 => frame(HEADERS, END_HEADERS, 1, POST),
        _ => frame(DATA, 0, 1, &[]),
    }),
    ("priorities", |stream| frame(PRIORITY, 0, stream, &[0, 0, 0, 0, 255])),
];

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_no_weapon() {
    let _turn = turn().await;
    let folder = folder();
    // Whose watches stay.
    let mut server = Server::start(folder.path(), &["--controllers="]).await;
    let endpoint = Endpoint::of(&server);
    let client = endpoint.connect().await.unwrap();
    let (memory, files) = (resident(server.pid()), open_files(server.pid()));
    let lasting = std::env::var(ATTACK).map_or(DEFAULT_ATTACK, |milliseconds| milliseconds.parse().unwrap());
    for (name, attack) in ATTACKS {
        let slowest = withstand(&endpoint, &client, attack, Duration::from_millis(lasting)).await;
        let grown = resident(server.pid()).saturating_sub(memory);
        println!("{name}: others waited {slowest:?} at most, {} MiB more", mebibytes(grown));
        assert!(server.is_alive(), "{name}");
        assert!(slowest < OTHERS_WITHIN, "{name}: {slowest:?}");
        assert!(grown <= MOST_GROWTH, "{name}: {grown}");
    }
    header_bomb(&endpoint).await;
    assert!(resident(server.pid()) <= memory + MOST_GROWTH);
    let began = Instant::now();
    while open_files(server.pid()) > files {
        assert!(began.elapsed() < Duration::from_secs(30), "connections of attackers stay");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let samples = metrics(&client).await;
    assert_eq!(sum(&samples, "apiserver_longrunning_requests", &[]), 0.0);
    server.stop().await;
}

/// The longest that someone else had to wait meanwhile.
async fn withstand(endpoint: &Endpoint, client: &Client, attack: Attack, lasting: Duration) -> Duration {
    let mut attackers = tokio::task::JoinSet::new();
    let until = Instant::now() + lasting;
    for _ in 0..LINES {
        let endpoint = endpoint.clone();
        // Who is thrown out comes back.
        attackers.spawn(async move {
            while Instant::now() < until {
                let line = endpoint.raw_http2().await.unwrap();
                let _ = timeout(until.saturating_duration_since(Instant::now()), send(line, attack)).await;
            }
        });
    }
    let mut slowest = Duration::ZERO;
    while Instant::now() < until {
        let began = Instant::now();
        assert_eq!(client.get("/version").await.unwrap().code, 200);
        slowest = slowest.max(began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    attackers.join_all().await;
    slowest
}

/// Sends an attack again and again, until the server ends the connection.
async fn send(line: TlsStream<TcpStream>, attack: Attack) {
    let (mut reader, mut writer) = tokio::io::split(line);
    let writing = async {
        let mut stream = 1_u32;
        let mut next = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        while writer.write_all(&next).await.is_ok() {
            next.clear();
            for _ in 0..100 {
                next.extend(attack(stream));
                stream += 2;
            }
        }
    };
    let reading = async {
        let mut answers = [0; 16 << 10];
        while reader.read(&mut answers).await.is_ok_and(|length| length > 0) {}
    };
    tokio::select! {
        () = writing => {}
        () = reading => {}
    }
}

/// One large header goes into the table, and is then named again and again: a byte becomes four thousand.
async fn header_bomb(endpoint: &Endpoint) {
    let mut line = endpoint.raw_http2().await.unwrap();
    let large = [&b"\x40\x01b\x7f\xe1\x1e"[..], &[b'x'; 4_000]].concat();
    let mut request = [GET, &large].concat();
    request.extend([0xbe; 12_000]);
    let attack =
        [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frame(HEADERS, END_STREAM | END_HEADERS, 1, &request)].concat();
    let _ = line.write_all(&attack).await;
    // It is refused: by its size, or by the end of the connection.
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(15), line.read_to_end(&mut answer)).await;
    assert!(!answer.windows(2).any(|window| window == b"ok"), "{}", String::from_utf8_lossy(&answer));
}

fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, GET)
}

fn reset(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
