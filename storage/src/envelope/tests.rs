//! A sealed value opens whole or not at all.

use proptest::prelude::*;

use super::*;
use crate::key::Resource;

const CONTEXT: &[u8] = &7_u64.to_be_bytes();

fn key() -> Key {
    Resource::new("example.dev", "widgets").unwrap().namespaced("ns", "name").unwrap()
}

fn sealed(payload: &[u8]) -> Vec<u8> {
    seal(CONTEXT, &key(), payload)
}

fn open_error(context: &[u8], sealed: Vec<u8>) -> EnvelopeError {
    open(context, &sealed.into()).unwrap_err()
}

/// The form is stored data: it changes only together with the version.
#[test]
fn form() {
    let key_bytes = key().as_str().as_bytes().to_vec();
    let mut expected = vec![1];
    let mut checked = crc32fast::hash(b"hello").to_be_bytes().to_vec();
    checked.extend([0, 0, 0, 5]);
    checked.extend([0, 29]);
    checked.extend(&key_bytes);
    let head = [&[1], CONTEXT, &checked].concat();
    expected.extend(crc32fast::hash(&head).to_be_bytes());
    expected.extend(&checked);
    expected.extend(b"hello");
    assert_eq!(sealed(b"hello"), expected);
}

#[test]
fn the_payload_is_not_copied() {
    let sealed = Bytes::from(sealed(b"hello"));
    let (_, payload) = open(CONTEXT, &sealed).unwrap();
    assert_eq!(payload.as_ptr(), sealed[sealed.len() - 5..].as_ptr());
}

/// one flipped bit is always found, and blamed on the right part.
#[test]
fn every_flipped_bit_is_found() {
    for payload in [&b""[..], b"x", b"a payload of some bytes", &[0; 64], &[0xff; 64]] {
        let whole = sealed(payload);
        let payload_at = whole.len() - payload.len();
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = open_error(CONTEXT, damaged.clone());
            if bit / 8 >= payload_at {
                assert_eq!(error, EnvelopeError::Payload, "bit {bit}");
                assert_eq!(open_head(CONTEXT, &damaged).unwrap().key, key(), "bit {bit}");
            } else if bit < 8 {
                assert_eq!(error, EnvelopeError::Version(1 ^ (1 << bit)), "bit {bit}");
            } else {
                assert!(matches!(error, EnvelopeError::Head | EnvelopeError::Short), "bit {bit}: {error:?}");
            }
        }
    }
}

#[test]
fn every_cut_is_found() {
    let whole = sealed(b"a payload of some bytes");
    for length in 0..whole.len() {
        let error = open_error(CONTEXT, whole[..length].to_vec());
        assert_eq!(error, EnvelopeError::Short, "cut to {length} bytes");
    }
    assert_eq!(open_error(CONTEXT, [&whole[..], b"x"].concat()), EnvelopeError::Payload, "something behind it");
}

#[test]
fn a_value_under_another_revision_is_found() {
    assert_eq!(open_error(&8_u64.to_be_bytes(), sealed(b"hello")), EnvelopeError::Head);
    assert_eq!(open_error(b"", sealed(b"hello")), EnvelopeError::Head);
}

#[test]
fn other_versions_are_refused() {
    for version in (0..=u8::MAX).filter(|version| *version != VERSION) {
        let mut other = sealed(b"hello");
        other[0] = version;
        assert_eq!(open_error(CONTEXT, other), EnvelopeError::Version(version));
    }
}

#[test]
fn a_key_that_is_none_is_refused() {
    for raw in ["", "o/a/b", "o/a/../b", "x/a/b/c"] {
        let mut forged = vec![VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        forged.extend(u16::try_from(raw.len()).unwrap().to_be_bytes());
        forged.extend(raw.as_bytes());
        let checksum = head_checksum(CONTEXT, &forged[CHECKED..]);
        forged[1..CHECKED].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(open_error(CONTEXT, forged), EnvelopeError::Key, "{raw:?}");
    }
}

#[test]
fn messages() {
    let check = |error: EnvelopeError, expected: &str| assert_eq!(error.to_string(), expected);
    check(EnvelopeError::Short, "it is cut short");
    check(
        EnvelopeError::Version(2),
        "it has the storage version 2, and this program reads version 1; use the version that wrote it",
    );
    check(EnvelopeError::Head, "the checksum of its head does not match");
    check(EnvelopeError::Payload, "the checksum of its payload does not match");
    check(EnvelopeError::Key, "it names no valid key");
}

proptest! {
    #[test]
    fn opens_what_it_sealed(
        context in prop::collection::vec(any::<u8>(), 0..16),
        name in "[a-z]{1,200}",
        payload in prop::collection::vec(any::<u8>(), 0..2048),
    ) {
        let key = Resource::new("", "widgets").unwrap().object(name).unwrap();
        let sealed = Bytes::from(seal(&context, &key, &payload));
        prop_assert_eq!(open_head(&context, &sealed).unwrap().key, key.clone());
        prop_assert_eq!(open(&context, &sealed).unwrap(), (key, Bytes::from(payload)));
    }

    /// Whatever the disk holds, reading it is an error and not a panic.
    #[test]
    fn random_bytes_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..64), versioned in any::<bool>()) {
        if versioned && let Some(first) = bytes.first_mut() {
            *first = VERSION;
        }
        prop_assert!(open(CONTEXT, &bytes.into()).is_err());
    }
}
