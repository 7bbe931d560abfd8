//! The listener from outside: real sockets, real TLS, HTTP/1 and HTTP/2 clients, and raw bytes where no client is bad enough.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod certificates;
mod client;
mod floods;
mod limits;
mod protocols;
mod reload;
mod server;
mod shutdown;
mod stalls;
