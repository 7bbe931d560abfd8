//! Rules that change what was decided already: what was authorized stays, and whoever checks sees what is stored.

use async_trait::async_trait;
use bailiwick_machinery::Object;
use bailiwick_registry::{Admission, Completion, Ctx, Error, Registry, Result, ServedKind, User, WriteOptions};
use serde_json::{Value, json};

use super::support::{HOME, World, invalid, widget};

/// Writes a value wherever it is told to, into all that is not named `kept`.
struct Meddler {
    path: &'static [&'static str],
    value: Value,
}

#[async_trait]
impl Admission for Meddler {
    fn completion(&self, _: &ServedKind) -> Option<&dyn Completion> {
        Some(self)
    }
}

#[async_trait]
impl Completion for Meddler {
    async fn complete(
        &self,
        _: &Ctx<'_>,
        _: &Registry,
        _: &ServedKind,
        object: &mut Object,
        _: Option<&Object>,
    ) -> Result<()> {
        if object.metadata().name() != "kept" {
            object.edit_as_value(|value| {
                *self.path.iter().fold(value, |value, name| &mut value[name]) = self.value.clone();
            });
        }
        Ok(())
    }
}

/// Lets nobody have red widgets: says so while objects are completed, as rules do that need what they look up.
struct NoRed;

#[async_trait]
impl Admission for NoRed {
    fn completion(&self, _: &ServedKind) -> Option<&dyn Completion> {
        Some(self)
    }
}

#[async_trait]
impl Completion for NoRed {
    async fn complete(
        &self,
        _: &Ctx<'_>,
        _: &Registry,
        _: &ServedKind,
        object: &mut Object,
        _: Option<&Object>,
    ) -> Result<()> {
        match object.as_value()["spec"]["color"] == "red" {
            true => Err(Error::BadRequest("red".to_owned())),
            false => Ok(()),
        }
    }
}

/// S-18: where an object is, what it is called and which one it is was authorized, and no rule changes it afterwards.
#[tokio::test]
async fn no_rule_makes_another_object_of_the_one_that_was_authorized() {
    for (path, value) in [
        (&["metadata", "namespace"][..], json!("kube-system")),
        (&["metadata", "name"], json!("other")),
        (&["metadata", "uid"], json!("11111111-1111-4111-8111-111111111111")),
        (&["metadata", "resourceVersion"], json!("7")),
        (&["metadata", "creationTimestamp"], json!("2001-01-01T00:00:00Z")),
        (&["metadata", "deletionTimestamp"], json!("2001-01-01T00:00:00Z")),
        (&["apiVersion"], json!("alias.example.dev/v1")),
        (&["kind"], json!("Namespace")),
    ] {
        let world = World::in_memory().await.with_admission(Meddler { path, value: value.clone() });
        world.create(widget("a", "kept", 0)).await;
        let before = world.store.revision().await.unwrap();
        let told = format!("{}: Forbidden: was changed by a rule after the request was authorized", path.join("."));
        let refused = invalid(world.try_create(widget("a", "w", 0), &WriteOptions::default()).await);
        assert_eq!(refused, told);
        assert_eq!(world.store.revision().await.unwrap(), before, "{told}");

        // What came before the rule is kept from it too.
        let world = World::in_memory().await;
        world.create(widget("a", "w", 0)).await;
        let world = world.with_admission(Meddler { path, value });
        let before = world.store.revision().await.unwrap();
        let edit = |object: &mut Object| object.edit_as_value(|value| value["spec"]["size"] = json!(1));
        let refused = invalid(world.patch("a", "w", edit).await);
        assert_eq!(refused, told);
        assert_eq!(world.store.revision().await.unwrap(), before, "{told}");
    }
}

/// S-18: whoever says what rules say, the requester is who asks.
#[tokio::test]
async fn no_rule_says_that_someone_else_has_asked() {
    let forged = json!({"username": "admin", "groups": ["system:masters"]});
    for path in [&["status", "requester"][..], &["status"]] {
        let value = if path.len() == 2 { forged.clone() } else { json!({"requester": forged}) };
        let mut world = World::in_memory().await.with_admission(Meddler { path, value });
        world.widgets = world.kind(HOME, "v1", "gadgets");
        let requester = |object: &Object| object.as_value()["status"]["requester"].clone();
        let asked = json!({"username": "tester"});
        assert_eq!(requester(&world.create(widget("a", "w", 0)).await), asked);
        let resize = |object: &mut Object| object.edit_as_value(|value| value["spec"]["size"] = json!(1));
        assert_eq!(requester(&world.patch("a", "w", resize).await.unwrap()), asked);

        // Someone else, who asks for nothing else, does not become the one who asked; nor does anybody a rule names.
        world.user = User { name: "other".to_owned(), ..User::default() };
        let label = |object: &mut Object| object.edit_as_value(|value| value["metadata"]["labels"] = json!({"a": "b"}));
        assert_eq!(requester(&world.patch("a", "w", label).await.unwrap()), asked);
        let resize = |object: &mut Object| object.edit_as_value(|value| value["spec"]["size"] = json!(2));
        assert_eq!(requester(&world.patch("a", "w", resize).await.unwrap()), json!({"username": "other"}));
    }
}

/// S-18: what a rule has checked and another changes is checked again, in whatever order they are asked.
#[tokio::test]
async fn whoever_checks_sees_what_is_stored() {
    let red = || Meddler { path: &["spec", "color"], value: json!("red") };
    let worlds = [
        World::in_memory().await.with_admission(NoRed).with_admission(red()),
        World::in_memory().await.with_admission(red()).with_admission(NoRed),
    ];
    for world in worlds {
        world.create(widget("a", "kept", 0)).await;
        let before = world.store.revision().await.unwrap();
        let refused = world.try_create(widget("a", "w", 0), &WriteOptions::default()).await;
        assert!(matches!(&refused, Err(Error::BadRequest(why)) if why == "red"), "{refused:?}");
        assert_eq!(world.store.revision().await.unwrap(), before);
    }
}

/// Rules that undo each other's work are not asked for ever.
#[tokio::test]
async fn rules_that_contradict_each_other_let_nothing_pass() {
    let paint = |color| Meddler { path: &["spec", "color"], value: json!(color) };
    let world = World::in_memory().await.with_admission(paint("blue")).with_admission(paint("green"));
    world.create(widget("a", "kept", 0)).await;
    let refused = world.try_create(widget("a", "w", 0), &WriteOptions::default()).await;
    assert!(matches!(refused, Err(Error::Failed { .. })), "{refused:?}");
}
