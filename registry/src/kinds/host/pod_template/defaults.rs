//! What a pod is unless it says otherwise.

use bailiwick_machinery::Quantity;
use serde_json::{Map, Value, json};

use super::image::is_latest;

const CONTAINER_LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["postStart", "preStop"];
/// Who may read and write files that are made of objects: 0644.
const FILE_MODE: i32 = 0o644;
/// How many seconds a token is good for.
const TOKEN_SECONDS: i64 = 3600;

type Fields = Map<String, Value>;

/// Fills in what a pod does not say.
pub(super) fn complete_spec(spec: &mut Fields) {
    fill(spec, "restartPolicy", "Always");
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "securityContext", json!({}));
    fill(spec, "schedulerName", "default-scheduler");
    // The account has an older name, too.
    let account = ["serviceAccountName", "serviceAccount"].iter().find_map(|name| spec.get(*name).cloned());
    if let Some(account) = account {
        spec.insert("serviceAccountName".to_owned(), account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
    for field in CONTAINER_LISTS {
        items(spec, field).for_each(complete_container);
    }
    items(spec, "volumes").for_each(complete_volume);
    round(spec, "overhead");
    within(spec, "resources", round_resources);
}

fn complete_container(container: &mut Fields) {
    fill_pull_policy(container, "image", "imagePullPolicy");
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    for port in items(container, "ports") {
        fill(port, "protocol", "TCP");
    }
    for variable in items(container, "env") {
        within(variable, "valueFrom", complete_field_reference);
        within(variable, "valueFrom", |source| {
            within(source, "fileKeyRef", |reference| fill(reference, "optional", false));
        });
    }
    within(container, "resources", round_resources);
    for probe in PROBES {
        within(container, probe, complete_probe);
    }
    within(container, "lifecycle", |lifecycle| HOOKS.iter().for_each(|hook| within(lifecycle, hook, complete_http)));
}

fn complete_probe(probe: &mut Fields) {
    for (field, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        fill(probe, field, value);
    }
    complete_http(probe);
    within(probe, "grpc", |grpc| fill(grpc, "service", ""));
}

fn complete_http(action: &mut Fields) {
    within(action, "httpGet", |get| {
        fill(get, "path", "/");
        fill(get, "scheme", "HTTP");
    });
}

fn complete_field_reference(source: &mut Fields) {
    within(source, "fieldRef", |reference| fill(reference, "apiVersion", "v1"));
}

fn complete_volume(volume: &mut Fields) {
    if volume.keys().all(|field| field == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        within(volume, source, |source| fill(source, "defaultMode", FILE_MODE));
    }
    within(volume, "hostPath", |path| fill(path, "type", ""));
    within(volume, "iscsi", |disk| fill(disk, "iscsiInterface", "default"));
    within(volume, "rbd", |image| {
        fill_all(image, [("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")]);
    });
    within(volume, "azureDisk", |disk| {
        fill_all(disk, [("cachingMode", "ReadWrite"), ("fsType", "ext4"), ("kind", "Shared")]);
        fill(disk, "readOnly", false);
    });
    within(volume, "scaleIO", |source| fill_all(source, [("storageMode", "ThinProvisioned"), ("fsType", "xfs")]));
    within(volume, "image", |image| fill_pull_policy(image, "reference", "pullPolicy"));
    within(volume, "ephemeral", |ephemeral| within(ephemeral, "volumeClaimTemplate", complete_claim));
    within(volume, "downwardAPI", |source| items(source, "items").for_each(complete_field_reference));
    within(volume, "projected", |projected| {
        // A list of none is no list here.
        if projected.get("sources").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            projected.insert("sources".to_owned(), Value::Null);
        }
        for source in items(projected, "sources") {
            within(source, "serviceAccountToken", |token| fill(token, "expirationSeconds", TOKEN_SECONDS));
            within(source, "downwardAPI", |source| items(source, "items").for_each(complete_field_reference));
        }
    });
}

fn complete_claim(template: &mut Fields) {
    within(template, "spec", |spec| {
        fill(spec, "volumeMode", "Filesystem");
        within(spec, "resources", round_resources);
    });
}

/// What may be another image tomorrow is looked for each time.
fn fill_pull_policy(fields: &mut Fields, image: &str, policy: &str) {
    let image = fields.get(image).and_then(Value::as_str).unwrap_or_default();
    let default = if is_latest(image) { "Always" } else { "IfNotPresent" };
    fill(fields, policy, default);
}

fn round_resources(resources: &mut Fields) {
    ["limits", "requests"].iter().for_each(|amounts| round(resources, amounts));
}

/// Amounts are kept to thousandths.
fn round(fields: &mut Fields, name: &str) {
    within(fields, name, |amounts| {
        for amount in amounts.values_mut() {
            if let Ok(quantity) = Quantity::from_json(amount) {
                *amount = quantity.rounded_to_milli().to_json();
            }
        }
    });
}

fn fill_all<const N: usize>(fields: &mut Fields, values: [(&str, &str); N]) {
    values.into_iter().for_each(|(name, value)| fill(fields, name, value));
}

fn fill(fields: &mut Fields, name: &str, value: impl Into<Value>) {
    let field = fields.entry(name).or_insert(Value::Null);
    if field.is_null() {
        *field = value.into();
    }
}

pub(super) fn within(fields: &mut Fields, name: &str, change: impl FnOnce(&mut Fields)) {
    if let Some(Value::Object(inner)) = fields.get_mut(name) {
        change(inner);
    }
}

pub(super) fn items<'f>(fields: &'f mut Fields, name: &str) -> impl Iterator<Item = &'f mut Fields> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_object_mut)
}
