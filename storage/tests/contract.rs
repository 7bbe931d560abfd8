//! The contract suite, run on everything that implements the contract.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use bailiwick_storage::testing::Reference;
use bailiwick_storage::{Faults, Revision};

#[path = "support/backends.rs"]
mod backends;

use backends::{Cached, InEtcd, InFolder};

mod reference {
    bailiwick_storage::contract_suite!(super::reference(1, 1));
}

/// As if others wrote to the same counter, which also began long ago.
mod reference_with_gaps {
    bailiwick_storage::contract_suite!(super::reference(5_000_000, 3));
}

mod embedded {
    bailiwick_storage::contract_suite!(super::embedded());
}

mod cache_over_embedded {
    bailiwick_storage::contract_suite!(super::Cached::new(super::embedded()));
}

mod etcd {
    bailiwick_storage::contract_suite!(super::InEtcd::default());
}

mod cache_over_etcd {
    bailiwick_storage::contract_suite!(super::Cached::new(super::InEtcd::default()));
}

fn reference(start: u64, stride: u64) -> Reference {
    Reference::new(Revision::new(start), stride, Faults::default())
}

fn embedded() -> InFolder {
    InFolder::new(&Faults::default())
}
