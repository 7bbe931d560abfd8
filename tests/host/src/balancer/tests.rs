use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// A peer that says who it is to everyone who connects, and then sends back what it gets.
async fn peer(name: u8) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.spawn(async move {
                stream.write_all(&[name]).await.unwrap();
                let (mut rx, mut tx) = stream.split();
                let _ = tokio::io::copy(&mut rx, &mut tx).await;
            });
        }
    });
    (address, task)
}

async fn connect(port: &Port) -> (TcpStream, u8) {
    let mut stream = TcpStream::connect(port.address()).await.unwrap();
    let name = stream.read_u8().await.unwrap();
    (stream, name)
}

#[tokio::test]
async fn connections_go_to_those_that_are_in_use() {
    let ((one, first), (other, _second)) = (peer(1).await, peer(2).await);
    let port = Port::reserve().unwrap();
    let balancer = Balancer::open(&port, [one, other]).await.unwrap();
    let (mut stays, name) = connect(&port).await;
    let (_other, other) = connect(&port).await;
    assert_eq!((name, other), (1, 2));
    balancer.take_out(0);
    for _ in 0..3 {
        assert_eq!(connect(&port).await.1, 2);
    }
    stays.write_u8(7).await.unwrap();
    assert_eq!(stays.read_u8().await.unwrap(), 7, "what is there stays");
    balancer.put_in(0);
    balancer.take_out(1);
    assert_eq!(connect(&port).await.1, 1);
    // Nobody is there any more.
    first.abort();
    let _ = first.await;
    balancer.put_in(1);
    for _ in 0..2 {
        assert_eq!(connect(&port).await.1, 2);
    }
    assert_eq!((balancer.connections(0), balancer.connections(1)), (2, 6));
}
