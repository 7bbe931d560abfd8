//! `serviceaccounts/token`: tokens of a service account, for as long and for whom they are asked for.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::{
    FieldError, FieldErrors, FieldPath, GroupKind, GroupResource, GroupVersion, Object, format_rfc3339,
};
use bailiwick_storage::At;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::accept::accept_host;
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError, Version};
use crate::subresource::{Subresource, SubresourceAnswer, SubresourceBody, SubresourceCall, SubresourceVerb};

/// Where Kubernetes says in audit logs which token was given out.
const ISSUED_CREDENTIAL: &str = "authentication.kubernetes.io/issued-credential-id";
/// How long tokens live that do not say how long.
const USUAL_SECONDS: i64 = 3_600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;

/// Who signs tokens of service accounts.
pub trait TokenIssuer: Send + Sync + 'static {
    /// For whom tokens are that do not say for whom: this server.
    fn audiences(&self) -> &[String];

    /// A token with these claims, and the issuer's name.
    fn issue(&self, claims: Map<String, Value>) -> Result<String, TokenIssueError>;
}

/// Why a token cannot be signed. The log says more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the token cannot be signed: {0}")]
pub struct TokenIssueError(pub String);

/// Gives out tokens.
struct TokenRequests {
    issuer: Arc<dyn TokenIssuer>,
    version: Version,
}

/// What a token is for.
struct Wanted {
    audiences: Vec<String>,
    seconds: i64,
    bound: Option<Bound>,
}

/// The object that a token does not outlive.
struct Bound {
    /// The claim that names it.
    claim: &'static str,
    name: String,
    uid: String,
}

/// The kinds, where service accounts have tokens.
pub(super) fn with_tokens(kinds: Vec<Kind>, issuer: &Arc<dyn TokenIssuer>) -> Result<Vec<Kind>, KindError> {
    let add = |kind: Kind| {
        let is_account = kind.home() == Some(("", "ServiceAccount"));
        if !is_account {
            return Ok(kind);
        }
        Ok(kind.subresource(TokenRequests { issuer: issuer.clone(), version: Version::host::<TokenRequest>()? }))
    };
    kinds.into_iter().map(add).collect()
}

// === impl TokenRequests ===

#[async_trait]
impl Subresource for TokenRequests {
    fn name(&self) -> &'static str {
        "token"
    }

    fn kind(&self) -> &'static str {
        "TokenRequest"
    }

    fn foreign(&self) -> Option<&Version> {
        Some(&self.version)
    }

    fn is_secret_bearing(&self) -> bool {
        true
    }

    fn verbs(&self) -> &'static [SubresourceVerb] {
        &[SubresourceVerb::Create]
    }

    async fn create(&self, call: SubresourceCall<'_>, body: SubresourceBody) -> Result<SubresourceAnswer> {
        let gvk = self.version.group_version.kind("TokenRequest");
        let (mut request, warnings) = accept_host(&gvk, body.object, &body.options)?;
        check_place(&call, &request)?;
        let account = read(&call, "serviceaccounts", call.name).await?;
        let uid = account.metadata().uid().to_owned();
        let named = request.metadata().uid();
        if !named.is_empty() && named != uid {
            let why =
                format!("the UID in the token request ({named}) does not match the UID of the service account ({uid})");
            return Err(Error::Conflict { resource: resource(), name: call.name.to_owned(), why });
        }
        let wanted = self.wanted(&call, &request).await?;
        let id = Uuid::new_v4().to_string();
        let token = self.issuer.issue(claims(&call, &uid, &wanted, &id));
        let token = token.map_err(|error| Error::Failed { what: "a token", why: error.to_string() })?;
        call.ctx.annotate(ISSUED_CREDENTIAL, format!("JTI={id}"));
        for (field, value) in [("name", call.name), ("namespace", call.namespace), ("uid", uid.as_str())] {
            request.set_metadata_text(field, value);
        }
        request.set_metadata_text("creationTimestamp", &call.ctx.timestamp());
        if let Some(Value::Object(spec)) = request.fields_mut().get_mut("spec") {
            spec.insert("audiences".to_owned(), wanted.audiences.into());
            spec.insert("expirationSeconds".to_owned(), wanted.seconds.into());
        }
        let expires = format_rfc3339(call.ctx.seconds().saturating_add(wanted.seconds)).unwrap_or_default();
        let status = json!({ "token": token, "expirationTimestamp": expires });
        request.fields_mut().insert("status".to_owned(), status);
        Ok(SubresourceAnswer { object: request, warnings })
    }
}

impl TokenRequests {
    async fn wanted(&self, call: &SubresourceCall<'_>, request: &Object) -> Result<Wanted> {
        let spec = request.fields().get("spec");
        let field = |name: &str| spec.and_then(|spec| spec.get(name));
        let named = field("audiences").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let named: Vec<String> = named.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let seconds = field("expirationSeconds").and_then(Value::as_i64).unwrap_or(USUAL_SECONDS);
        check_seconds(seconds)?;
        let bound = match field("boundObjectRef").filter(|bound| bound.is_object()) {
            None => None,
            Some(bound) => {
                let bound: BoundObjectReference =
                    serde_json::from_value(bound.clone()).map_err(|error| Error::BadRequest(error.to_string()))?;
                Some(find_bound(call, &bound).await?)
            }
        };
        let audiences = if named.is_empty() { self.issuer.audiences().to_vec() } else { named };
        Ok(Wanted { audiences, seconds, bound })
    }
}

fn claims(call: &SubresourceCall<'_>, uid: &str, wanted: &Wanted, id: &str) -> Map<String, Value> {
    let now = call.ctx.seconds();
    let mut kubernetes = json!({
        "namespace": call.namespace,
        "serviceaccount": { "name": call.name, "uid": uid },
    });
    if let Some(Bound { claim, name, uid }) = &wanted.bound {
        kubernetes[*claim] = json!({ "name": name, "uid": uid });
    }
    let claims = [
        ("aud", wanted.audiences.clone().into()),
        ("exp", now.saturating_add(wanted.seconds).into()),
        ("iat", now.into()),
        ("jti", id.into()),
        ("kubernetes.io", kubernetes),
        ("nbf", now.into()),
        ("sub", format!("system:serviceaccount:{}:{}", call.namespace, call.name).into()),
    ];
    claims.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The object that the token is to be bound to, as it is now.
async fn find_bound(call: &SubresourceCall<'_>, bound: &BoundObjectReference) -> Result<Bound> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (version, kind, name) = (text(&bound.api_version), text(&bound.kind), text(&bound.name));
    let version = GroupVersion::parse(&version).unwrap_or_else(|| GroupVersion::new("", ""));
    let (claim, plural) = match (&*version.group, kind.as_str()) {
        ("", "Pod") => ("pod", "pods"),
        ("", "Node") => ("node", "nodes"),
        ("", "Secret") => ("secret", "secrets"),
        _ => {
            let (group, version) = (version.group, version.version);
            return Err(Error::BadRequest(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
            )));
        }
    };
    let object = read(call, plural, &name).await?;
    let (found, named) = (object.metadata().uid().to_owned(), text(&bound.uid));
    if !named.is_empty() && named != found {
        let why = format!(
            "the UID in the bound object reference ({named}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Error::Conflict { resource: GroupResource::new("", kind), name, why });
    }
    Ok(Bound { claim, name, uid: found })
}

/// An object of the account's namespace.
async fn read(call: &SubresourceCall<'_>, plural: &'static str, name: &str) -> Result<Object> {
    let absent = || Error::NotFound { resource: GroupResource::new("", plural), name: name.to_owned() };
    let kind = call.registry.find(&GroupVersion::new("", "v1"), plural).ok_or_else(absent)?;
    let found = call.registry.get(&kind, call.namespace, name, At::Latest).await?;
    kind.read(&found).map_err(|error| error.about(&kind.resource(), name))
}

/// What the request says of itself is what the path says.
fn check_place(call: &SubresourceCall<'_>, request: &Object) -> Result<()> {
    let metadata = request.metadata();
    let places = [("name", metadata.name(), call.name), ("namespace", metadata.namespace(), call.namespace)];
    for (field, found, wanted) in places {
        if !found.is_empty() && found != wanted {
            let path = FieldPath::new("metadata").child(field);
            let why = format!("must match the service account {field} if specified");
            let mut errors = FieldErrors::default();
            errors.push(FieldError::invalid(path, found, why));
            return Err(Error::Invalid { kind: group_kind(), name: call.name.to_owned(), errors });
        }
    }
    Ok(())
}

fn check_seconds(seconds: i64) -> Result<()> {
    let why = match seconds {
        ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_SECONDS..=MAX_SECONDS => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let mut errors = FieldErrors::default();
    errors.push(FieldError::invalid(FieldPath::new("spec").child("expirationSeconds"), seconds, why));
    Err(Error::Invalid { kind: group_kind(), name: String::new(), errors })
}

fn group_kind() -> GroupKind {
    GroupKind::new("authentication.k8s.io", "TokenRequest")
}

/// Upstream names the kind where resources are named.
fn resource() -> GroupResource {
    GroupResource::new("authentication.k8s.io", "TokenRequest")
}
