//! Quota reviews: kube-apiserver asks here whether a write of a ResourceQuota may happen, as it asks any validating webhook.
//!
//! A webhook that is called directly has no way to know who calls. So kube-apiserver is told to call itself, and hands this on
//! like any request for our kinds: then it is known to come from kube-apiserver.

use async_trait::async_trait;
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{GroupVersion, GroupVersionKind, NameRule, Object, Scope};
use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::User;
use crate::allocations::{Denial, QuotaChange};
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError, Names, Version};
use crate::virtual_kind::{Virtual, VirtualCall, VirtualVerb};

const GROUP: &str = "admission.bailiwick.dev";
const VERSION: &str = "v1alpha1";
const KIND: &str = "AdmissionReview";
/// Who kube-apiserver is to itself.
const CALLER: &str = "system:apiserver";

pub(super) fn kind() -> Result<Kind, KindError> {
    let names = Names {
        kind: KIND.into(),
        list_kind: "AdmissionReviewList".into(),
        plural: "quotareviews".into(),
        singular: "quotareview".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
    };
    let free = |description: &str| json!({ "type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": true });
    let schema = Schema::from_json(&json!({
        "type": "object",
        "description": "AdmissionReview asks whether a write of a ResourceQuota fits into the quota allocations there are.",
        "properties": { "request": free("What is asked."), "response": free("The answer.") },
    }));
    let schema = schema.map_err(|errors| KindError::Schema { kind: KIND.to_owned(), errors })?;
    let version = Version {
        group_version: GroupVersion::new(GROUP, VERSION),
        schema,
        columns: Columns::named(),
        selectable: Vec::new(),
    };
    Ok(Kind::new(names, Scope::Cluster, NameRule::DnsSubdomain, version)?.made_by(Reviews))
}

struct Reviews;

/// What matters of a question.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Request {
    uid: String,
    namespace: String,
    operation: String,
    sub_resource: String,
    user_info: UserInfo,
    object: Value,
    old_object: Value,
    dry_run: bool,
}

// === impl Reviews ===

#[async_trait]
impl Virtual for Reviews {
    fn verbs(&self) -> &'static [VirtualVerb] {
        &[VirtualVerb::Create]
    }

    fn foreign(&self) -> Option<GroupVersionKind> {
        Some(GroupVersion::new("admission.k8s.io", "v1").kind(KIND))
    }

    async fn create(&self, call: VirtualCall<'_>, mut sent: Object) -> Result<Object> {
        if call.ctx.user.name != CALLER {
            return Err(Error::Forbidden {
                resource: call.kind.resource(),
                name: String::new(),
                why: format!("only \"{CALLER}\" asks this: other writers of ResourceQuotas ask by writing them"),
                causes: Vec::new(),
            });
        }
        let request = sent.fields_mut().remove("request").unwrap_or(Value::Null);
        let request: Request =
            serde_json::from_value(request).map_err(|error| Error::BadRequest(format!("request: {error}")))?;
        let response = match request.judge(call).await {
            Ok(denial) => response(&request.uid, denial),
            // Who writes the ResourceQuota is to try again; a webhook that fails would be an error of the server to them.
            Err(error @ Error::Overtaken { .. }) => too_many(&request.uid, &error),
            Err(error) => return Err(error),
        };
        let mut review = Object::default();
        review.fields_mut().insert("response".to_owned(), response);
        Ok(review)
    }
}

// === impl Request ===

impl Request {
    async fn judge(&self, call: VirtualCall<'_>) -> Result<Option<Denial>> {
        if !matches!(self.operation.as_str(), "CREATE" | "UPDATE") || !self.sub_resource.is_empty() {
            return Ok(None);
        }
        let absent = || Error::Failed { what: "a quota review", why: "this server judges no quotas".to_owned() };
        let allocations = call.registry.allocations().ok_or_else(absent)?;
        let user = self.user();
        let asked = QuotaChange {
            user: &user,
            namespace: &self.namespace,
            old: Some(&self.old_object).filter(|old| old.is_object()),
            new: &self.object,
            at: call.ctx.seconds(),
            is_trial: self.dry_run,
        };
        allocations.judge(&asked).await
    }

    fn user(&self) -> User {
        let UserInfo { username, uid, groups, extra } = self.user_info.clone();
        User {
            name: username.unwrap_or_default(),
            uid: uid.unwrap_or_default(),
            groups: groups.unwrap_or_default(),
            extra: extra.unwrap_or_default(),
            ..User::default()
        }
    }
}

impl Default for Request {
    fn default() -> Self {
        Self {
            uid: String::new(),
            namespace: String::new(),
            operation: String::new(),
            sub_resource: String::new(),
            user_info: UserInfo::default(),
            object: Value::Null,
            old_object: Value::Null,
            dry_run: false,
        }
    }
}

fn response(uid: &str, denial: Option<Denial>) -> Value {
    let Some(Denial { why, causes, .. }) = denial else { return json!({ "uid": uid, "allowed": true }) };
    let cause = |cause: &bailiwick_machinery::Cause| json!({ "reason": cause.reason, "message": cause.message, "field": cause.field });
    let causes: Vec<Value> = causes.iter().map(cause).collect();
    let details = json!({ "causes": causes });
    let status = json!({ "code": 403, "reason": "Forbidden", "message": why, "details": details });
    json!({ "uid": uid, "allowed": false, "status": status })
}

fn too_many(uid: &str, error: &Error) -> Value {
    let details = json!({ "retryAfterSeconds": 1 });
    let status = json!({ "code": 429, "reason": "TooManyRequests", "message": error.to_string(), "details": details });
    json!({ "uid": uid, "allowed": false, "status": status })
}
