//! `organizations/{name}/groups`: the groups of an organization.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::OrgGroupName;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Object};
use bailiwick_storage::At;
use serde_json::{Map, Value, json};

use crate::delete::{DeleteOptions, Deleted};
use crate::error::{Error, Result};
use crate::read::encoded;
use crate::served_kind::ServedKind;
use crate::subresource::{Subresource, SubresourceAnswer, SubresourceBody, SubresourceCall, SubresourceVerb};
use crate::update::{Part, Update};

/// What the audit log says which group was meant, as the path does not.
const GROUP_NAME: &str = "org.bailiwick.dev/group";

/// The groups of an organization, read and written as one collection. Only to be removed are they named in the path. So
/// whoever may use it for one organization cannot list the groups of others.
pub(super) struct Groups;

// === impl Groups ===

impl Groups {
    /// The kind of the groups, in the version of the request.
    fn groups(call: &SubresourceCall<'_>) -> Result<Arc<ServedKind>> {
        let resource = || bailiwick_machinery::GroupResource::new(call.group_version.group.clone(), "orggroups");
        let found = call.registry.find(call.group_version, "orggroups");
        found.ok_or_else(|| Error::NotSupported { resource: resource(), action: "groups" })
    }

    /// Refuses a group of another organization.
    fn check_name(call: &SubresourceCall<'_>, kind: &ServedKind, object: &Object) -> Result<()> {
        let name = object.metadata().name();
        if OrgGroupName::parse(name).is_some_and(|parsed| parsed.organization == call.name) {
            return Ok(());
        }
        let mut errors = FieldErrors::default();
        let why = format!("must be \"{}:<group>\", a group of this organization", call.name);
        errors.push(FieldError::invalid(FieldPath::new("metadata").child("name"), name, why));
        Err(Error::Invalid { kind: kind.group_kind(), name: name.to_owned(), errors })
    }

    /// Refuses what is said of an organization that does not exist.
    async fn check_parent(call: &SubresourceCall<'_>) -> Result<()> {
        let Some(parent) = call.registry.find(call.group_version, "organizations") else { return Ok(()) };
        call.registry.get(&parent, "", call.name, At::Latest).await.map(|_| ())
    }
}

#[async_trait]
impl Subresource for Groups {
    fn name(&self) -> &'static str {
        "groups"
    }

    fn kind(&self) -> &'static str {
        "OrgGroup"
    }

    fn read_kind(&self) -> &'static str {
        "OrgGroupList"
    }

    fn verbs(&self) -> &'static [SubresourceVerb] {
        &[SubresourceVerb::Create, SubresourceVerb::Delete, SubresourceVerb::Get, SubresourceVerb::Update]
    }

    async fn get(&self, call: SubresourceCall<'_>) -> Result<Object> {
        Self::check_parent(&call).await?;
        let kind = &*Self::groups(&call)?;
        let beginning = format!("{}{}", call.name, OrgGroupName::SEPARATOR);
        let (revision, groups) = call.registry.list_beginning_with(kind, &beginning, At::Latest).await?;
        let mut items = Vec::new();
        for object in &groups {
            let object = encoded(kind, object)?.to_object(kind.gvk());
            items.push(object.map_err(|error| error.about(&kind.resource(), call.name))?.into());
        }
        let mut fields = Map::new();
        fields.insert("metadata".to_owned(), json!({"resourceVersion": revision.to_string()}));
        fields.insert("items".to_owned(), Value::Array(items));
        let mut list = Object::new(fields);
        list.set_gvk(&kind.list_gvk());
        Ok(list)
    }

    async fn create(&self, call: SubresourceCall<'_>, body: SubresourceBody) -> Result<SubresourceAnswer> {
        Self::check_parent(&call).await?;
        let kind = &*Self::groups(&call)?;
        Self::check_name(&call, kind, &body.object)?;
        call.ctx.annotate(GROUP_NAME, body.object.metadata().name());
        let accepted = kind.accept(body.object, &body.options)?;
        let written = call.registry.create(call.ctx, kind, accepted, &body.options).await?;
        answer(kind, written)
    }

    async fn update(&self, call: SubresourceCall<'_>, body: SubresourceBody) -> Result<SubresourceAnswer> {
        Self::check_parent(&call).await?;
        let kind = &*Self::groups(&call)?;
        Self::check_name(&call, kind, &body.object)?;
        call.ctx.annotate(GROUP_NAME, body.object.metadata().name());
        let name = body.object.metadata().name().to_owned();
        let change = |_: &Object| kind.accept(body.object.clone(), &body.options);
        let update = Update {
            part: Part::Main,
            change: &change,
            tracking: &body.options.tracking,
            dry_run: body.options.dry_run,
        };
        answer(kind, call.registry.update(call.ctx, kind, "", &name, update).await?)
    }

    async fn delete(&self, call: SubresourceCall<'_>, item: &str, options: &DeleteOptions) -> Result<Deleted> {
        let kind = &*Self::groups(&call)?;
        let name = format!("{}{}{item}", call.name, OrgGroupName::SEPARATOR);
        call.ctx.annotate(GROUP_NAME, name.as_str());
        call.registry.delete(call.ctx, kind, "", &name, options).await
    }
}

fn answer(kind: &ServedKind, written: crate::write::Written) -> Result<SubresourceAnswer> {
    let object = written.object.to_object(kind.gvk()).map_err(|error| error.about(&kind.resource(), ""))?;
    Ok(SubresourceAnswer { object, warnings: written.warnings })
}
