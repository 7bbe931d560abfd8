//! Loopback ports for peers that may be stopped and must find their port again.
//!
//! Asking the system for port 0 is not enough: once the peer is down, the system may hand its port to any outgoing connection.
//! So ports come from below the range that systems use for those, and each is reserved by a file lock in the user's cache folder
//! for as long as the [`Port`] lives, against every other test of the machine.

use std::fs;
use std::fs::File;
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::net::Ipv4Addr;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::ops::Range;

use crate::error::Error;
use crate::tool::cache_folder;

/// Linux hands out 32768 and above for outgoing connections, others 49152 and above; services of the machine sit lower.
const PORTS: Range<u16> = 20000..32000;

/// A loopback port that no other test uses while this value lives. Programs that are not tests may still take it.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// Locked; the lock goes with the file.
    _reservation: File,
}

// === impl Port ===

impl Port {
    /// Reserves a port that is free now.
    pub fn reserve() -> Result<Self, Error> {
        let folder = cache_folder()?.join("ports");
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        // Processes that start together begin at different places.
        let first = RandomState::new().hash_one(()) % u64::from(PORTS.end - PORTS.start);
        let first = PORTS.start + u16::try_from(first).expect("less than the number of ports");
        for number in (first..PORTS.end).chain(PORTS.start..first) {
            let path = folder.join(number.to_string());
            let file = File::create(&path).map_err(Error::file(&path))?;
            if file.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self { number, _reservation: file });
            }
        }
        Err(Error::NoPort)
    }

    /// The port's number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The port's address on loopback.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}
