//! Bodies of requests.

use http::Method;
use http::header::CONTENT_ENCODING;
use serde_json::{Value, json};

use super::{NAME, NAMESPACE, Target};
use crate::claims::{claim, collection, object};
use crate::client::{JSON, JSON_PATCH, MERGE_PATCH, YAML, request};
use crate::turn::turn;

const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// Just under the largest body.
const NEARLY_ALL: usize = (3 << 20) - 1_000;

#[tokio::test]
async fn nested_bodies() {
    let _turn = turn().await;
    let target = Target::start().await;
    // One of Kubernetes' own kinds: others know no strategic merge patches.
    let maps = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    let map = format!("{maps}/{NAME}");
    let object_of_host = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}});
    target.client.post(&maps, &object_of_host).await.unwrap().expect(201);
    let brackets = "[".repeat(NEARLY_ALL);
    let closed = format!("{}{}", "[".repeat(NEARLY_ALL / 2), "]".repeat(NEARLY_ALL / 2));
    let objects = r#"{"a":"#.repeat(NEARLY_ALL / 5);
    for (what, value) in [("open brackets", &brackets), ("brackets", &closed), ("objects", &objects)] {
        target.post(&format!("{what} as JSON"), JSON, value.clone(), &[400]).await;
        target.post(&format!("{what} as YAML"), YAML, value.clone(), &[400]).await;
        let inside = format!(r#"{{"apiVersion":"samples.example.com/v1alpha1","spec":{value}"#);
        target.post(&format!("{what} inside JSON"), JSON, inside, &[400]).await;
        let merge = format!(r#"{{"spec":{value}}}"#);
        patch(&target, &format!("{what} as a merge patch"), MERGE_PATCH, merge, &[400]).await;
        let add = format!(r#"[{{"op":"add","path":"/spec/x","value":{value}}}]"#);
        patch(&target, &format!("{what} in a JSON patch"), JSON_PATCH, add, &[400]).await;
        let strategic = request(Method::PATCH, &map, STRATEGIC_MERGE_PATCH, format!(r#"{{"data":{value}}}"#).into());
        target.send(&format!("{what} as a strategic merge patch"), strategic, &[400]).await;
        for path in [&map, &object(NAMESPACE, NAME)] {
            let path = format!("{path}?fieldManager=bomb");
            let applied = request(Method::PATCH, &path, APPLY_PATCH, format!(r#"{{"spec":{value}}}"#).into());
            target.send(&format!("{what} applied to {path}"), applied, &[400]).await;
        }
    }
    let aliases: String =
        (0..30).map(|level| format!("a{}: &a{} [*a{level},*a{level}]\n", level + 1, level + 1)).collect();
    target.post("aliases of aliases", YAML, format!("a0: &a0 [x]\n{aliases}"), &[400]).await;
    target.post("an alias of itself", YAML, "a: &a [*a]\n", &[400]).await;
    let anchors: String = (0..100_000).map(|number| format!("- &a{number} x\n")).collect();
    target.post("anchors", YAML, anchors, &[413]).await;
    target.end().await;
}

#[tokio::test]
async fn patches() {
    let _turn = turn().await;
    let target = Target::start().await;
    let operations = |operation: &Value, count: usize| Value::from(vec![operation.clone(); count]).to_string();
    let test = json!({"op": "test", "path": "/kind", "value": "Claim"});
    patch(&target, "as many operations as may be", JSON_PATCH, operations(&test, 10_000), &[200]).await;
    patch(&target, "one operation more", JSON_PATCH, operations(&test, 10_001), &[413]).await;
    let mut doubling = vec![json!({"op": "add", "path": "/spec/x", "value": ["x".repeat(1_000)]})];
    doubling.extend((0..40).map(|_| json!({"op": "copy", "from": "/spec/x", "path": "/spec/x/-"})));
    patch(&target, "copies of copies", JSON_PATCH, Value::from(doubling).to_string(), &[413, 422]).await;
    let large = json!({"op": "add", "path": "/spec/x", "value": vec![0; 100_000]});
    let front = json!({"op": "add", "path": "/spec/x/0", "value": 0});
    let work: Vec<_> = [large].into_iter().chain(std::iter::repeat_n(front, 9_999)).collect();
    patch(&target, "moving very much", JSON_PATCH, Value::from(work).to_string(), &[413, 422]).await;
    for (what, operation) in [
        ("a huge index", json!({"op": "add", "path": "/metadata/finalizers/4294967295", "value": "a/b"})),
        ("into its own child", json!({"op": "move", "from": "/spec", "path": "/spec/x"})),
        ("the whole object", json!({"op": "replace", "path": "", "value": []})),
        ("the object's removal", json!({"op": "remove", "path": ""})),
    ] {
        patch(&target, what, JSON_PATCH, json!([operation]).to_string(), &[400, 422]).await;
    }
    let large = json!({"metadata": {"annotations": {"x": "x".repeat(2 << 20)}}});
    patch(&target, "a result that is too large", MERGE_PATCH, large.to_string(), &[413, 422]).await;
    target.end().await;
}

#[tokio::test]
async fn texts_and_numbers() {
    let _turn = turn().await;
    let target = Target::start().await;
    let named = |name: &str| claim("NAME", "tools", "gold", "0").to_string().replace("NAME", name);
    for (what, name) in [
        ("NUL", r"a\u0000b"),
        ("half a surrogate pair", r"a\ud800b"),
        ("the halves in the wrong order", r"a\udc00\ud800b"),
        ("a byte order mark", r"\ufeffab"),
        ("right to left", r"a\u202eb"),
        ("another alphabet's a", r"\u0430bc"),
        ("a slash", "a/b"),
        ("dots", ".."),
        ("a percent sign", "a%2fb"),
        ("a line end", r"a\nb"),
        ("a very long name", &"a".repeat(64 << 10)),
        ("a prefix that leads elsewhere", "../other/a"),
    ] {
        target.post(&format!("{what} in a name"), JSON, named(name), &[400, 422]).await;
    }
    let mut broken = named("bytes").into_bytes();
    let at = broken.windows(5).position(|window| window == b"bytes").unwrap();
    broken[at] = 0xff;
    target.post("bytes that are no text", JSON, broken, &[400, 422]).await;
    target.post("a byte order mark before JSON", JSON, format!("\u{feff}{}", named("marked")), &[400]).await;
    let label = claim("label", "tools", &"x".repeat(64 << 10), "0").to_string();
    target.post("a label of 64 KiB", JSON, label, &[422]).await;
    let with_generation = |number: &str| {
        claim("number", "tools", "gold", "0")
            .to_string()
            .replace(r#""catalogName""#, &format!(r#""generation":{number},"catalogName""#))
    };
    for number in ["1e999999", "-1e999999", "1.5", "9223372036854775808", &"9".repeat(100_000), "NaN", "0x10"] {
        let shown = number.get(..20).unwrap_or(number);
        target.post(&format!("{shown} as a number"), JSON, with_generation(number), &[400, 422]).await;
    }
    let twice = named("twice").replace(r#""spec""#, r#""spec":{},"spec""#);
    let strict = format!("{}?fieldValidation=Strict", collection(NAMESPACE));
    target.send("a field twice", request(Method::POST, &strict, JSON, twice.into()), &[400]).await;
    target.end().await;
}

#[tokio::test]
async fn encodings() {
    let _turn = turn().await;
    let target = Target::start().await;
    for encoding in ["gzip", "deflate", "br", "zstd", "identity, gzip"] {
        let body = claim("packed", "tools", "gold", "0").to_string();
        let mut request = request(Method::POST, &collection(NAMESPACE), JSON, body.into());
        request.headers_mut().insert(CONTENT_ENCODING, encoding.parse().unwrap());
        target.send(encoding, request, &[415]).await;
    }
    for content_type in ["text/plain", "application/cbor", "application/json-patch+json", "application/x;y=\"", "/"] {
        let body = claim("typed", "tools", "gold", "0").to_string();
        target.post(content_type, content_type, body, &[400, 415]).await;
    }
    target.end().await;
}

pub(super) async fn patch(target: &Target, what: &str, patch_type: &str, body: String, codes: &[u16]) {
    let request = request(Method::PATCH, &object(NAMESPACE, NAME), patch_type, body.into());
    target.send(what, request, codes).await;
}
