use bailiwick_api::BundleSpec;
use serde_json::{Value, json};

use super::*;

/// Resources of these kinds, each with what it depends on.
fn plan(resources: &[(&str, &str, &[&str])]) -> Plan {
    let resources: Vec<Value> = resources
        .iter()
        .map(|(name, kind, depends_on)| {
            json!({
                "name": name, "dependsOn": depends_on,
                "spec": {"apiVersion": "example.dev/v1", "kind": kind, "metadata": {"name": name}},
            })
        })
        .collect();
    let spec: BundleSpec = serde_json::from_value(json!({ "resources": resources })).unwrap();
    Plan::of(&spec, "here").unwrap()
}

/// A resource in this phase since so many seconds after noon, which took so long before.
fn resource(name: &str, phase: Phase, since: i64, took: Option<i64>) -> BundleResourceStatus {
    let reason = if phase == Phase::Blocked { DEPENDENCY_NOT_READY } else { "" };
    BundleResourceStatus {
        name: name.to_owned(),
        phase,
        reason: reason.to_owned(),
        since: Some(conditions::text_of(NOON + since)),
        ready_after_seconds: took,
        ..BundleResourceStatus::default()
    }
}

/// 2026-01-01T12:00:00Z
const NOON: i64 = 1_767_268_800;

#[track_caller]
fn is(plan: &Plan, resources: &[BundleResourceStatus], path: &[&str], ready: Option<&str>) {
    let found = critical_path(plan, resources).unwrap();
    assert_eq!(found.resources, path);
    assert_eq!(found.estimated_ready_time.as_deref(), ready);
}

/// B-SMITH-9: the chain that takes longest is told, and until when, if that can be known from how long its resources took.
#[test]
fn the_longest_chain_counts() {
    use Phase::{Blocked, Error, InProgress, Ready};
    let chain = plan(&[("a", "Slow", &[]), ("b", "Slow", &["a"]), ("c", "Slow", &["b"])]);
    // Nothing of the kind was ready yet.
    let new = [resource("a", InProgress, 0, None), resource("b", Blocked, 0, None), resource("c", Blocked, 0, None)];
    is(&chain, &new, &["a", "b", "c"], None);
    // Others of the kind took 60 s, and this one 30 s.
    let further =
        [resource("a", Ready, 0, Some(60)), resource("b", InProgress, 60, None), resource("c", Blocked, 0, Some(30))];
    is(&chain, &further, &["b", "c"], Some("2026-01-01T12:02:30Z"));
    // Nobody knows when what is wrong is mended.
    let wrong =
        [resource("a", Ready, 0, Some(60)), resource("b", Error, 60, Some(60)), resource("c", Blocked, 0, None)];
    is(&chain, &wrong, &["b", "c"], None);
    // Nor when something comes that is not of the Bundle.
    let mut outside = further.clone();
    outside[1] = BundleResourceStatus { reason: "FieldMissing".to_owned(), ..resource("b", Blocked, 60, None) };
    is(&chain, &outside, &["b", "c"], None);
    let ready = ["a", "b", "c"].map(|name| resource(name, Ready, 0, Some(1)));
    assert_eq!(critical_path(&chain, &ready), None);
}

/// Of branches that are under way at the same time, the one counts that ends last; of those of which it is not known, the longer.
#[test]
fn branches_are_compared() {
    use Phase::{Blocked, InProgress};
    let branches =
        plan(&[("x", "Quick", &[]), ("y", "Slow", &[]), ("z", "Quick", &["x"]), ("end", "Quick", &["y", "z"])]);
    let known = |x: i64, y: i64| {
        [
            resource("x", InProgress, 0, Some(x)),
            resource("y", InProgress, 0, Some(y)),
            resource("z", Blocked, 0, Some(5)),
            resource("end", Blocked, 0, Some(1)),
        ]
    };
    is(&branches, &known(5, 60), &["y", "end"], Some("2026-01-01T12:01:01Z"));
    is(&branches, &known(58, 60), &["x", "z", "end"], Some("2026-01-01T12:01:04Z"));
    let mut unknown = known(58, 60);
    unknown[1].ready_after_seconds = None;
    is(&branches, &unknown, &["y", "end"], None);
    assert_eq!(critical_path(&branches, &[]), None, "nothing is said of what was not looked at");
}
