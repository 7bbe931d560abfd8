//! Rules over more than one object.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_registry::{Admission, Ctx, DeleteOptions, Error, Proposal, Registry, Result, WriteOptions};
use bailiwick_storage::{At, Key, Ledger, Store, Txn};
use futures::future::join_all;

use super::support::{World, widget};

const CAP: usize = 20;

/// Lets each namespace have so many widgets, counted in a row of its own.
struct Cap {
    store: Arc<dyn Store>,
}

impl Cap {
    async fn counted(&self, row: &Key) -> (usize, Option<bailiwick_storage::Revision>) {
        let found = self.store.get(row, At::Latest).await.unwrap().record;
        found.map_or((0, None), |row| (str::from_utf8(&row.value).unwrap().parse().unwrap(), Some(row.revision)))
    }
}

#[async_trait]
impl Admission for Cap {
    async fn admit(&self, _: &Ctx<'_>, _: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let row = row(proposal.namespace());
        let (count, seen) = self.counted(&row).await;
        let after = match (proposal.old, proposal.new) {
            (None, Some(_)) => count + 1,
            (Some(_), None) => count - 1,
            _ => return Ok(txn),
        };
        if after > CAP {
            return Err(Error::BadRequest(format!("{} has {count} already", proposal.namespace())));
        }
        Ok(match seen {
            Some(seen) => txn.update(row, after.to_string(), seen),
            None => txn.create(row, after.to_string()),
        })
    }
}

fn row(namespace: &str) -> Key {
    Ledger::new("caps").unwrap().row(&["widgets"], namespace).unwrap()
}

async fn capped() -> World {
    let world = World::in_memory().await;
    let store = world.store.clone();
    world.with_admission(Cap { store })
}

async fn count(world: &World) -> usize {
    Cap { store: world.store.clone() }.counted(&row("a")).await.0
}

/// S-17: however many write at once, a cap over objects is reached and never passed, and what goes makes room. Whoever lost a
/// race is judged again, by what the winner left.
#[tokio::test]
async fn a_rule_over_objects_holds_whatever_happens_at_once() {
    let world = capped().await;
    let creations = (0..2 * CAP).map(|number| world.try_create_widget("a", number));
    let created = join_all(creations).await.into_iter().filter(Result::is_ok).count();
    assert_eq!((created, count(&world).await), (CAP, CAP));

    let listed = world.list(Some("a"), &world.everything(), At::Latest).await;
    assert_eq!(listed.objects.len(), CAP);
    let names: Vec<_> = listed.objects.iter().map(|object| object.key().name().to_owned()).collect();
    let options = DeleteOptions::default();
    let removed = join_all(names.iter().take(5).map(|name| world.delete("a", name, &options))).await;
    assert!(removed.iter().all(Result::is_ok), "{removed:?}");
    assert_eq!(count(&world).await, CAP - 5);
    world.create(widget("b", "w", 0)).await;
    assert_eq!(count(&world).await, CAP - 5, "another namespace has its own");
}

/// What does not happen changes nothing: neither the object nor what would have changed with it.
#[tokio::test]
async fn nothing_changes_beside_a_write_that_does_not_happen() {
    let world = capped().await;
    world.create(widget("a", "w", 0)).await;
    let before = world.store.revision().await.unwrap();
    world.create_fails("w", &WriteOptions::default()).await;
    let dry_run = WriteOptions { dry_run: true, ..WriteOptions::default() };
    world.create_fails("w", &dry_run).await;
    world.try_create(widget("a", "v", 0), &dry_run).await.unwrap();
    world.delete("a", "w", &DeleteOptions { dry_run: true, ..DeleteOptions::default() }).await.unwrap();
    assert_eq!((count(&world).await, world.store.revision().await.unwrap()), (1, before));
    for number in 1..CAP {
        world.try_create_widget("a", number).await.unwrap();
    }
    let refused = world.try_create(widget("a", "v", 0), &dry_run).await;
    assert!(matches!(refused, Err(Error::BadRequest(_))), "a dry run is refused what would be: {refused:?}");
}

impl World {
    async fn try_create_widget(&self, namespace: &str, number: usize) -> Result<bailiwick_registry::Written> {
        self.try_create(widget(namespace, &format!("w{number}"), 0), &WriteOptions::default()).await
    }

    async fn create_fails(&self, name: &str, options: &WriteOptions) {
        let refused = self.try_create(widget("a", name, 0), options).await;
        assert!(matches!(refused, Err(Error::AlreadyExists { .. })), "{refused:?}");
    }
}
