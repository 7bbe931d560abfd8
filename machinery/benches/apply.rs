//! How long it takes to say who owns the fields of an object of about 1 KiB:
//! `cargo bench -p bailiwick-machinery --bench apply`.

use std::hint::black_box;
use std::time::Instant;

use bailiwick_machinery::apply::{ApplyOptions, FieldManager, Writer};
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::{GroupVersion, Object};
use serde_json::{Value, json};

const ROUNDS: u32 = 50_000;

fn main() {
    let manager = FieldManager::new(GroupVersion::new("example.dev", "v1").kind("Widget"), &schema()).with_status();
    let writer = |manager| Writer { manager, subresource: "", time: 1_704_067_200 };
    let created = object(3);
    println!("an object of {} bytes", created.as_value().to_string().len());
    measure("track a creation", || {
        let mut new = created.clone();
        manager.track_update(None, &mut new, writer("creator")).expect("it fits");
        black_box(new);
    });
    let mut live = created.clone();
    manager.track_update(None, &mut live, writer("creator")).expect("it fits");
    live.set_metadata_text("uid", "u");
    let mut scaled = live.clone();
    scaled.fields_mut()["spec"]["replicas"] = json!(4);
    measure("track an update", || {
        let mut new = scaled.clone();
        manager.track_update(Some(&live), &mut new, writer("scaler")).expect("it fits");
        black_box(new);
    });
    let options = ApplyOptions { writer: writer("applier"), force: true };
    let applied = manager.apply(Some(&live), &object(5), options).expect("force takes all");
    measure("apply the same", || {
        black_box(manager.apply(Some(&applied), &object(5), options).expect("it is the same"));
    });
    measure("apply a change", || {
        black_box(manager.apply(Some(&applied), &object(6), options).expect("it is its own"));
    });
    measure("(copy the object)", || drop(black_box(created.clone())));
}

fn measure(what: &str, mut run: impl FnMut()) {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        run();
    }
    println!("{what:20} {:6.2} µs", start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
}

fn schema() -> Schema {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"},
            "mode": {"type": "string"},
            "selector": {"type": "object", "additionalProperties": {"type": "string"}},
            "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {
                    "name": {"type": "string"}, "image": {"type": "string"},
                    "port": {"x-kubernetes-int-or-string": true}, "weight": {"type": "number"},
                }}},
        }},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    }});
    Schema::from_json(&schema).expect("it is structural")
}

fn object(replicas: i64) -> Object {
    let parts: Vec<Value> = (0..8)
        .map(|i| json!({"name": format!("part-{i}"), "image": "registry.example.dev/team/image:v1.2.3", "port": 80, "weight": 0.5}))
        .collect();
    let object = json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {"name": "a-widget", "namespace": "a-namespace", "labels": {"app": "a", "tier": "b"}},
        "spec": {"replicas": replicas, "mode": "Fast", "selector": {"app": "a", "tier": "b"}, "parts": parts},
    });
    Object::try_from(object).expect("it is an object")
}
