//! What to say of a pod that is valid and may not be what was meant.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_machinery::go::quote;
use bailiwick_machinery::name::label_value;
use bailiwick_machinery::{FieldPath, Quantity};
use serde_json::Value;

use super::network::address_warning;
use super::part::Part;
use super::resources::is_fraction;
use super::{container, overlaps, profiles};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NO_POD: &str = "a null labelSelector results in matching no pod";
/// What there are no parts of, although a quantity can say so.
const BYTES: [&str; 2] = ["memory", "ephemeral-storage"];

/// Labels of nodes that have other names now.
const OLD_NODE_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    ("failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    ("beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];
/// Annotations that are fields now.
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
];
/// Sources of volumes that nodes no longer have, and what Kubernetes calls them.
const OLD_SOURCES: [(&str, &str, &str); 9] = [
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// What to say of a pod.
pub(super) fn of(metadata: &Part<'_>, spec: &Part<'_>) -> Vec<String> {
    let nothing = Value::Null;
    let annotations = metadata.part("annotations").unwrap_or_else(|| Part::new(&nothing, metadata.at("annotations")));
    let mut warnings = Vec::new();
    node_labels(spec, &mut warnings);
    for (key, why) in OLD_ANNOTATIONS {
        if annotations.has(key) {
            warnings.push(format!("{}: {why}", annotations.path().key(key)));
        }
    }
    sources(spec, &mut warnings);
    warnings.extend(overlaps::warnings(spec));
    duplicates(spec, "hostAliases", "ip", &mut warnings);
    duplicates(spec, "imagePullSecrets", "name", &mut warnings);
    for secret in spec.parts("imagePullSecrets").filter(|secret| secret.text("name").is_empty()) {
        warnings.push(format!("{}: invalid empty name \"\"", secret.at("name")));
    }
    fractions(spec, "overhead", &BYTES, &mut warnings);
    let key = profiles::SECCOMP_OF_POD;
    if annotations.has(key) && profile(spec, "seccompProfile").is_none() {
        warnings.push(use_field(&annotations, key, "non-functional in v1.27+", "seccompProfile"));
    }
    for container in container::all(spec) {
        old_profiles(&annotations, &container, spec, &mut warnings);
        let resources = container.part("resources");
        for (resources, name) in BYTES.iter().filter_map(|name| Some((resources.as_ref()?, name))) {
            fractions(resources, "limits", &[name], &mut warnings);
            fractions(resources, "requests", &[name], &mut warnings);
        }
        hidden_variables(&container, &mut warnings);
    }
    ports(spec, &mut warnings);
    if spec.number("terminationGracePeriodSeconds") < 0 {
        let path = spec.at("terminationGracePeriodSeconds");
        warnings.push(format!("{path}: must be >= 0; negative values are invalid and will be treated as 1"));
    }
    null_selectors(spec, &mut warnings);
    addresses(spec, &mut warnings);
    warnings
}

fn old_node_label(label: &str) -> Option<&'static str> {
    OLD_NODE_LABELS.iter().find(|(old, _)| *old == label).map(|(_, why)| *why)
}

fn node_labels(spec: &Part<'_>, warnings: &mut Vec<String>) {
    for (label, _) in spec.entries("nodeSelector") {
        warnings.extend(old_node_label(label).map(|why| format!("{}: {why}", spec.at("nodeSelector").key(label))));
    }
    if let Some(nodes) = spec.part("affinity").and_then(|affinity| affinity.part("nodeAffinity")) {
        let required = nodes.part(REQUIRED);
        for term in required.iter().flat_map(|required| required.parts("nodeSelectorTerms")) {
            for expression in term.parts("matchExpressions") {
                old_key(&expression, "key", warnings);
            }
        }
        for term in nodes.parts(PREFERRED).filter_map(|preferred| preferred.part("preference")) {
            for expression in term.parts("matchExpressions") {
                old_key(&expression, "key", warnings);
                for (index, value) in expression.texts("values").into_iter().enumerate() {
                    let path = expression.at("values").index(index);
                    let wrong = label_value(value).into_iter();
                    warnings.extend(wrong.map(|why| format!("{path}: {value} is invalid, {why}")));
                }
            }
        }
    }
    for constraint in spec.parts("topologySpreadConstraints") {
        old_key(&constraint, "topologyKey", warnings);
        if !constraint.has("labelSelector") {
            warnings.push(format!("{}: {NO_POD}", constraint.at("labelSelector")));
        }
    }
}

fn old_key(part: &Part<'_>, field: &str, warnings: &mut Vec<String>) {
    let label = part.text(field);
    warnings.extend(old_node_label(label).map(|why| format!("{}: {label} is {why}", part.at(field))));
}

fn sources(spec: &Part<'_>, warnings: &mut Vec<String>) {
    for volume in spec.parts("volumes") {
        for (field, told_as, why) in OLD_SOURCES {
            if volume.has(field) {
                warnings.push(format!("{}: {why}", volume.at(told_as)));
            }
        }
        let template = volume.part("ephemeral").and_then(|ephemeral| ephemeral.part("volumeClaimTemplate"));
        let resources = template.and_then(|template| template.part("spec")?.part("resources"));
        for amounts in ["requests", "limits"] {
            resources.iter().for_each(|resources| fractions(resources, amounts, &["storage"], warnings));
        }
    }
}

/// Amounts of bytes that are not whole.
fn fractions(part: &Part<'_>, field: &str, names: &[&str], warnings: &mut Vec<String>) {
    let amounts = part.amounts(field);
    for name in names {
        let amount: Option<&Quantity> = amounts.iter().find(|(found, _)| found == name).map(|(_, amount)| amount);
        if let Some(amount) = amount.filter(|amount| is_fraction(amount)) {
            let (path, amount) = (part.at(field).key(name), quote(&amount.to_string()));
            warnings.push(format!("{path}: fractional byte value {amount} is invalid, must be an integer"));
        }
    }
}

fn duplicates(spec: &Part<'_>, list: &str, field: &str, warnings: &mut Vec<String>) {
    let mut known = BTreeSet::new();
    for item in spec.parts(list) {
        let value = item.text(field);
        if !known.insert(value) {
            warnings.push(format!("{}: duplicate {field} {}", item.at(field), quote(value)));
        }
    }
}

/// Annotations that name profiles of a container which its fields do not.
fn old_profiles(annotations: &Part<'_>, container: &Part<'_>, spec: &Part<'_>, warnings: &mut Vec<String>) {
    let name = container.text("name");
    let key = format!("{}{name}", profiles::SECCOMP_OF_CONTAINER);
    if annotations.has(&key) && profile(container, "seccompProfile").is_none() {
        warnings.push(use_field(annotations, &key, "non-functional in v1.27+", "seccompProfile"));
    }
    let key = format!("{}{name}", profiles::APP_ARMOR_OF_CONTAINER);
    if let Some(annotation) = annotations.given(&key)
        && profile(container, "appArmorProfile").is_none()
        && profile(spec, "appArmorProfile").is_none_or(|own| profiles::field_of(annotation).as_ref() != Some(own))
    {
        warnings.push(use_field(annotations, &key, "deprecated since v1.30", "appArmorProfile"));
    }
}

fn use_field(annotations: &Part<'_>, key: &str, since: &str, field: &str) -> String {
    format!("{}: {since}; use the \"{field}\" field instead", annotations.path().key(key))
}

fn profile<'v>(part: &Part<'v>, field: &str) -> Option<&'v Value> {
    part.part("securityContext")?.get(field)
}

/// Variables that are set twice, unless the second value is made of the first.
fn hidden_variables(container: &Part<'_>, warnings: &mut Vec<String>) {
    let mut known = BTreeSet::new();
    for variable in container.parts("env") {
        let (name, value) = (variable.text("name"), variable.text("value"));
        let reference = format!("$({name})");
        let is_made_of_first = !variable.has("valueFrom") && value != reference && value.contains(&reference);
        if !known.insert(name) && !is_made_of_first {
            let (path, name) = (variable.path(), quote(name));
            warnings
                .push(format!("{path}: hides previous definition of {name}, which may be dropped when using apply"));
        }
    }
}

fn ports(spec: &Part<'_>, warnings: &mut Vec<String>) {
    let mut known: BTreeMap<(i64, &str), Vec<Part<'_>>> = BTreeMap::new();
    let all = || container::all(spec).flat_map(|container| container.parts("ports"));
    for port in all() {
        let (number, protocol) = (port.number("containerPort"), port.text("protocol"));
        let (ip, host) = (port.text("hostIP"), port.number("hostPort"));
        if !ip.is_empty() && host == 0 {
            let name = port.text("name");
            let shown = format!("{{Name:{name} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{ip}}}");
            warnings.push(format!("{}: hostIP set without hostPort: {shown}", port.path()));
        }
        let same = known.entry((number, protocol)).or_default();
        for other in same.iter() {
            let (other_ip, other_host) = (other.text("hostIP"), other.number("hostPort"));
            let how = if ip == other_ip && host == other_host {
                "duplicate"
            } else if host == 0 || other_host == 0 {
                "overlapping"
            } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            warnings.push(format!("{}: {how} port definition with {}", port.path(), other.path()));
        }
        same.push(port);
    }
    let mut names: BTreeMap<&str, FieldPath> = BTreeMap::new();
    for port in all().filter(|port| !port.text("name").is_empty()) {
        let name = port.text("name");
        match names.get(name) {
            Some(other) => warnings.push(format!(
                "{}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
                port.path(),
                quote(name)
            )),
            None => drop(names.insert(name, port.path().clone())),
        }
    }
}

/// Terms that match no pod, because nothing is said of which.
fn null_selectors(spec: &Part<'_>, warnings: &mut Vec<String>) {
    let Some(affinity) = spec.part("affinity") else { return };
    for pods in ["podAffinity", "podAntiAffinity"].iter().filter_map(|field| affinity.part(field)) {
        let preferred = pods.parts(PREFERRED).filter_map(|weighted| weighted.part("podAffinityTerm"));
        for term in pods.parts(REQUIRED).chain(preferred).filter(|term| !term.has("labelSelector")) {
            warnings.push(format!("{}: {NO_POD}", term.at("labelSelector")));
        }
    }
}

fn addresses(spec: &Part<'_>, warnings: &mut Vec<String>) {
    if let Some(config) = spec.part("dnsConfig") {
        for (index, server) in config.texts("nameservers").into_iter().enumerate() {
            warnings.extend(address_warning(server, &config.at("nameservers").index(index)));
        }
    }
    for alias in spec.parts("hostAliases") {
        warnings.extend(address_warning(alias.text("ip"), &alias.at("ip")));
    }
}
