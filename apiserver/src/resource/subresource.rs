//! What lies below an object, other than its status.

use std::num::NonZeroUsize;

use bailiwick_machinery::{GroupResource, Status};
use bailiwick_registry::{
    Ctx, Deleted, Page, ServedKind, Subresource, SubresourceBody, SubresourceCall, SubresourceVerb,
};
use http::StatusCode;

use super::{Answer, Call, refuse, with_warnings};
use crate::form::{Form, Subject};
use crate::options::{CreateOptions, UpdateOptions};
use crate::request::Operation;
use crate::respond;

// === impl Call ===

impl<'c> Call<'c> {
    pub(super) async fn subresource(self, kind: &'c ServedKind, subresource: &'c dyn Subresource) -> Answer {
        let group_version = &kind.version().group_version;
        let written = subresource.foreign().map_or(group_version, |version| &version.group_version);
        let ctx = self.ctx();
        let call = self.below(kind, &ctx);
        let offers = |verb| subresource.verbs().contains(&verb);
        match self.request.operation()? {
            Operation::Get(_) if offers(SubresourceVerb::Get) && !self.wants_watch() => {
                let form = self.plain_form(kind)?;
                let object = subresource.get(call).await.map_err(refuse)?;
                respond::typed_value(&form, StatusCode::OK, &object)
            }
            Operation::Create(options) if offers(SubresourceVerb::Create) => {
                let CreateOptions { dry_run, field_validation, field_manager } = options;
                let form = self.plain_form(kind)?;
                let gvk = written.kind(subresource.kind());
                let tracking = self.tracking(&field_manager);
                let (object, options) = self.decode(&gvk, dry_run, field_validation, tracking)?;
                let answer = subresource.create(call, SubresourceBody { object, options }).await.map_err(refuse)?;
                with_warnings(respond::typed_value(&form, StatusCode::CREATED, &answer.object), &answer.warnings)
            }
            Operation::Update(options) if offers(SubresourceVerb::Update) => {
                let UpdateOptions { dry_run, field_validation, field_manager } = options;
                let form = self.plain_form(kind)?;
                let gvk = written.kind(subresource.kind());
                let tracking = self.tracking(&field_manager);
                let (object, options) = self.decode(&gvk, dry_run, field_validation, tracking)?;
                let answer = subresource.update(call, SubresourceBody { object, options }).await.map_err(refuse)?;
                with_warnings(respond::typed_value(&form, StatusCode::OK, &answer.object), &answer.warnings)
            }
            _ => Err(self.not_supported(kind)),
        }
    }

    /// Whether a watch is asked for, which was authorized as a mere read, and which no subresource has.
    fn wants_watch(&self) -> bool {
        self.request.query().switch("watch").unwrap_or(false)
    }

    /// What is named below a subresource can be removed, and nothing else.
    pub(super) async fn item(self, kind: &'c ServedKind, subresource: &'c dyn Subresource) -> Answer {
        let Operation::Delete(query) = self.request.operation()? else {
            return Err(Box::new(Status::not_found(&kind.resource(), self.name())));
        };
        let item = self.request.info().parts().nth(3).unwrap_or_default();
        let (form, options) = (self.plain_form(kind)?, self.delete_options(query)?);
        let ctx = self.ctx();
        let deleted = subresource.delete(self.below(kind, &ctx), item, &options).await.map_err(refuse)?;
        match deleted {
            Deleted::Gone { uid } => {
                let resource = GroupResource::new(kind.gvk().group.clone(), subresource.name());
                Ok(respond::status(&form, &Status::deleted(&resource, item, &uid)))
            }
            Deleted::GoneAs(object) | Deleted::Waiting(object) => {
                let gvk = kind.version().group_version.kind(subresource.kind());
                let object = object.to_object(&gvk).map_err(|error| refuse(error.about(&kind.resource(), item)))?;
                respond::typed_value(&form, StatusCode::OK, &object)
            }
        }
    }

    fn below<'a>(&self, kind: &'a ServedKind, ctx: &'a Ctx<'a>) -> SubresourceCall<'a>
    where
        'c: 'a,
    {
        SubresourceCall {
            ctx,
            registry: self.registry,
            group_version: &kind.version().group_version,
            namespace: self.namespace().unwrap_or_default(),
            name: self.name(),
            page: self.page(),
        }
    }

    /// Which part of something long is asked for.
    fn page(&self) -> Page<'c> {
        let query = self.request.query();
        let limit = query.first("limit").and_then(|limit| limit.parse().ok()).and_then(NonZeroUsize::new);
        Page { limit, after: query.first("continue").filter(|after| !after.is_empty()) }
    }

    /// What comes from a subresource has no columns: it is sent as it is.
    fn plain_form(&self, kind: &ServedKind) -> Result<Form, Box<Status>> {
        let form = self.form(kind, Subject::Object)?;
        Ok(Form { shape: crate::form::Shape::Plain, ..form })
    }
}
