//! What the cache makes of stored objects: what is served, and what they can be found by.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::{GroupVersion, Object, schema};
use bailiwick_storage::cache::{self, Term, Terms, Undecodable};
use bailiwick_storage::{Key, Revision};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};

use crate::encoded::{self, Encoded, EncodedError, metadata_of};
use crate::kind::{Kind, SelectableField};
use crate::served_kind::{fit_stored, stored_head};

/// Knows which fields of which resource can be selected by, and what stored objects become where schemas change.
pub(crate) struct Extract {
    /// By the prefix of the resource's keys.
    rules: ArcSwap<Rules>,
}

type Rules = HashMap<String, Arc<Rule>>;

/// What is to be known of a resource.
struct Rule {
    selectable: Vec<SelectableField>,
    fitting: Option<Fitting>,
}

/// What the objects of a kind that was defined by data have to fit.
struct Fitting {
    /// What those begin with that were stored since the schema is what it is.
    head: Bytes,
    schema: Schema,
    /// The other versions in which objects may be stored: what they begin with, and their schemas.
    others: Vec<(Bytes, Schema)>,
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
        let extract = Self { rules: ArcSwap::default() };
        extract.follow(&[], kinds);
        extract
    }

    /// From now on knows other kinds. Objects that were made before stay as they were made.
    pub(crate) fn follow(&self, gone: &[Arc<Kind>], come: &[Arc<Kind>]) {
        self.rules.rcu(|rules| {
            let mut rules = Rules::clone(rules);
            for kind in gone {
                rules.remove(kind.keys().all().as_str());
            }
            let rule = |kind: &Arc<Kind>| Some((kind.keys().all().as_str().to_owned(), Arc::new(Rule::of(kind)?)));
            rules.extend(come.iter().filter_map(rule));
            rules
        });
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
        let rules = self.rules.load();
        let rule = rules.get(resource);
        let fitted = match rule.and_then(|rule| rule.fitting.as_ref()) {
            Some(fitting) if !stored.starts_with(&fitting.head) => fitting.fit(&stored).map_err(undecodable)?,
            _ => stored,
        };
        add_labels(&fitted, terms).map_err(undecodable)?;
        if let Some(rule) = rule.filter(|rule| !rule.selectable.is_empty()) {
            let object = parse(&fitted).map_err(undecodable)?;
            rule.add_fields(&object, terms);
        }
        let served = Encoded::from_stored(&fitted, Some(revision.get())).map_err(undecodable)?;
        Ok(served.as_bytes().clone())
    }
}

// === impl Rule ===

impl Rule {
    /// None if there is nothing to be known of the kind.
    fn of(kind: &Kind) -> Option<Self> {
        let mut selectable: Vec<_> = kind.versions().iter().flat_map(|version| version.selectable.clone()).collect();
        selectable.sort_by(|a, b| a.name().cmp(b.name()));
        selectable.dedup();
        let fitting = kind.definition().and(Fitting::of(kind));
        (fitting.is_some() || !selectable.is_empty()).then_some(Self { selectable, fitting })
    }

    fn add_fields(&self, object: &Object, terms: &mut Terms<'_>) {
        for field in &self.selectable {
            let value = field.value(object);
            if !value.is_empty() {
                terms.add(Term::field(field.name(), value));
            }
        }
    }
}

// === impl Fitting ===

impl Fitting {
    fn of(kind: &Kind) -> Option<Self> {
        let once_stored = kind.definition().map(|definition| &definition.once_stored[..]).unwrap_or_default();
        let head = |version: &GroupVersion| encoded::head(&version.kind(kind.names().kind.clone()));
        let others = once_stored.iter().map(|(version, schema)| (head(version), schema.clone())).collect();
        Some(Self { head: stored_head(kind)?, schema: kind.versions().first()?.schema.clone(), others })
    }

    /// What is stored, as it would be stored now. It is completed by the version in which it is stored, as Kubernetes does it:
    /// what another version would have for it is for those who write it.
    fn fit(&self, stored: &[u8]) -> Result<Bytes, EncodedError> {
        let mut object = parse(stored)?;
        match self.others.iter().find(|(head, _)| stored.starts_with(head)) {
            None => fit_stored(&self.schema, &mut object),
            Some((_, schema)) => {
                fit_stored(schema, &mut object);
                object.edit_as_value(|value| drop(schema::prune(&self.schema, value)));
            }
        }
        Ok(encoded::stored(&self.head, &object).into())
    }
}

fn undecodable(error: EncodedError) -> Undecodable {
    Undecodable(error.to_string().into())
}

/// The content of a stored object. Its head is left out: what it says beside the kind is nothing that anyone wrote.
fn parse(stored: &[u8]) -> Result<Object, EncodedError> {
    let content = stored.get(metadata_of(stored)?..).unwrap_or_default();
    let json = [b"{", content].concat();
    serde_json::from_slice(&json).map(Object::new).map_err(|error| EncodedError::Json(error.to_string()))
}

fn add_labels(stored: &[u8], terms: &mut Terms<'_>) -> Result<(), EncodedError> {
    let at = metadata_of(stored)?;
    let metadata = stored.get(at + "\"metadata\":".len()..).unwrap_or_default();
    let indexed = Indexed::deserialize(&mut serde_json::Deserializer::from_slice(metadata));
    let indexed = indexed.map_err(|error| EncodedError::Json(error.to_string()))?;
    for (name, value) in indexed.labels.into_iter().flat_map(|labels| labels.0) {
        terms.add(Term::label(name, value));
    }
    Ok(())
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
