//! `resourcequotaallocations/{name}/projects`: what each project has, a page at a time.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use bailiwick_api::ResourceQuotaAllocationProjects;
use bailiwick_machinery::GroupResource;
use bailiwick_storage::At;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::allocations::{GROUP, PLURAL, Rows, project_usage, weight};
use crate::error::{Error, Result};
use crate::subresource::{SubresourceCall, View};

/// How many projects are told of at once at most.
const MAX_PAGE: NonZeroUsize = NonZeroUsize::new(500).expect("500 is not zero");
/// How many bytes they have together, about, unless the first one has more.
const MAX_BYTES: usize = 1 << 20;

#[async_trait]
impl View for ResourceQuotaAllocationProjects {
    const NAME: &'static str = "projects";

    async fn of(call: SubresourceCall<'_>) -> Result<Self> {
        let resource = || GroupResource::new(GROUP, PLURAL);
        let failed = |source| Error::Storage { operation: "get", resource: resource(), source };
        let state = call.registry.cache().snapshot(At::Latest).await.map_err(failed)?;
        let rows = Rows::new()?;
        let spec = rows.read_spec(&state, call.name)?;
        let Some(spec) = spec else {
            return Err(Error::NotFound { resource: resource(), name: call.name.to_owned() });
        };
        let after = match call.page.after {
            None => None,
            Some(after) => {
                let bad = |_| Error::BadRequest("invalid continue token: it names no project".to_owned());
                Some(rows.account(call.name, after).map_err(bad)?)
            }
        };
        let limit = call.page.limit.unwrap_or(MAX_PAGE).min(MAX_PAGE).get();
        let accounts = rows.accounts(call.name)?;
        let metadata = ObjectMeta { name: Some(call.name.to_owned()), ..ObjectMeta::default() };
        let (mut told, mut bytes) = (Self { metadata, ..Self::default() }, 0_usize);
        for row in state.range(&accounts, after.as_ref()) {
            let namespace = row.key().name();
            let Some(account) = rows.read_account(&state, &spec, namespace)? else { continue };
            let usage = project_usage(&spec, namespace, &account);
            bytes = bytes.saturating_add(weight(&usage));
            if let Some(last) = told.projects.last()
                && (told.projects.len() == limit || bytes > MAX_BYTES)
            {
                told.continue_token.clone_from(&last.namespace);
                break;
            }
            told.projects.push(usage);
        }
        Ok(told)
    }
}
