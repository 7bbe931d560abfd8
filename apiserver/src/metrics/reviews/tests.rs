use super::*;
use crate::metrics::exposition::Format;

fn told(metrics: &ReviewMetrics) -> String {
    let mut out = Exposition::new(Format::Prometheus);
    metrics.expose(&mut out, "authz");
    out.finish()
}

#[test]
fn answers_are_told_by_code() {
    let metrics = ReviewMetrics::default();
    assert_eq!(told(&metrics), "");
    for code in [Some(201), Some(201), Some(503), Some(418), Some(599), None] {
        metrics.asked(code, Duration::from_millis(7));
    }
    let told = told(&metrics);
    for expected in [
        "# TYPE apiserver_delegated_authz_request_total counter",
        "apiserver_delegated_authz_request_total{code=\"201\"} 2",
        "apiserver_delegated_authz_request_total{code=\"503\"} 1",
        "apiserver_delegated_authz_request_total{code=\"other\"} 2",
        "apiserver_delegated_authz_request_total{code=\"<error>\"} 1",
        "apiserver_delegated_authz_request_duration_seconds_bucket{code=\"201\",le=\"0.005\"} 0",
        "apiserver_delegated_authz_request_duration_seconds_bucket{code=\"201\",le=\"0.01\"} 2",
    ] {
        assert!(told.lines().any(|line| line == expected), "{expected}:\n{told}");
    }
    assert!(!told.contains("\"200\""), "{told}");
}
