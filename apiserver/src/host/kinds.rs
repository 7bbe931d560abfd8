//! The kinds of the host, as its discovery tells them. What is not found is asked for again, so that a kind that was defined a
//! moment ago can be used.

use std::sync::{Arc, PoisonError, RwLock};

use bailiwick_registry::{HostError, HostKind};
use kube::Client;
use kube::client::{APIGroupDiscoveryList, APIResourceDiscovery};
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant};

/// How long an answer is believed without asking again.
const FRESH: Duration = Duration::from_secs(30);

/// The kinds that were seen last.
#[derive(Default)]
pub(super) struct Kinds {
    seen: RwLock<Option<Seen>>,
    /// Held by whoever asks, so that one asks for all that wait.
    asking: Mutex<()>,
}

#[derive(Clone)]
struct Seen {
    kinds: Arc<[Served]>,
    when: Instant,
}

/// A kind, with all that people call it.
#[derive(Clone, Debug)]
pub(super) struct Served {
    kind: HostKind,
    words: Vec<String>,
}

// === impl Kinds ===

impl Kinds {
    /// The first kind that is meant, in the order in which the host names groups and versions.
    pub(super) async fn find(
        &self,
        client: &Client,
        is_meant: impl Fn(&Served) -> bool,
    ) -> Result<Option<HostKind>, HostError> {
        let asked = Instant::now();
        let find = |seen: &Seen| seen.kinds.iter().find(|served| is_meant(served)).map(|served| served.kind.clone());
        if let Some(seen) = self.seen().filter(|seen| seen.when.elapsed() < FRESH)
            && let found @ Some(_) = find(&seen)
        {
            return Ok(found);
        }
        let _asking = self.asking.lock().await;
        // Whoever asked while this one waited asked for both.
        let seen = match self.seen().filter(|seen| seen.when > asked) {
            Some(seen) => seen,
            None => {
                let seen = Seen { when: Instant::now(), kinds: discover(client).await?.into() };
                *self.seen.write().unwrap_or_else(PoisonError::into_inner) = Some(seen.clone());
                seen
            }
        };
        Ok(find(&seen))
    }

    fn seen(&self) -> Option<Seen> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn discover(client: &Client) -> Result<Vec<Served>, HostError> {
    let failed = |error: kube::Error| HostError::Unavailable(format!("the host's kinds are not known: {error}"));
    let core = client.list_core_api_versions_aggregated().await.map_err(failed)?;
    let groups = client.list_api_groups_aggregated().await.map_err(failed)?;
    Ok(served(core).chain(served(groups)).collect())
}

fn served(list: APIGroupDiscoveryList) -> impl Iterator<Item = Served> {
    list.items.into_iter().flat_map(|group| {
        let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        group.versions.into_iter().flat_map(move |version| {
            let (name, number) = (name.clone(), version.version.unwrap_or_default());
            version.resources.into_iter().filter_map(move |resource| Served::new(&name, &number, resource))
        })
    })
}

// === impl Served ===

impl Served {
    fn new(group: &str, version: &str, resource: APIResourceDiscovery) -> Option<Self> {
        let plural = resource.resource?;
        let mut words = vec![plural.clone()];
        words.extend(resource.singular_resource.filter(|singular| !singular.is_empty()));
        words.extend(resource.short_names);
        let kind = HostKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: resource.response_kind?.kind?,
            plural,
            namespaced: resource.scope.as_deref() == Some("Namespaced"),
            verbs: resource.verbs,
        };
        Some(Self { kind, words })
    }

    pub(super) fn is(&self, api_version: &str, kind: &str) -> bool {
        self.kind.kind == kind && self.kind.api_version() == api_version
    }

    /// Whether a word of people means it: its name alone, with its group, or with its version and group.
    pub(super) fn is_called(&self, word: &str) -> bool {
        let HostKind { group, version, .. } = &self.kind;
        let (name, rest) = word.split_once('.').map_or((word, None), |(name, rest)| (name, Some(rest)));
        let is_here = match rest {
            None => true,
            Some(rest) => {
                rest == group.as_str() || rest == version.as_str() && group.is_empty() || {
                    let with_version = rest.strip_prefix(version.as_str()).and_then(|rest| rest.strip_prefix('.'));
                    with_version == Some(group.as_str())
                }
            }
        };
        is_here && self.words.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}
