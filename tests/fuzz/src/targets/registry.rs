//! An object on its way into the store and out of it.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use bailiwick_machinery::decode::{Decoded, FieldValidation, from_json};
use bailiwick_machinery::{Object, Scope};
use bailiwick_registry::{
    Ctx, DeleteOptions, Deleted, Encoded, Error, ListRequest, Part, Registry, Selection, ServedKind, Tracking, Update,
    User, WriteOptions, kinds,
};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::{At, Metrics};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::{schema, value};

/// Words of our kinds.
pub const DICTIONARY: &[&[u8]] = schema::DICTIONARY;

/// A registry over a store of its own.
struct Site {
    runtime: Runtime,
    registry: Registry,
    user: User,
    _folder: TempDir,
}

static SITE: LazyLock<Mutex<Site>> = LazyLock::new(|| Mutex::new(Site::open()));

/// What is served of an object that was taken is JSON without duplicates, says its kind and its version, is what is read
/// later, is found by its labels, and is unchanged by an update to what it is. What is refused is the client's doing.
pub fn target(data: &[u8]) {
    let Ok((object, _)) = from_json(data).and_then(Decoded::into_object) else { return };
    let site = SITE.lock().unwrap_or_else(PoisonError::into_inner);
    for kind in site.registry.kinds().served() {
        site.runtime.block_on(site.live(kind, object.clone()));
    }
}

// === impl Site ===

impl Site {
    fn open() -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime can be had");
        let folder = tempfile::tempdir().expect("a folder can be had");
        let registry = runtime.block_on(async {
            let taken = Folder::take(folder.path()).expect("the folder is new");
            let store = Embedded::open(EmbeddedOptions::new(Arc::new(taken))).await.expect("the folder is empty");
            let kinds = kinds::all().expect("the kinds are checked by their tests");
            Registry::start(Arc::new(store), kinds, Metrics::default()).await.expect("the store is open")
        });
        Self { runtime, registry, user: User::default(), _folder: folder }
    }

    /// From the making of an object to its end.
    async fn live(&self, kind: &ServedKind, mut object: Object) {
        object.set_gvk(kind.gvk());
        let ctx = Ctx { user: &self.user, now: UNIX_EPOCH + Duration::from_secs(1_000_000_000), annotations: None };
        let options = WriteOptions { validation: FieldValidation::Ignore, ..WriteOptions::default() };
        let mut accepted = match kind.accept(object, &options) {
            Ok(accepted) => accepted,
            Err(error) => return assert!(is_the_clients(&error), "{error:?}"),
        };
        if kind.kind().scope() == Scope::Namespaced {
            accepted.set_namespace("default");
        }
        let written = match self.registry.create(&ctx, kind, accepted, &options).await {
            Ok(written) => written.object,
            Err(error) => return assert!(is_the_clients(&error), "{error:?}"),
        };
        let made = read(kind, &written);
        let (namespace, name) = (made.metadata().namespace().to_owned(), made.metadata().name().to_owned());
        let got = self.registry.get(kind, &namespace, &name, At::Latest).await.expect("it was just made");
        assert_eq!(got, written, "it is read differently");
        self.find(kind, &made).await;

        let same = |old: &Object| kind.accept(old.clone(), &options);
        let update = Update { part: Part::Main, change: &same, tracking: &Tracking::default(), dry_run: false };
        let updated = self.registry.update(&ctx, kind, &namespace, &name, update).await;
        assert_eq!(updated.expect("it may be what it is").object, written, "it was changed by no change");

        let deleted = self.registry.delete(&ctx, kind, &namespace, &name, &DeleteOptions::default()).await;
        if let Deleted::Waiting(_) = deleted.expect("it is there") {
            let finish = |old: &Object| {
                let mut new = old.clone();
                new.set_finalizers(&[]);
                kind.accept(new, &options)
            };
            let update = Update { part: Part::Main, change: &finish, tracking: &Tracking::default(), dry_run: false };
            self.registry.update(&ctx, kind, &namespace, &name, update).await.expect("its finalizers may go");
        }
        let gone = self.registry.get(kind, &namespace, &name, At::Latest).await;
        assert!(matches!(gone, Err(Error::NotFound { .. })), "it is still there: {gone:?}");
    }

    /// Every label finds it.
    async fn find(&self, kind: &ServedKind, object: &Object) {
        for (name, value) in object.metadata().labels() {
            let selection = Selection::parse(kind, &format!("{name}={value}"), "").expect("a label can be selected by");
            let request =
                ListRequest { namespace: None, selection: &selection, at: At::Latest, after: None, limit: None };
            let list = self.registry.list(kind, &request).await.expect("it can be listed");
            let found = list.objects.iter().any(|found| found.key().name() == object.metadata().name());
            assert!(found, "{name}={value} does not find it");
        }
    }
}

/// The object, checked as a client would see it.
fn read(kind: &ServedKind, served: &Encoded) -> Object {
    let json = [kind.head().as_ref(), served.as_bytes()].concat();
    let decoded = from_json(&json).expect("JSON is served");
    assert_eq!(decoded.duplicates, [], "fields are served twice");
    value::check(&decoded.value);
    let object = served.to_object(kind.gvk()).expect("an object is served");
    assert_eq!(object.as_value(), &decoded.value, "the server reads it differently than clients do");
    assert_eq!(object.gvk().as_ref(), Some(kind.gvk()));
    let metadata = object.metadata();
    assert!(metadata.resource_version().parse::<u64>().is_ok_and(|version| version > 0));
    assert_eq!((metadata.uid().len(), metadata.generation()), (36, 1));
    object
}

fn is_the_clients(error: &Error) -> bool {
    matches!(
        error,
        Error::Invalid { .. }
            | Error::BadRequest(_)
            | Error::Unfit { .. }
            | Error::TooLarge { .. }
            | Error::ResourceVersionSet
            | Error::NoUniqueName { .. }
    )
}
