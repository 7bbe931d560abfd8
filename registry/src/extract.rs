//! What the cache makes of stored objects: what is served, and what they can be found by.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bailiwick_storage::cache::{self, Term, Terms, Undecodable};
use bailiwick_storage::{Key, Revision};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};

use crate::encoded::{Encoded, EncodedError, metadata_of};
use crate::kind::{Kind, SelectableField};

/// Knows which fields of which resource can be selected by.
pub(crate) struct Extract {
    /// By the prefix of the resource's keys.
    selectable: HashMap<String, Vec<SelectableField>>,
}

/// The part of the metadata that is indexed.
#[derive(Deserialize)]
struct Indexed<'s> {
    #[serde(borrow, default)]
    labels: Option<Labels<'s>>,
}

struct Labels<'s>(Vec<(Cow<'s, str>, Cow<'s, str>)>);

// === impl Extract ===

impl Extract {
    pub(crate) fn new(kinds: &[Arc<Kind>]) -> Self {
        let fields = |kind: &Kind| {
            let mut fields: Vec<_> = kind.versions().iter().flat_map(|version| version.selectable.clone()).collect();
            fields.sort_by(|a, b| a.name().cmp(b.name()));
            fields.dedup();
            fields
        };
        let entries = kinds.iter().map(|kind| (kind.keys().all().as_str().to_owned(), fields(kind)));
        Self { selectable: entries.filter(|(_, fields)| !fields.is_empty()).collect() }
    }
}

impl cache::Extract for Extract {
    fn extract(
        &self,
        key: &Key,
        revision: Revision,
        stored: Bytes,
        terms: &mut Terms<'_>,
    ) -> Result<Bytes, Undecodable> {
        let Some(resource) = key.resource() else { return Ok(stored) };
        let undecodable = |error: EncodedError| Undecodable(error.to_string().into());
        let at = metadata_of(&stored).map_err(undecodable)?;
        let metadata = stored.get(at + "\"metadata\":".len()..).unwrap_or_default();
        let indexed = Indexed::deserialize(&mut serde_json::Deserializer::from_slice(metadata))
            .map_err(|error| undecodable(EncodedError::Json(error.to_string())))?;
        for (name, value) in indexed.labels.into_iter().flat_map(|labels| labels.0) {
            terms.add(Term::label(name, value));
        }
        if let Some(fields) = self.selectable.get(resource) {
            let object =
                serde_json::from_slice(&stored).map_err(|error| undecodable(EncodedError::Json(error.to_string())))?;
            let object = bailiwick_machinery::Object::new(object);
            for field in fields {
                let value = field.value(&object);
                if !value.is_empty() {
                    terms.add(Term::field(field.name(), value));
                }
            }
        }
        let served = Encoded::from_stored(&stored, Some(revision.get())).map_err(undecodable)?;
        Ok(served.as_bytes().clone())
    }
}

// === impl Labels ===

impl<'de: 's, 's> Deserialize<'de> for Labels<'s> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LabelsVisitor)
    }
}

struct LabelsVisitor;

/// A text that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'s>(#[serde(borrow)] Cow<'s, str>);

impl<'de> Visitor<'de> for LabelsVisitor {
    type Value = Labels<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels<'de>, A::Error> {
        let mut labels = Vec::with_capacity(map.size_hint().unwrap_or(4));
        while let Some((name, value)) = map.next_entry::<Text<'de>, Text<'de>>()? {
            labels.push((name.0, value.0));
        }
        Ok(Labels(labels))
    }
}
