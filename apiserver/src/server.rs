//! The server: one chain from a request to its answer.
//!
//! Read the request, find out who asks, ask whether they may, and answer. What was authorized is the same value that is
//! executed.

mod documents;
mod parts;
mod received;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, SystemTime};

use bailiwick_machinery::{Reason, Status};
use bailiwick_registry::{
    AddedTo, AllowPaths, Annotations, Authorizer, Clock, Memberships, Registry, User, tell_added_groups,
};
use bytes::Bytes;
use futures::{FutureExt, TryFutureExt};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request as HttpRequest, Response, StatusCode, Version};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

pub use self::parts::{ServerOptions, ServerParts};

use self::received::Received;
use crate::access_webhook::{self, ACCESS_WEBHOOK_PATH};
use crate::audit::{self, Arrival, Auditor, Content, Trail};
use crate::authentication::{OpenIdDocuments, Requester};
use crate::authorization::authorize;
use crate::body::{self, Body};
use crate::discovery::Discovery;
use crate::form::Form;
use crate::health::Health;
use crate::impersonation::{Impersonated, Wanted, impersonate};
use crate::limits::{self, FromWithin, Goaway, Level, Limits, TooMany};
use crate::listener::{CloseConnection, FinishBy};
use crate::metrics::{AuthenticationMetrics, Metrics, RequestMetrics};
use crate::openapi::OpenApi;
use crate::request::Request;
use crate::request_info::Verb;
use crate::resource::watch::Watches;
use crate::resource::{self, Answer, Call, Target};
use crate::respond;
use crate::version::ServerVersion;
use crate::visit::Visit;
use crate::witness::Witness;

/// How the server is. Anyone may ask, unless told otherwise, so that whoever starts and stops servers needs no identity.
const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];
/// The longest `Audit-ID` that is taken over from a client.
const MAX_AUDIT_ID_BYTES: usize = 64;

/// Answers requests.
pub struct Server {
    registry: Arc<Registry>,
    authorizer: Arc<dyn Authorizer>,
    watches: Watches,
    discovery: Discovery,
    openapi: OpenApi,
    openid: Option<Arc<OpenIdDocuments>>,
    memberships: Option<Arc<dyn Memberships>>,
    access_webhook: Option<Arc<dyn Authorizer>>,
    health: Health,
    version: ServerVersion,
    request_timeout: Duration,
    always_allow: AllowPaths,
    clock: Arc<dyn Clock>,
    limits: Limits,
    goaway: Goaway,
    audit: Option<Arc<Auditor>>,
    metrics: Arc<Metrics>,
    requests: Arc<RequestMetrics>,
}

// === impl Server ===

impl Server {
    /// A server of what the registry holds.
    pub fn new(parts: ServerParts, options: &ServerOptions) -> Self {
        let requests = Arc::new(RequestMetrics::new(parts.registry.clone()));
        let auditor = |audit| Arc::new(Auditor::new(audit, parts.metrics.clone(), parts.clock.clone()));
        let watches = Watches {
            shutdown: parts.shutdown,
            min_duration: options.min_watch_duration,
            bookmark_every: options.bookmark_every,
            begun: AtomicUsize::new(0),
            metrics: requests.clone(),
        };
        Self {
            discovery: Discovery::new(parts.registry.clone()),
            openapi: OpenApi::new(parts.registry.clone()),
            openid: None,
            memberships: None,
            access_webhook: None,
            health: parts.health,
            version: ServerVersion::new(),
            registry: parts.registry,
            authorizer: parts.authorizer,
            watches,
            request_timeout: options.request_timeout,
            always_allow: options.always_allow.clone(),
            limits: Limits::new(&options.limits),
            goaway: Goaway::new(options.goaway_chance),
            audit: parts.audit.map(auditor),
            clock: parts.clock,
            metrics: parts.metrics,
            requests,
        }
    }

    /// What it serves.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The same, with documents by which others verify tokens that it issues.
    #[must_use]
    pub fn with_openid(mut self, documents: Arc<OpenIdDocuments>) -> Self {
        self.openid = Some(documents);
        self
    }

    /// The same, with someone who knows of groups beyond those that authentication finds.
    #[must_use]
    pub fn with_memberships(mut self, memberships: Arc<dyn Memberships>) -> Self {
        self.memberships = Some(memberships);
        self
    }

    /// The same, with answers for a cluster that asks who may do what. Who may ask is for the server's authorizer to say.
    #[must_use]
    pub fn with_access_webhook(mut self, access: Arc<dyn Authorizer>) -> Self {
        self.access_webhook = Some(access);
        self
    }

    /// Tells, among its metrics, of whoever finds out who asks.
    pub(crate) fn count_authentication(&self, metrics: &Arc<AuthenticationMetrics>) {
        // A second front end of one server is not told of: its users are the first one's.
        let _ = self.metrics.authentication.set(metrics.clone());
    }

    /// Answers a request. Never fails: what goes wrong is in the answer.
    pub async fn answer<B>(&self, request: HttpRequest<B>, requester: impl Into<Requester>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: fmt::Display,
    {
        let (head, body) = request.into_parts();
        let received = self.receive(&head);
        self.answer_received(received, head, body, requester.into()).await
    }

    /// Answers a request of which all but the body came a moment ago. Meanwhile it was found out who asks.
    pub(crate) async fn answer_received<B>(
        &self,
        received: Received,
        mut head: Parts,
        body: B,
        came: Requester,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: fmt::Display,
    {
        let Received { now, begun, asked } = received;
        let requester = self.in_groups(&came);
        let wanted = Wanted::take(&mut head.headers);
        let audit_id = audit_id(&head.headers);
        let (mut visit, mut response) = match asked {
            Ok(request) => {
                let labels = self.requests.labels(&request, &head.headers);
                let user = requester.user();
                let arrival = Arrival { head: &head, request: &request, audit_id: &audit_id, user, now };
                let mut visit = Visit::new(&self.requests, labels, begun, self.begin_trail(&arrival));
                if let (Some(annotations), Some(came), Some(user)) = (visit.annotations(), came.user(), user) {
                    tell_added_groups(annotations, AddedTo::Sender, &came.groups, &user.groups);
                }
                let response = self.visit(&mut visit, &arrival, body, &requester, wanted).await;
                (visit, response)
            }
            Err(refusal) => (Visit::new(&self.requests, RequestMetrics::unreadable(), begun, None), *refusal),
        };
        respond::common(&mut response, &audit_id);
        let code = response.status().as_u16();
        // A watch is logged when it begins; when it ends is its client's business.
        tracing::debug!(
            method = %head.method,
            path = head.uri.path(),
            code,
            microseconds = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            audit_id = audit_id.to_str().unwrap_or_default(),
            "answered"
        );
        if head.method == Method::HEAD {
            *response.body_mut() = Body::empty();
        }
        if !visit.labels.is_long_running() {
            response.extensions_mut().insert(FinishBy(begun + self.request_timeout));
        }
        if head.version == Version::HTTP_2 && self.goaway.strikes() {
            response.extensions_mut().insert(CloseConnection);
        }
        visit.is_terminated |= code == StatusCode::TOO_MANY_REQUESTS.as_u16();
        visit.depart(&mut response);
        response
    }

    /// Answers a request that could be read, and leaves its trail in the audit log.
    async fn visit<B>(
        &self,
        visit: &mut Visit,
        arrival: &Arrival<'_>,
        body: B,
        requester: &Requester,
        wanted: Wanted,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: fmt::Display,
    {
        let Arrival { head, request, user, now, .. } = *arrival;
        let is_probe = *requester == Requester::Nobody && self.is_open(request);
        if let Some(trail) = visit.trail.as_deref().filter(|_| user.is_some() || is_probe)
            && trail.received().await.is_err()
        {
            return audit::unwritten(head);
        }
        let answering = AssertUnwindSafe(self.chain(visit, arrival, body, requester, wanted)).catch_unwind();
        match answering.await {
            Ok(mut response) => {
                if let Some(trail) = &visit.trail {
                    trail.tell_answer(arrival, &mut response).await;
                }
                response
            }
            Err(_) => {
                tracing::error!(method = %head.method, uri = %head.uri, "answering a request panicked");
                if let Some(trail) = visit.trail.take() {
                    trail.panicked().await;
                }
                let status = Status::internal("the server could not handle this request; its logs say why");
                respond::status(&Form::of_status(&head.headers, None, now), &status)
            }
        }
    }

    /// What carries secrets is not written down beyond its metadata.
    fn begin_trail(&self, arrival: &Arrival<'_>) -> Option<Box<Trail>> {
        let auditor = self.audit.as_ref()?;
        let kinds = self.registry.kinds();
        let is_secret = match resource::find(&kinds, arrival.request.info()) {
            Some((_, Target::Custom(subresource) | Target::Item(subresource))) if subresource.is_secret_bearing() => {
                true
            }
            Some((kind, _)) => kind.kind().is_secret_bearing(),
            None => false,
        };
        auditor.begin(arrival, if is_secret { Content::Secret } else { Content::Plain })
    }

    async fn chain<B>(
        &self,
        visit: &mut Visit,
        arrival: &Arrival<'_>,
        body: B,
        requester: &Requester,
        wanted: Wanted,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: fmt::Display,
    {
        let Arrival { head, request, now, .. } = *arrival;
        let refuse =
            |status: &Status| respond::status(&Form::of_status(&head.headers, Some(request.query()), now), status);
        let unauthorized = || refuse(&Status::new(Reason::Unauthorized, "Unauthorized"));
        let user = match requester {
            Requester::User(user) => user,
            Requester::Refused => return unauthorized(),
            // Not 401: clients would throw away a credential that is good.
            Requester::Undecided => return limits::too_many(),
            Requester::Late => {
                visit.is_terminated = true;
                return refuse(&too_late());
            }
            Requester::Nobody => {
                let health = if self.is_open(request) { self.answer_health(request).await } else { None };
                return health.unwrap_or_else(unauthorized);
            }
        };
        let by = match self.deadline(request, visit.begun()) {
            Ok(by) => by,
            Err(status) => return refuse(&status),
        };
        let mut impersonated = None;
        let admitting = self.admit(visit, arrival, user, wanted, &mut impersonated);
        let answered = match timeout_at(by, admitting).await {
            Ok(Ok(())) => {
                let effective = impersonated.as_ref().map_or(&**user, |other| &other.user);
                let trail = visit.trail.as_deref();
                let answering =
                    self.answer_authorized(request, head, body, effective, now, trail).map_err(Refusal::Told);
                // Once it may begin, a watch takes as long as it takes.
                if request.is_watch() { Ok(answering.await) } else { timeout_at(by, answering).await }
            }
            Ok(Err(refusal)) => Ok(Err(refusal)),
            Err(elapsed) => Err(elapsed),
        };
        let mut response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(Refusal::TooMany)) => limits::too_many(),
            Ok(Err(Refusal::Told(status))) => refuse(&status),
            Err(_elapsed) => {
                visit.is_terminated = true;
                refuse(&too_late())
            }
        };
        if let Some(impersonated) = impersonated {
            response.extensions_mut().insert(impersonated);
        }
        response
    }

    /// Finds out as whom the request is to be taken, takes a seat for it, and asks whether it may be.
    async fn admit(
        &self,
        visit: &mut Visit,
        arrival: &Arrival<'_>,
        user: &User,
        wanted: Wanted,
        impersonated: &mut Option<Impersonated>,
    ) -> Result<(), Refusal> {
        let Arrival { head, request, .. } = *arrival;
        *impersonated = self.impersonated(request, user, wanted, visit.annotations()).await.map_err(Refusal::Told)?;
        if let (Some(trail), Some(other)) = (&visit.trail, &*impersonated) {
            trail.impersonated(&other.user);
        }
        let effective = impersonated.as_ref().map_or(user, |other| &other.user);
        self.take_seat(head, request, effective, visit).await.map_err(|TooMany| Refusal::TooMany)?;
        if self.is_open(request) {
            return Ok(());
        }
        let witness = Witness::new(self.authorizer.clone());
        let authorized = authorize(&witness, effective, request.info()).await;
        witness.testify(&self.metrics.authorization, visit.annotations());
        authorized.map_err(Refusal::Told)
    }

    /// Whether anyone may ask this, known or not.
    fn is_open(&self, request: &Request) -> bool {
        let path = request.info().path();
        HEALTH.contains(&path) && self.always_allow.covers(path)
    }

    /// As whom the request is to be taken, if as someone else than who sent it.
    async fn impersonated(
        &self,
        request: &Request,
        user: &User,
        wanted: Wanted,
        annotations: Option<&Annotations>,
    ) -> Result<Option<Impersonated>, Box<Status>> {
        let Some(wanted) = wanted.into_user()? else { return Ok(None) };
        let mut impersonated = impersonate(&*self.authorizer, user, &wanted, request.info()).await?;
        if let Some(groups) = self.groups(&impersonated.user) {
            if let Some(annotations) = annotations {
                tell_added_groups(annotations, AddedTo::Impersonated, &impersonated.user.groups, &groups);
            }
            impersonated.user = impersonated.user.in_groups(groups);
        }
        Ok(Some(impersonated))
    }

    /// Whoever asks, in the groups that are theirs.
    fn in_groups(&self, requester: &Requester) -> Requester {
        let Requester::User(user) = requester else { return requester.clone() };
        match self.groups(user) {
            Some(groups) => Requester::User(Arc::new(User::clone(user).in_groups(groups))),
            None => requester.clone(),
        }
    }

    /// The groups of a user, if they are others than those that came with them.
    fn groups(&self, user: &User) -> Option<Vec<String>> {
        self.memberships.as_ref()?.groups(user)
    }

    /// Takes a seat, which lasts until the end of the answer.
    async fn take_seat(&self, head: &Parts, request: &Request, user: &User, visit: &mut Visit) -> Result<(), TooMany> {
        let arrived = Instant::now();
        let level = Level::of(request.info(), user, head.extensions.get::<FromWithin>().copied());
        visit.seat = self.limits.enter(level, user).await?;
        if *request.info().verb() == Verb::List {
            // A list never waits for anything, so whoever came meanwhile would not even be looked at before it is done, and
            // nobody would find all seats taken: they stand in line where nobody counts them.
            tokio::task::yield_now().await;
        }
        visit.waited = arrived.elapsed();
        if !visit.labels.is_long_running() {
            let kind = if limits::is_read(request.info()) { 0 } else { 1 };
            visit.raised = Some(self.metrics.in_flight[kind].raise());
        }
        Ok(())
    }

    async fn answer_authorized<B>(
        &self,
        request: &Request,
        head: &Parts,
        body: B,
        user: &User,
        now: SystemTime,
        trail: Option<&Trail>,
    ) -> Answer
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: fmt::Display,
    {
        if !request.info().is_resource_request() {
            if let (Some(access), ACCESS_WEBHOOK_PATH, &Method::POST) =
                (&self.access_webhook, request.info().path(), request.method())
            {
                return access_webhook::answer(&**access, head, body, now).await;
            }
            let found = self.answer_non_resource(request, head).await;
            return Ok(found.unwrap_or_else(respond::page_not_found));
        }
        let kinds = self.registry.kinds();
        let Some((kind, target)) = resource::find(&kinds, request.info()) else {
            return resource::not_found(&kinds, request.info());
        };
        let body = match *request.method() {
            Method::GET | Method::HEAD => Bytes::new(),
            _ => body::read(&head.headers, body).await?,
        };
        let call = Call {
            registry: &self.registry,
            authorizer: &*self.authorizer,
            watches: &self.watches,
            request,
            headers: &head.headers,
            body: &body,
            user,
            now,
            trail,
        };
        call.answer(kind, target).await
    }
}

/// Why a request is not answered as it wants to be.
enum Refusal {
    /// There is no seat for it.
    TooMany,
    /// Its status says why.
    Told(Box<Status>),
}

fn too_late() -> Status {
    Status::timeout("request did not complete within the allotted timeout", 0)
}

/// The client's, or a new one.
fn audit_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get("audit-id").filter(|id| !id.is_empty() && id.len() <= MAX_AUDIT_ID_BYTES);
    given.cloned().unwrap_or_else(|| {
        HeaderValue::from_str(&Uuid::new_v4().to_string()).unwrap_or(HeaderValue::from_static("unknown"))
    })
}
