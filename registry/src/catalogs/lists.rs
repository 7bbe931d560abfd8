//! Checks the resources of an entry that are made where they are claimed.

use std::borrow::Cow;
use std::collections::HashSet;

use bailiwick_api::{ListedResource, ResourceListSpec};
use bailiwick_machinery::name::{dns1123_subdomain, path_segment};
use bailiwick_machinery::{FieldError, FieldPath};
use serde_json::{Map, Value};

use super::CatalogRules;
use super::locate::{ACCOUNT_TOKEN, check_kind};
use crate::error::Result;
use crate::host::HostKind;
use crate::ruled_write::RuledWrite;

// === impl CatalogRules ===

impl CatalogRules {
    /// The resources by name, if each is one that the host could make in a namespace.
    pub(super) async fn check_list(
        &self,
        write: RuledWrite<'_>,
        list: &ResourceListSpec,
    ) -> Result<Vec<ListedResource>> {
        let path = FieldPath::new("spec").child("resourceList").child("resources");
        let (mut known, mut listed) = (HashSet::new(), Vec::new());
        for (index, resource) in list.resources.iter().enumerate() {
            let path = path.index(index);
            let found = self.check_listed(write, resource, &path).await?;
            let group = found.api_version.rsplit_once('/').map_or("", |(group, _)| group);
            if !known.insert((group.to_owned(), found.kind.clone(), found.name.clone())) {
                let value = format!("{}/{}", found.kind, found.name);
                return Err(write.invalid([FieldError::duplicate(path.child("metadata").child("name"), value)]));
            }
            listed.push(found);
        }
        Ok(listed)
    }

    async fn check_listed(
        &self,
        write: RuledWrite<'_>,
        resource: &Map<String, Value>,
        path: &FieldPath,
    ) -> Result<ListedResource> {
        let text = |field: &str| resource.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let metadata = |field: &str| {
            let metadata = resource.get("metadata").and_then(|metadata| metadata.get(field));
            metadata.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        for (field, value) in [("apiVersion", &api_version), ("kind", &kind)] {
            if value.is_empty() {
                return Err(write.invalid([FieldError::required(path.child(field), "")]));
            }
        }
        let Some(found) = self.host.kind(&api_version, &kind).await? else {
            let why = format!("there is no kind \"{kind}\" of \"{api_version}\"");
            return Err(write.invalid([FieldError::invalid(path.child("kind"), kind, why)]));
        };
        check_kind(write, &found, &path.child("kind"))?;
        let (name, namespace) = (metadata("name"), metadata("namespace"));
        if name.is_empty() {
            let why = "what is made must have a name, so that it is known again";
            return Err(write.invalid([FieldError::required(path.child("metadata").child("name"), why)]));
        }
        let wrong = if has_dns_names(&found) { dns1123_subdomain(&name) } else { path_segment(&name) };
        if !wrong.is_empty() {
            let path = path.child("metadata").child("name");
            let error = |why: Cow<'static, str>| FieldError::invalid(path.clone(), name.as_str(), why.into_owned());
            return Err(write.invalid(wrong.into_iter().map(error)));
        }
        if !namespace.is_empty() {
            let why = "must not be given: resources are made in the namespace of the claim";
            return Err(write.invalid([FieldError::invalid(
                path.child("metadata").child("namespace"),
                namespace,
                why,
            )]));
        }
        if found.group.is_empty() && kind == "Secret" && text("type") == ACCOUNT_TOKEN {
            let why = "is the credential of a service account, which is never shared";
            return Err(write.invalid([FieldError::forbidden(path.child("type"), why)]));
        }
        if let Some(schema) = self.host.schema(&found).await? {
            let problems = schema.check(&Value::Object(resource.clone()));
            if !problems.is_empty() {
                return Err(write.invalid(problems.into_vec().into_iter().map(|problem| below(path, problem))));
            }
        }
        Ok(ListedResource { api_version, kind, name })
    }
}

/// Whether objects of a kind have names that DNS could have. Of kinds that are not Kubernetes' own this is not known.
fn has_dns_names(kind: &HostKind) -> bool {
    let is_own = !kind.group.contains('.') || kind.group.ends_with(".k8s.io");
    is_own && kind.group != "rbac.authorization.k8s.io"
}

/// What is wrong with a resource, as something that is wrong with the entry.
fn below(path: &FieldPath, error: FieldError) -> FieldError {
    let field = match error.field.as_str() {
        "" => path.clone(),
        inner => path.child(inner),
    };
    FieldError { field, ..error }
}
