//! Real servers, compared.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use bailiwick_differential_tests::Suite;
use bailiwick_differential_tests::Target;
use bailiwick_differential_tests::accepted::Accepted;
use bailiwick_differential_tests::suite::accepted_file;
use bailiwick_test_host::Cluster;

/// Two servers that are the same show no difference: what is left after normalisation is behaviour.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_does_not_differ_from_another() {
    let (one, other) = tokio::join!(Cluster::start(), Cluster::start());
    let (one, other) = (one.unwrap(), other.unwrap());
    let (left, right) =
        tokio::join!(Target::taught("one", one.kubeconfig()), Target::taught("other", other.kubeconfig()));
    // What is accepted of Bailiwick does not occur here; what is stripped from all answers must.
    let mut accepted = Accepted::read(&accepted_file()).unwrap();
    accepted.differences.clear();
    let outcome = Suite::load().unwrap().compare(&left.unwrap(), &right.unwrap(), &accepted).await.unwrap();
    println!("{outcome}");
    assert!(outcome.is_clean(), "{outcome}");
    assert!(outcome.scenarios > 0);
}
