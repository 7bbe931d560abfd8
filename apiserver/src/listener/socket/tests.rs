use std::net::Ipv4Addr;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};

use super::{ListenerOptions, notice_its_end};

/// The machine of a client that vanishes answers nothing at all, which no test on one machine can have: here is what the system is
/// asked to do about it.
#[tokio::test]
async fn the_system_asks_whether_clients_are_still_there() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let (client, accepted) =
        tokio::join!(TcpStream::connect(listener.local_addr().expect("its address")), listener.accept());
    let (_client, (socket, _)) = (client.expect("a client"), accepted.expect("its connection"));
    let system = SockRef::from(&socket);
    for (interval, timeout, expected) in [(30_000, 15_000, (30, 5, 45_000)), (20, 30, (1, 1, 50))] {
        let (ping_interval, ping_timeout) = (Duration::from_millis(interval), Duration::from_millis(timeout));
        let options = ListenerOptions { ping_interval, ping_timeout, ..ListenerOptions::default() };
        notice_its_end(&socket, &options).expect("a socket that can be asked");
        assert!(system.keepalive().expect("keepalive"));
        assert_eq!(system.tcp_keepalive_time().expect("its time"), Duration::from_secs(expected.0));
        assert_eq!(system.tcp_keepalive_interval().expect("its interval"), Duration::from_secs(expected.1));
        assert_eq!(system.tcp_keepalive_retries().expect("its number"), 3);
        #[cfg(target_os = "linux")]
        assert_eq!(system.tcp_user_timeout().expect("the limit"), Some(Duration::from_millis(expected.2)));
    }
}
