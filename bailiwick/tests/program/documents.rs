//! The documents of OpenAPI beside those of a kube-apiserver that was taught the same kinds.
//!
//! Descriptions are left out: they are our own. Everything else is the same, or stands in [`ACCEPTED`].

use std::path::Path;
use std::time::Duration;

use bailiwick_differential_tests::Target;
use bailiwick_test_host::{Cluster, Kubectl};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use crate::process::{PATIENCE, Server, folder};

/// What differs, by a part of its place, and why. What does not occur any more must not stand here.
const ACCEPTED: [(&str, &str); 13] = [
    ("meta.v1.DeleteOptions/x-kubernetes-group-version-kind", "Kubernetes names all the groups it has"),
    ("parameters/shardSelector", "it needs a feature that is off, and that we do not have"),
    ("/default: only there", "of Go's types, Kubernetes tells what their zero values are"),
    ("/namespaces/{name}/delete/responses", "Kubernetes tells of a status, and answers with the namespace, as we do"),
    ("/enum: only there", "the types that we have name no values; our own checks do"),
    ("/required: ", "the types that we have demand the names in references; nobody is refused for that"),
    ("/x-kubernetes-unions: only there", "no client looks at them"),
    ("/x-kubernetes-patch-", "kubectl knows how Kubernetes' own kinds are merged, and the server does it"),
    ("organizations/{name}/groups", "custom resources have no subresources but status and scale"),
    ("organizations/{name}/members", "custom resources have no subresources but status and scale"),
    ("organizations/{name}/projects", "custom resources have no subresources but status and scale"),
    ("v1alpha1.OrganizationMembers", "it is only read below an organization"),
    ("v1alpha1.OrganizationProjects", "it is only read below an organization"),
];

/// Rewrites what was recorded instead of comparing it.
const UPDATE: &str = "BAILIWICK_TEST_UPDATE";

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_are_those_of_kubernetes() {
    let folder = folder();
    let server = Server::start(folder.path(), &["--alias-groups=false"]).await;
    let cluster = Cluster::start().await.unwrap();
    Target::taught("kube-apiserver", cluster.kubeconfig()).await.unwrap();
    let ours = server.kubectl().await;

    let mut differences = Vec::new();
    let path = "/openapi/v3/apis/org.bailiwick.dev/v1alpha1";
    let our = get(&ours, path).await.unwrap();
    let their = wait_for(cluster.admin(), path, &our).await;
    for part in ["openapi", "paths", "components"] {
        compare(&normal(&our[part]), &normal(&their[part]), part, &mut differences);
    }
    // Of Kubernetes' own groups we have but a few kinds.
    let our = get(&ours, "/openapi/v3/api/v1").await.unwrap();
    let their = get(cluster.admin(), "/openapi/v3/api/v1").await.unwrap();
    let (paths, same) = (&our["paths"], only(&their["paths"], |path| our["paths"].get(path).is_some()));
    compare(&normal(paths), &normal(&same), "paths", &mut differences);
    // Kubernetes has the types within its kinds on their own, we have them where they are.
    let (our, their) = (&our["components"]["schemas"], &their["components"]["schemas"]);
    for (name, schema) in our.as_object().unwrap() {
        let (our, their) = (expanded(schema, our), expanded(&their[name], their));
        compare(&normal(&our), &normal(&their), &format!("schemas/{name}"), &mut differences);
    }
    let our = get(&ours, "/openapi/v2").await.unwrap();
    let taught = json!({ "paths": only(&our["paths"], |name| !is_untaught(name)) });
    let their = wait_for(cluster.admin(), "/openapi/v2", &taught).await;
    for part in ["paths", "definitions"] {
        let own = only(&our[part], |name| !is_host(name) && !is_untaught(name));
        let is_told = |name: &str| own.get(name).is_some() || name.contains("bailiwick");
        let same = only(&their[part], |name| is_told(name) && !is_untaught(name));
        let (own, same) = (resolved(&own, &our["parameters"]), resolved(&same, &their["parameters"]));
        compare(&normal(&own), &normal(&same), part, &mut differences);
    }

    for (place, reason) in ACCEPTED {
        assert!(differences.iter().any(|difference| difference.contains(place)), "gone: {place} ({reason})");
    }
    differences.retain(|difference| !is_accepted(difference));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    check_record(cluster.admin()).await;
    server.stop().await;
}

/// Whether a path or a definition is of one of Kubernetes' own kinds, which Kubernetes itself tells of in another manner than
/// of those that it was taught.
fn is_host(name: &str) -> bool {
    name.starts_with("/api/v1/") || name.contains(".k8s.io/") || name.starts_with("io.k8s.api.")
}

/// Whether a path or a definition is of a kind of ours that the cluster was not taught: organizations stand for all of them.
fn is_untaught(name: &str) -> bool {
    let is_ours = name.contains(".bailiwick.dev/") || name.starts_with("dev.bailiwick.");
    is_ours && !name.contains("org.bailiwick.dev/") && !name.starts_with("dev.bailiwick.org.")
}

fn is_accepted(difference: &str) -> bool {
    ACCEPTED.iter().any(|(place, _)| difference.contains(place))
}

/// What the tests of `machinery::openapi` take for Kubernetes' words still is.
async fn check_record(kubectl: &Kubectl) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/go/openapi.json");
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    kubectl.apply(&recorded["crd"].to_string()).await.unwrap();
    let recent = record(kubectl, &recorded).await;
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, format!("{recent:#}\n")).unwrap();
        return;
    }
    let mut differences = Vec::new();
    compare(&recorded, &recent, "", &mut differences);
    assert!(differences.is_empty(), "{UPDATE}=1 records anew: {}", differences.join("\n"));
}

async fn record(kubectl: &Kubectl, recorded: &Value) -> Value {
    let third = wait_for(kubectl, "/openapi/v3/apis/fruit.example.k8s.io/v1", &recorded["v3"]).await;
    let second = wait_for(kubectl, "/openapi/v2", &recorded["v3"]).await;
    let schemas = &third["components"]["schemas"];
    let paths = only(&second["paths"], |path| third["paths"].get(path).is_some());
    let mut record = json!({
        "crd": recorded["crd"],
        "v3": { "paths": without_prose(&third["paths"]), "schemas": without_prose(schemas) },
        "v2": {
            "paths": without_prose(&resolved(&paths, &second["parameters"])),
            "schemas": without_prose(&only(&second["definitions"], |name| schemas.get(name).is_some())),
        },
    });
    for version in ["v2", "v3"] {
        let options = &mut record[version]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
        if let Value::Array(kinds) = &mut options["x-kubernetes-group-version-kind"] {
            kinds.retain(|kind| kind["group"] == "");
        }
    }
    record
}

async fn get(kubectl: &Kubectl, path: &str) -> Option<Value> {
    let answer = kubectl.run(["get", "--raw", path]).await.unwrap().success().ok()?;
    Some(serde_json::from_str(&answer).unwrap())
}

/// The document, once it has the paths that another one has. Kubernetes takes a moment to tell of what it was taught.
async fn wait_for(kubectl: &Kubectl, path: &str, other: &Value) -> Value {
    let paths = other["paths"].as_object().unwrap().keys();
    let expected: Vec<&String> = paths.filter(|path| !is_accepted(path)).collect();
    let start = Instant::now();
    loop {
        let document = get(kubectl, path).await;
        let complete = document.filter(|document| expected.iter().all(|path| document["paths"].get(path).is_some()));
        match complete {
            Some(document) => return document,
            None if start.elapsed() > PATIENCE => panic!("{path} never tells of all of {expected:?}"),
            None => sleep(Duration::from_millis(200)).await,
        }
    }
}

/// The entries of a map with these names.
fn only(map: &Value, wanted: impl Fn(&str) -> bool) -> Value {
    let kept = map.as_object().unwrap().iter().filter(|(name, _)| wanted(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into()
}

/// With shared parameters where they are referred to.
fn resolved(value: &Value, shared: &Value) -> Value {
    if let Some(name) = value.get("$ref").and_then(|name| name.as_str()?.strip_prefix("#/parameters/")) {
        return shared[name].clone();
    }
    each(value, |value| resolved(value, shared))
}

/// With shared schemas where they are referred to, lists of names in order, and one way to say that it is a number or a text.
fn expanded(value: &Value, shared: &Value) -> Value {
    let reference = value.get("$ref").or_else(|| value.pointer("/allOf/0/$ref"));
    if let Some(name) = reference.and_then(|name| name.as_str()?.strip_prefix("#/components/schemas/")) {
        let mut schema = expanded(&shared[name], shared);
        for (beside, value) in value.as_object().unwrap().iter().filter(|(key, _)| *key != "$ref" && *key != "allOf") {
            schema[beside] = value.clone();
        }
        return schema;
    }
    let mut schema = each(value, |value| expanded(value, shared));
    if schema.get("oneOf").is_some() || schema.get("x-kubernetes-int-or-string").is_some() {
        return json!({"type": "a number or a text"});
    }
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        names.sort_unstable_by_key(ToString::to_string);
    }
    schema
}

fn without_prose(value: &Value) -> Value {
    let mut reduced = each(value, without_prose);
    if let Value::Object(fields) = &mut reduced
        && fields.get("description").is_some_and(Value::is_string)
    {
        fields.remove("description");
    }
    reduced
}

/// Without descriptions, and with parameters by name.
fn normal(value: &Value) -> Value {
    let mut reduced = each(&without_prose(value), normal);
    if let Value::Object(fields) = &mut reduced
        && let Some(Value::Array(parameters)) = fields.get("parameters")
    {
        let named = |parameter: &Value| Some((parameter["name"].as_str()?.to_owned(), parameter.clone()));
        let by_name: Map<String, Value> = parameters.iter().filter_map(named).collect();
        assert_eq!(by_name.len(), parameters.len());
        fields.insert("parameters".to_owned(), by_name.into());
    }
    reduced
}

fn each(value: &Value, change: impl Fn(&Value) -> Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), change(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(change).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

/// Says where two values differ, and how.
fn compare(ours: &Value, theirs: &Value, place: &str, differences: &mut Vec<String>) {
    let (Value::Object(our), Value::Object(their)) = (ours, theirs) else {
        if ours != theirs {
            differences.push(format!("{place}: {ours} here, {theirs} there"));
        }
        return;
    };
    for (name, value) in our {
        let place = format!("{place}/{name}");
        match their.get(name) {
            Some(other) => compare(value, other, &place, differences),
            None => differences.push(format!("{place}: only here")),
        }
    }
    for name in their.keys().filter(|name| !our.contains_key(*name)) {
        differences.push(format!("{place}/{name}: only there"));
    }
}

#[test]
fn a_difference_is_found_and_says_where() {
    let find = |ours: Value, theirs: Value| {
        let mut differences = Vec::new();
        compare(&normal(&ours), &normal(&theirs), "", &mut differences);
        differences
    };
    let parameter = |name: &str, kind: &str| json!({"name": name, "description": name, "schema": {"type": kind}});
    let ours = json!({"a": {"description": "x", "parameters": [parameter("p", "string"), parameter("q", "string")]}});
    let theirs =
        json!({"a": {"parameters": [parameter("q", "integer")], "description": "y"}, "b": {"description": {}}});
    assert_eq!(find(ours.clone(), ours.clone()), Vec::<String>::new());
    let found = find(ours, theirs);
    let expected = [
        "/a/parameters/p: only here",
        "/a/parameters/q/schema/type: \"string\" here, \"integer\" there",
        "/b: only there",
    ];
    assert_eq!(found, expected);
}
