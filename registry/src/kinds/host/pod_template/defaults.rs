//! What a pod is unless it says otherwise.

use serde_json::{Map, Value, json};

const CONTAINER_LISTS: [&str; 2] = ["containers", "initContainers"];
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
}

fn complete_container(container: &mut Fields) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let pull_policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    fill(container, "imagePullPolicy", pull_policy);
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    for port in items(container, "ports") {
        fill(port, "protocol", "TCP");
    }
    for variable in items(container, "env") {
        within(variable, "valueFrom", complete_field_reference);
    }
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
    within(volume, "downwardAPI", |source| items(source, "items").for_each(complete_field_reference));
    within(volume, "projected", |projected| {
        for source in items(projected, "sources") {
            within(source, "serviceAccountToken", |token| fill(token, "expirationSeconds", TOKEN_SECONDS));
            within(source, "downwardAPI", |source| items(source, "items").for_each(complete_field_reference));
        }
    });
}

/// Whether an image may be another one tomorrow.
fn is_latest(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    !image.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn fill(fields: &mut Fields, name: &str, value: impl Into<Value>) {
    fields.entry(name).or_insert_with(|| value.into());
}

fn within(fields: &mut Fields, name: &str, change: impl FnOnce(&mut Fields)) {
    if let Some(Value::Object(inner)) = fields.get_mut(name) {
        change(inner);
    }
}

fn items<'f>(fields: &'f mut Fields, name: &str) -> impl Iterator<Item = &'f mut Fields> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_object_mut)
}
