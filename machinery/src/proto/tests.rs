use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::partial::{MetaVersion, PartialObjectMetadata, PartialObjectMetadataList};
use crate::recorded::{items, object, recorded};
use crate::status::{Reason, Status};

const REASONS: [Reason; 17] = [
    Reason::BadRequest,
    Reason::Unauthorized,
    Reason::Forbidden,
    Reason::NotFound,
    Reason::MethodNotAllowed,
    Reason::NotAcceptable,
    Reason::AlreadyExists,
    Reason::Conflict,
    Reason::Expired,
    Reason::RequestEntityTooLarge,
    Reason::UnsupportedMediaType,
    Reason::Invalid,
    Reason::TooManyRequests,
    Reason::InternalError,
    Reason::ServerTimeout,
    Reason::ServiceUnavailable,
    Reason::Timeout,
];

fn bytes_of(case: &Value) -> Bytes {
    STANDARD.decode(case["proto"].as_str().unwrap()).unwrap().into()
}

fn meta_version(json: &Value) -> MetaVersion {
    match json["apiVersion"].as_str() {
        Some("meta.k8s.io/v1beta1") => MetaVersion::V1beta1,
        _ => MetaVersion::V1,
    }
}

fn status(json: &Value) -> Status {
    let reason = REASONS.into_iter().find(|reason| json["reason"] == reason.as_str());
    assert_eq!(reason.is_some(), json["status"] == "Failure", "{json}");
    Status {
        reason,
        message: json["message"].as_str().unwrap_or_default().to_owned(),
        details: json.get("details").map_or_else(Default::default, |it| serde_json::from_value(it.clone()).unwrap()),
        continue_token: json["metadata"]["continue"].as_str().map(str::to_owned),
    }
}

#[test]
fn written_as_upstream_writes() {
    let mut kinds = std::collections::BTreeMap::<&str, usize>::new();
    for case in recorded("objects") {
        let json = &case["json"];
        let kind = json["kind"].as_str().unwrap();
        *kinds.entry(kind).or_default() += 1;
        let ours = match kind {
            "PartialObjectMetadata" => PartialObjectMetadata::new(meta_version(json), &object(json)).to_protobuf(),
            "PartialObjectMetadataList" => {
                let metadata = serde_json::from_value(json["metadata"].clone()).unwrap();
                PartialObjectMetadataList::new(meta_version(json), metadata, &items(json)).to_protobuf()
            }
            "Status" => {
                let status = status(json);
                assert_eq!(&status.to_json(), json);
                status.to_protobuf()
            }
            // We only read them.
            "DeleteOptions" => continue,
            kind => panic!("{kind} is not expected"),
        };
        assert_eq!(ours, bytes_of(case), "{json}");
    }
    assert_eq!(kinds.values().copied().collect::<Vec<_>>(), [46, 111, 24, 45], "{kinds:?}");
}

#[test]
fn read_as_upstream_reads() {
    for case in recorded("objects").iter().chain(recorded("discovery")) {
        let envelope = Envelope::read(bytes_of(case)).unwrap();
        let mut expected = case["json"].clone();
        if envelope.kind == "PartialObjectMetadataList" {
            // Messages in a list do not say what they are.
            for item in expected["items"].as_array_mut().unwrap() {
                let item = item.as_object_mut().unwrap();
                item.remove("kind");
                item.remove("apiVersion");
            }
        }
        assert_eq!(Value::from(envelope.to_object().unwrap()), expected);
    }
}

/// Nothing is lost between upstream's bytes and ours, also where only messages are at hand.
#[test]
fn read_and_written_again() {
    fn again<M: Message + Default>(message: &Envelope) -> Vec<u8> {
        envelope(&message.api_version, &message.kind, &decode::<M>(message.message.clone()).unwrap())
    }
    for case in recorded("objects").iter().chain(recorded("discovery")) {
        let envelope = Envelope::read(bytes_of(case)).unwrap();
        let ours = match envelope.kind.as_str() {
            "DeleteOptions" => again::<options::DeleteOptions>(&envelope),
            "Status" => again::<super::status::Status>(&envelope),
            "PartialObjectMetadata" => again::<meta::PartialObjectMetadata>(&envelope),
            "PartialObjectMetadataList" if envelope.api_version == META_V1 => {
                again::<meta::PartialObjectMetadataList>(&envelope)
            }
            "PartialObjectMetadataList" => again::<meta::PartialObjectMetadataListV1beta1>(&envelope),
            "APIVersions" => again::<discovery::ApiVersions>(&envelope),
            "APIGroupList" => again::<discovery::ApiGroupList>(&envelope),
            "APIGroup" => again::<discovery::ApiGroup>(&envelope),
            "APIResourceList" => again::<discovery::ApiResourceList>(&envelope),
            "APIGroupDiscoveryList" => again::<discovery::ApiGroupDiscoveryList>(&envelope),
            kind => panic!("{kind} is not expected"),
        };
        assert_eq!(ours, bytes_of(case), "{}", case["json"]);
    }
}

#[test]
fn odd_metadata_is_left_out() {
    let odd = object(&json!({"metadata": {
        "name": 3, "namespace": "a", "labels": {"x": 1, "y": "z"}, "annotations": "no", "generation": "7",
        "creationTimestamp": "yesterday", "deletionTimestamp": null, "finalizers": [1, "f"], "unknown": {"a": "b"},
        "ownerReferences": [{"name": "o"}, {"name": 4}, null], "managedFields": [null, {"manager": 1, "fieldsV1": null}],
    }}));
    let bytes = PartialObjectMetadata::new(MetaVersion::V1, &odd).to_protobuf();
    let read = Envelope::read(bytes.into()).unwrap().to_object().unwrap();
    assert_eq!(
        read.fields()["metadata"],
        json!({
            "namespace": "a", "labels": {"y": "z"}, "finalizers": ["f"], "managedFields": [{}],
            "ownerReferences": [{"apiVersion": "", "kind": "", "name": "o", "uid": ""}],
        })
    );
}

#[test]
fn what_the_envelope_leaves_open() {
    let check = |api_version: &str, kind: &str, expected: (&str, &str)| {
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        let mut envelope = Envelope { api_version, kind, message: Bytes::new() };
        envelope.set_defaults(&GroupVersion::new("example.dev", "v1").kind("DeleteOptions"));
        assert_eq!((envelope.api_version.as_str(), envelope.kind.as_str()), expected);
    };
    check("", "", ("example.dev/v1", "DeleteOptions"));
    check("v1", "", ("v1", "DeleteOptions"));
    check("", "Status", ("example.dev/v1", "Status"));
    check("other/", "Status", ("example.dev/v1", "Status"));
    check("other/v2", "Status", ("other/v2", "Status"));
}

fn read(body: impl Into<Bytes>) -> Result<Object, DecodeError> {
    Envelope::read(body.into())?.to_object()
}

fn body(kind: (&str, &str), message: impl Into<Bytes>) -> Bytes {
    let type_meta = TypeMeta { api_version: kind.0.to_owned(), kind: kind.1.to_owned() };
    let unknown = Unknown { type_meta, raw: Some(message.into()), ..Unknown::default() };
    [MAGIC.as_slice(), &unknown.encode_to_vec()].concat().into()
}

#[test]
fn what_is_no_message() {
    assert_eq!(read(""), Err(DecodeError::Empty));
    assert_eq!(read("k8s"), Err(DecodeError::NoEnvelope));
    assert_eq!(read("{}"), Err(DecodeError::NoEnvelope));
    assert_eq!(read("k8s\0"), Err(DecodeError::EmptyBody));
    assert_eq!(
        DecodeError::NoEnvelope.to_string(),
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    );
    assert!(matches!(read("k8s\0{}"), Err(DecodeError::Malformed(_))));
    assert!(matches!(read(body(("v1", "ConfigMap"), "")), Err(DecodeError::UnknownKind { .. })));
    // A time beyond the year 9999, fields of a manager that are no JSON, and a text that is none.
    let partial = ("meta.k8s.io/v1", "PartialObjectMetadata");
    let time = [0x0a, 13, 0x42, 11, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
    assert!(matches!(read(body(partial, time[..14].to_vec())), Err(DecodeError::Malformed(_))));
    let time = [0x0a, 12, 0x42, 10, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    assert!(matches!(read(body(partial, time.to_vec())), Err(DecodeError::NotJson(_))));
    let fields = [0x0a, 8, 0x8a, 0x01, 5, 0x3a, 3, 0x0a, 1, b'x'];
    assert!(matches!(read(body(partial, fields.to_vec())), Err(DecodeError::NotJson(_))));
    assert!(matches!(read(body(partial, vec![0x0a, 3, 0x0a, 1, 0xff])), Err(DecodeError::Malformed(_))));
}

#[test]
fn as_many_parts_as_there_may_be() {
    let list = |items: usize| read(body(("meta.k8s.io/v1", "PartialObjectMetadataList"), [0x12, 0].repeat(items)));
    // Each item is two reads. The last few bytes are always read.
    let most = MOST_READS / 2 + 5;
    assert_eq!(list(most).unwrap().fields()["items"].as_array().map(Vec::len), Some(most));
    assert!(matches!(list(most + 1), Err(DecodeError::TooManyParts)));
}

#[test]
fn as_much_json_as_there_may_be() {
    let manager = |parts: usize| {
        let fields = json!(vec![0; parts]);
        let object = object(&json!({"metadata": {"managedFields": [{"fieldsV1": fields}]}}));
        read(PartialObjectMetadata::new(MetaVersion::V1, &object).to_protobuf())
    };
    assert!(manager(MOST_READS).is_ok());
    assert!(matches!(manager(MOST_READS + 1), Err(DecodeError::TooManyParts)));
}

#[test]
fn as_deep_as_there_may_be() {
    let nested = |depth: usize| {
        // A group that nobody knows, in groups.
        let message = [vec![0x7b; depth], vec![0x7c; depth]].concat();
        read(body(("v1", "DeleteOptions"), message))
    };
    assert!(nested(100).is_ok());
    assert!(matches!(nested(101), Err(DecodeError::Malformed(_))));
}

/// Bytes with something of the form of a message.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        (0u8..=255).prop_map(|tag| vec![tag]),
        prop::collection::vec(any::<u8>(), 0..12),
        (1u8..20, any::<u64>()).prop_map(|(tag, number)| {
            let mut out = vec![tag << 3];
            encoding::encode_varint(number, &mut out);
            out
        }),
        (1u8..20, "[a-z{}\"]{0,9}")
            .prop_map(|(tag, text)| [&[tag << 3 | 2, text.len() as u8], text.as_bytes()].concat()),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        (1u8..20, prop::collection::vec(inner, 0..6)).prop_map(|(tag, parts)| {
            let content = parts.concat();
            let mut out = Vec::new();
            encoding::encode_key(tag.into(), WireType::LengthDelimited, &mut out);
            encoding::encode_varint(content.len() as u64, &mut out);
            [out, content].concat()
        })
    })
}

const KINDS: [(&str, &str); 10] = [
    ("v1", "DeleteOptions"),
    ("v1", "Status"),
    (META_V1, "PartialObjectMetadata"),
    (META_V1, "PartialObjectMetadataList"),
    (META_V1BETA1, "PartialObjectMetadataList"),
    ("v1", "APIVersions"),
    ("v1", "APIGroupList"),
    ("v1", "APIGroup"),
    ("v1", "APIResourceList"),
    ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList"),
];

proptest! {
    #[test]
    fn any_bytes_have_an_answer(parts in prop::collection::vec(wire(), 0..6)) {
        let message = parts.concat();
        for kind in KINDS {
            let _ = read(body(kind, message.clone()));
        }
        let _ = Event::read(message.clone().into());
        let _ = read([MAGIC.as_slice(), &message].concat());
    }

    #[test]
    fn any_change_has_an_answer(case in 0usize..250, at: prop::sample::Index, byte: u8, end: prop::sample::Index) {
        let cases: Vec<&Value> = recorded("objects").iter().chain(recorded("discovery")).collect();
        let mut bytes = bytes_of(cases[case % cases.len()]).to_vec();
        let index = at.index(bytes.len());
        bytes[index] = byte;
        let _ = read(bytes.clone());
        bytes.truncate(end.index(bytes.len()));
        let _ = read(bytes);
    }

    /// A budget may end anywhere. Whoever reads then finds an end, and does not read past it.
    #[test]
    fn any_budget_has_an_answer(case in 0usize..250, reads in 0usize..200, parts in prop::collection::vec(wire(), 0..6)) {
        let cases: Vec<&Value> = recorded("objects").iter().chain(recorded("discovery")).collect();
        let recorded = Envelope::read(bytes_of(cases[case % cases.len()])).unwrap().message;
        for message in [recorded, Bytes::from(parts.concat())] {
            let mut budget = Budget::new(message.clone(), reads);
            let _ = meta::PartialObjectMetadataList::decode(&mut budget);
            let mut budget = Budget::new(message, reads);
            let _ = discovery::ApiGroupDiscoveryList::decode(&mut budget);
        }
    }

    #[test]
    fn any_metadata_survives(
        names in prop::collection::vec(".{0,8}", 3),
        labels in prop::collection::btree_map(".{0,8}", ".{0,8}", 1..5),
        generation in 1i64..,
        seconds in -62_135_596_799i64..=253_402_300_799,
    ) {
        let object = object(&json!({"apiVersion": META_V1, "kind": "PartialObjectMetadata", "metadata": {
            "name": format!("a{}", names[0]), "uid": format!("a{}", names[1]), "labels": labels, "annotations": labels,
            "generation": generation, "creationTimestamp": crate::format_rfc3339(seconds), "finalizers": names,
        }}));
        let bytes = PartialObjectMetadata::new(MetaVersion::V1, &object).to_protobuf();
        prop_assert_eq!(read(bytes).unwrap(), object);
    }
}
