//! What becomes of definitions over restarts and failures.

use std::sync::Mutex;

use async_trait::async_trait;
use bailiwick_storage::{Key, ListOptions, Lookup, MAX_VALUE_BYTES, Page, Prefix, Result, Revision, Txn, Watch};

use super::*;

/// A store that fails the next write of a key, or the next list of a range that is not everything.
struct Failing {
    store: Arc<dyn Store>,
    next_write_of: Mutex<Option<&'static str>>,
    next_list_of: Mutex<Option<&'static str>>,
}

// === impl Failing ===

impl Failing {
    async fn new() -> Arc<Self> {
        let store = store(SimDisk::default()).await;
        Arc::new(Self { store, next_write_of: Mutex::default(), next_list_of: Mutex::default() })
    }
}

fn fails(next: &Mutex<Option<&'static str>>, is_it: impl Fn(&str) -> bool) -> Result<()> {
    let mut next = next.lock().unwrap();
    match next.take_if(|next| is_it(next)) {
        None => Ok(()),
        Some(_) => Err(bailiwick_storage::Error::Unavailable { reason: "a test".into() }),
    }
}

#[async_trait]
impl Store for Failing {
    async fn revision(&self) -> Result<Revision> {
        self.store.revision().await
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        self.store.get(key, at).await
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        fails(&self.next_list_of, |next| prefix.as_str().contains(next))?;
        self.store.list(prefix, options).await
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        fails(&self.next_write_of, |next| txn.written().any(|key| key.name() == next))?;
        self.store.commit(txn).await
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        self.store.watch(prefix, after).await
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.store.compact(oldest).await
    }
}

/// Who was refused a name is refused it by the next server, too, whoever is looked at first.
#[tokio::test]
async fn a_name_has_one_owner_after_a_restart() {
    let shared = store(SimDisk::default()).await;
    let world = World::on(shared.clone()).await;
    world.define(definition("zebras.shop.dev", "Foo", &json!({}), &[])).await;
    world.define(definition("apples.shop.dev", "Foo", &json!({}), &[])).await;
    let again = World::on(shared).await;
    // A write of it, by which it is looked at again.
    let annotate = |object: &mut Object| {
        object.metadata_mut().insert("annotations".to_owned(), json!({"looked": "again"}));
    };
    for world in [&world, &again] {
        world.change(&world.definitions(), ("", "apples.shop.dev"), annotate).await;
        let refused = world.get(&world.definitions(), "", "apples.shop.dev").await.unwrap();
        assert_eq!(condition(&refused, "NamesAccepted")["reason"], "ListKindConflict");
        assert_ne!(refused.as_value()["status"]["acceptedNames"]["kind"], "Foo");
        assert!(world.find("apples").is_none());
        assert!(world.find("zebras").is_some());
    }
    again.delete(&again.definitions(), "", "zebras.shop.dev").await;
    eventually("the other kind is served", async || again.find("apples").is_some()).await;
}

/// Objects go with their definition, even if nobody could see them any more.
#[tokio::test]
async fn objects_go_with_a_definition_of_which_nothing_is_served() {
    let world = World::start().await;
    world.define(gadgets(&json!({}), &[])).await;
    let found_early = world.gadgets();
    world.create(&found_early, gadget("one", json!({}))).await.unwrap();
    let mut held = gadget("held", json!({}));
    held["metadata"]["finalizers"] = json!(["shop.dev/hold"]);
    world.create(&found_early, held).await.unwrap();
    let mut hidden = gadgets(&json!({}), &[]);
    hidden["spec"]["versions"][0]["served"] = false.into();
    world.redefine(hidden).await;
    assert!(world.find("gadgets").is_none());

    world.delete(&world.definitions(), "", "gadgets.shop.dev").await;
    eventually("what nobody holds goes", async || world.names(&found_early, "").await == ["held"]).await;
    assert!(world.get(&world.definitions(), "", "gadgets.shop.dev").await.is_some(), "it waits for the other one");
    world.change(&found_early, ("a", "held"), |object| object.set_finalizers(&[])).await;
    eventually("the definition is gone", async || {
        world.get(&world.definitions(), "", "gadgets.shop.dev").await.is_none()
    })
    .await;
    world.define(gadgets(&json!({}), &[])).await;
    assert!(world.names(&world.gadgets(), "").await.is_empty());
}

/// A change that was not carried out, because something beside it failed, is carried out later.
#[tokio::test]
async fn a_failure_beside_a_change_does_not_lose_the_change() {
    let failing = Failing::new().await;
    let world = World::on(failing.clone()).await;
    let called = |plural: &str, kind: &str, short: &str| {
        let mut definition = definition(&format!("{plural}.shop.dev"), kind, &json!({}), &[]);
        definition["spec"]["names"]["shortNames"] = json!([short]);
        definition
    };
    world.define(called("gadgets", "Gadget", "g")).await;
    world.define(called("things", "Thing", "g")).await;
    *failing.next_write_of.lock().unwrap() = Some("things.shop.dev");
    world.redefine(called("gadgets", "Gadget", "other")).await;
    eventually("the new name is served", async || world.gadgets().kind().names().short_names == ["other"]).await;
    eventually("the other kind is served", async || world.find("things").is_some()).await;
    assert!(failing.next_write_of.lock().unwrap().is_none(), "it has failed");
}

/// A schema whose objects could not be read when it changed is the one by which they are served, as soon as they can be.
#[tokio::test]
async fn a_schema_is_changed_although_the_store_fails_first() {
    let failing = Failing::new().await;
    let world = World::on(failing.clone()).await;
    let colored = |color: &str| gadgets(&json!({"color": {"type": "string", "default": color}}), &[]);
    world.define(gadgets(&json!({}), &[])).await;
    world.create(&world.gadgets(), gadget("one", json!({}))).await.unwrap();
    *failing.next_list_of.lock().unwrap() = Some("gadgets");
    world.redefine(colored("red")).await;
    let has =
        async |color: &str| world.get(&world.gadgets(), "a", "one").await.unwrap().as_value()["spec"]["color"] == color;
    eventually("objects fit the schema", async || has("red").await).await;
    assert!(failing.next_list_of.lock().unwrap().is_none(), "it has failed");
    world.redefine(colored("blue")).await;
    assert!(has("blue").await);
}

/// Written past all rules.
async fn put(store: &dyn Store, name: &str, value: String) {
    let definitions = Resource::new(b"apiextensions.k8s.io", b"customresourcedefinitions").unwrap();
    let key = definitions.object(name).unwrap();
    let txn = match store.get(&key, At::Latest).await.unwrap().record {
        None => Txn::new().create(key, value),
        Some(found) => Txn::new().update(key, value, found.revision),
    };
    store.commit(txn).await.unwrap();
}

/// A definition of things with all names, of about so many bytes if it does not have more.
fn things(bytes: usize) -> Value {
    let mut things = definition("things.shop.dev", "Thing", &json!({}), &[]);
    things["spec"]["names"] =
        json!({"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"});
    let padding = "x".repeat(bytes.saturating_sub(things.to_string().len()));
    things["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = padding.into();
    things
}

/// A definition whose status cannot be stored is not served, and nothing else waits for it: no other definition, and no start.
#[tokio::test]
async fn a_definition_without_room_for_its_status_keeps_no_other() {
    let shared = store(SimDisk::default()).await;
    let world = World::on(shared.clone()).await;
    put(&*shared, "things.shop.dev", things(MAX_VALUE_BYTES - 100).to_string()).await;
    world.define(gadgets(&json!({}), &[])).await;
    assert!(world.find("gadgets").is_some(), "when its definition is answered");
    let again = World::on(shared.clone()).await;
    for world in [&world, &again] {
        assert!(world.find("gadgets").is_some());
        let large = world.get(&world.definitions(), "", "things.shop.dev").await.unwrap();
        assert_eq!(large.as_value()["status"], Value::Null);
        assert!(world.find("things").is_none());
    }
    put(&*shared, "things.shop.dev", things(0).to_string()).await;
    for world in [&world, &again] {
        eventually("what has room is served", async || world.find("things").is_some()).await;
    }
}

/// Whoever defines so much that it could not be served is told so; the largest definition that is accepted is served, and goes.
#[tokio::test]
async fn a_definition_leaves_room_for_its_status() {
    let world = World::start().await;
    let mut bytes = MAX_VALUE_BYTES - 4_000;
    let refused = world.create(&world.definitions(), things(bytes)).await.unwrap_err().to_string();
    assert!(refused.contains("leave room for its status"), "{refused}");
    while let Err(refused) = world.create(&world.definitions(), things(bytes)).await {
        assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
        bytes -= 1_000;
    }
    assert!(bytes > MAX_VALUE_BYTES - 20_000, "not much is kept free: {bytes}");
    eventually("it is served", async || world.find("things").is_some()).await;
    world.delete(&world.definitions(), "", "things.shop.dev").await;
    eventually("it is gone", async || world.get(&world.definitions(), "", "things.shop.dev").await.is_none()).await;
}

/// What is stored for a definition and cannot be read counts as if it were not there, and keeps no other from being served.
#[tokio::test]
async fn a_damaged_definition_keeps_no_other() {
    let shared = store(SimDisk::default()).await;
    put(&*shared, "damaged.shop.dev", "damaged".to_owned()).await;
    let world = World::on(shared.clone()).await;
    world.define(gadgets(&json!({}), &[])).await;
    assert!(world.find("gadgets").is_some());

    put(&*shared, "gadgets.shop.dev", "damaged".to_owned()).await;
    eventually("what is damaged is not served", async || world.find("gadgets").is_none()).await;
    put(&*shared, "things.shop.dev", things(0).to_string()).await;
    eventually("what comes later is served", async || world.find("things").is_some()).await;
    let again = World::on(shared).await;
    assert!(again.find("things").is_some() && again.find("gadgets").is_none());
}
