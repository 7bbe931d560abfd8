//! Objects that are made when they are asked for.

use bailiwick_machinery::ListMeta;
use bailiwick_registry::{Made, MadeList, Selection, ServedKind, Virtual, VirtualCall, VirtualVerb};
use http::StatusCode;

use super::{Answer, Call, refuse, with_warnings};
use crate::form::Subject;
use crate::options::{CreateOptions, ListOptions};
use crate::request::Operation;
use crate::respond;

// === impl Call ===

impl<'c> Call<'c> {
    pub(super) async fn made(self, kind: &'c ServedKind, maker: &'c dyn Virtual) -> Answer {
        let offers = |verb| maker.verbs().contains(&verb);
        match self.request.operation()? {
            Operation::Create(options) if offers(VirtualVerb::Create) => self.make(kind, maker, options).await,
            Operation::Get(_) if offers(VirtualVerb::Get) => {
                let form = self.form(kind, Subject::Object)?;
                let object =
                    self.virtual_call(kind, async |call| call.get(maker, self.name()).await).await.map_err(refuse)?;
                respond::made_object(&form, StatusCode::OK, kind, &object)
            }
            Operation::List(options) if offers(VirtualVerb::List) => self.list_made(kind, maker, options).await,
            // What is made for each of all namespaces would be made anew with every change.
            Operation::Watch(options) if offers(VirtualVerb::Watch) && self.namespace().is_some() => {
                self.watch(kind, options).await
            }
            _ => Err(self.not_supported(kind)),
        }
    }

    async fn make(self, kind: &'c ServedKind, maker: &'c dyn Virtual, options: CreateOptions) -> Answer {
        let form = self.form(kind, Subject::Object)?;
        let tracking = self.tracking(&options.field_manager);
        let foreign = maker.foreign();
        let sent = foreign.as_ref().unwrap_or(kind.gvk());
        let (mut object, write) = self.decode(sent, options.dry_run, options.field_validation, tracking)?;
        if foreign.is_some() && object.gvk().as_ref() == Some(sent) {
            object.set_gvk(kind.gvk());
        }
        let mut accepted = kind.accept(object, &write).map_err(refuse)?;
        self.check_namespace(kind, &mut accepted)?;
        let made =
            self.virtual_call(kind, async |call| call.create(maker, accepted, &write).await).await.map_err(refuse)?;
        let made = match &foreign {
            None => made,
            Some(answered) => {
                let mut object = made.object;
                object.set_gvk(answered);
                Made { object, ..made }
            }
        };
        with_warnings(respond::made_object(&form, StatusCode::CREATED, kind, &made.object), &made.warnings)
    }

    /// There are no pages: what is made is made of what is there now.
    async fn list_made(self, kind: &'c ServedKind, maker: &'c dyn Virtual, options: ListOptions) -> Answer {
        let form = self.form(kind, Subject::List)?;
        let selection = Selection::parse(kind, &options.label_selector, &options.field_selector).map_err(refuse)?;
        let made = self.virtual_call(kind, async |call| call.list(maker).await).await.map_err(refuse)?;
        let MadeList { mut objects, revision } = made;
        objects.retain(|object| selection.matches_made(kind, object));
        let resource_version = revision.map(|revision| revision.to_string()).unwrap_or_default();
        respond::objects(&form, kind, ListMeta { resource_version, ..ListMeta::default() }, objects)
    }

    async fn virtual_call<T>(&self, kind: &'c ServedKind, make: impl AsyncFnOnce(VirtualCall<'_>) -> T) -> T {
        let ctx = self.ctx();
        let namespace = self.namespace().unwrap_or_default();
        make(VirtualCall { ctx: &ctx, registry: self.registry, kind, namespace }).await
    }
}
