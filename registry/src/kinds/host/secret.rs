//! Secret: bytes that not everyone may read.

use bailiwick_machinery::name::config_key;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;

use self::tls_pair::pair_warning;
use super::{description, edit, entries, invalid, text, wrong_json};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

mod tls_pair;

/// How many bytes all values may have together.
const MAX_BYTES: usize = 1024 * 1024;

const DATA: &str = "data";
const STRING_DATA: &str = "stringData";
const TYPE: &str = "type";
const IMMUTABLE: &str = "immutable";
const OPAQUE: &str = "Opaque";
const TLS: &str = "kubernetes.io/tls";
const TLS_CERTIFICATE: &str = "tls.crt";
const TLS_KEY: &str = "tls.key";
const SERVICE_ACCOUNT: &str = "kubernetes.io/service-account.name";

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::host::<Secret>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    let secret_type = Column::new("Type", ColumnType::String, description(&kind, TYPE));
    let data = Column::new("Data", ColumnType::String, description(&kind, DATA));
    let columns = || {
        Columns::named()
            .with(secret_type.clone(), |object, _| text(object, TYPE).into())
            .with(data.clone(), |object, _| entries(object, DATA).count().into())
            .with_age_as_text()
    };
    Ok(kind.with_unconditional_update().selectable(&[TYPE]).columns(columns).secret_bearing().strategy(Rules))
}

struct Rules;

// === impl Rules ===

impl Strategy for Rules {
    fn complete(&self, object: &mut Object) {
        if let Some(Value::Object(texts)) = object.fields_mut().remove(STRING_DATA) {
            let encoded =
                |(key, text): (String, Value)| (key, STANDARD.encode(text.as_str().unwrap_or_default()).into());
            edit(object, DATA, |data| data.extend(texts.into_iter().map(encoded)));
        }
        if text(object, TYPE).is_empty() {
            object.fields_mut().insert(TYPE.to_owned(), OPAQUE.into());
        }
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let path = FieldPath::new(DATA);
        let mut total = 0;
        for (key, value) in entries(object, DATA) {
            invalid(&path.key(key), key, config_key(key), errors);
            total += decoded(value).len();
        }
        if total > MAX_BYTES {
            errors.push(FieldError::too_long(path, MAX_BYTES));
        }
        check_type(object, errors);
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        if text(object, TYPE) != text(old, TYPE) {
            let why = "field is immutable";
            errors.push(FieldError::invalid(FieldPath::new(TYPE), text(object, TYPE), why));
        }
        let is_immutable = |object: &Object| object.fields().get(IMMUTABLE) == Some(&Value::Bool(true));
        if !is_immutable(old) {
            return;
        }
        let why = "field is immutable when `immutable` is set";
        if !is_immutable(object) {
            errors.push(FieldError::forbidden(FieldPath::new(IMMUTABLE), why));
        }
        if object.fields().get(DATA) != old.fields().get(DATA) {
            errors.push(FieldError::forbidden(FieldPath::new(DATA), why));
        }
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        if text(object, TYPE) != TLS {
            return Vec::new();
        }
        let found = |key: &str| entries(object, DATA).find(|(found, _)| *found == key).map(|(_, value)| decoded(value));
        let warning = pair_warning(&found(TLS_CERTIFICATE).unwrap_or_default(), &found(TLS_KEY).unwrap_or_default());
        warning.into_iter().collect()
    }
}

/// Types of Kubernetes' own promise what is in them.
fn check_type(object: &Object, errors: &mut FieldErrors) {
    let path = FieldPath::new(DATA);
    let value = |key: &str| entries(object, DATA).find(|(found, _)| *found == key).map(|(_, value)| decoded(value));
    let required = |key: &str| FieldError::required(path.key(key), "");
    match text(object, TYPE) {
        "kubernetes.io/service-account-token" => {
            let account = object.metadata().annotation(SERVICE_ACCOUNT).filter(|account| !account.is_empty());
            let path = FieldPath::new("metadata").child("annotations").key(SERVICE_ACCOUNT);
            errors.extend(account.is_none().then(|| FieldError::required(path, "")));
        }
        "kubernetes.io/dockercfg" => check_json(".dockercfg", value(".dockercfg"), errors),
        "kubernetes.io/dockerconfigjson" => check_json(".dockerconfigjson", value(".dockerconfigjson"), errors),
        "kubernetes.io/basic-auth" => {
            let keys = ["username", "password"];
            if keys.iter().all(|key| value(key).is_none()) {
                errors.extend(keys.iter().map(|key| required(key)));
            }
        }
        "kubernetes.io/ssh-auth" => {
            let key = "ssh-privatekey";
            if value(key).unwrap_or_default().is_empty() {
                errors.push(required(key));
            }
        }
        TLS => {
            let absent = [TLS_CERTIFICATE, TLS_KEY].into_iter().filter(|key| value(key).is_none());
            errors.extend(absent.map(required));
        }
        _ => {}
    }
}

fn check_json(key: &str, value: Option<Vec<u8>>, errors: &mut FieldErrors) {
    let path = FieldPath::new(DATA).key(key);
    let Some(value) = value else { return errors.push(FieldError::required(path, "")) };
    let why = match serde_json::from_slice::<Value>(&value) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => {
            let found = bailiwick_machinery::go::json_type(&other);
            format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
        }
        Err(error) => wrong_json(&value, &error),
    };
    errors.push(FieldError::invalid(path, "<secret contents redacted>", why));
}

/// The bytes of a value. What was accepted is base64.
fn decoded(value: &Value) -> Vec<u8> {
    value.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default()
}
