//! The contract suite, run on everything that implements the contract.

use bailiwick_storage::testing::Reference;
use bailiwick_storage::{Faults, Revision};

mod reference {
    bailiwick_storage::contract_suite!(super::reference(1, 1));
}

/// As if others wrote to the same counter, which also began long ago.
mod reference_with_gaps {
    bailiwick_storage::contract_suite!(super::reference(5_000_000, 3));
}

fn reference(start: u64, stride: u64) -> Reference {
    Reference::new(Revision::new(start), stride, Faults::default())
}
