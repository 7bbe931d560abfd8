//! Who asked for an object, and what came with them: that is kept beside the object, written with it, and shown to nobody.

use std::collections::BTreeMap;

use bailiwick_machinery::Object;
use bailiwick_registry::{DeleteOptions, Error, Part, Result, User, WriteOptions};
use bailiwick_storage::{At, Ledger, ListOptions, Resource};
use serde_json::json;

use super::support::{HOME, World, edited, version, widget};

type Extra = BTreeMap<String, Vec<String>>;

const SECRET: &str = "only-reading";

fn scopes(scope: &str) -> Extra {
    BTreeMap::from([("example.dev/scopes".to_owned(), vec![scope.to_owned()])])
}

fn who(name: &str, extra: Extra) -> User {
    User { name: name.to_owned(), extra, ..User::default() }
}

async fn world(user: User) -> World {
    let mut world = World::in_memory().await;
    world.widgets = world.kind(HOME, "v1", "gadgets");
    world.user = user;
    world
}

fn resize(size: u64) -> impl Fn(&mut Object) + Sync {
    move |object| object.edit_as_value(|value| value["spec"]["size"] = json!(size))
}

/// What came with who asked for `a/w` as it is in a version.
async fn extra(world: &World, version: u64) -> Result<Extra> {
    world.registry.requester_extra(&world.widgets, "a", "w", version).await
}

/// How many rows there are beside objects.
async fn rows(world: &World) -> usize {
    let all = Ledger::new("requesters").unwrap();
    world.store.list(all.all(), ListOptions::latest()).await.unwrap().records.len()
}

/// Everything that is stored of `a/w`, and all that is made of it.
async fn shown(world: &World) -> String {
    let key = Resource::new(HOME, "gadgets").unwrap().namespaced("a", "w").unwrap();
    let stored = world.store.get(&key, At::Latest).await.unwrap().record.unwrap();
    let served = world.get("a", "w").await.unwrap();
    format!("{} {}", String::from_utf8(stored.value.to_vec()).unwrap(), served.as_value())
}

/// Decisions 5: it is asked about later, and no read shows it.
#[tokio::test]
async fn what_came_with_the_requester_is_kept_beside_the_object() {
    let mut world = world(who("jane", scopes(SECRET))).await;
    let made = world.create(widget("a", "w", 1)).await;
    assert!(!made.as_value().to_string().contains(SECRET), "{}", made.as_value());
    assert!(!shown(&world).await.contains(SECRET) && !shown(&world).await.contains("extra"));
    assert_eq!(extra(&world, version(&made)).await.unwrap(), scopes(SECRET));

    // Others who ask for nothing else are not those who asked.
    world.user = who("controller", scopes("all"));
    let label = |object: &mut Object| object.edit_as_value(|value| value["metadata"]["labels"] = json!({"a": "b"}));
    let labelled = world.patch("a", "w", label).await.unwrap();
    assert_eq!(extra(&world, version(&labelled)).await.unwrap(), scopes(SECRET));
    let forged = json!({"username": "controller", "extra": scopes("all")});
    let told = |object: &mut Object| object.edit_as_value(|value| value["status"] = json!({"requester": forged}));
    let told = world.change("a", "w", Part::Status, &edited(&world.widgets, &told)).await.unwrap();
    assert_eq!(extra(&world, version(&told)).await.unwrap(), scopes(SECRET));
    assert_eq!(rows(&world).await, 1);

    // Who asks for something else is, though nothing came with them: then that is known, too.
    world.user = who("jane", Extra::new());
    let resized = world.patch("a", "w", resize(2)).await.unwrap();
    assert_eq!(extra(&world, version(&resized)).await.unwrap(), Extra::new());
    let refused = extra(&world, version(&told)).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");

    world.user = who("jane", scopes("all"));
    let dry = WriteOptions { dry_run: true, ..WriteOptions::default() };
    world.try_create(widget("a", "tried", 1), &dry).await.unwrap();
    let resized = world.patch("a", "w", resize(3)).await.unwrap();
    assert_eq!(extra(&world, version(&resized)).await.unwrap(), scopes("all"));
    assert_eq!(rows(&world).await, 1);

    // It goes with the object, and is nothing to one that is made anew.
    world.delete("a", "w", &DeleteOptions::default()).await.unwrap();
    assert_eq!(rows(&world).await, 0);
    // Now the cache has come as far.
    assert!(world.revision().await > version(&resized));
    let gone = extra(&world, version(&resized)).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
    world.user = who("jane", Extra::new());
    let again = world.create(widget("a", "w", 1)).await;
    assert_eq!(extra(&world, version(&again)).await.unwrap(), Extra::new());
    assert_eq!(rows(&world).await, 0);
}

/// Decisions 5: no client says it.
#[tokio::test]
async fn no_client_says_what_came_with_it() {
    let world = world(who("jane", Extra::new())).await;
    let mut sent = widget("a", "w", 1);
    sent["status"] = json!({"requester": {"username": "admin", "extra": scopes("all")}});
    let made = world.create(sent).await;
    assert_eq!(made.as_value()["status"]["requester"], json!({"username": "jane"}));
    let forge = |object: &mut Object| {
        object.edit_as_value(|value| {
            value["status"] = json!({"requester": {"username": "jane", "extra": scopes("all")}});
            value["spec"]["size"] = json!(2);
        });
    };
    let changed = world.patch("a", "w", forge).await.unwrap();
    assert_eq!(extra(&world, version(&changed)).await.unwrap(), Extra::new());
    assert!(!shown(&world).await.contains("extra"));
    assert_eq!(rows(&world).await, 0);
}

/// It waits with an object that is to go, and goes with it, whoever takes the last finalizer away.
#[tokio::test]
async fn it_goes_when_the_object_does() {
    let mut world = world(who("jane", scopes(SECRET))).await;
    let mut sent = widget("a", "w", 1);
    sent["metadata"]["finalizers"] = json!(["example.dev/wait"]);
    let made = world.create(sent).await;
    world.user = who("other", scopes("all"));
    world.delete("a", "w", &DeleteOptions::default()).await.unwrap();
    assert_eq!(extra(&world, version(&made)).await.unwrap(), scopes(SECRET));
    let free = |object: &mut Object| {
        object.edit_as_value(|value| drop(value["metadata"].as_object_mut().unwrap().remove("finalizers")));
    };
    world.patch("a", "w", free).await.unwrap();
    assert_eq!(rows(&world).await, 0);
}
