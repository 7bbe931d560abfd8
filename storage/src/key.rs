//! Where things live. A [`Key`] is built from validated segments only and never joined from text, so that no name a
//! client can choose reaches outside the resource it was meant for.
//!
//! The encoded form is `o/<group>/<resource>/[<namespace>/]<name>` for an object and `l/<ledger>/<part>/…` for a row
//! of a private ledger. The separator is `/`, which no segment may contain, and a [`Prefix`] always ends in one. That
//! gives the two properties everything else leans on: different coordinates have different keys, and a prefix of
//! `widgets` never reaches `widgetsets`. Keys compare bytewise, which is also the order in which Kubernetes lists.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use arcstr::ArcStr;

/// The longest segment in bytes. Kubernetes caps most names at 253; RBAC names have no cap of their own.
pub const MAX_SEGMENT_BYTES: usize = 512;

/// The most segments a key may have after its area.
pub const MAX_SEGMENTS: usize = 8;

const OBJECTS: &str = "o/";
const LEDGERS: &str = "l/";
/// Stands for the empty (core) group. A real group never starts with a dash.
const CORE_GROUP: &str = "-";

/// The address of one stored value. Cheap to clone, and one pointer wide: a cache holds several for every object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(ArcStr);

/// A range of keys: everything, one resource, one namespace of a resource, or part of a ledger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(Arc<str>);

/// A kind of object that is listed and watched as a whole, such as `configmaps` of the core group.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource(Prefix);

/// A private table of rows that belong to no API object. Rows are written beside objects in one transaction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ledger(Prefix);

/// Why text cannot be part of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} {value:?} cannot be part of a storage key: it {fault}")]
pub struct KeyError {
    /// Which part of the key was wrong, in a user's words: `name`, `namespace`, …
    pub part: &'static str,
    /// The offending text, with anything that is not UTF-8 replaced.
    pub value: String,
    /// What is wrong with it.
    pub fault: SegmentFault,
}

/// What is wrong with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentFault {
    /// Nothing there.
    #[error("is empty")]
    Empty,
    /// Longer than [`MAX_SEGMENT_BYTES`].
    #[error("is longer than {MAX_SEGMENT_BYTES} bytes")]
    TooLong,
    /// Not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// `.` or `..`.
    #[error("must not be \".\" or \"..\"")]
    Dots,
    /// A `/`, a `%` or a control character.
    #[error("must not contain {0:?}")]
    Forbidden(char),
    /// A group or resource that is not made of lower-case letters, digits, `-` and `.`.
    #[error("must consist of lower-case letters, digits, '-' and '.', and begin with a letter or digit")]
    NotAnApiName,
    /// Too few, too many, or of no known area.
    #[error("does not have the form of a key")]
    Form,
}

// === impl Key ===

impl Key {
    /// The encoded form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a key back from storage, checking it as if a client had sent it.
    pub fn from_stored(encoded: &[u8]) -> Result<Self, KeyError> {
        let whole = Prefix::everything();
        whole.key(encoded)
    }

    /// The prefix of the resource this object belongs to; `None` for a ledger row.
    pub fn resource(&self) -> Option<&str> {
        let rest = self.0.strip_prefix(OBJECTS)?;
        let mut slashes = rest.match_indices('/').map(|(at, _)| at);
        let end = slashes.nth(1)?;
        Some(&self.0[..OBJECTS.len() + end + 1])
    }

    /// The encoded form of every prefix that contains this key, shortest first.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.match_indices('/').map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).map(|end| &self.0[..end])
    }

    /// A number that differs for most keys that lie beside each other: it is made of their ends.
    pub(crate) fn digest(&self) -> u32 {
        let bytes = self.0.as_bytes();
        let mut tail = [0; 16];
        let taken = bytes.len().min(tail.len());
        tail[..taken].copy_from_slice(&bytes[bytes.len() - taken..]);
        let mixed = u128::from_be_bytes(tail);
        let folded = (mixed as u64) ^ ((mixed >> 64) as u64).rotate_left(29);
        (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }

    /// The last segment: an object's name.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

// === impl Prefix ===

impl Prefix {
    /// Every key there is.
    pub fn everything() -> Self {
        Self("".into())
    }

    /// The encoded form: empty, or ending in `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `key` lies in this range.
    pub fn contains(&self, key: &Key) -> bool {
        key.0.starts_with(&*self.0)
    }

    /// What of `key` follows this prefix; the text that [`Prefix::key`] takes back.
    pub fn relative<'k>(&self, key: &'k Key) -> Option<&'k str> {
        key.0.strip_prefix(&*self.0)
    }

    /// The key at `relative` below this prefix. The text may come from a client (a continue token): each of its
    /// segments is checked, so the result is always inside the prefix.
    pub fn key(&self, relative: impl AsRef<[u8]>) -> Result<Key, KeyError> {
        let relative = relative.as_ref();
        let mut encoded = String::with_capacity(self.0.len() + relative.len());
        encoded.push_str(&self.0);
        for (index, raw) in relative.split(|byte| *byte == b'/').enumerate() {
            if index > 0 {
                encoded.push('/');
            }
            encoded.push_str(segment("key segment", raw)?);
        }
        if !has_key_form(&encoded) {
            return Err(fault("key", relative, SegmentFault::Form));
        }
        Ok(Key(encoded.into()))
    }

    fn child(&self, part: &'static str, raw: &[u8]) -> Result<Self, KeyError> {
        Ok(Self(format!("{}{}/", self.0, segment(part, raw)?).into()))
    }

    fn leaf(&self, part: &'static str, raw: &[u8]) -> Result<Key, KeyError> {
        Ok(Key(format!("{}{}", self.0, segment(part, raw)?).into()))
    }
}

impl Borrow<str> for Prefix {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*", self.0)
    }
}

// === impl Resource ===

impl Resource {
    /// The resource `resource` (a plural, such as `configmaps`) of `group`; the core group is the empty text.
    pub fn new(group: impl AsRef<[u8]>, resource: impl AsRef<[u8]>) -> Result<Self, KeyError> {
        let group = match group.as_ref() {
            b"" => CORE_GROUP,
            raw => api_name("group", raw)?,
        };
        let resource = api_name("resource", resource.as_ref())?;
        Ok(Self(Prefix(format!("{OBJECTS}{group}/{resource}/").into())))
    }

    /// All objects of the resource.
    pub fn all(&self) -> &Prefix {
        &self.0
    }

    /// All objects of the resource in one namespace.
    pub fn namespace(&self, namespace: impl AsRef<[u8]>) -> Result<Prefix, KeyError> {
        self.0.child("namespace", namespace.as_ref())
    }

    /// A cluster-scoped object.
    pub fn object(&self, name: impl AsRef<[u8]>) -> Result<Key, KeyError> {
        self.0.leaf("name", name.as_ref())
    }

    /// A namespaced object.
    pub fn namespaced(&self, namespace: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<Key, KeyError> {
        self.namespace(namespace)?.leaf("name", name.as_ref())
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

// === impl Ledger ===

impl Ledger {
    /// The ledger called `name`.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self, KeyError> {
        Ok(Self(Prefix(format!("{LEDGERS}{}/", api_name("ledger", name.as_ref())?).into())))
    }

    /// Every row.
    pub fn all(&self) -> &Prefix {
        &self.0
    }

    /// The rows below `parts`.
    pub fn below(&self, parts: &[&str]) -> Result<Prefix, KeyError> {
        parts.iter().try_fold(self.0.clone(), |prefix, part| prefix.child("ledger part", part.as_bytes()))
    }

    /// The row at `parts` and then `last`.
    pub fn row(&self, parts: &[&str], last: &str) -> Result<Key, KeyError> {
        let key = self.below(parts)?.leaf("ledger part", last.as_bytes())?;
        if !has_key_form(key.as_str()) {
            return Err(fault("ledger row", key.as_str().as_bytes(), SegmentFault::Form));
        }
        Ok(key)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

// Objects have a group, a resource, perhaps a namespace, and a name; rows have a ledger and at least one part.
fn has_key_form(encoded: &str) -> bool {
    let is_api_name = |name: &str| api_name("key segment", name.as_bytes()).is_ok();
    if let Some(rest) = encoded.strip_prefix(OBJECTS) {
        let mut segments = rest.split('/');
        let group = segments.next().is_some_and(|group| group == CORE_GROUP || is_api_name(group));
        group && segments.next().is_some_and(is_api_name) && (1..=2).contains(&segments.count())
    } else if let Some(rest) = encoded.strip_prefix(LEDGERS) {
        let mut segments = rest.split('/');
        segments.next().is_some_and(is_api_name) && (1..MAX_SEGMENTS).contains(&segments.count())
    } else {
        false
    }
}

fn segment<'a>(part: &'static str, raw: &'a [u8]) -> Result<&'a str, KeyError> {
    let wrong = |what| fault(part, raw, what);
    if raw.is_empty() {
        return Err(wrong(SegmentFault::Empty));
    }
    if raw.len() > MAX_SEGMENT_BYTES {
        return Err(wrong(SegmentFault::TooLong));
    }
    let text = std::str::from_utf8(raw).map_err(|_| wrong(SegmentFault::NotUtf8))?;
    if text == "." || text == ".." {
        return Err(wrong(SegmentFault::Dots));
    }
    if let Some(bad) = text.chars().find(|c| matches!(c, '/' | '%') || c.is_control()) {
        return Err(wrong(SegmentFault::Forbidden(bad)));
    }
    Ok(text)
}

fn api_name<'a>(part: &'static str, raw: &'a [u8]) -> Result<&'a str, KeyError> {
    let text = segment(part, raw)?;
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    if !raw.iter().copied().all(legal) || !raw[0].is_ascii_alphanumeric() {
        return Err(fault(part, raw, SegmentFault::NotAnApiName));
    }
    Ok(text)
}

fn fault(part: &'static str, raw: &[u8], fault: SegmentFault) -> KeyError {
    // A hostile segment may be as large as a request: the message shows its head only.
    let shown = &raw[..raw.len().min(64)];
    KeyError { part, value: String::from_utf8_lossy(shown).into_owned(), fault }
}

#[cfg(test)]
mod tests;
