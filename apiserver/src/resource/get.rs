//! Reading one object.

use bailiwick_registry::ServedKind;
use bailiwick_storage::{At, Revision};
use http::StatusCode;

use super::{Answer, Call, refuse};
use crate::form::Subject;
use crate::options::{Freshness, GetOptions};
use crate::respond;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn get(self, kind: &ServedKind, options: GetOptions) -> Answer {
        let form = self.form(kind, Subject::Object)?;
        let namespace = self.namespace().unwrap_or_default();
        let found = self.registry.get(kind, namespace, self.name(), at(options.freshness)).await;
        respond::object(&form, StatusCode::OK, kind, &found.map_err(refuse)?)
    }
}

/// Which state is fresh enough.
pub(super) fn at(freshness: Freshness) -> At {
    match freshness {
        Freshness::Consistent => At::Latest,
        Freshness::Any => At::Any,
        Freshness::NotOlderThan(revision) => At::NotOlderThan(Revision::new(revision)),
    }
}
