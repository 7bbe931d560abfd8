use bailiwick_machinery::Status;
use bailiwick_machinery::proto::Encode;
use http::HeaderValue;
use serde_json::json;

use super::*;

fn captured(content_type: &'static str, bytes: Vec<u8>) -> Option<Value> {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    match capture(&mut response) {
        Captured::Object(object) => Some(object),
        Captured::Nothing | Captured::TooLarge => None,
    }
}

#[test]
fn objects_are_shown_whatever_they_were_sent_as() {
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let Value::Object(fields) = map.clone() else { panic!("{map}") };
    let host_type = HostType::of(&GroupVersion::new("", "v1").kind("ConfigMap")).unwrap();
    let protobuf = host_type.to_protobuf(&Object::new(fields)).unwrap();
    for (content_type, bytes) in [
        ("application/json", map.to_string().into_bytes()),
        ("application/yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n".to_vec()),
        (PROTOBUF, protobuf.clone()),
    ] {
        let found = captured(content_type, bytes.clone()).unwrap();
        assert_eq!((&found["kind"], &found["metadata"]["name"]), (&json!("ConfigMap"), &json!("a")), "{content_type}");
        assert_eq!(found["data"], map["data"], "{content_type}");
        assert_eq!(sent(content_type, &bytes.into()), Some(found), "{content_type}");
    }
    let status = captured(PROTOBUF, Status::bad_request("no").to_protobuf()).unwrap();
    assert_eq!((&status["kind"], &status["message"]), (&json!("Status"), &json!("no")));
}

#[test]
fn what_is_no_object_is_not_shown() {
    for (content_type, bytes) in [
        ("application/json", &b""[..]),
        ("application/json", b"{"),
        ("text/plain", b"{}"),
        ("application/vnd.kubernetes.protobuf", b""),
        ("application/vnd.kubernetes.protobuf", b"k8s\0"),
        ("application/vnd.kubernetes.protobuf", b"{}"),
        ("application/vnd.kubernetes.protobuf;stream=watch", b"{}"),
    ] {
        assert_eq!(captured(content_type, bytes.to_vec()), None, "{content_type}");
    }
}
