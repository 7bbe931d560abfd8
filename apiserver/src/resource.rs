//! Requests for resources: which kind is meant, and which operation on it.

use std::time::SystemTime;

use bailiwick_machinery::apply::manager_name;
use bailiwick_machinery::{GroupVersion, Reason, Scope, Status};
use bailiwick_registry::{
    Authorizer, Ctx, Error, Part, Registry, ServedKind, ServedKinds, Subresource, SubresourceVerb, Tracking, User,
    Virtual, VirtualVerb,
};
use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, Response};

use crate::audit::Trail;
use crate::body::Body;
use crate::form::{Form, Subject, text};
use crate::request::{Operation, Request};
use crate::request_info::{RequestInfo, Verb};
use crate::{respond, status};

mod apply;
mod create;
mod decode;
mod delete;
mod followed;
mod get;
mod list;
mod patch;
mod subresource;
mod update;
mod virtual_kind;
pub(crate) mod watch;

/// An answer, or the status that refuses one.
pub(crate) type Answer = Result<Response<Body>, Box<Status>>;

/// A request for a resource, with all that answering it needs.
#[derive(Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) registry: &'c Registry,
    pub(crate) authorizer: &'c dyn Authorizer,
    pub(crate) watches: &'c watch::Watches,
    pub(crate) request: &'c Request,
    pub(crate) headers: &'c HeaderMap,
    pub(crate) body: &'c Bytes,
    pub(crate) user: &'c User,
    pub(crate) now: SystemTime,
    /// What the audit log is told, if it is told anything.
    pub(crate) trail: Option<&'c Trail>,
}

/// What a path names.
pub(crate) enum Target<'c> {
    /// Objects, or one.
    Main,
    /// The status of an object.
    Status,
    /// Objects that are made when they are asked for, or one.
    Made(&'c dyn Virtual),
    /// Something else below an object.
    Custom(&'c dyn Subresource),
    /// Something of what is below an object, by its name there.
    Item(&'c dyn Subresource),
    /// Nothing that is below objects of the kind.
    Nothing,
}

/// The kind and the part of it that a path names; none if there is no such thing.
pub(crate) fn find<'r>(kinds: &'r ServedKinds, info: &RequestInfo) -> Option<(&'r ServedKind, Target<'r>)> {
    let (group, version) = (info.api_group().to_owned(), info.api_version().to_owned());
    if group.is_empty() != (info.api_prefix() == "api") || !info.is_canonical() {
        return None;
    }
    let kind = kinds.find(&GroupVersion::new(group, version), info.resource())?;
    let maker = kind.kind().maker();
    let offers = |verb| maker.is_none_or(|maker| maker.verbs().contains(&verb));
    // What has no objects to be named or listed has no paths for that.
    if !info.name().is_empty() && !offers(VirtualVerb::Get) {
        return None;
    }
    let across = matches!(info.verb(), Verb::List | Verb::Watch) && offers(VirtualVerb::List);
    let in_scope = match kind.kind().scope() {
        Scope::Cluster => info.namespace().is_empty() || info.is_namespace_itself(),
        Scope::Namespaced => !info.namespace().is_empty() || across,
    };
    if !in_scope {
        return None;
    }
    let custom = |name: &str| kind.kind().subresources().iter().find(|sub| sub.name() == name);
    let target = match info.subresource() {
        name if info.parts().count() == 4 => {
            let removable = custom(name).filter(|below| below.verbs().contains(&SubresourceVerb::Delete));
            removable.map_or(Target::Nothing, |below| Target::Item(&**below))
        }
        _ if info.parts().count() > 4 => Target::Nothing,
        "" => maker.map_or(Target::Main, Target::Made),
        "status" if kind.has_status() => Target::Status,
        name => custom(name).map_or(Target::Nothing, |subresource| Target::Custom(&**subresource)),
    };
    Some((kind, target))
}

/// The answer where a path names nothing. Groups of Kubernetes' own say so as objects, others as text.
pub(crate) fn not_found(kinds: &ServedKinds, info: &RequestInfo) -> Answer {
    let (group, version) = (info.api_group(), info.api_version());
    let is_named = |kind: &ServedKind| kind.gvk().group == group && kind.gvk().version == version;
    if !kinds.served().iter().any(|kind| kind.host_type().is_some() && is_named(kind)) {
        return Ok(respond::page_not_found());
    }
    Err(Box::new(Status::new(Reason::NotFound, "the server could not find the requested resource")))
}

// === impl Call ===

impl<'c> Call<'c> {
    /// Answers.
    pub(crate) async fn answer(self, kind: &'c ServedKind, target: Target<'c>) -> Answer {
        let answer = match target {
            Target::Main => self.main(kind).await,
            Target::Made(maker) => self.made(kind, maker).await,
            Target::Status => self.status(kind).await,
            Target::Custom(subresource) => self.subresource(kind, subresource).await,
            Target::Item(subresource) => self.item(kind, subresource).await,
            Target::Nothing => Err(Box::new(Status::not_found(&kind.resource(), self.name()))),
        };
        match kind.deprecation() {
            None => answer,
            Some(warning) => with_warnings(answer, &[warning.to_owned()]),
        }
    }

    async fn main(self, kind: &ServedKind) -> Answer {
        match self.request.operation()? {
            Operation::Get(options) => self.get(kind, options).await,
            Operation::List(options) => self.list(kind, options).await,
            Operation::Watch(options) => self.watch(kind, options).await,
            Operation::Create(options) => self.create(kind, options).await,
            Operation::Update(options) => self.update(kind, Part::Main, options).await,
            Operation::Patch(query) => self.patch(kind, Part::Main, query).await,
            Operation::Delete(query) => self.delete(kind, query).await,
            Operation::DeleteCollection(..) if !kind.kind().allows_delete_collection() => Err(self.not_supported(kind)),
            Operation::DeleteCollection(list, query) => self.delete_collection(kind, list, query).await,
            Operation::Other => Err(self.not_supported(kind)),
        }
    }

    async fn status(self, kind: &ServedKind) -> Answer {
        match self.request.operation()? {
            Operation::Get(options) => self.get(kind, options).await,
            Operation::Update(options) => self.update(kind, Part::Status, options).await,
            Operation::Patch(query) => self.patch(kind, Part::Status, query).await,
            _ => Err(self.not_supported(kind)),
        }
    }

    fn ctx(&self) -> Ctx<'c> {
        Ctx { user: self.user, now: self.now, annotations: self.trail.map(Trail::annotations) }
    }

    fn form(&self, kind: &ServedKind, subject: Subject) -> Result<Form, Box<Status>> {
        Form::of_objects(kind, subject, self.headers, self.request.query(), self.now)
    }

    /// The namespace that the path names; none where it means all.
    fn namespace(&self) -> Option<&'c str> {
        Some(self.request.info().namespace()).filter(|namespace| !namespace.is_empty())
    }

    /// Whom the fields belong to that this request sets: whoever it names, or else the program that sent it.
    fn tracking(&self, field_manager: &str) -> Tracking {
        Tracking::Manager(manager_name(field_manager, text(self.headers, USER_AGENT)).into_owned())
    }

    /// The object's name in the path.
    fn name(&self) -> &'c str {
        self.request.info().name()
    }

    fn not_supported(&self, kind: &ServedKind) -> Box<Status> {
        if kind.kind().maker().is_some() {
            let message = "the server does not allow this method on the requested resource";
            return Box::new(Status::new(Reason::MethodNotAllowed, message));
        }
        let verb = self.request.info().verb().as_str();
        Box::new(Status::method_not_supported(&kind.resource(), verb))
    }
}

/// The status that tells of an error. What is not the client's doing is logged.
pub(crate) fn refuse(error: Error) -> Box<Status> {
    let told = status::of(&error);
    if told.code() >= 500 {
        tracing::warn!(error = &error as &dyn std::error::Error, code = told.code(), "a request failed");
    }
    Box::new(told)
}

/// With what the client should know.
fn with_warnings(answer: Answer, warnings: &[String]) -> Answer {
    answer.map(|mut response| {
        respond::warn(&mut response, warnings);
        response
    })
}
