//! How many connections each address has, or each network of IPv6, so that none takes all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::network;

/// The connections of all addresses.
pub(super) struct Addresses {
    most: usize,
    /// By network.
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection of an address, until it is dropped.
pub(super) struct Share {
    addresses: Arc<Addresses>,
    network: IpAddr,
}

// === impl Addresses ===

impl Addresses {
    /// With so many for each.
    pub(super) fn new(most: usize) -> Self {
        Self { most, open: Mutex::default() }
    }

    /// One more connection, unless the address or its network has all it may have.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Share> {
        let network = network(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(network).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Share { addresses: self.clone(), network })
    }
}

// === impl Share ===

impl Drop for Share {
    fn drop(&mut self) {
        let mut open = self.addresses.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests;
