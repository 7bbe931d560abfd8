//! A port behind which several peers stand, as endpoints stand behind a Service.
//!
//! Each new connection goes to one of those that are in use, in turn; one that there is stays with its peer until one of both
//! closes it. A peer that takes no connection is passed over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::error::Error;
use crate::port::Port;

/// A loopback port that forwards to several peers. Ends, with every connection, on drop.
#[derive(Debug)]
pub struct Balancer {
    peers: Arc<[Peer]>,
    keeper: JoinHandle<()>,
}

#[derive(Debug)]
struct Peer {
    address: SocketAddr,
    is_in_use: AtomicBool,
    /// How many connections went there.
    connections: AtomicUsize,
}

// === impl Balancer ===

impl Balancer {
    /// Opens this port, with these peers behind it, all of them in use.
    pub async fn open(port: &Port, peers: impl IntoIterator<Item = SocketAddr>) -> Result<Self, Error> {
        let failed = |source| Error::Listen { port: port.number(), source };
        let listener = TcpListener::bind(port.address()).await.map_err(failed)?;
        let peer = |address| Peer { address, is_in_use: AtomicBool::new(true), connections: AtomicUsize::new(0) };
        let peers: Arc<[Peer]> = peers.into_iter().map(peer).collect();
        let keeper = tokio::spawn(keep(listener, peers.clone()));
        Ok(Self { peers, keeper })
    }

    /// Sends no new connection to a peer, as of an endpoint that is not ready.
    pub fn take_out(&self, number: usize) {
        self.set_in_use(number, false);
    }

    /// Sends new connections to a peer again.
    pub fn put_in(&self, number: usize) {
        self.set_in_use(number, true);
    }

    /// How many connections went to a peer.
    pub fn connections(&self, number: usize) -> usize {
        self.peers.get(number).map_or(0, |peer| peer.connections.load(Ordering::Relaxed))
    }

    fn set_in_use(&self, number: usize, is_in_use: bool) {
        if let Some(peer) = self.peers.get(number) {
            peer.is_in_use.store(is_in_use, Ordering::Relaxed);
        }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        // The keeper's connections go with it.
        self.keeper.abort();
    }
}

async fn keep(listener: TcpListener, peers: Arc<[Peer]>) {
    let (mut connections, mut first) = (JoinSet::new(), 0);
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                connections.spawn(forward(client, peers.clone(), first));
                first += 1;
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Forwards a connection to the first that takes it.
async fn forward(mut client: TcpStream, peers: Arc<[Peer]>, first: usize) {
    let in_turn = (0..peers.len()).filter_map(|next| peers.get((first + next) % peers.len()));
    for peer in in_turn.filter(|peer| peer.is_in_use.load(Ordering::Relaxed)) {
        let Ok(mut there) = TcpStream::connect(peer.address).await else { continue };
        peer.connections.fetch_add(1, Ordering::Relaxed);
        // Small writes must not wait for one another here; the ends decide about that themselves.
        let _ = (client.set_nodelay(true), there.set_nodelay(true));
        let _ = copy_bidirectional(&mut client, &mut there).await;
        return;
    }
}

#[cfg(test)]
mod tests;
