use std::time::Duration;

use tokio::time::timeout;

use super::*;

const SOON: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(10);

/// A peer that sends back what it gets.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut rx, mut tx) = stream.split();
                let _ = tokio::io::copy(&mut rx, &mut tx).await;
            });
        }
    });
    address
}

async fn say(stream: &mut TcpStream, word: &[u8; 4]) -> io::Result<()> {
    stream.write_all(word).await?;
    hear(stream, word).await
}

async fn hear(stream: &mut TcpStream, word: &[u8; 4]) -> io::Result<()> {
    let mut answer = [0; 4];
    timeout(LATE, stream.read_exact(&mut answer)).await??;
    assert_eq!(&answer, word);
    Ok(())
}

#[tokio::test]
async fn a_whole_link_forwards_bytes_and_the_close() {
    let link = Link::open(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(link.address()).await.unwrap();
    say(&mut stream, b"ping").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(timeout(LATE, stream.read(&mut [0; 4])).await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn a_cut_link_drops_connections_and_refuses_new_ones() {
    let link = Link::open(echo().await).await.unwrap();
    let mut old = TcpStream::connect(link.address()).await.unwrap();
    say(&mut old, b"ping").await.unwrap();

    link.cut().await.unwrap();
    assert!(say(&mut old, b"lost").await.is_err());
    let refused = TcpStream::connect(link.address()).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);

    link.restore().await.unwrap();
    let mut new = TcpStream::connect(link.address()).await.unwrap();
    say(&mut new, b"back").await.unwrap();
}

#[tokio::test]
async fn a_black_hole_holds_bytes_until_the_link_is_restored() {
    let link = Link::open(echo().await).await.unwrap();
    let mut old = TcpStream::connect(link.address()).await.unwrap();
    say(&mut old, b"ping").await.unwrap();

    link.blackhole().await.unwrap();
    let mut new = TcpStream::connect(link.address()).await.unwrap();
    for stream in [&mut old, &mut new] {
        stream.write_all(b"hold").await.unwrap();
        timeout(SOON, stream.read(&mut [0; 4])).await.unwrap_err();
    }

    link.restore().await.unwrap();
    hear(&mut old, b"hold").await.unwrap();
    hear(&mut new, b"hold").await.unwrap();
}

#[tokio::test]
async fn a_delay_is_one_of_latency_in_each_direction() {
    let link = Link::open(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(link.address()).await.unwrap();
    link.delay(SOON).await.unwrap();
    let start = Instant::now();
    for word in [b"aaaa", b"bbbb", b"cccc", b"dddd", b"eeee"] {
        stream.write_all(word).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for word in [b"aaaa", b"bbbb", b"cccc", b"dddd", b"eeee"] {
        hear(&mut stream, word).await.unwrap();
    }
    let elapsed = start.elapsed();
    assert!(elapsed >= 2 * SOON, "{elapsed:?}");
    assert!(elapsed < 6 * SOON, "five chunks must not wait for one another: {elapsed:?}");
}

#[tokio::test]
async fn a_dropped_link_is_gone() {
    let link = Link::open(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(link.address()).await.unwrap();
    say(&mut stream, b"ping").await.unwrap();
    drop(link);
    assert!(say(&mut stream, b"gone").await.is_err());
}

#[tokio::test]
async fn deserted_connections_stay_silent_and_new_ones_are_whole() {
    let link = Link::open(echo().await).await.unwrap();
    let mut old = TcpStream::connect(link.address()).await.unwrap();
    say(&mut old, b"ping").await.unwrap();

    link.desert().await.unwrap();
    old.write_all(b"lost").await.unwrap();
    assert!(timeout(SOON, old.read(&mut [0; 4])).await.is_err(), "it stays, and says nothing");
    let mut new = TcpStream::connect(link.address()).await.unwrap();
    say(&mut new, b"here").await.unwrap();

    link.restore().await.unwrap();
    assert!(timeout(SOON, old.read(&mut [0; 4])).await.is_err(), "for ever");
    say(&mut new, b"here").await.unwrap();
}
