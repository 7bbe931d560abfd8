//! The workload: claims as users write them, a number of labels each, 1 KiB long.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bailiwick_storage::cache::{Extract, Term, Terms, Undecodable};
use bailiwick_storage::{Key, Resource, Revision, Store, Txn};
use bytes::Bytes;
use serde::Deserialize;

/// The length of every stored value.
pub(crate) const VALUE_BYTES: usize = 1_024;
/// How many namespaces the objects are spread over.
pub(crate) const NAMESPACES: usize = 100;
/// How many objects share a catalog, the index term that lists are narrowed by.
pub(crate) const PER_CATALOG: usize = 50;
/// How many writers fill a store: as many as share one commit of the embedded engine.
const FILLING_WRITERS: usize = 512;

const APPS: usize = 50;
const TIERS: [&str; 3] = ["frontend", "backend", "data"];
const TEAMS: usize = 20;

/// A set of claims.
#[derive(Clone, Debug)]
pub(crate) struct Claims {
    /// Where they lie.
    pub(crate) resource: Resource,
    plural: &'static str,
    count: usize,
}

/// Makes of a stored claim what the server would serve: the same bytes with the revision in place. Finds it by its
/// labels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    /// What else it is found by.
    pub(crate) fields: Fields,
}

/// Which fields of a claim are indexed beside its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// None.
    None,
    /// Its catalog.
    Catalog,
}

#[derive(Deserialize)]
struct Parsed<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    spec: Spec<'a>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    labels: Labels<'a>,
}

#[derive(Deserialize)]
struct Labels<'a> {
    #[serde(borrow)]
    app: Cow<'a, str>,
    #[serde(borrow)]
    tier: Cow<'a, str>,
    #[serde(borrow)]
    team: Cow<'a, str>,
    #[serde(borrow)]
    instance: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow)]
    catalog: Cow<'a, str>,
}

// === impl Claims ===

impl Claims {
    /// So many claims of a resource called `plural`.
    pub(crate) fn new(plural: &'static str, count: usize) -> Self {
        let resource = Resource::new("catalog.bailiwick.dev", plural).expect("the names are API names");
        Self { resource, plural, count }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Where a claim lies.
    pub(crate) fn key(&self, nth: usize) -> Key {
        let key = self.resource.namespaced(namespace(nth), name(nth));
        key.expect("the names are Kubernetes names")
    }

    /// What is stored for a claim.
    pub(crate) fn value(&self, nth: usize) -> Bytes {
        let head = format!(
            r#"{{"apiVersion":"catalog.bailiwick.dev/v1","kind":"ResourceCatalogClaim","metadata":{{"name":"{}","namespace":"{}","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"app-{:02}","tier":"{}","team":"team-{:02}","instance":"{}-{:05x}"}}}},"spec":{{"catalog":"{}","resource":"{}","note":""#,
            name(nth),
            namespace(nth),
            nth % APPS,
            TIERS[nth % TIERS.len()],
            nth / 7 % TEAMS,
            name(nth),
            scatter(nth) % 0xf_ffff,
            self.catalog(nth),
            self.plural,
        );
        let mut value = Vec::with_capacity(VALUE_BYTES);
        value.extend(head.as_bytes());
        value.resize(VALUE_BYTES - 3, b'x');
        value.extend(b"\"}}");
        value.into()
    }

    /// The catalog that a claim is of.
    pub(crate) fn catalog(&self, nth: usize) -> String {
        format!("catalog-{:05}", nth % (self.count / PER_CATALOG).max(1))
    }

    /// All keys, in an order that has nothing to do with theirs.
    pub(crate) fn scattered_keys(&self) -> Vec<Key> {
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_unstable_by_key(|&nth| scatter(nth));
        order.into_iter().map(|nth| self.key(nth)).collect()
    }

    /// Creates all of them.
    pub(crate) async fn fill(&self, store: &Arc<dyn Store>) {
        self.fill_from(store, 0).await;
    }

    /// Creates those from `first` on.
    pub(crate) async fn fill_from(&self, store: &Arc<dyn Store>, first: usize) {
        let next = Arc::new(AtomicUsize::new(first));
        let mut writers = tokio::task::JoinSet::new();
        for _ in 0..FILLING_WRITERS {
            let (store, next, claims) = (store.clone(), next.clone(), self.clone());
            writers.spawn(async move {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= claims.count {
                        return;
                    }
                    let txn = Txn::new().create(claims.key(nth), claims.value(nth));
                    store.commit(txn).await.expect("a fresh store takes new keys");
                }
            });
        }
        while let Some(ended) = writers.join_next().await {
            ended.expect("a writer does not panic");
        }
    }
}

// === impl Server ===

impl Extract for Server {
    fn extract(&self, _: &Key, revision: Revision, stored: Bytes, terms: &mut Terms<'_>) -> Result<Bytes, Undecodable> {
        const METADATA: &[u8] = br#""metadata":{"#;
        let undecodable = |reason: &str| Undecodable(reason.into());
        let parsed: Parsed<'_> = serde_json::from_slice(&stored).map_err(|error| undecodable(&error.to_string()))?;
        let labels = parsed.metadata.labels;
        terms.add(Term::label("app", labels.app));
        terms.add(Term::label("tier", labels.tier));
        terms.add(Term::label("team", labels.team));
        terms.add(Term::label("instance", labels.instance));
        if self.fields == Fields::Catalog {
            terms.add(Term::field("spec.catalog", parsed.spec.catalog));
        }
        let at = stored.windows(METADATA.len()).position(|window| window == METADATA);
        let (head, tail) = stored.split_at(at.ok_or_else(|| undecodable("no metadata"))? + METADATA.len());
        let version = format!(r#""resourceVersion":"{revision}","#);
        let mut body = Vec::with_capacity(stored.len() + version.len());
        [head, version.as_bytes(), tail].iter().for_each(|part| body.extend_from_slice(part));
        Ok(body.into())
    }
}

fn namespace(nth: usize) -> String {
    format!("tenant-{:03}", nth % NAMESPACES)
}

fn name(nth: usize) -> String {
    format!("claim-{nth:06}")
}

/// A number that looks unrelated to `nth`, the same in every run.
fn scatter(nth: usize) -> u64 {
    let mixed = (nth as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}
