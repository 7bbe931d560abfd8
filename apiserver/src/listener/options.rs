//! The bounds of what clients can make the server hold or wait for.

use std::time::Duration;

/// How connections are limited. The defaults are the values to serve with; tests wait less.
#[derive(Clone, Copy, Debug)]
pub struct ListenerOptions {
    /// How many connections may be open. Beyond that, new ones wait in the system's queue.
    pub max_connections: usize,
    /// How many of them may come from one address, or from one network of IPv6 (/64). Beyond that, new ones are closed.
    pub max_connections_per_address: usize,
    /// How long a TLS handshake may take.
    pub handshake_timeout: Duration,
    /// How long a client may take to send the head of a request once it has begun to, and to send its first request.
    pub header_read_timeout: Duration,
    /// After how long a connection without requests is closed.
    pub idle_timeout: Duration,
    /// How long a client that has data waiting may take none of it, before its stream or its connection is closed.
    pub write_stall: Duration,
    /// How often a client must show that it is still there: by HTTP/2, or by its system.
    pub ping_interval: Duration,
    /// How long it may take to do so.
    pub ping_timeout: Duration,
    /// How long requests may take to end once the server is being shut down.
    pub shutdown_grace: Duration,
    /// How often the files of certificates are looked at.
    pub certificate_poll: Duration,
    /// The bounds of a request's head, and of streams.
    pub http: HttpLimits,
}

/// How requests are limited.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// The most bytes in the head of a request; 431 beyond.
    pub max_header_bytes: u32,
    /// The most headers of a request; 431 beyond. A front proxy sends one for each of a user's groups.
    pub max_headers: usize,
    /// How many requests one HTTP/2 connection may have under way.
    pub max_concurrent_streams: u32,
    /// How much of a request's body a client may send ahead of its reader.
    pub stream_window_bytes: u32,
    /// How much of all bodies of one connection.
    pub connection_window_bytes: u32,
    /// How much of an answer is held ready for a client that takes its time.
    pub send_buffer_bytes: usize,
    /// How many streams a client may reset before they were looked at, before its connection ends.
    pub max_pending_accept_reset_streams: usize,
    /// How many streams may be reset for the client's mistakes, before its connection ends.
    pub max_local_error_reset_streams: usize,
}

// === impl ListenerOptions ===

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            max_connections: 20_000,
            max_connections_per_address: 15_000,
            handshake_timeout: Duration::from_secs(10),
            header_read_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(90),
            write_stall: Duration::from_secs(10),
            ping_interval: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(15),
            shutdown_grace: Duration::from_secs(60),
            certificate_poll: Duration::from_secs(2),
            http: HttpLimits::default(),
        }
    }
}

// === impl HttpLimits ===

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_header_bytes: 64 << 10,
            max_headers: 500,
            max_concurrent_streams: 1_000,
            stream_window_bytes: 256 << 10,
            connection_window_bytes: 1 << 20,
            send_buffer_bytes: 128 << 10,
            max_pending_accept_reset_streams: 20,
            max_local_error_reset_streams: 256,
        }
    }
}
