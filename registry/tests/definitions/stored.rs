//! What is stored stays what it is when its definition changes: what is served is made of it anew, each time.

use super::*;

fn spec(object: &Object) -> &Value {
    &object.as_value()["spec"]
}

/// Whoever takes a change of a schema back finds what there was.
#[tokio::test]
async fn a_field_that_comes_back_has_its_value() {
    let world = World::start().await;
    let with = json!({"size": {"type": "integer"}, "color": {"type": "string"}});
    let without = json!({"size": {"type": "integer"}});
    world.define(gadgets(&with, &[".spec.color"])).await;
    world.create(&world.gadgets(), gadget("one", json!({"size": 1, "color": "green"}))).await.unwrap();
    world.redefine(gadgets(&without, &[])).await;
    assert_eq!(spec(&world.get(&world.gadgets(), "a", "one").await.unwrap()), &json!({"size": 1}));
    // One that is written meanwhile has lost it.
    world.create(&world.gadgets(), gadget("two", json!({"size": 2, "color": "green"}))).await.unwrap();
    world.redefine(gadgets(&with, &[".spec.color"])).await;
    let one = world.get(&world.gadgets(), "a", "one").await.unwrap();
    assert_eq!(spec(&one), &json!({"size": 1, "color": "green"}));
    assert_eq!(world.names(&world.gadgets(), "spec.color=green").await, ["one"]);
    assert_eq!(spec(&world.get(&world.gadgets(), "a", "two").await.unwrap()), &json!({"size": 2}));
}

/// What was not written has the default there is now, not one that there was.
#[tokio::test]
async fn a_default_that_changes_is_another_at_once() {
    let world = World::start().await;
    let colored = |color: &str| json!({"color": {"type": "string", "default": color}});
    world.define(gadgets(&json!({}), &[])).await;
    world.create(&world.gadgets(), gadget("one", json!({}))).await.unwrap();
    for color in ["red", "blue"] {
        world.redefine(gadgets(&colored(color), &[".spec.color"])).await;
        assert_eq!(spec(&world.get(&world.gadgets(), "a", "one").await.unwrap()), &json!({"color": color}));
        assert_eq!(world.names(&world.gadgets(), &format!("spec.color={color}")).await, ["one"]);
    }
    assert!(world.names(&world.gadgets(), "spec.color=red").await.is_empty());
}

/// What the server notes beside an object is not part of it, whichever fields the schema takes.
#[tokio::test]
async fn what_is_noted_of_a_schema_is_never_seen() {
    let root = |more: Value| {
        let mut wanted = gadgets(&json!({}), &[]);
        let schema = wanted.pointer_mut("/spec/versions/0/schema/openAPIV3Schema").unwrap();
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        wanted
    };
    let declared = root(json!({"properties": {"spec": {"type": "object"}, "schema": {"type": "string"}}}));
    let undeclared = root(json!({"x-kubernetes-preserve-unknown-fields": true}));
    for wanted in [declared, undeclared] {
        let disk = SimDisk::default();
        let world = World::on(store(disk.clone()).await).await;
        world.define(wanted.clone()).await;
        world.create(&world.gadgets(), gadget("without", json!({}))).await.unwrap();
        let mut with = gadget("with", json!({}));
        with["schema"] = "mine".into();
        world.create(&world.gadgets(), with).await.unwrap();
        let mut changed = wanted;
        changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "another".into();
        world.redefine(changed).await;
        let again = World::on(store(SimDisk::from_image(disk.image())).await).await;
        for world in [world, again] {
            let kind = world.gadgets();
            assert_eq!(world.get(&kind, "a", "without").await.unwrap().as_value().get("schema"), None);
            assert_eq!(world.get(&kind, "a", "with").await.unwrap().as_value()["schema"], "mine");
        }
    }
}

/// What is stored in a version has the defaults of that version until it is written again, as in Kubernetes.
#[tokio::test]
async fn what_is_stored_is_completed_by_the_version_it_is_stored_in() {
    let disk = SimDisk::default();
    let world = World::on(store(disk.clone()).await).await;
    let mut wanted = gadgets(&json!({"size": {"type": "integer"}, "old": {"type": "string", "default": "o"}}), &[]);
    let mut next = wanted["spec"]["versions"][0].clone();
    next["name"] = "v2".into();
    next["storage"] = false.into();
    next["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({"size": {"type": "integer", "default": 7}, "old": {"type": "string"}});
    wanted["spec"]["versions"].as_array_mut().unwrap().push(next);
    world.define(wanted.clone()).await;
    world.create(&world.gadgets(), gadget("one", json!({}))).await.unwrap();
    for (at, is_storage) in [(0, false), (1, true)] {
        wanted["spec"]["versions"][at]["storage"] = is_storage.into();
    }
    // Nobody asks for the old version any more, but objects are stored in it.
    wanted["spec"]["versions"][0]["served"] = false.into();
    world.redefine(wanted).await;
    let again = World::on(store(SimDisk::from_image(disk.image())).await).await;
    for world in [&world, &again] {
        let second = world.registry.find(&GroupVersion::new("shop.dev", "v2"), "gadgets").unwrap();
        assert_eq!(spec(&world.get(&second, "a", "one").await.unwrap()), &json!({"old": "o"}));
    }
}
