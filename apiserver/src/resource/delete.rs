//! Removing objects.

use bailiwick_machinery::decode;
use bailiwick_machinery::media::{MediaType, content_type};
use bailiwick_machinery::{Reason, Status};
use bailiwick_registry::{DeleteOptions, Deleted, Selection, ServedKind};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use super::decode::bad_request;
use super::list::next_token;
use super::{Answer, Call, refuse};
use crate::form::{Subject, text};
use crate::options::{DeleteQuery, ListOptions};
use crate::respond;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn delete(self, kind: &ServedKind, query: DeleteQuery<'_>) -> Answer {
        let form = self.form(kind, Subject::Object)?;
        let options = self.delete_options(query)?;
        let namespace = self.namespace().unwrap_or_default();
        let deleted = self.registry.delete(&self.ctx(), kind, namespace, self.name(), &options).await;
        match deleted.map_err(refuse)? {
            Deleted::Gone { uid } => Ok(respond::status(&form, &Status::deleted(&kind.resource(), self.name(), &uid))),
            Deleted::GoneAs(object) => respond::object(&form, StatusCode::OK, kind, &object),
            Deleted::Waiting(object) => {
                // Clients of old ask in this way to be told that it is not done yet.
                let code = match options.orphan_dependents {
                    Some(false) => StatusCode::ACCEPTED,
                    _ => StatusCode::OK,
                };
                respond::object(&form, code, kind, &object)
            }
        }
    }

    pub(super) async fn delete_collection(
        self,
        kind: &ServedKind,
        list: ListOptions,
        query: DeleteQuery<'_>,
    ) -> Answer {
        let form = self.form(kind, Subject::List)?;
        let selection = Selection::parse(kind, &list.label_selector, &list.field_selector).map_err(refuse)?;
        let options = self.delete_options(query)?;
        let request = self.list_request(&list, &selection);
        let deleted = self.registry.delete_collection(&self.ctx(), kind, &request, &options).await;
        let deleted = deleted.map_err(refuse)?;
        let token = next_token(&deleted);
        respond::list(&form, kind, deleted, token)
    }

    /// From the body, if there is one.
    pub(super) fn delete_options(&self, query: DeleteQuery<'_>) -> Result<DeleteOptions, Box<Status>> {
        if self.body.is_empty() {
            return query.options(None);
        }
        let offered = [MediaType::Json, MediaType::Yaml, MediaType::Protobuf];
        let media_type = content_type(text(self.headers, CONTENT_TYPE), &offered)
            .map_err(|error| Box::new(Status::new(Reason::UnsupportedMediaType, error.to_string())))?;
        let value = match media_type {
            MediaType::Protobuf => {
                let envelope = bailiwick_machinery::proto::Envelope::read(self.body.clone());
                let object = envelope.and_then(|envelope| envelope.to_object());
                object.map_err(|error| bad_request(error.to_string()))?.into()
            }
            media_type => {
                let decoded = decode::decode(media_type, self.body);
                let no_type = |error| format!("couldn't get version/kind; json parse error: {error}");
                decoded.map_err(|error| bad_request(no_type(error)))?.value
            }
        };
        if let Some(trail) = self.trail {
            trail.request_value(|| Some(value.clone()));
        }
        query.options(Some(&value))
    }
}
