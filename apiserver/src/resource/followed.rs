//! What a stream of events follows: objects that are stored, or such as are made of what is stored.

use bailiwick_registry::{
    MadeWatch, ObjectWatch, Registry, Result, Selection, ServedKind, WatchBatch, WatchEvent, WatchFrom,
};

/// What a stream follows.
#[expect(clippy::large_enum_variant, reason = "nearly all streams follow what is stored; a box would only cost them")]
pub(super) enum Followed {
    Stored(ObjectWatch),
    Made(Box<MadeWatch>),
}

// === impl Followed ===

impl Followed {
    pub(super) async fn begin(
        registry: &Registry,
        kind: &ServedKind,
        namespace: Option<&str>,
        selection: Selection,
        from: WatchFrom,
    ) -> Result<Self> {
        match kind.kind().maker() {
            None => registry.watch(kind, namespace, selection, from).await.map(Self::Stored),
            Some(_) => {
                let made = registry.watch_made(kind, namespace.unwrap_or_default(), selection, from).await?;
                Ok(Self::Made(Box::new(made)))
            }
        }
    }

    pub(super) fn position(&self) -> u64 {
        match self {
            Self::Stored(watch) => watch.position(),
            Self::Made(watch) => watch.position(),
        }
    }

    pub(super) fn initial(&mut self, most: usize) -> Result<Vec<WatchEvent>> {
        match self {
            Self::Stored(watch) => watch.initial(most),
            Self::Made(watch) => Ok(watch.initial(most)),
        }
    }

    /// May be dropped and called again without losing anything.
    pub(super) async fn next(&mut self) -> Result<WatchBatch> {
        match self {
            Self::Stored(watch) => watch.next().await,
            Self::Made(watch) => watch.next().await,
        }
    }

    pub(super) fn request_progress(&mut self) {
        match self {
            Self::Stored(watch) => watch.request_progress(),
            Self::Made(watch) => watch.request_progress(),
        }
    }
}
