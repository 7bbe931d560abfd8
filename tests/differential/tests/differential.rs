//! Real servers, compared.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use bailiwick_differential_tests::Suite;
use bailiwick_differential_tests::Target;
use bailiwick_differential_tests::accepted::Accepted;
use bailiwick_differential_tests::compare::Difference;
use bailiwick_differential_tests::suite::accepted_file;
use bailiwick_test_host::Cluster;
use serde_json::Value;

/// What is allowed to someone who may do everything but delete.
const NO_DELETION: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: no-deletion}
rules:
- {apiGroups: ['*'], resources: ['*'], verbs: [get, list, create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: no-deletion}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: no-deletion}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: careful}
";

/// One test with two phases, as two clusters take seconds to start.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_differ_only_if_they_behave_differently() {
    let (one, other) = tokio::join!(Cluster::start(), Cluster::start());
    let (one, other) = (one.unwrap(), other.unwrap());
    let (left, right) =
        tokio::join!(Target::taught("one", one.kubeconfig()), Target::taught("other", other.kubeconfig()));
    let (left, right) = (left.unwrap(), right.unwrap());

    // The same server twice: what is left after normalisation is behaviour. What is accepted of Bailiwick does not occur
    // here; what is stripped from all answers must.
    let mut accepted = Accepted::read(&accepted_file()).unwrap();
    accepted.differences.clear();
    let outcome = Suite::load().unwrap().compare(&left, &right, &accepted).await.unwrap();
    assert!(outcome.is_clean(), "{outcome}");
    assert!(outcome.steps > 1000, "{outcome}");

    // A server that does not delete: the report says what and where, and nothing else.
    other.admin().apply(NO_DELETION).await.unwrap();
    let careful = Target::prepared("careful", &other.user("careful", &[]).unwrap()).await.unwrap();
    let some = Suite::load().unwrap().only("delete/an object is deleted");
    let outcome = some.compare(&left, &careful, &accepted).await.unwrap();
    let codes: Vec<String> = outcome
        .differences
        .iter()
        .filter(|difference| difference.place == "status")
        .map(|Difference { step, left, right, .. }| format!("{step}: {} {}", code(left), code(right)))
        .collect();
    let expected = ["2: 200 403", "3: 404 200", "4: 404 403", "5: 201 409", "7: 200 403", "8: 404 403"];
    let expected: Vec<String> = expected.iter().map(|codes| format!("delete/an object is deleted/{codes}")).collect();
    assert_eq!(codes, expected, "{outcome}");
    assert!(outcome.unexpected.is_empty() && outcome.stale.is_empty(), "{outcome}");
}

fn code(value: &Option<Value>) -> String {
    value.as_ref().map(ToString::to_string).unwrap_or_default()
}
