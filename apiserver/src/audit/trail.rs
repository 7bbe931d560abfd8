//! What is known of one request so far, and the entries made of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bailiwick_machinery::{Object, Status};
use bailiwick_registry::{Annotations, User};
use http::header::{AUTHORIZATION, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, StatusCode};
use serde_json::Value;

use super::event::{self, Event, ObjectReference, ResponseStatus, UserInfo};
use super::log::Receipt;
use super::policy::{Level, Stage, Verdict};
use super::{Arrival, Auditor, Content, Source, capture};
use crate::body::Body;
use crate::form::text;
use crate::request_info::Verb;

/// On an entry whose object was left out for its size.
const TRUNCATED: &str = "audit.k8s.io/truncated";

/// The trail of one request. It outlives the request, so it shares what it can and copies the rest. Its end is told when it is
/// dropped, unless it was told before: the client may be gone at any time, also when what it wanted has been done.
pub(crate) struct Trail {
    auditor: Arc<Auditor>,
    verdict: Verdict,
    audit_id: HeaderValue,
    target: Option<PathAndQuery>,
    verb: Verb,
    user: Option<Arc<User>>,
    source_ips: Vec<String>,
    user_agent: Option<HeaderValue>,
    received: String,
    /// What carries secrets is told of without words that could repeat them.
    content: Content,
    annotations: Annotations,
    draft: Mutex<Draft>,
}

/// What is found out on the way.
#[derive(Default)]
struct Draft {
    impersonated: Option<User>,
    object_ref: Option<ObjectReference>,
    status: Option<ResponseStatus>,
    request_object: Option<Value>,
    response_object: Option<Value>,
    /// The last entry was handed over, or there is to be none.
    is_ended: bool,
}

/// The object of an answer.
pub(crate) enum Captured {
    /// There is none, or none is wanted.
    Nothing,
    Object(Value),
    /// There is one, and it is too large to be written down.
    TooLarge,
}

/// The entry could not be written, and the request must not go on without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwritten;

// === impl Trail ===

impl Trail {
    pub(super) fn new(auditor: Arc<Auditor>, verdict: Verdict, content: Content, arrival: &Arrival<'_>) -> Self {
        let info = arrival.request.info();
        let object_ref = info.is_resource_request().then(|| ObjectReference {
            resource: info.resource().to_owned(),
            namespace: info.namespace().to_owned(),
            name: info.name().to_owned(),
            api_group: info.api_group().to_owned(),
            api_version: info.api_version().to_owned(),
            subresource: info.subresource().to_owned(),
            ..ObjectReference::default()
        });
        let source = arrival.head.extensions.get::<Source>();
        Self {
            verdict,
            content,
            audit_id: arrival.audit_id.clone(),
            target: arrival.head.uri.path_and_query().cloned(),
            verb: info.verb().clone(),
            user: arrival.user.cloned(),
            source_ips: source.map(|source| source.addresses(&arrival.head.headers)).unwrap_or_default(),
            user_agent: arrival.head.headers.get(USER_AGENT).cloned(),
            received: event::timestamp(arrival.now),
            annotations: Annotations::default(),
            draft: Mutex::new(Draft { object_ref, ..Draft::default() }),
            auditor,
        }
    }

    /// What whoever answers the request may add.
    pub(crate) fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// The user acts as someone else.
    pub(crate) fn impersonated(&self, user: &User) {
        self.draft().impersonated = Some(user.clone());
    }

    /// The object that came with the request.
    pub(crate) fn request_object(&self, object: &Object) {
        let mut draft = self.draft();
        let (reference, metadata) = (draft.object_ref.get_or_insert_default(), object.metadata());
        for (field, found) in [
            (&mut reference.namespace, metadata.namespace()),
            (&mut reference.name, metadata.name()),
            (&mut reference.uid, metadata.uid()),
            (&mut reference.resource_version, metadata.resource_version()),
        ] {
            if field.is_empty() {
                found.clone_into(field);
            }
        }
        if self.verdict.level >= Level::Request {
            let mut object = object.as_value().clone();
            if self.verdict.omit_managed_fields {
                event::remove_managed_fields(&mut object);
            }
            draft.request_object = Some(object);
        }
    }

    /// What came with the request and is no object: a patch, or options.
    pub(crate) fn request_value(&self, value: impl FnOnce() -> Option<Value>) {
        if self.verdict.level >= Level::Request {
            self.draft().request_object = value();
        }
    }

    /// The request has come. If the log insists on being written, it may not go on otherwise.
    pub(crate) async fn received(&self) -> Result<(), Unwritten> {
        self.tell(Stage::RequestReceived).await.inspect_err(|_| {
            self.auditor.metrics.audit.rejected.add(1);
            self.draft().is_ended = true;
        })
    }

    /// Notes what is answered, and tells it: whole if it is complete, its beginning if it goes on.
    pub(crate) async fn tell_answer(&self, arrival: &Arrival<'_>, response: &mut http::Response<Body>) {
        let code = response.status();
        if arrival.user.is_none() && code == StatusCode::UNAUTHORIZED {
            return self.unauthenticated(&attempted(arrival)).await;
        }
        let status = response.extensions_mut().remove::<Status>();
        let wanted = self.verdict.level >= Level::RequestResponse && arrival.head.method != Method::HEAD;
        let object = if wanted { capture::capture(response) } else { Captured::Nothing };
        self.note(status.as_ref(), code.as_u16(), object);
        if *arrival.request.info().verb() == Verb::Watch {
            // What it cannot stop has begun already; the log tells of what it could not write.
            let _ = self.tell(Stage::ResponseStarted).await;
        }
        if !response.body().is_live() {
            self.end(Stage::ResponseComplete).await;
        }
    }

    fn note(&self, status: Option<&Status>, code: u16, object: Captured) {
        let mut draft = self.draft();
        let status =
            status.map_or_else(|| ResponseStatus::of_code(code), |status| ResponseStatus::of_status(status, code));
        draft.status = Some(self.discreet(status));
        match object {
            Captured::Nothing => {}
            Captured::TooLarge => self.annotations.add(TRUNCATED, "true"),
            Captured::Object(mut object) => {
                if self.verdict.omit_managed_fields {
                    event::remove_managed_fields(&mut object);
                }
                draft.response_object = Some(object);
            }
        }
    }

    fn discreet(&self, status: ResponseStatus) -> ResponseStatus {
        match self.content {
            Content::Plain => status,
            Content::Secret => status.without_words(),
        }
    }

    /// Nobody known has asked, and was turned away: one entry.
    async fn unauthenticated(&self, message: &str) {
        self.draft().status = Some(ResponseStatus::unauthenticated(message));
        self.end(Stage::ResponseStarted).await;
    }

    /// Answering has failed in a way nobody foresaw.
    pub(crate) async fn panicked(&self) {
        let status = Status::internal("answering the request panicked");
        self.draft().status = Some(self.discreet(ResponseStatus::of_status(&status, status.code())));
        self.end(Stage::Panic).await;
    }

    async fn tell(&self, stage: Stage) -> Result<(), Unwritten> {
        match self.hand_over(stage).await {
            Some(receipt) => receipt.written().await,
            None => Ok(()),
        }
    }

    /// Tells the last there is to tell. Whoever is dropped while waiting for the log has told it.
    async fn end(&self, stage: Stage) {
        let receipt = self.hand_over(stage).await;
        self.draft().is_ended = true;
        if let Some(receipt) = receipt {
            // What it cannot stop has happened already; the log tells of what it could not write.
            let _ = receipt.written().await;
        }
    }

    async fn hand_over(&self, stage: Stage) -> Option<Receipt> {
        if self.verdict.omit_stages.has(stage) {
            return None;
        }
        let receipt = self.auditor.log.hand_over(self.line(stage)).await;
        self.auditor.metrics.audit.events.add(1);
        Some(receipt)
    }

    fn line(&self, stage: Stage) -> Vec<u8> {
        let draft = self.draft();
        let now = (stage != Stage::RequestReceived).then(|| event::timestamp(self.auditor.clock.now()));
        let user_agent = self.user_agent.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default();
        let user_agent = event::user_agent(user_agent);
        self.annotations.show(|annotations| {
            let event = Event {
                kind: "Event",
                api_version: "audit.k8s.io/v1",
                level: self.verdict.level,
                audit_id: self.audit_id.to_str().unwrap_or_default(),
                stage,
                request_uri: self.target.as_ref().map_or("/", PathAndQuery::as_str),
                verb: self.verb.as_str(),
                user: self.user.as_deref().map(UserInfo::from).unwrap_or_default(),
                impersonated_user: draft.impersonated.as_ref().map(UserInfo::from),
                source_ips: &self.source_ips,
                user_agent: &user_agent,
                object_ref: draft.object_ref.as_ref(),
                response_status: draft.status.as_ref(),
                request_object: draft.request_object.as_ref(),
                response_object: draft.response_object.as_ref(),
                request_received_timestamp: &self.received,
                stage_timestamp: now.as_deref().unwrap_or(&self.received),
                annotations,
            };
            event.line()
        })
    }

    fn draft(&self) -> MutexGuard<'_, Draft> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Trail {
    /// Nobody can wait for the log here.
    fn drop(&mut self) {
        let draft = self.draft.get_mut().unwrap_or_else(PoisonError::into_inner);
        if draft.is_ended || self.verdict.omit_stages.has(Stage::ResponseComplete) {
            return;
        }
        draft.status.get_or_insert_with(ResponseStatus::client_gone);
        self.auditor.metrics.audit.events.add(1);
        self.auditor.log.write_later(self.line(Stage::ResponseComplete));
    }
}

/// How someone tried to be known, in the words of Kubernetes.
fn attempted(arrival: &Arrival<'_>) -> String {
    let scheme = text(&arrival.head.headers, AUTHORIZATION).trim().split_once(' ').map(|(scheme, _)| scheme);
    let is = |wanted: &str| scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(wanted));
    let token = arrival.request.query().first("access_token").is_some_and(|token| !token.trim().is_empty());
    let ways = [(is("basic"), "basic"), (is("bearer"), "bearer"), (token, "access_token")];
    let tried: Vec<&str> = ways.into_iter().filter_map(|(tried, way)| tried.then_some(way)).collect();
    match tried.is_empty() {
        true => "Authentication failed, no credentials provided".to_owned(),
        false => format!("Authentication failed, attempted: {}", tried.join(", ")),
    }
}
