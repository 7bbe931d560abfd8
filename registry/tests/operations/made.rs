//! Objects that are made of what is stored, while many follow them: what is made anew, and how often.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::watch::EventType;
use bailiwick_machinery::{GroupVersion, NameRule, Object, Scope};
use bailiwick_registry::{
    DeleteOptions, FromStored, Kind, MadeWatch, Names, Result, Selection, ServedKind, Touched, Version, Virtual,
    VirtualVerb, WatchFrom,
};
use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{At, Key, Prefix, Resource};
use futures::FutureExt;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::support::{HOME, World, object, widget};

/// How many namespaces are followed, and how many objects there are in each.
const NAMESPACES: usize = 40;
const NAMES: usize = 5;
/// In which namespace the widgets lie that all widgets of the name are shown with.
const SHARED: &str = "shared";
/// How long something that must happen may take.
const SOON: Duration = Duration::from_secs(30);
/// Longer than changes are held back.
const SETTLED: Duration = Duration::from_millis(1_300);

/// Makes a view of each widget: its size, and that of the shared one of its name. Counts what it makes.
struct Views {
    made: Arc<AtomicUsize>,
    lists: Arc<AtomicUsize>,
}

struct Watched {
    world: World,
    views: Arc<ServedKind>,
    made: Arc<AtomicUsize>,
    lists: Arc<AtomicUsize>,
}

#[async_trait]
impl Virtual for Views {
    fn verbs(&self) -> &'static [VirtualVerb] {
        &[VirtualVerb::Get, VirtualVerb::List, VirtualVerb::Watch]
    }

    fn follows_stored(&self) -> Option<&dyn FromStored> {
        Some(self)
    }
}

impl FromStored for Views {
    fn made_of(&self) -> Result<Prefix> {
        Ok(widgets().all().clone())
    }

    fn objects(&self, state: &Snapshot, namespace: &str) -> Result<Vec<Object>> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        let range = widgets().namespace(namespace).unwrap();
        Ok(state.range(&range, None).map(|row| view(state, namespace, row.key().name()).unwrap()).collect())
    }

    fn object(&self, state: &Snapshot, namespace: &str, name: &str) -> Result<Option<Object>> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(view(state, namespace, name))
    }

    fn touched<'k>(&self, key: &'k Key) -> Touched<'k> {
        match widgets().all().relative(key).and_then(|rest| rest.split_once('/')) {
            Some((SHARED, name)) => Touched::Named(name),
            Some((namespace, name)) => Touched::One { namespace, name },
            None => Touched::Nothing,
        }
    }
}

fn widgets() -> Resource {
    Resource::new(HOME, "widgets").unwrap()
}

fn view(state: &Snapshot, namespace: &str, name: &str) -> Option<Object> {
    let size = |namespace: &str| {
        let row = state.get(&widgets().namespaced(namespace, name).unwrap())?;
        let text = String::from_utf8(row.body().unwrap().to_vec()).unwrap();
        let size = text.split("\"size\":").nth(1).map_or("0", |rest| rest.split(['}', ',']).next().unwrap());
        Some((size.to_owned(), row.revision().get()))
    };
    let (own, at) = size(namespace)?;
    let (shared, then) = size(SHARED).unwrap_or_default();
    let metadata = json!({ "name": name, "namespace": namespace, "resourceVersion": at.max(then).to_string() });
    Some(object(json!({ "metadata": metadata, "spec": { "own": own, "shared": shared } })))
}

fn views(made: &Arc<AtomicUsize>, lists: &Arc<AtomicUsize>) -> Kind {
    let names = Names {
        kind: "View".into(),
        list_kind: "ViewList".into(),
        plural: "views".into(),
        singular: "view".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
    };
    let version = Version {
        group_version: GroupVersion::new(HOME, "v1"),
        schema: Schema::from_json(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"own": {"type": "string"}, "shared": {"type": "string"}}},
        }}))
        .unwrap(),
        columns: Columns::named(),
        selectable: Vec::new(),
    };
    let kind = Kind::new(names, Scope::Namespaced, NameRule::DnsSubdomain, version).unwrap();
    kind.made_by(Views { made: made.clone(), lists: lists.clone() })
}

// === impl Watched ===

impl Watched {
    async fn start() -> Self {
        let (made, lists) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let world = World::with_kind(views(&made, &lists)).await;
        let views = world.registry.find(&GroupVersion::new(HOME, "v1"), "views").unwrap();
        Self { world, views, made, lists }
    }

    async fn put(&self, namespace: &str, name: &str, size: u64) {
        self.world.create(widget(namespace, name, size)).await;
    }

    /// Gives a widget another size.
    async fn set(&self, namespace: &str, name: &str, size: u64) {
        let edit = |object: &mut Object| drop(object.fields_mut().insert("spec".to_owned(), json!({ "size": size })));
        self.world.patch(namespace, name, edit).await.unwrap();
    }

    async fn watch(&self, namespace: &str, from: WatchFrom) -> MadeWatch {
        let selection = Selection::parse(&self.views, "", "").unwrap();
        self.world.registry.watch_made(&self.views, namespace, selection, from).await.unwrap()
    }

    /// How often one object was made, and all of a namespace, since this was last asked.
    fn counts(&self) -> (usize, usize) {
        (self.made.swap(0, Ordering::Relaxed), self.lists.swap(0, Ordering::Relaxed))
    }
}

/// The next changes: what became of which object, its own size and the shared one.
async fn next(watch: &mut MadeWatch) -> Vec<(EventType, String, Value)> {
    let batch = timeout(SOON, watch.next()).await.unwrap().unwrap();
    let told = batch.events.into_iter().map(|event| {
        let text = format!("{{{}", String::from_utf8(event.object.as_bytes().to_vec()).unwrap());
        let object: Value = serde_json::from_str(&text).unwrap();
        (event.event_type, object["metadata"]["name"].as_str().unwrap().to_owned(), object["spec"].clone())
    });
    told.collect()
}

#[tokio::test]
async fn only_what_a_change_concerns_is_made_anew() {
    let watched = Watched::start().await;
    let namespace = |number: usize| format!("n{number:02}");
    for number in 0..NAMESPACES {
        for name in 0..NAMES {
            watched.put(&namespace(number), &format!("w{name}"), 1).await;
        }
    }
    let mut watches = Vec::new();
    for number in 0..NAMESPACES {
        watches.push(watched.watch(&namespace(number), WatchFrom::State(At::Latest)).await);
    }
    assert_eq!(watches.iter_mut().map(|watch| watch.initial(100).len()).sum::<usize>(), NAMESPACES * NAMES);
    assert_eq!(watched.counts(), (0, NAMESPACES));

    watched.put("n07", "new", 7).await;
    assert_eq!(
        next(&mut watches[7]).await,
        [(EventType::Added, "new".to_owned(), json!({ "own": "7", "shared": "" }))]
    );
    sleep(SETTLED).await;
    let others = watches.iter_mut().enumerate().filter(|(number, _)| *number != 7);
    assert!(others.map(|(_, watch)| watch.next().now_or_never()).all(|event| event.is_none()));
    assert_eq!(watched.counts(), (1, 0));

    // What all of them show changes often: each tells the last of it, and makes it once.
    watched.put(SHARED, "w3", 1).await;
    for size in 2..=20 {
        watched.set(SHARED, "w3", size).await;
    }
    sleep(SETTLED).await;
    for watch in &mut watches {
        let spec = json!({ "own": "1", "shared": "20" });
        assert_eq!(next(watch).await, [(EventType::Modified, "w3".to_owned(), spec)]);
    }
    assert_eq!(watched.counts(), (NAMESPACES, 0));
    // What nobody shows costs nothing.
    watched.put(SHARED, "unknown", 1).await;
    sleep(SETTLED).await;
    assert!(watches.iter_mut().map(|watch| watch.next().now_or_never()).all(|event| event.is_none()));
    assert_eq!(watched.counts(), (0, 0));
}

#[tokio::test]
async fn a_watch_that_begins_in_the_past_is_told_of_all_since() {
    let watched = Watched::start().await;
    watched.put("n", "stays", 1).await;
    watched.put("n", "goes", 1).await;
    watched.put(SHARED, "stays", 1).await;
    let before = watched.world.revision().await;
    // They are followed already, so all of this is noted by then.
    let mut other = watched.watch("n", WatchFrom::Now(At::Latest)).await;
    watched.world.delete("n", "goes", &DeleteOptions::default()).await.unwrap();
    watched.put("n", "comes", 2).await;
    watched.set(SHARED, "stays", 5).await;
    let told = next(&mut other).await;
    assert!(!told.is_empty(), "{told:?}");
    let mut watch = watched.watch("n", WatchFrom::After(before)).await;
    let events: Vec<_> = next(&mut watch).await.into_iter().map(|(what, name, _)| (what, name)).collect();
    let expected = [(EventType::Deleted, "goes"), (EventType::Added, "comes"), (EventType::Modified, "stays")];
    assert_eq!(events, expected.map(|(what, name)| (what, name.to_owned())));
    assert!(watch.position() > before);

    // It follows what came meanwhile, too.
    watched.put(SHARED, "comes", 9).await;
    assert_eq!(
        next(&mut watch).await,
        [(EventType::Modified, "comes".to_owned(), json!({ "own": "2", "shared": "9" }))]
    );
}

#[tokio::test]
async fn a_watch_that_is_dropped_while_it_waits_loses_nothing() {
    let watched = Watched::start().await;
    let mut watch = watched.watch("n", WatchFrom::Now(At::Latest)).await;
    watched.put("n", "first", 1).await;
    assert_eq!(next(&mut watch).await.len(), 1);
    // Held back for a second: whoever waits gives up many times.
    watched.put("n", "second", 1).await;
    let began = Instant::now();
    let told = loop {
        assert!(began.elapsed() < SOON, "it is never told");
        if let Ok(told) = timeout(Duration::from_millis(20), watch.next()).await {
            break told.unwrap();
        }
    };
    assert_eq!(told.events.len(), 1);
    watch.request_progress();
    let batch = timeout(SOON, watch.next()).await.unwrap().unwrap();
    assert!(batch.events.is_empty());
    assert_eq!(batch.through, watched.world.revision().await);
    assert!(timeout(Duration::from_millis(50), watch.next()).await.is_err());
}
