//! Answers with times that cannot be read, whole and in pieces.

use std::convert::Infallible;

use futures::{StreamExt, TryStreamExt, stream};
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::*;

/// A time that kube-apiserver and we have stored, and no client of this library reads.
const LAST: &str = "9999-12-31T23:59:59Z";

/// A host that gives this answer to everything, in pieces of this size.
fn host(answer: &str, size: usize) -> Client {
    let pieces: Vec<Bytes> = answer.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
    let host = tower::service_fn(move |_: Request<Body>| {
        let pieces = stream::iter(pieces.clone()).map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        std::future::ready(Ok::<_, BoxError>(Response::new(StreamBody::new(pieces))))
    });
    legible(Client::new(host, "default"))
}

fn config_map(name: &str, time: &str) -> Value {
    let owner = |time: &str| json!({ "manager": "x", "operation": "Update", "apiVersion": "v1", "time": time });
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "managedFields": [owner("2026-01-01T00:00:00Z"), owner(time)] },
        "data": { "time": LAST, "managedFields": format!("{{\"time\":\"{LAST}\"}}") },
    })
}

fn check(found: &ConfigMap) {
    let owners = found.managed_fields();
    assert_eq!(owners.len(), 2, "whose the fields are stays");
    assert!(owners[0].time.is_some() && owners[1].time.is_none(), "{owners:?}");
    let data = found.data.clone().unwrap();
    assert_eq!(data["time"], LAST, "what the object holds stays");
    assert_eq!(data["managedFields"], format!("{{\"time\":\"{LAST}\"}}"));
}

#[tokio::test]
async fn an_object_that_has_such_a_time_is_read() {
    // The second is what upstream makes of a time with an offset, and the third of one before the year 0.
    for time in [LAST, "9999-12-30T22:00:01Z", "10000-01-01T04:59:59Z", "-0001-12-31T23:00:00Z"] {
        for size in [7, 1 << 20] {
            let one: Api<ConfigMap> = Api::default_namespaced(host(&config_map("a", time).to_string(), size));
            check(&one.get("a").await.unwrap());
            let list = json!({
                "apiVersion": "v1", "kind": "ConfigMapList", "metadata": { "resourceVersion": "1" },
                "items": [config_map("a", "2026-01-01T00:00:00Z"), config_map("b", time)],
            });
            let many: Api<ConfigMap> = Api::default_namespaced(host(&list.to_string(), size));
            let found = many.list(&ListParams::default()).await.unwrap();
            assert!(found.items[0].managed_fields().iter().all(|owner| owner.time.is_some()));
            check(&found.items[1]);
        }
    }
}

/// An object is one whatever its kind is called, also if it has items of some other form.
#[test]
fn a_kind_may_be_called_like_a_list() {
    for items in [Value::Null, json!({ "a": 1 })] {
        let mut object = config_map("a", LAST);
        object["kind"] = "AllowList".into();
        object["items"] = items;
        let found: Value = serde_json::from_slice(&readable(object.to_string().into())).unwrap();
        object["metadata"]["managedFields"][1].as_object_mut().unwrap().remove("time");
        assert_eq!(found, object, "and nothing else is changed");
    }
}

#[tokio::test]
async fn a_watch_goes_on_behind_one() {
    let event = |name: &str, time: &str| {
        let mut object = config_map(name, time);
        object["metadata"]["resourceVersion"] = "1".into();
        format!("{}\n", json!({ "type": "ADDED", "object": object }))
    };
    let events = [event("a", LAST), event("b", "2026-01-01T00:00:00Z"), event("c", LAST)].concat();
    for size in [7, 1 << 20] {
        let watched: Api<ConfigMap> = Api::default_namespaced(host(&events, size));
        let found = watched.watch(&WatchParams::default(), "0").await.unwrap();
        let found: Vec<_> = found.try_collect().await.unwrap();
        let names = found.iter().map(|event| match event {
            WatchEvent::Added(object) => object.name_any(),
            other => panic!("{other:?}"),
        });
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}

/// Fields that only look like it are somebody's data.
#[tokio::test]
async fn nothing_else_is_changed() {
    for answer in [
        format!("{{\"kind\":\"Gadget\",\"items\":[{{\"metadata\":{{\"managedFields\":[{{\"time\":\"{LAST}\"}}]}}}}]}}"),
        format!("{{\"kind\":\"Gadget\", \"metadata\":{{\"annotations\":{{\"time\":\"{LAST}\"}}}}}}\n"),
        format!("no answer: \"{LAST}"),
    ] {
        assert_eq!(readable(Bytes::from(answer.clone())), answer);
    }
    let list = json!({ "kind": "PartialObjectMetadataList", "items": [config_map("a", LAST)] }).to_string();
    let found: Value = serde_json::from_slice(&readable(list.into())).unwrap();
    assert_eq!(found["items"][0]["metadata"]["managedFields"][1]["time"], Value::Null, "of metadata alone, too");
}
