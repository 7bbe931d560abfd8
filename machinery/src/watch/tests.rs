use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

use super::*;
use crate::partial::{MetaVersion, PartialObjectMetadata};
use crate::proto::{Encode, Envelope, Event};
use crate::recorded::{object, recorded};

const ALL: [EventType; 5] =
    [EventType::Added, EventType::Modified, EventType::Deleted, EventType::Bookmark, EventType::Error];

fn event_type(name: &str) -> EventType {
    *ALL.iter().find(|event_type| event_type.as_str() == name).unwrap()
}

#[test]
fn as_upstream_frames_them() {
    for case in recorded("frames") {
        let event_type = event_type(case["type"].as_str().unwrap());
        let frame = STANDARD.decode(case["proto"].as_str().unwrap()).unwrap();

        // What upstream has put into the frame, and what is ours around it.
        let event = Event::read(Bytes::copy_from_slice(&frame[4..])).unwrap();
        assert_eq!(event.event_type, event_type.as_str());
        let head = event_type.proto_head(event.object.len()).unwrap();
        assert_eq!([head.as_bytes(), &event.object].concat(), frame);
        let envelope = Envelope::read(event.object.clone()).unwrap();
        assert_eq!(Value::from(envelope.to_object().unwrap()), case["object"]);
        if event_type != EventType::Error {
            let object = object(&case["object"]);
            assert_eq!(PartialObjectMetadata::new(MetaVersion::V1, &object).to_protobuf(), event.object);
        }

        let text = case["json"].as_str().unwrap();
        let inner = text.strip_prefix(std::str::from_utf8(event_type.json_head()).unwrap()).unwrap();
        let inner = inner.strip_suffix(std::str::from_utf8(JSON_TAIL).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(inner).unwrap(), case["object"]);
    }
}

#[test]
fn heads_fit() {
    // The longest frame has 2^32 - 1 bytes, of which 22 are around its object: ten for the type, and two keys with lengths.
    let longest = u32::MAX as usize - 22;
    let head = EventType::Bookmark.proto_head(longest).unwrap();
    assert_eq!(head.as_bytes().len(), FrameHead::MOST);
    assert_eq!(head.as_bytes()[..4], [0xff; 4]);
    for length in [longest + 1, u32::MAX as usize, usize::MAX - 1, usize::MAX] {
        assert_eq!(EventType::Bookmark.proto_head(length), Err(FrameTooLong { length }));
    }
    for event_type in ALL {
        for length in [0, 1, 127, 128, 16_383, 16_384] {
            let head = event_type.proto_head(length).unwrap();
            let frame = [&head.as_bytes()[4..], &vec![7; length]].concat();
            assert_eq!(head.as_bytes()[..4], u32::try_from(frame.len()).unwrap().to_be_bytes());
            let event = Event::read(frame.into()).unwrap();
            assert_eq!((event.event_type.as_str(), event.object.len()), (event_type.as_str(), length));
        }
    }
}
