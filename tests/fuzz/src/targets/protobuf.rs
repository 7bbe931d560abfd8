//! A body of protobuf.

use bailiwick_machinery::proto::{Encode, Envelope};
use bailiwick_machinery::{ListMeta, MetaVersion, Object, PartialObjectMetadata, PartialObjectMetadataList};
use bytes::Bytes;

use super::value;

/// Keys, lengths and texts of messages.
pub const DICTIONARY: &[&[u8]] = &[
    b"k8s\0",
    b"v1",
    b"meta.k8s.io/v1",
    b"meta.k8s.io/v1beta1",
    b"apidiscovery.k8s.io/v2",
    b"DeleteOptions",
    b"Status",
    b"PartialObjectMetadata",
    b"PartialObjectMetadataList",
    b"APIResourceList",
    b"APIGroupDiscoveryList",
    b"\x0a",
    b"\x12",
    b"\x1a\x00",
    b"\x22\x00",
    b"\x08\x01",
    b"\x0a\x00",
    b"\x12\x00",
    b"\x7b",
    b"\x7c",
    b"\x80\x01",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x8a\x01",
    b"\x0a\x02{}",
    b"\x42\x08\x08\xc5\xa4\x83\x80\x05\x10\x00",
];

const KINDS: [(&str, &str); 7] = [
    ("v1", "DeleteOptions"),
    ("v1", "Status"),
    ("meta.k8s.io/v1", "PartialObjectMetadata"),
    ("meta.k8s.io/v1", "PartialObjectMetadataList"),
    ("meta.k8s.io/v1beta1", "PartialObjectMetadataList"),
    ("v1", "APIResourceList"),
    ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList"),
];

/// An object that is read is a value like any other, and its metadata is the same bytes each time it is written. What is
/// no envelope is read as the message that its first byte chooses.
pub fn target(data: &[u8]) {
    let body = match data {
        [b'k', b'8', b's', ..] | [] => data.to_vec(),
        [kind, message @ ..] => envelope(KINDS[usize::from(*kind) % KINDS.len()], message),
    };
    let Ok(object) = Envelope::read(Bytes::from(body)).and_then(|envelope| envelope.to_object()) else { return };
    value::check(object.as_value());
    let versions = [MetaVersion::V1, MetaVersion::V1beta1];
    for version in versions {
        let once = PartialObjectMetadata::new(version, &object).to_protobuf();
        let read = read(&once);
        assert_eq!(PartialObjectMetadata::new(version, &read).to_protobuf(), once, "read and written differently");
        let list = |object: &Object| {
            PartialObjectMetadataList::new(version, ListMeta::default(), [object, object]).to_protobuf()
        };
        assert_eq!(list(&object), list(&read), "written differently in a list");
    }
}

fn read(body: &[u8]) -> Object {
    let envelope = Envelope::read(Bytes::copy_from_slice(body)).expect("an envelope was written");
    envelope.to_object().expect("what was written can be read")
}

pub(super) fn envelope((api_version, kind): (&str, &str), message: &[u8]) -> Vec<u8> {
    let type_meta = [field(0x0a, api_version.as_bytes()), field(0x12, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(0x0a, &type_meta), field(0x12, message)].concat()
}

fn field(key: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![key];
    let mut length = content.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    [out.as_slice(), content].concat()
}
