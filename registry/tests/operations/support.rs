//! A registry with a few kinds, and short ways to use it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::watch::EventType;
use bailiwick_machinery::{GroupVersion, NameRule, Object, Scope};
use bailiwick_registry::{
    Accepted, Admission, Ctx, DeleteOptions, Deleted, Error, Kind, List, ListRequest, Names, ObjectWatch, Part,
    Registry, Result, SelectableField, Selection, ServedKind, Tracking, Update, User, Version, WatchEvent, WatchFrom,
    WriteOptions, Written, kinds,
};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::testing::SimDisk;
use bailiwick_storage::{At, Revision, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The group that widgets are stored in.
pub(super) const HOME: &str = "example.dev";
/// Another group in which they are served.
pub(super) const ALIAS: &str = "alias.example.dev";

/// When everything happens.
pub(super) const NOW: &str = "2026-01-02T03:04:05Z";

/// How long something that must happen may take.
const SOON: Duration = Duration::from_secs(30);

/// A registry, and who uses it.
pub(super) struct World {
    pub(super) registry: Registry,
    pub(super) store: Arc<dyn Store>,
    pub(super) widgets: Arc<ServedKind>,
    pub(super) user: User,
    /// Where the data lies, if it lies on a disk.
    _folder: Option<TempDir>,
}

/// Kinds of our own, and those there are.
fn all_kinds() -> Vec<Kind> {
    let version = |group: &'static str| Version {
        group_version: GroupVersion::new(group, "v1"),
        schema: Schema::from_json(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer", "minimum": 0},
                "color": {"type": "string", "default": "grey"},
                "fixed": {"type": "boolean"},
            }},
            "status": {"type": "object", "properties": {"seen": {"type": "integer"}}},
        }}))
        .unwrap(),
        columns: Columns::named(),
        selectable: ["spec.size", "spec.color", "spec.fixed"].map(SelectableField::new).to_vec(),
    };
    let names = Names {
        kind: "Widget".into(),
        list_kind: "WidgetList".into(),
        plural: "widgets".into(),
        singular: "widget".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
    };
    let widgets = Kind::new(names, Scope::Namespaced, NameRule::DnsSubdomain, version(HOME)).unwrap();
    let namespaces = Names {
        kind: "Namespace".into(),
        list_kind: "NamespaceList".into(),
        plural: "namespaces".into(),
        singular: "namespace".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
    };
    let gadgets = Names {
        kind: "Gadget".into(),
        list_kind: "GadgetList".into(),
        plural: "gadgets".into(),
        singular: "gadget".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
    };
    let gadgets = Kind::new(gadgets, Scope::Namespaced, NameRule::DnsSubdomain, asked_for()).unwrap();
    let mut all = kinds::all().unwrap();
    all.push(gadgets.with_status().with_requester());
    all.push(Kind::new(namespaces, Scope::Cluster, NameRule::DnsLabel, version("")).unwrap());
    all.push(widgets.with_status().also_served(version(ALIAS)));
    all
}

/// A version whose objects say who asked for them.
fn asked_for() -> Version {
    Version {
        group_version: GroupVersion::new(HOME, "v1"),
        schema: Schema::from_json(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"requester": {"type": "object", "properties": {
                "username": {"type": "string"},
                "groups": {"type": "array", "items": {"type": "string"}},
            }}}},
        }}))
        .unwrap(),
        columns: Columns::named(),
        selectable: Vec::new(),
    }
}

// === impl World ===

impl World {
    /// With its data on a disk.
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let taken = Folder::take(folder.path()).unwrap();
        Self { _folder: Some(folder), ..Self::on(EmbeddedOptions::new(Arc::new(taken))).await }
    }

    /// With its data on a disk in memory, for many writes.
    pub(super) async fn in_memory() -> Self {
        Self::on_disk(SimDisk::default()).await
    }

    /// With the data of a disk in memory.
    pub(super) async fn on_disk(disk: SimDisk) -> Self {
        Self::on(EmbeddedOptions::new(Arc::new(disk))).await
    }

    async fn on(options: EmbeddedOptions) -> Self {
        Self::over(Arc::new(Embedded::open(options).await.unwrap())).await
    }

    /// Over a store that is open.
    pub(super) async fn over(store: Arc<dyn Store>) -> Self {
        Self::of(store, all_kinds()).await
    }

    /// With its data on a disk in memory, and one more kind.
    pub(super) async fn with_kind(kind: Kind) -> Self {
        let options = EmbeddedOptions::new(Arc::new(SimDisk::default()));
        let kinds = all_kinds().into_iter().chain([kind]).collect();
        Self::of(Arc::new(Embedded::open(options).await.unwrap()), kinds).await
    }

    async fn of(store: Arc<dyn Store>, kinds: Vec<Kind>) -> Self {
        let registry = Registry::start(store.clone(), kinds, Default::default()).await.unwrap();
        let widgets = registry.find(&GroupVersion::new(HOME, "v1"), "widgets").unwrap();
        let user = User { name: "tester".to_owned(), ..User::default() };
        Self { registry, store, widgets, user, _folder: None }
    }

    /// The same, with one more rule over objects.
    pub(super) fn with_admission(self, admission: impl Admission) -> Self {
        Self { registry: self.registry.with_admission(admission), ..self }
    }

    pub(super) fn ctx(&self) -> Ctx<'_> {
        Ctx { user: &self.user, now: now(), annotations: None }
    }

    pub(super) fn kind(&self, group: &'static str, version: &'static str, plural: &str) -> Arc<ServedKind> {
        self.registry.find(&GroupVersion::new(group, version), plural).unwrap()
    }

    /// Creates a widget, which must work.
    pub(super) async fn create(&self, object: Value) -> Object {
        self.decode(self.try_create(object, &WriteOptions::default()).await.unwrap())
    }

    pub(super) async fn try_create(&self, object: Value, options: &WriteOptions) -> Result<Written> {
        let accepted = accept(&self.widgets, self::object(object), options)?;
        self.registry.create(&self.ctx(), &self.widgets, accepted, options).await
    }

    /// Replaces a widget with what a client sends.
    pub(super) async fn put(&self, part: Part, object: &Object) -> Result<Object> {
        let change = |_: &Object| accept(&self.widgets, object.clone(), &WriteOptions::default());
        self.change(object.metadata().namespace(), object.metadata().name(), part, &change).await
    }

    /// Changes a widget from whatever it is.
    pub(super) async fn patch(&self, namespace: &str, name: &str, edit: impl Fn(&mut Object) + Sync) -> Result<Object> {
        self.change(namespace, name, Part::Main, &edited(&self.widgets, &edit)).await
    }

    pub(super) async fn change(
        &self,
        namespace: &str,
        name: &str,
        part: Part,
        change: &bailiwick_registry::Change<'_>,
    ) -> Result<Object> {
        let update = Update { part, change, tracking: &Tracking::default(), dry_run: false };
        let written = self.registry.update(&self.ctx(), &self.widgets, namespace, name, update).await?;
        Ok(self.decode(written))
    }

    pub(super) async fn get(&self, namespace: &str, name: &str) -> Result<Object> {
        let found = self.registry.get(&self.widgets, namespace, name, At::Latest).await?;
        Ok(found.to_object(self.widgets.gvk()).unwrap())
    }

    pub(super) async fn delete(&self, namespace: &str, name: &str, options: &DeleteOptions) -> Result<Deleted> {
        self.registry.delete(&self.ctx(), &self.widgets, namespace, name, options).await
    }

    /// All widgets that a selection takes.
    pub(super) async fn list(&self, namespace: Option<&str>, selection: &Selection, at: At) -> List {
        let request = ListRequest { namespace, selection, at, after: None, limit: None };
        self.registry.list(&self.widgets, &request).await.unwrap()
    }

    /// All pages of a list: the revision, and what each of them holds.
    pub(super) async fn pages(
        &self,
        namespace: Option<&str>,
        selection: &Selection,
        at: At,
        limit: usize,
    ) -> Vec<List> {
        let limit = NonZeroUsize::new(limit);
        let mut pages: Vec<List> = Vec::new();
        loop {
            let after = pages.last().and_then(|page| page.next.as_deref());
            let at = pages.first().map_or(at, |first| At::Exact(Revision::new(first.revision)));
            let request = ListRequest { namespace, selection, at, after, limit };
            let page = self.registry.list(&self.widgets, &request).await.unwrap();
            let last = page.next.is_none();
            pages.push(page);
            if last {
                return pages;
            }
        }
    }

    pub(super) fn everything(&self) -> Selection {
        Selection::everything(&self.widgets)
    }

    pub(super) async fn watch(
        &self,
        namespace: Option<&str>,
        selection: Selection,
        from: WatchFrom,
    ) -> Result<ObjectWatch> {
        self.registry.watch(&self.widgets, namespace, selection, from).await
    }

    /// The newest revision.
    pub(super) async fn revision(&self) -> u64 {
        self.list(None, &self.everything(), At::Latest).await.revision
    }

    pub(super) fn decode(&self, written: Written) -> Object {
        written.object.to_object(self.widgets.gvk()).unwrap()
    }
}

pub(super) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_767_323_045)
}

/// A widget.
pub(super) fn widget(namespace: &str, name: &str, size: u64) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name}, "spec": {"size": size}})
}

pub(super) fn object(value: Value) -> Object {
    Object::try_from(value).unwrap()
}

/// A change that edits the object there is, as a patch does.
pub(super) fn edited(
    kind: &ServedKind,
    edit: &(impl Fn(&mut Object) + Sync),
) -> impl Fn(&Object) -> Result<Accepted> + Send + Sync {
    move |old: &Object| {
        let mut new = old.clone();
        edit(&mut new);
        kind.accept(new, &WriteOptions::default())
    }
}

/// Takes an object for what its kind says, as whoever reads a body does with one that does not say what it is.
pub(super) fn accept(kind: &ServedKind, mut object: Object, options: &WriteOptions) -> Result<Accepted> {
    object.set_gvk(kind.gvk());
    kind.accept(object, options)
}

pub(super) fn version(object: &Object) -> u64 {
    object.metadata().resource_version().parse().unwrap()
}

/// What a list holds, by key.
pub(super) fn contents(list: &List) -> BTreeMap<String, Vec<u8>> {
    list.objects.iter().map(|object| (object.key().as_str().to_owned(), object.body().unwrap().to_vec())).collect()
}

/// Reads a watch until it has told everything up to a revision. The objects it began with come first.
pub(super) async fn read_until(watch: &mut ObjectWatch, revision: u64) -> Vec<WatchEvent> {
    let mut events = watch.initial(usize::MAX).unwrap();
    let mut reached = watch.position();
    while reached < revision {
        watch.request_progress();
        let batch = tokio::time::timeout(SOON, watch.next()).await.expect("a watch tells what has happened").unwrap();
        assert!(batch.through >= reached, "a watch does not go back");
        reached = batch.through;
        events.extend(batch.events);
    }
    events
}

/// What a watch told, in short: the type, the name and the resource version.
pub(super) fn told(world: &World, events: &[WatchEvent]) -> Vec<(EventType, String, u64)> {
    let short = |event: &WatchEvent| {
        let object = event.object.to_object(world.widgets.gvk()).unwrap();
        (event.event_type, object.metadata().name().to_owned(), version(&object))
    };
    events.iter().map(short).collect()
}

/// The error must be of this form.
#[macro_export]
macro_rules! assert_error {
    ($result:expr, $pattern:pat $(if $guard:expr)?) => {
        match $result {
            Err($pattern) $(if $guard)? => {}
            other => panic!("expected {}, and it was {other:?}", stringify!($pattern)),
        }
    };
}

/// What is wrong with an object, one text for each thing.
pub(super) fn invalid<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(Error::Invalid { errors, .. }) => errors.to_string(),
        other => panic!("expected an invalid object, and it was {other:?}"),
    }
}
