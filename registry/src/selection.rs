//! Which objects of a kind a request is for, beside their namespace.

use bailiwick_machinery::label::{Operator, Selector};
use bailiwick_machinery::{FieldOperator, FieldSelector, Object as Made, Scope, go};
use bailiwick_storage::cache::{Object, Term, TermClass};

use crate::error::{Error, Result};
use crate::served_kind::ServedKind;

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

/// A label selector and a field selector.
#[derive(Clone, Debug)]
pub struct Selection {
    labels: Selector,
    fields: FieldSelector,
    namespaced: bool,
}

// === impl Selection ===

impl Selection {
    /// All objects of a kind.
    pub fn everything(kind: &ServedKind) -> Self {
        let namespaced = kind.kind().scope() == Scope::Namespaced;
        Self { labels: Selector::everything(), fields: FieldSelector::everything(), namespaced }
    }

    /// Those that both selectors take. A field that the kind does not declare is refused.
    pub fn parse(kind: &ServedKind, labels: &str, fields: &str) -> Result<Self> {
        let bad = |why: String| Error::BadRequest(why);
        let labels = Selector::parse(labels).map_err(|error| bad(error.to_string()))?;
        let fields = FieldSelector::parse(fields).map_err(|error| bad(error.to_string()))?;
        let declared = &kind.version().selectable;
        for requirement in fields.requirements() {
            let field = requirement.field.as_str();
            let known = field == NAME || (field == NAMESPACE && kind.kind().scope() == Scope::Namespaced);
            // Those of Kubernetes' own kinds that declare no fields have names in the cluster, too.
            let plain = kind.kind().is_typed() && declared.is_empty();
            if known || (plain && field == NAMESPACE) || declared.iter().any(|declared| declared.name() == field) {
                continue;
            }
            return Err(bad(match plain {
                true => format!("{} is not a known field selector: only {NAME:?}, {NAMESPACE:?}", go::quote(field)),
                false => format!("field label not supported: {field}"),
            }));
        }
        Ok(Self { labels, fields, ..Self::everything(kind) })
    }

    /// Whether it takes all objects.
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The one name that objects must have.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.requires_exact_match(NAME)
    }

    /// The one namespace that objects must be in.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.fields.requires_exact_match(NAMESPACE).filter(|_| self.namespaced)
    }

    /// Terms all of which every object that it takes has.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Term> {
        let labels = self.labels.requirements().iter().filter_map(|requirement| match requirement.operator() {
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                let [value] = requirement.values() else { return None };
                Some(Term::label(requirement.key(), value))
            }
            _ => None,
        });
        let fields = self.fields.requirements().iter().filter_map(|requirement| {
            let indexed = !matches!(requirement.field.as_str(), NAME | NAMESPACE);
            let equal = requirement.operator != FieldOperator::NotEquals;
            // An empty value is not indexed: most objects have it.
            (indexed && equal && !requirement.value.is_empty())
                .then(|| Term::field(&requirement.field, &requirement.value))
        });
        labels.chain(fields)
    }

    /// Whether it takes an object.
    pub fn matches(&self, object: &Object) -> bool {
        if self.is_everything() {
            return true;
        }
        let term = |class: TermClass, name: &str| {
            object.terms().iter().find(|term| term.class() == class && term.name() == name).map(Term::value)
        };
        self.labels.matches(|name| term(TermClass::Label, name))
            && self.fields.matches(|name| match name {
                NAME => Some(object.key().name()),
                NAMESPACE if self.namespaced => Some(namespace_of(object)),
                NAMESPACE => Some(""),
                other => Some(term(TermClass::Field, other).unwrap_or_default()),
            })
    }

    /// Whether it takes an object of a kind whose objects are not stored.
    pub fn matches_made(&self, kind: &ServedKind, object: &Made) -> bool {
        let metadata = object.metadata();
        let field = |name: &str| {
            let declared = kind.version().selectable.iter().find(|declared| declared.name() == name);
            declared.map(|declared| declared.value(object)).unwrap_or_default()
        };
        self.labels.matches(|name| metadata.label(name))
            && self.fields.matches(|name| match name {
                NAME => Some(metadata.name().to_owned()),
                NAMESPACE => Some(metadata.namespace().to_owned()),
                other => Some(field(other)),
            })
    }
}

/// The last segment of a key but one.
fn namespace_of(object: &Object) -> &str {
    object.key().as_str().rsplit('/').nth(1).unwrap_or_default()
}
