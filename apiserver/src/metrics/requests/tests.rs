use std::sync::Arc;

use arc_swap::ArcSwap;
use bailiwick_registry::kinds;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use http::Method;

use super::*;
use crate::query::Query;

/// S-20: kinds come and go with definitions, too, and whoever makes and removes them makes no more series than there is room for.
#[tokio::test]
async fn no_more_kinds_are_told_apart_than_there_is_room_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Folder::take(folder.path()).unwrap();
    let store = Embedded::open(EmbeddedOptions::new(Arc::new(folder))).await.unwrap();
    let registry = Registry::start(Arc::new(store), kinds::all().unwrap(), Default::default()).await.unwrap();
    let metrics = RequestMetrics { registry: Arc::new(registry), table: ArcSwap::from_pointee(Table::of_paths(2)) };
    let target = |plural: &str| {
        let path = format!("/apis/org.bailiwick.dev/v1alpha1/{plural}/a");
        metrics.resource(&RequestInfo::parse(&Method::GET, &path, &Query::parse("").unwrap()).unwrap())
    };
    let (groups, organizations) = (target("groups"), target("organizations"));
    assert!(groups != OTHER_TARGET && organizations != OTHER_TARGET && groups != organizations);
    assert_eq!(target("orggroups"), OTHER_TARGET);
    assert_eq!((target("groups"), target("organizations")), (groups, organizations));
    let full = metrics.table.load_full();
    metrics.table.rcu(|table| {
        let mut table = Table::clone(table);
        metrics.registry.kinds().served().iter().for_each(|kind| table.add(kind));
        table
    });
    assert_eq!(metrics.table.load().targets.len(), full.targets.len());
}
