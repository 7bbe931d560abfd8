//! A message of one of Kubernetes' own kinds.

use bailiwick_machinery::host::HostType;
use bailiwick_machinery::proto::Envelope;
use bailiwick_machinery::{GroupVersion, Object};
use bytes::Bytes;

use super::{protobuf, value};

/// Keys, lengths and texts of messages.
pub const DICTIONARY: &[&[u8]] = protobuf::DICTIONARY;

/// The first byte chooses the kind. What is read is a value like any other; once it is accepted, it is the same object after
/// it was written and read again.
pub fn target(data: &[u8]) {
    let [first, message @ ..] = data else { return };
    let kinds: Vec<(&str, &str)> = HostType::kinds().collect();
    let (api_version, kind) = kinds[usize::from(*first) % kinds.len()];
    let version = GroupVersion::parse(api_version).expect("the table's versions are versions");
    let host_type = HostType::of(&version.kind(kind)).expect("the table has what it names");
    let read = |body: Vec<u8>| host_type.from_protobuf(&Envelope::read(Bytes::from(body)).expect("it is an envelope"));
    let Ok(object) = read(protobuf::envelope((api_version, kind), message)) else { return };
    value::check(object.as_value());
    let object = accepted(host_type, object);
    let written = host_type.to_protobuf(&object).expect("what was accepted can be written");
    let again = accepted(host_type, read(written.clone()).expect("what was written can be read"));
    assert_eq!(again, object, "read and written differently");
    assert_eq!(host_type.to_protobuf(&again), Ok(written), "other bytes each time");
}

fn accepted(host_type: HostType, mut object: Object) -> Object {
    let unknown = host_type.accept(&mut object).expect("what was read has the types of its kind");
    assert_eq!(unknown, Vec::<String>::new(), "something was read that nobody knows");
    object
}
