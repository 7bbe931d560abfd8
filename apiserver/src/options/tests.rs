use bailiwick_machinery::decode::FieldValidation;
use bailiwick_registry::DeleteOptions;
use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::continue_token::Resume;
use crate::query::Query;
use crate::request::Request;

/// What Kubernetes answers in another way, and why Bailiwick does not follow.
const DIFFERENCES: [(&str, &str, &str); 10] = [
    (
        "list",
        "watch=1&resourceVersion=abc",
        "nobody interprets this error upstream, so it is 500; it is the client's: 400",
    ),
    ("list", "watch=1&resourceVersion=-1", "the same"),
    ("list", "watch=1&resourceVersion=18446744073709551616", "the same"),
    ("list", "continue=abc", "what is no token is told in our own words"),
    ("delete", r#"{"gracePeriodSeconds":1e2}"#, "a number is not kept as it was written"),
    ("delete", r#"{"kind":"Pod","apiVersion":"v1"}"#, "upstream names a line of its source"),
    ("delete", r#"{"kind":"Status","apiVersion":"v1"}"#, "upstream names types of its source"),
    ("delete", "[]", "the same"),
    ("delete", "5", "the same"),
    ("delete", "\"x\"", "the same"),
];

/// Values that Go shows escaped. How a value is shown is not decided here, so only the kind of the error is compared.
const SHOWN: [&str; 5] = [
    "resourceVersionMatch=a%3Cb",
    "dryRun=%3C%22",
    "fieldManager=%E2%80%8B",
    "fieldManager=a%C2%A0b",
    "fieldManager=%F3%A0%80%81",
];

/// A status without the texts.
fn kind_of(status: &Value) -> Value {
    let causes = status["details"]["causes"].as_array().unwrap().iter();
    let causes: Vec<Value> = causes.map(|cause| json!([cause["reason"], cause["field"]])).collect();
    json!({"code": status["code"], "reason": status["reason"], "kind": status["details"]["kind"], "causes": causes})
}

fn recorded() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../tests/data/go/options.json")).unwrap()
}

fn or_status<T>(result: Result<T, Box<Status>>, value: impl FnOnce(T) -> Value) -> Result<Value, Value> {
    result.map(value).map_err(|status| status.to_json())
}

fn list_value(query: &Query) -> Result<Value, Value> {
    let parameters = match ListParameters::decode(query) {
        Ok(parameters) => parameters,
        Err(status) => return Err(status.to_json()),
    };
    if parameters.watch {
        return or_status(parameters.watch(), |options| {
            let (initial, at) = match options.start {
                WatchStart::State { freshness, end_marker } => {
                    assert_eq!(end_marker, options.bookmarks);
                    (Some(true), freshness)
                }
                WatchStart::Now { freshness } => (Some(false), freshness),
                WatchStart::After(revision) => (None, Freshness::NotOlderThan(revision)),
            };
            json!({"bookmarks": options.bookmarks, "initial": initial, "at": freshness(at), "timeout": options.timeout.map(|timeout| timeout.as_secs())})
        });
    }
    or_status(parameters.list(ListScope::Collection), |options| {
        let (at, exact, after) = match options.at {
            ListAt::Consistent => (Value::Null, 0, String::new()),
            ListAt::Any => (json!(0), 0, String::new()),
            ListAt::NotOlderThan(revision) => (json!(revision), 0, String::new()),
            ListAt::Exact(revision) => (json!(revision), revision, String::new()),
            ListAt::Continue(token) => {
                let exact = match token.resume() {
                    Resume::Exact(revision) => revision,
                    Resume::Latest => 0,
                };
                (json!("continue"), exact, format!("/prefix/{}\0", token.after()))
            }
        };
        json!({"at": at, "withRev": exact.cast_signed(), "continue": after, "limit": options.limit.map_or(0, std::num::NonZeroU64::get)})
    })
}

fn freshness(freshness: Freshness) -> Value {
    match freshness {
        Freshness::Consistent => Value::Null,
        Freshness::Any => json!(0),
        Freshness::NotOlderThan(revision) => json!(revision),
    }
}

/// What Kubernetes recorded of a list or a watch, in the words of [`list_value`].
fn expected_list(value: &Value) -> Value {
    let rv = value["rv"].as_str().unwrap_or_default();
    let at = if rv.is_empty() { Value::Null } else { json!(rv.parse::<u64>().unwrap()) };
    if value["watch"] == true {
        let mut initial = value["initial"].clone();
        // From a revision on, no initial events are no initial events, asked for or not. From anywhere, they are asked for
        // by default; `00` is the one way to be there without the default.
        match rv.parse::<u64>() {
            Ok(0) if initial.is_null() => initial = json!(true),
            Ok(1..) if initial == false => initial = Value::Null,
            _ => {}
        }
        let timeout = value["timeout"].as_i64().filter(|timeout| *timeout != 0);
        return json!({"bookmarks": value["bookmarks"] == true, "initial": initial, "at": at, "timeout": timeout});
    }
    let after = value["continue"].as_str().unwrap_or_default();
    let limit = value["limit"].as_i64().unwrap_or(0).max(0);
    let exact = value["withRev"].as_i64().unwrap_or(0);
    json!({"at": if after.is_empty() { at } else { json!("continue") }, "withRev": exact, "continue": after, "limit": limit})
}

fn write_value(dry_run: bool, force: Option<bool>, manager: &str, validation: FieldValidation) -> Value {
    let validation = match validation {
        FieldValidation::Ignore => "Ignore",
        FieldValidation::Warn => "Warn",
        FieldValidation::Strict => "Strict",
    };
    json!({"dryRun": dry_run, "force": force.unwrap_or(false), "fieldManager": manager, "fieldValidation": validation})
}

fn expected_write(value: &Value) -> Value {
    json!({
        "dryRun": value["dryRun"].is_array(),
        "force": value["force"] == true,
        "fieldManager": value["fieldManager"].as_str().unwrap_or_default(),
        "fieldValidation": value["fieldValidation"].as_str().filter(|text| !text.is_empty()).unwrap_or("Warn"),
    })
}

fn delete_value(options: &DeleteOptions) -> Value {
    let policy = options.propagation_policy.map(|policy| format!("{policy:?}"));
    let preconditions = options.preconditions.as_ref();
    let preconditions = preconditions.map(|found| json!({"uid": found.uid, "resourceVersion": found.resource_version}));
    json!({
        "gracePeriodSeconds": options.grace_period_seconds, "orphanDependents": options.orphan_dependents,
        "propagationPolicy": policy, "preconditions": preconditions, "dryRun": options.dry_run,
    })
}

fn expected_delete(value: &Value) -> Value {
    let preconditions = value
        .get("preconditions")
        .map(|found| json!({"uid": found["uid"], "resourceVersion": found["resourceVersion"]}));
    json!({
        "gracePeriodSeconds": value["gracePeriodSeconds"], "orphanDependents": value["orphanDependents"],
        "propagationPolicy": value["propagationPolicy"], "preconditions": preconditions, "dryRun": value["dryRun"].is_array(),
    })
}

/// Each recorded query or body is read or refused as Kubernetes does it, with the same status, but for the differences.
#[test]
fn as_kubernetes_reads_them() {
    let rows = recorded();
    let mut explained = Vec::new();
    for row in &rows {
        let (operation, raw) = (row["op"].as_str().unwrap(), row["query"].as_str().unwrap());
        let body = row["body"].as_str();
        let query = Query::parse(raw).unwrap();
        let value = &row["value"];
        let (actual, expected) = match operation {
            "list" => (list_value(&query), expected_list(value)),
            "create" => {
                let read = or_status(CreateOptions::parse(&query), |read| {
                    write_value(read.dry_run, None, &read.field_manager, read.field_validation)
                });
                (read, expected_write(value))
            }
            "update" => {
                let read = or_status(UpdateOptions::parse(&query), |read| {
                    write_value(read.dry_run, None, &read.field_manager, read.field_validation)
                });
                (read, expected_write(value))
            }
            "patch" | "apply" => {
                let kind = if operation == "apply" { PatchKind::Apply } else { PatchKind::Other };
                let read = or_status(PatchQuery::new(&query).options(kind), |read| {
                    write_value(read.dry_run, Some(read.force), &read.field_manager, read.field_validation)
                });
                (read, expected_write(value))
            }
            "delete" => {
                let body: Option<Value> = body.map(|body| serde_json::from_str(body).unwrap());
                let read = DeleteQuery::new(&query).options(body.as_ref());
                (or_status(read, |read| delete_value(&read)), expected_delete(value))
            }
            "timeout" => {
                let read = Request::parse(&Method::GET, &format!("/?{raw}")).unwrap().timeout();
                let expected = value.as_i64().filter(|nanoseconds| *nanoseconds > 0);
                (or_status(read, |read| json!(read.map(|timeout| timeout.as_nanos() as i64))), json!(expected))
            }
            "pretty" => (Ok(json!(query.pretty())), value.clone()),
            other => panic!("{other}"),
        };
        let expected = match row.get("status") {
            Some(status) => {
                let mut status = status.clone();
                status["kind"] = json!("Status");
                status["apiVersion"] = json!("v1");
                Err(status)
            }
            None => Ok(expected),
        };
        if let Some(difference) =
            DIFFERENCES.iter().find(|(op, text, _)| *op == operation && *text == body.unwrap_or(raw))
        {
            assert_ne!(actual, expected, "no difference any more: {difference:?}");
            assert_eq!(actual.unwrap_err()["code"], 400, "{difference:?}");
            explained.push(difference);
            continue;
        }
        match (&actual, &expected) {
            (Err(actual), Err(expected)) if SHOWN.contains(&raw) => {
                assert_eq!(kind_of(actual), kind_of(expected), "{operation} {raw}");
            }
            _ => assert_eq!(actual, expected, "{operation} {raw} {body:?}"),
        }
    }
    assert!(rows.len() > 500);
    assert_eq!(explained.len(), DIFFERENCES.len());
}

#[test]
fn versions_of_one_object() {
    let get = |raw: &str| GetOptions::parse(&Query::parse(raw).unwrap()).map(|options| options.freshness);
    assert_eq!(get(""), Ok(Freshness::Consistent));
    assert_eq!(get("resourceVersion=0"), Ok(Freshness::Any));
    assert_eq!(get("resourceVersion=7&resourceVersion=x"), Ok(Freshness::NotOlderThan(7)));
    let message = |raw: &str| get(raw).unwrap_err().message;
    let invalid = r#"invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax"#;
    assert_eq!(message("resourceVersion=x"), invalid);
    assert_eq!(message("export"), "the export parameter, deprecated since v1.14, is no longer supported");
    assert_eq!(get("export=false"), Ok(Freshness::Consistent));
}

/// However it is written, nothing was ever stored at revision zero.
#[test]
fn exactly_zero() {
    for raw in ["resourceVersion=0&resourceVersionMatch=Exact", "resourceVersion=00&resourceVersionMatch=Exact"] {
        let status =
            ListParameters::decode(&Query::parse(raw).unwrap()).unwrap().list(ListScope::Collection).unwrap_err();
        assert_eq!(status.code(), 422, "{raw}");
    }
}

/// The table of the semantics of lists.
#[test]
fn lists() {
    let at = |raw: &str| {
        ListParameters::decode(&Query::parse(raw).unwrap()).unwrap().list(ListScope::Collection).unwrap().at
    };
    assert_eq!(at(""), ListAt::Consistent);
    assert_eq!(at("limit=5"), ListAt::Consistent);
    assert_eq!(at("resourceVersion=0&limit=5"), ListAt::Any);
    assert_eq!(at("resourceVersion=0&resourceVersionMatch=NotOlderThan"), ListAt::Any);
    assert_eq!(at("resourceVersion=7"), ListAt::NotOlderThan(7));
    assert_eq!(at("resourceVersion=7&limit=5"), ListAt::Exact(7));
    assert_eq!(at("resourceVersion=7&limit=-5"), ListAt::NotOlderThan(7));
    assert_eq!(at("resourceVersion=7&limit=5&resourceVersionMatch=NotOlderThan"), ListAt::NotOlderThan(7));
    assert_eq!(at("resourceVersion=7&resourceVersionMatch=Exact"), ListAt::Exact(7));
}

/// The table of the starts of watches.
#[test]
fn watches() {
    let start = |raw: &str| {
        let query = Query::parse(&format!("watch=1&{raw}")).unwrap();
        ListParameters::decode(&query).unwrap().watch().unwrap().start
    };
    let state = |freshness, end_marker| WatchStart::State { freshness, end_marker };
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
    let none = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
    assert_eq!(start(""), state(Freshness::Consistent, false));
    assert_eq!(start("resourceVersion=0&allowWatchBookmarks=1"), state(Freshness::Any, true));
    assert_eq!(start("resourceVersion=7"), WatchStart::After(7));
    assert_eq!(start(initial), state(Freshness::Consistent, true));
    assert_eq!(start(&format!("resourceVersion=0&{initial}")), state(Freshness::Any, true));
    assert_eq!(start(&format!("resourceVersion=7&{initial}")), state(Freshness::NotOlderThan(7), true));
    assert_eq!(start(none), WatchStart::Now { freshness: Freshness::Consistent });
    assert_eq!(start(&format!("resourceVersion=0&{none}")), WatchStart::Now { freshness: Freshness::Any });
    assert_eq!(start(&format!("resourceVersion=7&{none}")), WatchStart::After(7));
}
