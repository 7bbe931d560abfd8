//! Kinds that are defined by data, without a server: they come, change and go while objects of them are there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

#[path = "definitions/disturbances.rs"]
mod disturbances;
#[path = "definitions/stored.rs"]
mod stored;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::{
    Ctx, DeleteOptions, Error, ListRequest, ObjectWatch, Part, Registry, Selection, ServedKind, Tracking, Update, User,
    WatchFrom, WriteOptions, definitions, kinds,
};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use bailiwick_storage::{At, Resource, Store};
use serde_json::{Value, json};

/// A registry that follows definitions.
struct World {
    registry: Arc<Registry>,
    user: User,
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn definition(name: &str, kind: &str, fields: &Value, selectable: &[&str]) -> Value {
    let plural = name.split('.').next().unwrap();
    let selectable: Vec<Value> = selectable.iter().map(|path| json!({"jsonPath": path})).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
        "spec": {
            "group": name.split_once('.').unwrap().1, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "selectableFields": selectable,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": fields},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
            }],
        },
    })
}

fn gadgets(fields: &Value, selectable: &[&str]) -> Value {
    definition("gadgets.shop.dev", "Gadget", fields, selectable)
}

fn gadget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "shop.dev/v1", "kind": "Gadget", "metadata": {"name": name, "namespace": "a"}, "spec": spec})
}

// === impl World ===

impl World {
    async fn on(store: Arc<dyn Store>) -> Self {
        let kinds = kinds::all().unwrap().into_iter().chain(kinds::host().unwrap()).collect();
        let registry = Arc::new(Registry::start(store, kinds, Default::default()).await.unwrap());
        definitions::follow(&registry).await.unwrap();
        Self { registry, user: User::default() }
    }

    async fn start() -> Self {
        Self::on(store(SimDisk::default()).await).await
    }

    fn ctx(&self) -> Ctx<'_> {
        Ctx { user: &self.user, now: now(), annotations: None }
    }

    fn definitions(&self) -> Arc<ServedKind> {
        self.registry.find(&GroupVersion::new("apiextensions.k8s.io", "v1"), "customresourcedefinitions").unwrap()
    }

    fn find(&self, plural: &str) -> Option<Arc<ServedKind>> {
        self.registry.find(&GroupVersion::new("shop.dev", "v1"), plural)
    }

    fn gadgets(&self) -> Arc<ServedKind> {
        self.find("gadgets").expect("gadgets are served")
    }

    async fn create(&self, kind: &ServedKind, object: Value) -> Result<Object, Error> {
        let options = WriteOptions::default();
        let accepted = kind.accept(Object::try_from(object).unwrap(), &options)?;
        let written = self.registry.create(&self.ctx(), kind, accepted, &options).await?;
        Ok(kind.read(&written.object).unwrap())
    }

    async fn define(&self, definition: Value) -> Object {
        self.create(&self.definitions(), definition).await.unwrap()
    }

    async fn change(&self, kind: &ServedKind, place: (&str, &str), edit: impl Fn(&mut Object) + Send + Sync) {
        let change = |found: &Object| {
            let mut object = found.clone();
            edit(&mut object);
            kind.accept(object, &WriteOptions::default())
        };
        let update = Update { part: Part::Main, change: &change, tracking: &Tracking::default(), dry_run: false };
        self.registry.update(&self.ctx(), kind, place.0, place.1, update).await.unwrap();
    }

    async fn redefine(&self, definition: Value) {
        let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
        self.change(&self.definitions(), ("", &name), |object| {
            object.fields_mut().insert("spec".to_owned(), definition["spec"].clone());
        })
        .await;
    }

    async fn get(&self, kind: &ServedKind, namespace: &str, name: &str) -> Option<Object> {
        let found = self.registry.get(kind, namespace, name, At::Latest).await.ok()?;
        Some(kind.read(&found).unwrap())
    }

    async fn names(&self, kind: &ServedKind, fields: &str) -> Vec<String> {
        let selection = Selection::parse(kind, "", fields).unwrap();
        let request = ListRequest { namespace: None, selection: &selection, at: At::Latest, after: None, limit: None };
        let list = self.registry.list(kind, &request).await.unwrap();
        list.objects.iter().map(|object| object.key().name().to_owned()).collect()
    }

    async fn watch(&self, kind: &ServedKind) -> ObjectWatch {
        let everything = Selection::everything(kind);
        self.registry.watch(kind, None, everything, WatchFrom::Now(At::Latest)).await.unwrap()
    }

    async fn delete(&self, kind: &ServedKind, namespace: &str, name: &str) {
        self.registry.delete(&self.ctx(), kind, namespace, name, &DeleteOptions::default()).await.unwrap();
    }
}

async fn store(disk: SimDisk) -> Arc<dyn Store> {
    Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(disk))).await.unwrap())
}

fn condition<'o>(object: &'o Object, name: &str) -> &'o Value {
    let conditions = object.as_value()["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == name).unwrap_or(&Value::Null)
}

async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not so after five seconds: {what}");
}

/// Whoever is told that a definition was made can use its kind.
#[tokio::test]
async fn a_kind_is_served_when_its_definition_is_answered() {
    let world = World::start().await;
    assert!(world.find("gadgets").is_none());
    let made = world.define(gadgets(&json!({"size": {"type": "integer"}}), &[])).await;
    assert_eq!(made.as_value()["status"]["conditions"], Value::Null, "as Kubernetes answers");
    world.create(&world.gadgets(), gadget("one", json!({"size": 1, "unknown": 2}))).await.unwrap();
    let stored = world.get(&world.gadgets(), "a", "one").await.unwrap();
    assert_eq!(stored.as_value()["spec"], json!({"size": 1}));
    let definition = world.get(&world.definitions(), "", "gadgets.shop.dev").await.unwrap();
    assert_eq!(condition(&definition, "Established")["status"], "True");
    assert_eq!(definition.as_value()["status"]["acceptedNames"]["listKind"], "GadgetList");
}

/// What is stored is what the newest schema makes of it, and can be found by fields that were declared later.
#[tokio::test]
async fn objects_follow_their_schema() {
    let disk = SimDisk::default();
    let world = World::on(store(disk.clone()).await).await;
    let before = json!({"size": {"type": "integer"}, "old": {"type": "string"}});
    world.define(gadgets(&before, &[])).await;
    let old_kind = world.gadgets();
    world.create(&old_kind, gadget("one", json!({"size": 1, "old": "x"}))).await.unwrap();
    let mut watch = world.watch(&old_kind).await;

    let after = json!({"size": {"type": "integer"}, "color": {"type": "string", "default": "red"}});
    world.redefine(gadgets(&after, &[".spec.color"])).await;
    let kind = world.gadgets();
    let expected = json!({"size": 1, "color": "red"});
    assert_eq!(world.get(&kind, "a", "one").await.unwrap().as_value()["spec"], expected);
    assert_eq!(world.names(&kind, "spec.color=red").await, ["one"]);
    assert!(matches!(watch.next().await, Err(Error::KindGone { .. })), "the watch of the old kind ends");

    // What another server reads, or this one after a restart, is the same.
    let again = World::on(store(SimDisk::from_image(disk.image())).await).await;
    let kind = again.gadgets();
    assert_eq!(again.get(&kind, "a", "one").await.unwrap().as_value()["spec"], expected);
    assert_eq!(again.names(&kind, "spec.color=red").await, ["one"]);
}

/// A definition goes after its objects, and none are made meanwhile.
#[tokio::test]
async fn a_definition_waits_for_its_objects_to_go() {
    let world = World::start().await;
    world.define(gadgets(&json!({}), &[])).await;
    let kind = world.gadgets();
    let mut held = gadget("held", json!({}));
    held["metadata"]["finalizers"] = json!(["shop.dev/hold"]);
    world.create(&kind, held).await.unwrap();
    world.create(&kind, gadget("free", json!({}))).await.unwrap();

    world.delete(&world.definitions(), "", "gadgets.shop.dev").await;
    let terminating = world.gadgets();
    let refused = world.create(&terminating, gadget("late", json!({}))).await;
    assert!(matches!(refused, Err(Error::KindTerminating { .. })));
    eventually("what nobody holds goes, and the rest is asked to", async || {
        let held = world.get(&terminating, "a", "held").await.unwrap();
        world.names(&terminating, "").await == ["held"] && held.metadata().deletion_timestamp().is_some()
    })
    .await;
    let definition = world.get(&world.definitions(), "", "gadgets.shop.dev").await.unwrap();
    assert_eq!(condition(&definition, "Terminating")["reason"], "InstanceDeletionInProgress");
    let mut watch = world.watch(&terminating).await;

    world.change(&terminating, ("a", "held"), |object| object.set_finalizers(&[])).await;
    eventually("the kind is gone", async || world.find("gadgets").is_none()).await;
    assert!(world.get(&world.definitions(), "", "gadgets.shop.dev").await.is_none());
    assert_eq!(watch.next().await.unwrap().events.len(), 1, "that the last object is gone is told");
    assert!(matches!(watch.next().await, Err(Error::KindGone { .. })));
}

/// Names belong to who had them first, and to the next one when they are free.
#[tokio::test]
async fn names_are_given_once() {
    let world = World::start().await;
    world.define(gadgets(&json!({}), &[])).await;
    world.define(definition("things.shop.dev", "Gadget", &json!({}), &[])).await;
    let second = world.get(&world.definitions(), "", "things.shop.dev").await.unwrap();
    assert_eq!(condition(&second, "NamesAccepted")["reason"], "ListKindConflict");
    assert_eq!(condition(&second, "Established")["reason"], "NotAccepted");
    assert!(world.find("things").is_none());

    world.delete(&world.definitions(), "", "gadgets.shop.dev").await;
    eventually("the other kind is served", async || world.find("things").is_some()).await;
    let second = world.get(&world.definitions(), "", "things.shop.dev").await.unwrap();
    assert_eq!(condition(&second, "Established")["status"], "True");
}

/// Names that one gives up are given to who has waited for them.
#[tokio::test]
async fn names_that_are_given_up_are_given_on() {
    let world = World::start().await;
    let called = |plural: &str, kind: &str, short: &str| {
        let mut definition = definition(&format!("{plural}.shop.dev"), kind, &json!({}), &[]);
        definition["spec"]["names"]["shortNames"] = json!([short]);
        definition
    };
    world.define(called("gadgets", "Gadget", "g")).await;
    world.define(called("things", "Thing", "g")).await;
    let second = world.get(&world.definitions(), "", "things.shop.dev").await.unwrap();
    assert_eq!(condition(&second, "NamesAccepted")["reason"], "ShortNamesConflict");
    assert!(world.find("things").is_none());
    world.redefine(called("gadgets", "Gadget", "other")).await;
    eventually("the other kind is served", async || world.find("things").is_some()).await;
    let second = world.get(&world.definitions(), "", "things.shop.dev").await.unwrap();
    assert_eq!(condition(&second, "NamesAccepted")["status"], "True");
}

/// What the program itself serves cannot be taken over.
#[tokio::test]
async fn groups_of_the_program_cannot_be_defined() {
    let world = World::start().await;
    for name in ["things.org.bailiwick.dev", "things.rbac.authorization.k8s.io"] {
        let mut wanted = definition(name, "Thing", &json!({}), &[]);
        wanted["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, for a test"});
        let refused = world.create(&world.definitions(), wanted).await;
        assert!(matches!(refused, Err(Error::Forbidden { .. })), "{name}: {refused:?}");
    }
}

/// Each server follows what the others define.
#[tokio::test]
async fn servers_on_one_store_serve_the_same_kinds() {
    let shared = store(SimDisk::default()).await;
    let (one, other) = (World::on(shared.clone()).await, World::on(shared).await);
    one.define(gadgets(&json!({"size": {"type": "integer"}}), &[".spec.size"])).await;
    one.create(&one.gadgets(), gadget("one", json!({"size": 7}))).await.unwrap();
    eventually("the kind is served", async || other.find("gadgets").is_some()).await;
    assert_eq!(other.names(&other.gadgets(), "spec.size=7").await, ["one"]);
    other.delete(&other.definitions(), "", "gadgets.shop.dev").await;
    eventually("the kind is gone", async || one.find("gadgets").is_none()).await;
}

/// A version whose schema differs shows what it knows, and nothing of the others is lost where both know it.
#[tokio::test]
async fn versions_show_what_they_know() {
    let world = World::start().await;
    let mut wanted = gadgets(&json!({"size": {"type": "integer"}, "new": {"type": "string"}}), &[]);
    let mut old = wanted["spec"]["versions"][0].clone();
    old["name"] = "v1beta1".into();
    old["storage"] = false.into();
    old["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = json!({"size": {"type": "integer"}});
    wanted["spec"]["versions"].as_array_mut().unwrap().push(old);
    world.define(wanted).await;
    world.create(&world.gadgets(), gadget("one", json!({"size": 1, "new": "x"}))).await.unwrap();
    let beta = world.registry.find(&GroupVersion::new("shop.dev", "v1beta1"), "gadgets").unwrap();
    let seen = world.get(&beta, "a", "one").await.unwrap();
    assert_eq!(seen.api_version(), "shop.dev/v1beta1");
    assert_eq!(seen.as_value()["spec"], json!({"size": 1}));
    assert_eq!(world.get(&world.gadgets(), "a", "one").await.unwrap().as_value()["spec"]["new"], "x");
}

/// A definition that takes the place of one that was let go loses nothing to who still cleans up after the first.
#[tokio::test]
async fn the_next_definition_of_a_name_keeps_its_objects() {
    let world = World::start().await;
    let first = world.define(gadgets(&json!({}), &[])).await;
    let mut held = gadget("held", json!({}));
    held["metadata"]["finalizers"] = json!(["shop.dev/hold"]);
    world.create(&world.gadgets(), held).await.unwrap();
    world.delete(&world.definitions(), "", "gadgets.shop.dev").await;
    let terminating = world.gadgets();
    eventually("the held one is asked to go", async || {
        let held = world.get(&terminating, "a", "held").await.unwrap();
        held.metadata().deletion_timestamp().is_some()
    })
    .await;

    world.change(&world.definitions(), ("", "gadgets.shop.dev"), |object| object.set_finalizers(&[])).await;
    eventually("the first definition is gone", async || world.find("gadgets").is_none()).await;
    let second = world.define(gadgets(&json!({}), &[])).await;
    assert_ne!(second.metadata().uid(), first.metadata().uid());
    world.create(&world.gadgets(), gadget("fresh", json!({}))).await.unwrap();
    // Longer than the pauses before several more tries.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(world.names(&world.gadgets(), "").await, ["fresh", "held"]);
    let definition = world.get(&world.definitions(), "", "gadgets.shop.dev").await.unwrap();
    assert_eq!(condition(&definition, "Terminating"), &Value::Null);

    // It can be deleted in its turn.
    world.change(&world.gadgets(), ("a", "held"), |object| object.set_finalizers(&[])).await;
    world.delete(&world.definitions(), "", "gadgets.shop.dev").await;
    eventually("the second definition is gone", async || world.find("gadgets").is_none()).await;
}

/// Who has found a kind and takes long to send an object of it finds it gone: nothing is stored that nobody serves.
#[tokio::test]
async fn no_object_outlives_its_definition() {
    let world = World::start().await;
    world.define(gadgets(&json!({}), &[])).await;
    let found_early = world.gadgets();
    world.create(&found_early, gadget("one", json!({}))).await.unwrap();
    world.redefine(gadgets(&json!({"size": {"type": "integer"}}), &[])).await;
    world.create(&found_early, gadget("two", json!({}))).await.expect("the definition is the same one");

    let mut held = gadget("held", json!({}));
    held["metadata"]["finalizers"] = json!(["shop.dev/hold"]);
    world.create(&found_early, held).await.unwrap();
    world.delete(&world.definitions(), "", "gadgets.shop.dev").await;
    let refused = world.create(&found_early, gadget("late", json!({}))).await;
    assert!(matches!(refused, Err(Error::KindTerminating { .. })), "{refused:?}");
    world.change(&world.gadgets(), ("a", "held"), |object| object.set_finalizers(&[])).await;
    eventually("the kind is gone", async || world.find("gadgets").is_none()).await;
    let refused = world.create(&found_early, gadget("late", json!({}))).await;
    assert!(matches!(refused, Err(Error::KindGone { .. })), "{refused:?}");

    world.define(gadgets(&json!({}), &[])).await;
    let refused = world.create(&found_early, gadget("late", json!({}))).await;
    assert!(matches!(refused, Err(Error::KindGone { .. })), "it is another one's kind: {refused:?}");
    assert!(world.names(&world.gadgets(), "").await.is_empty());
}

/// What is written again is stored in the version that is the one for that now, and with the defaults there are, even if
/// nothing else changes; what is stored so already is left alone.
#[tokio::test]
async fn an_update_that_changes_nothing_moves_an_object_to_the_storage_version() {
    let shared = store(SimDisk::default()).await;
    let world = World::on(shared.clone()).await;
    let mut wanted = gadgets(&json!({"size": {"type": "integer"}}), &[]);
    let mut next = wanted["spec"]["versions"][0].clone();
    next["name"] = "v2".into();
    next["storage"] = false.into();
    wanted["spec"]["versions"].as_array_mut().unwrap().push(next);
    world.define(wanted.clone()).await;
    world.create(&world.gadgets(), gadget("one", json!({"size": 1}))).await.unwrap();
    let key = Resource::new(b"shop.dev", b"gadgets").unwrap().namespaced("a", "one").unwrap();
    let stored = async || {
        let record = shared.get(&key, At::Latest).await.unwrap().record.unwrap();
        (record.revision, serde_json::from_slice::<Value>(&record.value).unwrap())
    };
    let again = async || world.change(&world.gadgets(), ("a", "one"), |_| {}).await;
    let (first, _) = stored().await;
    again().await;
    assert_eq!(stored().await.0, first, "nothing has changed");

    wanted["spec"]["versions"][0]["storage"] = false.into();
    wanted["spec"]["versions"][1]["storage"] = true.into();
    world.redefine(wanted.clone()).await;
    assert_eq!(stored().await.1["apiVersion"], "shop.dev/v1");
    again().await;
    let (moved, object) = stored().await;
    assert_eq!(object["apiVersion"], "shop.dev/v2");
    again().await;
    assert_eq!(stored().await.0, moved, "it is there already");

    // A schema that makes no difference to the object is no reason to write it; a default that it lacks is.
    let properties = "/spec/versions/1/schema/openAPIV3Schema/properties/spec/properties";
    wanted.pointer_mut(properties).unwrap()["other"] = json!({"type": "string"});
    world.redefine(wanted.clone()).await;
    again().await;
    assert_eq!(stored().await.0, moved);
    wanted.pointer_mut(properties).unwrap()["other"]["default"] = json!("x");
    world.redefine(wanted).await;
    let second = world.registry.find(&GroupVersion::new("shop.dev", "v2"), "gadgets").unwrap();
    world.change(&second, ("a", "one"), |_| {}).await;
    assert_eq!(stored().await.1["spec"], json!({"size": 1, "other": "x"}));
}

/// Each version has its own say about who writes the status.
#[tokio::test]
async fn a_status_is_that_of_a_version() {
    let world = World::start().await;
    let mut wanted = gadgets(&json!({}), &[]);
    let mut other = wanted["spec"]["versions"][0].clone();
    other["name"] = "v2".into();
    other["storage"] = false.into();
    other.as_object_mut().unwrap().remove("subresources");
    wanted["spec"]["versions"].as_array_mut().unwrap().push(other);
    world.define(wanted).await;
    let (with, without) =
        (world.gadgets(), world.registry.find(&GroupVersion::new("shop.dev", "v2"), "gadgets").unwrap());
    assert_eq!((with.has_status(), without.has_status()), (true, false));
    let mut sent = gadget("one", json!({}));
    sent["status"] = json!({"phase": "sent"});
    assert_eq!(world.create(&with, sent.clone()).await.unwrap().as_value()["status"], Value::Null);
    sent["metadata"]["name"] = "two".into();
    sent["apiVersion"] = "shop.dev/v2".into();
    let made = world.create(&without, sent).await.unwrap();
    assert_eq!(made.as_value()["status"]["phase"], "sent");

    let set = |object: &mut Object| drop(object.fields_mut().insert("status".to_owned(), json!({"phase": "set"})));
    world.change(&with, ("a", "two"), set).await;
    assert_eq!(world.get(&with, "a", "two").await.unwrap().as_value()["status"]["phase"], "sent");
    world.change(&without, ("a", "two"), set).await;
    let changed = world.get(&with, "a", "two").await.unwrap();
    assert_eq!(changed.as_value()["status"]["phase"], "set");
    assert_eq!(changed.metadata().generation(), 2, "where it is not written on its own, it counts");
}
