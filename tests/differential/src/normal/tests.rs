use super::*;
use crate::client::Answer;

const SERVER: &str = "127.0.0.1:1234";

const UID: [&str; 2] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

fn exchange(method: &str, path: &str, body: &Value) -> Exchange {
    exchange_with(method, path, "application/json", body.to_string().as_bytes())
}

fn exchange_with(method: &str, path: &str, content_type: &str, body: &[u8]) -> Exchange {
    let headers = vec![("content-type".to_owned(), content_type.to_owned()), ("date".to_owned(), "today".to_owned())];
    let answer = Answer { status: 200, headers, body: body.to_vec() };
    Exchange { method: method.to_owned(), path: path.to_owned(), sent: String::new(), answer }
}

fn object(name: &str, uid: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "uid": uid, "resourceVersion": version}})
}

fn bodies(exchanges: &[Exchange]) -> Vec<Value> {
    normalise(exchanges, SERVER, &[]).answers.into_iter().map(|mut answer| answer["body"].take()).collect()
}

#[test]
fn what_has_the_same_relations_becomes_the_same() {
    let talk = |uids: [&str; 2], versions: [&str; 2]| {
        bodies(&[
            exchange("POST", "/groups", &object("a", uids[0], versions[0])),
            exchange("PUT", "/groups/a", &object("a", uids[1], versions[1])),
        ])
    };
    let same = talk([UID[0], UID[0]], ["5", "6"]);
    assert_eq!(same[0], object("a", "<uid@1.1>", "<rv@1>"));
    assert_eq!(same[1], object("a", "<uid@1.1>", "<rv@2>"));
    assert_eq!(same, talk([UID[1], UID[1]], ["98", "120"]));
    // Each relation that differs shows.
    assert_ne!(same, talk([UID[0], UID[1]], ["5", "6"]));
    assert_ne!(same, talk([UID[0], UID[0]], ["5", "5"]));
    assert_ne!(same, talk([UID[0], UID[0]], ["6", "5"]));
    assert_ne!(same, talk([UID[0], "not-a-uid"], ["5", "6"]));
}

#[test]
fn a_version_that_goes_back_shows() {
    let bodies = bodies(&[
        exchange("POST", "/groups", &object("a", UID[0], "10")),
        exchange("PATCH", "/groups/a", &object("a", UID[0], "9")),
    ]);
    assert_eq!(bodies[1]["metadata"]["resourceVersion"], "<rv@2, older than before>");
}

#[test]
fn lists_have_a_revision_that_is_only_checked() {
    let list = |path: &str, revision: &str, next: &str| {
        let items = [object("a", UID[0], "5"), object("b", UID[1], "7")];
        exchange("GET", path, &json!({"metadata": {"resourceVersion": revision, "continue": next}, "items": items}))
    };
    let revisions = |exchanges: &[Exchange]| -> Vec<Value> {
        bodies(exchanges).iter().map(|body| body["metadata"]["resourceVersion"].clone()).collect()
    };
    assert_eq!(revisions(&[list("/groups", "7", "")]), ["<revision>"]);
    assert_eq!(revisions(&[list("/groups", "900", "")]), ["<revision>"]);
    assert_eq!(revisions(&[list("/groups", "6", "")]), ["<revision older than what it has>"]);
    let walk = [list("/groups?limit=2", "9", "abc"), list("/groups?continue=abc", "9", "")];
    assert_eq!(revisions(&walk), ["<revision>", "<revision of the first page>"]);
    let walk = [list("/groups?limit=2", "9", "abc"), list("/groups?continue=abc", "10", "")];
    assert_eq!(revisions(&walk), ["<revision>", "<revision of no first page>"]);
    assert_eq!(revisions(&[list("/groups?continue=&limit=2", "9", "")]), ["<revision>"]);
    let body = &bodies(&[list("/groups?limit=2", "9", "abc")])[0];
    assert_eq!(body["metadata"]["continue"], "<continue>");
    assert_eq!(body["items"][1]["metadata"]["resourceVersion"], "<rv@1.2>");
}

#[test]
fn events_are_read_one_by_one() {
    let events = [
        json!({"type": "ADDED", "object": object("a", UID[0], "5")}),
        json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}}),
        json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "6"}}}),
    ];
    let text = events.map(|event| event.to_string() + "\n").concat();
    let watch = exchange_with("GET", "/groups?watch=1", "application/json", text.as_bytes());
    let body = &bodies(&[watch])[0];
    assert_eq!(body[0]["object"]["metadata"]["resourceVersion"], "<rv@1>");
    assert_eq!(body[1]["object"]["metadata"]["resourceVersion"], "<revision>");
    assert_eq!(body.as_array().map(Vec::len), Some(2), "two bookmarks in a row say no more than one");
}

#[test]
fn texts_name_what_only_one_server_has() {
    let message = |text: &str| {
        let mut made = exchange("POST", "/groups", &object("a", UID[0], "5"));
        made.sent = r#"{"metadata": {"generateName": "db-"}}"#.to_owned();
        bodies(&[made, exchange("GET", "/groups/a", &json!({"message": text}))])[1]["message"].clone()
    };
    assert_eq!(message(&format!("uid {}", UID[0])), "uid <uid@1.1>");
    assert_eq!(message("ResourceVersion in record (5), not 6"), "ResourceVersion in record (<rv@1>), not 6");
    assert_eq!(message("at most 5 characters"), "at most 5 characters");
    assert_eq!(
        message("Too large resource version: 77, current: 5"),
        "Too large resource version: <rv>, current: <rv>"
    );
    assert_eq!(message("made at 2026-11-16T10:40:17Z"), "made at <time>");
    assert_eq!(message("made at 2001-01-01T00:00:00Z"), "made at 2001-01-01T00:00:00Z");
    assert_eq!(message("\"db-x2b4c\" and \"db-aaaaa\""), "\"db-<generated>\" and \"db-aaaaa\"");
    assert_eq!(message("https://127.0.0.1:1234/x"), "https://<server>/x");
}

#[test]
fn several_causes_have_no_order() {
    let status = |fields: [&str; 2]| {
        let causes = fields.map(|field| json!({"field": field, "message": "Required value"}));
        let message = format!("a is invalid: [{}: Required value, {}: Required value]", fields[0], fields[1]);
        bodies(&[exchange("POST", "/groups", &json!({"message": message, "details": {"causes": causes}}))])
    };
    assert_eq!(status(["a", "b"]), status(["b", "a"]));
    assert_ne!(status(["a", "b"]), status(["a", "c"]));
}

#[test]
fn ages_in_tables_are_hidden_and_nothing_else() {
    let table = |cells: Value| {
        let columns = [json!({"type": "string"}), json!({"type": "date"})];
        let table = json!({"kind": "Table", "columnDefinitions": columns, "rows": [{"cells": cells}]});
        bodies(&[exchange("GET", "/groups", &table)])
    };
    assert_eq!(table(json!(["1s", "1s"])), table(json!(["1s", "30s"])));
    assert_ne!(table(json!(["1s", "1s"])), table(json!(["2s", "1s"])));
    assert_ne!(table(json!(["1s", "1s"])), table(json!(["1s", "<unknown>"])));
}

#[test]
fn how_an_answer_is_laid_out_counts() {
    let layout = |content_type: &str, body: &[u8]| {
        let exchange = exchange_with("GET", "/", content_type, body);
        normalise(&[exchange], SERVER, &[]).answers[0]["layout"].clone()
    };
    assert_eq!(layout("application/json", b"{\"a\":1}\n"), "compact");
    assert_eq!(layout("application/json", b"{\"a\":1}"), "compact, without a line end");
    assert_eq!(layout("application/json", b"{\n  \"a\": 1\n}"), "indented");
    assert_eq!(layout("application/yaml", b"a: 1\n"), "yaml");
    assert_eq!(layout("text/plain", b"ok"), "text");
    assert_eq!(layout("text/plain", b""), "empty");
}

#[test]
fn headers_are_compared_but_for_those_that_say_nothing() {
    let answer = &normalise(&[exchange("GET", "/", &json!({}))], SERVER, &[]).answers[0];
    assert_eq!(answer["headers"], json!({"content-type": ["application/json"]}));
}

#[test]
fn stripped_fields_go_wherever_they_are() {
    let field = Stripped { field: "metadata.managedFields".to_owned(), reason: String::new() };
    let object = json!({"metadata": {"name": "a", "managedFields": []}});
    let list = exchange("GET", "/groups", &json!({"items": [object]}));
    let normal = normalise(&[list], SERVER, &[field]);
    assert_eq!(normal.answers[0]["body"], json!({"items": [{"metadata": {"name": "a"}}]}));
    assert!(normal.stripped.contains("metadata.managedFields"));
}

#[test]
fn only_our_groups_and_no_build_are_compared() {
    let groups = json!([{"name": "org.bailiwick.dev"}, {"name": "apps"}, {"name": "samples.example.com"}]);
    let groups = json!({"kind": "APIGroupList", "groups": groups});
    let version = json!({"major": "1", "gitVersion": "v1.36.3"});
    let index = json!({"paths": ["/apis/apps", "/apis/org.bailiwick.dev"]});
    let bodies = bodies(&[
        exchange("GET", "/apis", &groups),
        exchange("GET", "/version", &version),
        exchange("GET", "/", &index),
    ]);
    let names: Vec<&String> = bodies[0]["groups"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["org.bailiwick.dev", "samples.example.com"]);
    assert_eq!(bodies[1], json!({"major": "1", "gitVersion": "<build>"}));
    assert_eq!(bodies[2], json!({"paths": ["/apis/org.bailiwick.dev"]}));
}

#[test]
fn resources_have_no_order_but_names() {
    let list = |names: [&str; 2], verbs: Value| {
        let resources = names.map(|name| json!({"name": name, "verbs": verbs}));
        bodies(&[exchange("GET", "/apis/g/v1", &json!({"kind": "APIResourceList", "resources": resources}))])
    };
    assert_eq!(list(["a", "b"], json!(["get", "list"])), list(["b", "a"], json!(["list", "get"])));
    assert_ne!(list(["a", "b"], json!(["get", "list"])), list(["a", "b"], json!(["get"])));
    assert_ne!(list(["a", "b"], json!(["get", "list"])), list(["a", "c"], json!(["get", "list"])));
}

#[test]
fn fields_that_are_called_by_a_uid_are_called_by_what_it_stands_for() {
    let owned = |uid: &str| {
        let fields = json!({"f:ownerReferences": {".": {}, format!("k:{{\"uid\":\"{uid}\"}}"): {"f:name": {}}}});
        let made = exchange("POST", "/groups", &object("a", uid, "5"));
        bodies(&[made, exchange("GET", "/groups/b", &json!({"fieldsV1": fields}))])[1].clone()
    };
    assert_eq!(owned(UID[0]), owned(UID[1]));
    assert_eq!(owned(UID[0])["fieldsV1"]["f:ownerReferences"]["k:{\"uid\":\"<uid@1.1>\"}"]["f:name"], json!({}));
}
