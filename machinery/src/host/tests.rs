use std::collections::BTreeSet;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::table::{Field, Message, table};
use super::*;
use crate::group::GroupVersion;
use crate::object::Object;
use crate::proto::{Envelope, in_envelope};

/// What `tests/oracle/hostproto` has recorded.
static RECORDED: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../tests/data/go/host-proto.json")).expect("what was recorded is JSON")
});

fn cases(section: &str) -> &'static [Value] {
    RECORDED[section].as_array().expect("there is such a section")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("it is a text")
}

fn bytes(value: &Value) -> Vec<u8> {
    STANDARD.decode(text(value)).expect("it is base64")
}

fn host_type(case: &Value) -> HostType {
    let version = GroupVersion::parse(text(&case[0])).expect("it is a version");
    HostType::of(&version.kind(text(&case[1]).to_owned())).expect("the kind is known")
}

/// The recorded JSON has no type; objects have.
fn object(case: &Value, json: &Value) -> Object {
    let mut object = Object::try_from(json.clone()).expect("it is an object");
    for (name, value) in [("apiVersion", &case[0]), ("kind", &case[1])] {
        object.fields_mut().insert(name.to_owned(), value.clone());
    }
    object
}

fn read(case: &Value, message: &[u8]) -> Result<Object, ReadError> {
    let body = in_envelope(text(&case[0]), text(&case[1]), message);
    host_type(case).from_protobuf(&Envelope::read(body.into()).expect("it is an envelope"))
}

#[test]
fn objects_are_written_as_go_writes_them() {
    for case in cases("objects") {
        let written = host_type(case).to_protobuf(&object(case, &case[2])).unwrap();
        let expected = in_envelope(text(&case[0]), text(&case[1]), &bytes(&case[3]));
        assert_eq!(STANDARD.encode(written), STANDARD.encode(expected), "{case}");
    }
}

#[test]
fn objects_are_read_as_go_reads_them() {
    for case in cases("objects") {
        assert_eq!(read(case, &bytes(&case[3])).unwrap(), object(case, &case[2]), "{case}");
    }
}

#[test]
fn accepted_objects_are_what_go_makes_of_them() {
    for case in cases("objects") {
        let mut accepted = object(case, &case[2]);
        assert_eq!(host_type(case).accept(&mut accepted), Ok(Vec::new()), "{case}");
        assert_eq!(accepted, object(case, &case[2]), "{case}");
    }
}

#[test]
fn damage_is_found_where_go_finds_it() {
    for case in cases("damaged") {
        match (read(case, &bytes(&case[2])), text(&case[4])) {
            (Ok(found), "") => assert_eq!(found, object(case, &case[3]), "{case}"),
            // Go notices it only when it writes JSON, if it comes so far.
            (Err(ReadError::NotJson(_)), error) => assert_ne!(error, "", "{case}"),
            (Err(found), error) => assert_eq!(found.to_string(), error, "{case}"),
            (Ok(_), _) => panic!("{case}"),
        }
    }
}

#[test]
fn other_types_are_refused_as_go_refuses_them() {
    for case in cases("typed") {
        let mut found = object(case, &case[2]);
        match (host_type(case).accept(&mut found), text(&case[4])) {
            (Ok(unknown), "") => {
                assert_eq!(found, object(case, &case[3]), "{case}");
                let unknown: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
                assert_eq!(serde_json::to_value(unknown).unwrap(), case[5], "{case}");
            }
            (Err(found), error) => assert_eq!(found.to_string(), error, "{case}"),
            (Ok(_), _) => panic!("{case}"),
        }
    }
}

/// Whoever walks a message may recurse.
#[test]
fn no_message_contains_itself() {
    fn depth(message: &'static Message, above: &mut Vec<&'static str>) -> usize {
        // Reading counts how deep schemas are, and JSON is never deeper than what was counted.
        if message.is_recursive() {
            return 1;
        }
        assert!(!above.contains(&message.name()), "{above:?}");
        above.push(message.name());
        let below = message.fields().iter().filter_map(Field::message).map(|part| depth(part, above)).max();
        above.pop();
        1 + below.unwrap_or(0)
    }
    for (api_version, kind) in HostType::kinds() {
        let message = table().kind(api_version, kind).unwrap();
        assert!(depth(message, &mut Vec::new()) < 20, "{kind}");
    }
}

#[test]
fn fields_are_in_the_order_of_their_numbers() {
    for index in 0.. {
        let Some(message) = table().message(index) else { break };
        let numbers: Vec<u32> = message.fields().iter().map(|field| field.number).collect();
        let sorted: BTreeSet<u32> = numbers.iter().copied().collect();
        assert!(numbers.iter().eq(&sorted), "{}", message.name());
    }
}

#[test]
fn what_go_always_has_is_added_again() {
    let mut object = Object::try_from(json!({"metadata": {"name": "a"}, "spec": {}})).unwrap();
    host_type(&json!(["v1", "Namespace"])).complete(&mut object);
    assert_eq!(object.as_value(), &json!({"metadata": {"name": "a"}, "spec": {}, "status": {}}));
}

/// A few bytes may not become much memory.
#[test]
fn values_are_charged_for() {
    let case = cases("objects").iter().find(|case| case[1] == "RoleList").unwrap();
    let items = |count: usize| [0x12, 0x00].repeat(count);
    assert!(read(case, &items(10_000)).is_ok());
    assert_eq!(read(case, &items(100_000)), Err(ReadError::TooManyValues));
}
