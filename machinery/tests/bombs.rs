//! Small bodies that would be large objects. The process is this test's alone, so that its memory can be measured.

use std::time::{Duration, Instant};

use bailiwick_machinery::proto::{DecodeError, Envelope, MOST_READS};

/// The largest body that a server takes.
const BODY: usize = 3 << 20;

/// What reading one body may add to the memory of the process.
const MOST_MEMORY: usize = 32 << 20;

const KINDS: [(&str, &str); 6] = [
    ("v1", "DeleteOptions"),
    ("v1", "Status"),
    ("meta.k8s.io/v1", "PartialObjectMetadata"),
    ("meta.k8s.io/v1", "PartialObjectMetadataList"),
    ("v1", "APIResourceList"),
    ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList"),
];

#[test]
fn bombs() {
    let huge = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
    let huge_field = |key: u8| [&[key], huge.as_slice()].concat();
    let metadata = |content: Vec<u8>| field(0x0a, &content);

    for kind in KINDS {
        // Lengths of 2^63 - 1 and more, of every field that may have one.
        for tag in 1..=17u8 {
            refused("length", body(kind, &[key(tag), huge.to_vec()].concat()));
        }
        // Groups in groups, which nobody knows but everybody must skip.
        refused("groups", body(kind, &vec![0x7b; BODY]));
        // Empty parts of everything that there can be many of, and of what nobody knows.
        for tag in 1..=17u8 {
            let _ = settled("empty", body(kind, &[key(tag), vec![0]].concat().repeat(BODY / 4)));
        }
        refused("unknown", body(kind, &[0xf8, 0x3e, 0].repeat(BODY / 3)));
        // As many items as there may be.
        let _ = settled("most", body(kind, &[0x12, 0].repeat(MOST_READS / 2)));
    }

    let partial = ("meta.k8s.io/v1", "PartialObjectMetadata");
    for tag in [11, 12, 13, 14, 17] {
        let empty = [key(tag), vec![0]].concat();
        refused("repeated", body(partial, &metadata(empty.repeat(BODY / 4))));
        let _ = settled("most", body(partial, &metadata(empty.repeat(MOST_READS / 2 - 2))));
    }
    // The fields of a manager: JSON that is deep, and JSON that is wide.
    let manager = |json: &[u8]| metadata(field_of(17, &field(0x3a, &field(0x0a, json))));
    refused("deep", body(partial, &manager(&vec![b'['; BODY])));
    refused("wide", body(partial, &manager(&[b"[0".to_vec(), b",0".repeat(BODY / 2), b"]".to_vec()].concat())));
    refused("wide", body(partial, &manager(br#"{"":{}}"#).repeat(BODY / 20)));
    let _ = settled("long", body(partial, &metadata(field(0x0a, &vec![b'a'; BODY - 100]))));

    // The envelope itself.
    refused("envelope", [b"k8s\0".as_slice(), &huge_field(0x12)].concat());
    refused("envelope", [b"k8s\0".as_slice(), &vec![0x7b; BODY]].concat());
    refused("envelope", [b"k8s\0".as_slice(), &[0x12, 0].repeat(BODY / 2)].concat());
    refused("envelope", [b"k8s\0".as_slice(), &[0x0a, 0].repeat(BODY / 2)].concat());
}

fn refused(what: &str, body: Vec<u8>) {
    let start = body.get(..60).unwrap_or(&body).to_vec();
    assert!(settled(what, body).is_err(), "{what}: {start:x?} was taken");
}

/// There is an answer within a second, and the memory stays flat.
fn settled(what: &str, body: Vec<u8>) -> Result<(), DecodeError> {
    let start = body.get(..60).unwrap_or(&body).to_vec();
    // The highest memory so far is forgotten.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = memory();
    let began = Instant::now();
    let result = Envelope::read(body.into()).and_then(|envelope| envelope.to_object().map(drop));
    assert!(began.elapsed() < Duration::from_secs(1), "{what}: {start:x?} took {:?}", began.elapsed());
    let more = memory().saturating_sub(before);
    assert!(more <= MOST_MEMORY, "{what}: {start:x?} took {more} bytes");
    result
}

/// The most memory that the process has had, where the system tells.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0) * 1024
}

fn body((api_version, kind): (&str, &str), message: &[u8]) -> Vec<u8> {
    let type_meta = [field(0x0a, api_version.as_bytes()), field(0x12, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(0x0a, &type_meta), field(0x12, message), vec![0x1a, 0, 0x22, 0]].concat()
}

fn field_of(tag: u8, content: &[u8]) -> Vec<u8> {
    [key(tag), field(0, content).split_off(1)].concat()
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

fn key(tag: u8) -> Vec<u8> {
    match tag << 3 | 2 {
        short if tag < 16 => vec![short],
        long => vec![long | 0x80, 1],
    }
}
