//! A link between a client and a peer that a test can cut, stall and slow down, without the peer knowing.
//!
//! One task owns the listener and every connection; commands go to it one at a time and are answered when they are done, so that
//! after `cut().await` nothing of the link is left.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio::time::sleep_until;

use crate::error::Error;
use crate::port::Port;

/// Chunks under way in one direction of one connection. A full queue is backpressure, as on a real link.
const CHUNKS: usize = 256;

/// Bytes in a chunk at most.
const CHUNK_BYTES: usize = 16 << 10;

/// A loopback port that forwards to a peer. Starts whole; ends, with every connection, on drop.
#[derive(Debug)]
pub struct Link {
    port: Port,
    scheme: &'static str,
    /// test --what the link shall do--> keeper
    command_tx: mpsc::Sender<Command>,
    keeper: JoinHandle<()>,
}

#[derive(Debug)]
struct Command {
    mode: Mode,
    done: oneshot::Sender<io::Result<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Bytes arrive this much later than they were sent.
    Forward(Duration),
    /// Connections stay, and new ones are accepted, but no byte arrives.
    Blackhole,
    /// No connection stays, and new ones are refused.
    Cut,
    /// No byte arrives any more over the connections that there are. New ones are whole.
    Deserted,
}

/// The task behind a [`Link`].
struct Keeper {
    address: SocketAddr,
    target: SocketAddr,
    /// None while cut.
    listener: Option<TcpListener>,
    /// keeper --mode--> connections
    mode_tx: watch::Sender<Mode>,
    /// The same of connections that are deserted, which nobody tells anything any more.
    deserted: Vec<watch::Sender<Mode>>,
    connections: JoinSet<()>,
}

// === impl Link ===

impl Link {
    /// Opens a link to the peer at `target`, whose scheme is taken to be `http`.
    pub async fn open(target: SocketAddr) -> Result<Self, Error> {
        Self::open_as(target, "http").await
    }

    pub(crate) async fn open_as(target: SocketAddr, scheme: &'static str) -> Result<Self, Error> {
        let port = Port::reserve()?;
        let failed = |source| Error::Listen { port: port.number(), source };
        let listener = TcpListener::bind(port.address()).await.map_err(failed)?;
        let keeper = Keeper {
            address: port.address(),
            target,
            listener: Some(listener),
            mode_tx: watch::Sender::new(Mode::Forward(Duration::ZERO)),
            deserted: Vec::new(),
            connections: JoinSet::new(),
        };
        let (command_tx, command_rx) = mpsc::channel(1);
        Ok(Self { port, scheme, command_tx, keeper: tokio::spawn(keeper.run(command_rx)) })
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The URL that clients connect to, with the peer's scheme.
    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme, self.address())
    }

    /// Drops every connection and refuses new ones.
    pub async fn cut(&self) -> Result<(), Error> {
        self.set(Mode::Cut).await
    }

    /// Keeps connections and accepts new ones, but no byte arrives. What was sent meanwhile arrives after [`Link::restore`].
    pub async fn blackhole(&self) -> Result<(), Error> {
        self.set(Mode::Blackhole).await
    }

    /// Keeps the connections there are, over which no byte arrives ever again, as when a machine on the way has forgotten them.
    /// New ones are whole.
    pub async fn desert(&self) -> Result<(), Error> {
        self.set(Mode::Deserted).await
    }

    /// Lets every byte arrive `delay` later, in each direction.
    pub async fn delay(&self, delay: Duration) -> Result<(), Error> {
        self.set(Mode::Forward(delay)).await
    }

    /// Forwards again as at the start.
    pub async fn restore(&self) -> Result<(), Error> {
        self.set(Mode::Forward(Duration::ZERO)).await
    }

    async fn set(&self, mode: Mode) -> Result<(), Error> {
        let (done_tx, done_rx) = oneshot::channel();
        let sent = self.command_tx.send(Command { mode, done: done_tx }).await;
        sent.expect("the keeper lives as long as the link");
        let result = done_rx.await.expect("the keeper answers every command");
        result.map_err(|source| Error::Listen { port: self.port.number(), source })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The keeper's connections go with it.
        self.keeper.abort();
    }
}

// === impl Keeper ===

impl Keeper {
    async fn run(mut self, mut command_rx: mpsc::Receiver<Command>) {
        loop {
            tokio::select! {
                command = command_rx.recv() => {
                    let Some(Command { mode, done }) = command else { return };
                    let result = self.set(mode).await;
                    // A test that stopped waiting does not want the answer.
                    let _ = done.send(result);
                }
                Ok(client) = accept(self.listener.as_ref()) => {
                    self.connections.spawn(connect(client, self.target, self.mode_tx.subscribe()));
                }
                Some(_) = self.connections.join_next() => {}
            }
        }
    }

    async fn set(&mut self, mode: Mode) -> io::Result<()> {
        if mode == Mode::Deserted {
            let whole = watch::Sender::new(Mode::Forward(Duration::ZERO));
            let deserted = std::mem::replace(&mut self.mode_tx, whole);
            deserted.send_replace(mode);
            self.deserted.push(deserted);
            return Ok(());
        }
        if mode == Mode::Cut {
            self.listener = None;
            self.connections.shutdown().await;
            self.deserted.clear();
        } else if self.listener.is_none() {
            self.listener = Some(TcpListener::bind(self.address).await?);
        }
        self.mode_tx.send_replace(mode);
        Ok(())
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => std::future::pending().await,
    }
}

/// Forwards one connection until both sides have closed it or one has failed.
async fn connect(client: TcpStream, target: SocketAddr, mut mode_rx: watch::Receiver<Mode>) {
    if open(&mut mode_rx).await.is_none() {
        return;
    }
    let Ok(peer) = TcpStream::connect(target).await else { return };
    // Small writes must not wait for one another here; the ends decide about that themselves.
    let _ = (client.set_nodelay(true), peer.set_nodelay(true));
    let (client_rx, client_tx) = client.into_split();
    let (peer_rx, peer_tx) = peer.into_split();
    let _ = tokio::try_join!(pump(client_rx, peer_tx, mode_rx.clone()), pump(peer_rx, client_tx, mode_rx));
}

/// Forwards one direction. Reader and writer are apart so that a delay is one of latency, not of throughput.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut mode_rx: watch::Receiver<Mode>) -> io::Result<()> {
    // reader --chunks with the time they are due--> writer
    let (chunk_tx, mut chunk_rx) = mpsc::channel::<(Instant, Vec<u8>)>(CHUNKS);
    let delays = mode_rx.clone();
    let read = async move {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let length = from.read(&mut buffer).await?;
            let delay = match *delays.borrow() {
                Mode::Forward(delay) => delay,
                Mode::Blackhole | Mode::Cut | Mode::Deserted => Duration::ZERO,
            };
            // An empty chunk tells the writer to close.
            let chunk = buffer[..length].to_vec();
            if chunk_tx.send((Instant::now() + delay, chunk)).await.is_err() || length == 0 {
                return io::Result::Ok(());
            }
        }
    };
    let write = async move {
        while let Some((due, chunk)) = chunk_rx.recv().await {
            sleep_until(due).await;
            if open(&mut mode_rx).await.is_none() || chunk.is_empty() {
                break;
            }
            to.write_all(&chunk).await?;
        }
        to.shutdown().await
    };
    tokio::try_join!(read, write).map(|_| ())
}

/// Waits until bytes may pass. None if the link is gone.
async fn open(mode_rx: &mut watch::Receiver<Mode>) -> Option<()> {
    mode_rx.wait_for(|mode| matches!(mode, Mode::Forward(_))).await.ok().map(|_| ())
}

#[cfg(test)]
mod tests;
