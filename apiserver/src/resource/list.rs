//! Reading many objects, page by page if there are very many.

use std::num::NonZeroUsize;

use bailiwick_machinery::{Reason, Status};
use bailiwick_registry::{Error, List, ListRequest, Selection, ServedKind};
use bailiwick_storage::{self as storage, At, Revision};

use super::{Answer, Call, refuse};
use crate::continue_token::{ContinueToken, Resume};
use crate::form::Subject;
use crate::options::{ListAt, ListOptions};
use crate::respond;

const LIST_EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

// === impl Call ===

impl Call<'_> {
    pub(super) async fn list(self, kind: &ServedKind, options: ListOptions) -> Answer {
        let form = self.form(kind, Subject::List)?;
        let selection = Selection::parse(kind, &options.label_selector, &options.field_selector).map_err(refuse)?;
        let request = self.list_request(&options, &selection);
        let list = self.registry.list(kind, &request).await;
        let list = list.map_err(|error| expired(error, &options.at))?;
        let token = next_token(&list);
        respond::list(&form, kind, list, token)
    }

    pub(super) fn list_request<'l>(&'l self, options: &'l ListOptions, selection: &'l Selection) -> ListRequest<'l> {
        let (at, after) = match &options.at {
            ListAt::Consistent => (At::Latest, None),
            ListAt::Any => (At::Any, None),
            ListAt::NotOlderThan(revision) => (At::NotOlderThan(Revision::new(*revision)), None),
            ListAt::Exact(revision) => (At::Exact(Revision::new(*revision)), None),
            ListAt::Continue(token) => match token.resume() {
                Resume::Exact(revision) => (At::Exact(Revision::new(revision)), Some(token.after())),
                Resume::Latest => (At::Latest, Some(token.after())),
            },
        };
        let limit = options.limit.and_then(|limit| usize::try_from(limit.get()).ok()).and_then(NonZeroUsize::new);
        ListRequest { namespace: self.namespace(), selection, at, after, limit }
    }
}

/// What the next page is asked for with.
pub(super) fn next_token(list: &List) -> Option<String> {
    Some(ContinueToken::new(Resume::Exact(list.revision), list.next.clone()?).to_string())
}

/// What is too old is told with a way to go on.
fn expired(error: Error, at: &ListAt) -> Box<Status> {
    if !matches!(&error, Error::Storage { source: storage::Error::Expired { .. }, .. }) {
        return refuse(error);
    }
    let mut status = Status::new(Reason::Expired, LIST_EXPIRED);
    if let ListAt::Continue(token) = at {
        CONTINUE_EXPIRED.clone_into(&mut status.message);
        status.continue_token = Some(ContinueToken::new(Resume::Latest, token.after()).to_string());
    }
    Box::new(status)
}
