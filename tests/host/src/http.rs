//! One HTTP GET to a loopback port: enough to ask a peer for its health and its metrics.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A paused peer accepts connections and never answers.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// etcd's metrics are about 100 KiB.
const ANSWER_BYTES: u64 = 4 << 20;

/// An answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    timeout(ANSWER_LIMIT, exchange(address, path)).await?
}

async fn exchange(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address).await?;
    // HTTP/1.0, so that the body is neither chunked nor followed by anything.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut bytes).await?;
    let text = String::from_utf8_lossy(&bytes);
    parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}
