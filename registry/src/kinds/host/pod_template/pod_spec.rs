//! What is wrong with a pod as a whole: its parts, one after the other.

use std::collections::BTreeSet;

use bailiwick_machinery::name::{dns1123_label, dns1123_subdomain, qualified_name};
use bailiwick_machinery::{FieldError, FieldErrors};
use serde_json::Value;

use super::container::Pod;
use super::part::{Part, note};
use super::{environment, network, pod_resources, ports, resources, scheduling, security, topology, volumes, windows};

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const PREEMPTION_POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];
const MOST_SECONDS: i64 = i32::MAX as i64;

/// Notes what is wrong with a pod that takes the place of `old`.
pub(super) fn check(spec: &Part<'_>, old: Option<&Value>, errors: &mut FieldErrors) {
    let volumes = volumes::check(spec, errors);
    let claims = resources::check_pod_claims(spec, errors);
    let pod = Pod { spec: spec.clone(), volumes, claims };
    pod.check_containers(errors);
    pod_resources::check(spec, &pod.claims, errors);
    ports::check_host_network(spec, errors);
    spec.check_known_required("restartPolicy", &RESTART_POLICIES, errors);
    spec.check_known_required("dnsPolicy", &network::DNS_POLICIES, errors);
    scheduling::check_node_selector(spec, errors);
    security::check_pod(spec, old, errors);
    scheduling::check(spec, errors);
    network::check_dns(spec, errors);
    check_gates(spec, errors);
    topology::check(spec, errors);
    windows::check_host_processes(spec, errors);
    security::check_host_users(spec, errors);
    network::check_hostname(spec, errors);
    spec.check_given("serviceAccountName", dns1123_subdomain, errors);
    spec.check_given("nodeName", dns1123_subdomain, errors);
    spec.check_range("activeDeadlineSeconds", 1, MOST_SECONDS, errors);
    spec.check_given("hostname", dns1123_label, errors);
    spec.check_given("subdomain", dns1123_label, errors);
    scheduling::check_tolerations(spec.parts("tolerations"), errors);
    network::check_aliases(spec, errors);
    spec.check_given("priorityClassName", dns1123_subdomain, errors);
    if spec.has("runtimeClassName") {
        spec.check_text("runtimeClassName", dns1123_subdomain, errors);
    }
    if spec.has("preemptionPolicy") {
        spec.check_known_required("preemptionPolicy", &PREEMPTION_POLICIES, errors);
    }
    resources::check_overhead(spec, errors);
    windows::check_system(spec, errors);
    environment::check_files(spec, errors);
}

/// What must be said of a pod before it is ready, and what must no longer be before it runs.
fn check_gates(spec: &Part<'_>, errors: &mut FieldErrors) {
    spec.parts("readinessGates").for_each(|gate| gate.check_text("conditionType", qualified_name, errors));
    let mut names = BTreeSet::new();
    for gate in spec.parts("schedulingGates") {
        let name = gate.text("name");
        note(gate.path(), name, qualified_name(name), errors);
        if !names.insert(name) {
            errors.push(FieldError::duplicate(gate.path().clone(), name));
        }
    }
}
