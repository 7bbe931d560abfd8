//! A value at rest.

use bailiwick_storage::testing::sealed;
use bailiwick_storage::{Key, Resource};
use bytes::Bytes;

use super::first_line;

/// Pieces of sealed values.
pub const DICTIONARY: &[&[u8]] = &[
    b"\x01",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\x00\x05",
    b"o/example.dev/widgets/ns/a",
    b"o/-/configmaps/a",
    b"l/a/b",
    b"\n",
];

/// What opens is exactly what is sealed of it. What was sealed opens; with one byte changed, or under another revision, it
/// does not.
pub fn target(data: &[u8]) {
    for context in [&b""[..], &7_u64.to_be_bytes()] {
        if let Ok((key, payload)) = sealed::open(context, &Bytes::copy_from_slice(data)) {
            assert_eq!(sealed::seal(context, &key, &payload), data, "it is sealed differently");
        }
    }
    let (name, payload) = first_line(data);
    let key: Key = match Resource::new("example.dev", "widgets").and_then(|widgets| widgets.object(name)) {
        Ok(key) => key,
        Err(_) => return,
    };
    let whole = sealed::seal(b"", &key, payload);
    let (opened, content) = sealed::open(b"", &Bytes::from(whole.clone())).expect("it was just sealed");
    assert_eq!((&opened, content.as_ref()), (&key, payload));
    assert!(sealed::open(b"x", &Bytes::from(whole.clone())).is_err(), "it opens in another context");
    let at = payload.iter().fold(name.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    let mut damaged = whole;
    let at = at % damaged.len();
    damaged[at] ^= 1 << (at % 8);
    assert!(sealed::open(b"", &Bytes::from(damaged)).is_err(), "damage at byte {at} was not found");
}
