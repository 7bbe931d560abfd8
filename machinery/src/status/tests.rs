//! The texts and shapes are those of apimachinery's `api/errors`.

use serde_json::json;

use super::*;
use crate::field::{FieldError, FieldPath};

fn widgets() -> GroupResource {
    GroupResource::new("example.dev", "widgets")
}

#[test]
fn a_failure_as_an_object() {
    let status = Status::not_found(&widgets(), "a");
    assert_eq!(status.code(), 404);
    assert_eq!(
        status.to_json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "widgets.example.dev \"a\" not found", "reason": "NotFound",
            "details": {"name": "a", "group": "example.dev", "kind": "widgets"}, "code": 404,
        })
    );
}

#[test]
fn a_deletion_as_an_object() {
    let status = Status::deleted(&GroupResource::new("", "configmaps"), "a", "u");
    assert_eq!(status.code(), 200);
    assert_eq!(
        status.to_json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": {"name": "a", "kind": "configmaps", "uid": "u"},
        })
    );
}

#[test]
fn messages() {
    let check = |status: Status, code: u16, message: &str| {
        assert_eq!((status.code(), status.message.as_str()), (code, message));
    };
    check(Status::already_exists(&widgets(), "a"), 409, "widgets.example.dev \"a\" already exists");
    check(Status::forbidden(&widgets(), "a", "no"), 403, "widgets.example.dev \"a\" is forbidden: no");
    check(Status::forbidden(&widgets(), "", "no"), 403, "widgets.example.dev is forbidden: no");
    check(
        Status::modified(&widgets(), "a"),
        409,
        "Operation cannot be fulfilled on widgets.example.dev \"a\": the object has been modified; please apply your \
         changes to the latest version and try again",
    );
    check(
        Status::method_not_supported(&widgets(), "watch"),
        405,
        "watch is not supported on resources of kind \"widgets.example.dev\"",
    );
    check(Status::internal("boom"), 500, "Internal error occurred: boom");
    check(
        Status::server_timeout(&widgets(), "list"),
        500,
        "The list operation against widgets.example.dev could not be completed at this time, please try again.",
    );
    check(Status::too_large_resource_version(9, 7, 1), 504, "Timeout: Too large resource version: 9, current: 7");
    check(
        Status::no_unique_name(&widgets(), "a"),
        409,
        "widgets.example.dev \"a\" already exists, the server was not able to generate a unique name for the object",
    );
    check(Status::request_too_large("limit is 3145728"), 413, "Request entity too large: limit is 3145728");
}

#[test]
fn an_invalid_object_names_every_cause() {
    let mut errors = FieldErrors::default();
    errors.push(FieldError::required(FieldPath::new("spec").child("a"), ""));
    errors.push(FieldError::invalid(FieldPath::new("spec").child("b"), 3, "too much"));
    let status = Status::invalid(&GroupKind::new("example.dev", "Widget"), "w", &errors);
    assert_eq!(
        status.message,
        "Widget.example.dev \"w\" is invalid: [spec.a: Required value, spec.b: Invalid value: 3: too much]"
    );
    assert_eq!(
        status.to_json()["details"],
        json!({"name": "w", "group": "example.dev", "kind": "Widget", "causes": [
            {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"},
            {"reason": "FieldValueInvalid", "message": "Invalid value: 3: too much", "field": "spec.b"},
        ]})
    );
}
