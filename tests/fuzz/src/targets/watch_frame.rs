//! Frames of watch streams.

use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::encode::to_json;
use bailiwick_machinery::proto::Event;
use bailiwick_machinery::watch::{EventType, JSON_TAIL};
use bytes::Bytes;
use serde_json::Value;

use super::value;

/// Pieces of frames.
pub const DICTIONARY: &[&[u8]] = &[
    b"\x0a\x05ADDED",
    b"\x12",
    b"\x0a",
    b"\x12\x04\x0a\x02",
    b"k8s\0",
    b"\x00\x00\x00\x0f",
    b"MODIFIED",
    b"BOOKMARK",
    b"\x7b",
    b"\x80\x80",
    b"\xff\xff\xff\xff\x0f",
    b"{\"type\":\"ADDED\",\"object\":",
    b"}\n",
    b"\"",
];

const TYPES: [EventType; 5] =
    [EventType::Added, EventType::Modified, EventType::Deleted, EventType::Bookmark, EventType::Error];

/// Any object, behind the head of any event, is read as that event and that object; the length in a frame is that of the
/// frame. Any frame is read or refused.
pub fn target(data: &[u8]) {
    if let Ok(event) = Event::read(Bytes::copy_from_slice(data)) {
        assert!(event.object.len() <= data.len() && event.event_type.len() <= data.len());
    }
    let json = from_json(data).map(|decoded| decoded.value);
    for event_type in TYPES {
        let head = event_type.proto_head(data.len()).expect("it is short");
        let frame = [head.as_bytes(), data].concat();
        let (length, event) = frame.split_first_chunk::<4>().expect("a frame begins with its length");
        assert_eq!(usize::try_from(u32::from_be_bytes(*length)), Ok(event.len()), "the length is wrong");
        let event = Event::read(Bytes::copy_from_slice(event)).expect("it was just written");
        assert_eq!((event.event_type.as_str(), event.object.as_ref()), (event_type.as_str(), data));
        if let Ok(object) = &json
            && value::depth(object) < bailiwick_machinery::decode::MAX_DEPTH
        {
            check_json(event_type, object);
        }
    }
}

fn check_json(event_type: EventType, object: &Value) {
    let line = [event_type.json_head(), &to_json(object), JSON_TAIL].concat();
    assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1), "an event is one line");
    let event = from_json(&line).expect("it was just written").value;
    value::assert_same(&event, &serde_json::json!({"type": event_type.as_str(), "object": object}));
}
