//! Users that a front proxy names in headers.
//!
//! The headers mean something only if the proxy's certificate was verified; [`certificate`](super::certificate) says so. They
//! are removed from every request, whoever sent it, so that nothing behind authentication can mistake them for something.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bailiwick_registry::User;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The names that Kubernetes' own front proxy uses: they are removed even if others are configured.
const STANDARD_NAMES: [&str; 3] = ["x-remote-user", "x-remote-uid", "x-remote-group"];
const STANDARD_PREFIX: &str = "x-remote-extra-";

/// Which headers name the user, and which proxies may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHeaderOptions {
    /// Headers with the name; the first that is there counts.
    pub username_headers: Vec<String>,
    /// Headers with the UID; the first that is there counts.
    pub uid_headers: Vec<String>,
    /// Headers with groups; all count.
    pub group_headers: Vec<String>,
    /// What headers with everything else begin with.
    pub extra_header_prefixes: Vec<String>,
    /// The common names of the proxies' certificates; none means any that the authorities vouch for.
    pub allowed_names: Vec<String>,
}

/// Why headers cannot be configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestHeaderError {
    /// A name that says nothing.
    #[error("empty value in \"{0}\": leave it out, or give a name")]
    Empty(&'static str),
    /// A name that no header can have.
    #[error("{name:?} in \"{flag}\" cannot be the name of a header: use letters, digits and hyphens")]
    Name {
        /// The flag.
        flag: &'static str,
        /// The name.
        name: String,
    },
    /// UIDs are read from elsewhere than Kubernetes' aggregator writes them.
    #[error(
        "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will not work"
    )]
    UidWithoutStandard,
}

/// A header that a proxy must not send.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header \"{0}\" of a front proxy is not UTF-8")]
pub(super) struct UnreadableHeader(String);

/// Reads users from headers.
#[derive(Debug, Default)]
pub(super) struct RequestHeader {
    username: Vec<HeaderName>,
    uid: Vec<HeaderName>,
    group: Vec<HeaderName>,
    /// In lower case, as names of headers are.
    extra_prefixes: Vec<String>,
    allowed_names: Vec<String>,
}

// === impl RequestHeader ===

impl RequestHeader {
    pub(super) fn new(options: &RequestHeaderOptions) -> Result<Self, RequestHeaderError> {
        let uid = names("requestheader-uid-headers", &options.uid_headers)?;
        if !uid.is_empty() && !uid.iter().any(|name| name == STANDARD_NAMES[1]) {
            return Err(RequestHeaderError::UidWithoutStandard);
        }
        let prefixes = names("requestheader-extra-headers-prefix", &options.extra_header_prefixes)?;
        let is_blank = |name: &String| name.trim().is_empty();
        if options.allowed_names.iter().any(is_blank) {
            return Err(RequestHeaderError::Empty("requestheader-allowed-names"));
        }
        Ok(Self {
            username: names("requestheader-username-headers", &options.username_headers)?,
            uid,
            group: names("requestheader-group-headers", &options.group_headers)?,
            extra_prefixes: prefixes.iter().map(|prefix| prefix.as_str().to_owned()).collect(),
            allowed_names: options.allowed_names.clone(),
        })
    }

    /// Whether every proxy may name users.
    pub(super) fn allows_all(&self) -> bool {
        self.allowed_names.is_empty()
    }

    /// Whether a proxy with this common name may name users.
    pub(super) fn allows(&self, common_name: &str) -> bool {
        self.allows_all() || self.allowed_names.iter().any(|allowed| allowed == common_name)
    }

    /// The user that a verified proxy names, if it names one.
    pub(super) fn user(&self, headers: &HeaderMap) -> Result<Option<User>, UnreadableHeader> {
        let name = first(headers, &self.username)?;
        if name.is_empty() {
            return Ok(None);
        }
        Ok(Some(User {
            name,
            uid: first(headers, &self.uid)?,
            groups: all(headers, &self.group)?,
            extra: self.extra(headers)?,
            ..User::default()
        }))
    }

    /// Removes what could be taken for the word of a front proxy: under the standard names, under the configured ones, and
    /// under those that a gateway makes the same by writing `-` for `_`.
    pub(super) fn strip(&self, headers: &mut HeaderMap) {
        let found: Vec<HeaderName> = headers.keys().filter(|name| self.names_user(name.as_str())).cloned().collect();
        for name in found {
            headers.remove(name);
        }
    }

    fn names_user(&self, name: &str) -> bool {
        let name = if name.contains('_') { Cow::Owned(name.replace('_', "-")) } else { Cow::Borrowed(name) };
        let configured = [&self.username, &self.uid, &self.group].into_iter().flatten();
        STANDARD_NAMES.contains(&&*name)
            || name.starts_with(STANDARD_PREFIX)
            || configured.map(HeaderName::as_str).any(|configured| configured == name)
            || self.extra_prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }

    fn extra(&self, headers: &HeaderMap) -> Result<BTreeMap<String, Vec<String>>, UnreadableHeader> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for prefix in &self.extra_prefixes {
            for (name, value) in headers {
                if let Some(key) = name.as_str().strip_prefix(prefix.as_str()) {
                    extra.entry(unescape(key)).or_default().push(text(name, value)?);
                }
            }
        }
        Ok(extra)
    }
}

fn names(flag: &'static str, given: &[String]) -> Result<Vec<HeaderName>, RequestHeaderError> {
    let name = |name: &String| match name.trim() {
        "" => Err(RequestHeaderError::Empty(flag)),
        trimmed => HeaderName::from_bytes(trimmed.as_bytes())
            .map_err(|_| RequestHeaderError::Name { flag, name: name.clone() }),
    };
    given.iter().map(name).collect()
}

/// As Go has it: of each name the first value, and of all names the first that is not empty.
fn first(headers: &HeaderMap, names: &[HeaderName]) -> Result<String, UnreadableHeader> {
    for name in names {
        if let Some(value) = headers.get(name).filter(|value| !value.is_empty()) {
            return text(name, value);
        }
    }
    Ok(String::new())
}

fn all(headers: &HeaderMap, names: &[HeaderName]) -> Result<Vec<String>, UnreadableHeader> {
    let values = names.iter().flat_map(|name| headers.get_all(name).iter().map(move |value| (name, value)));
    values.filter(|(_, value)| !value.is_empty()).map(|(name, value)| text(name, value)).collect()
}

fn text(name: &HeaderName, value: &HeaderValue) -> Result<String, UnreadableHeader> {
    String::from_utf8(value.as_bytes().to_vec()).map_err(|_| UnreadableHeader(name.to_string()))
}

/// The key behind its percent-encoding; as it stands, if that is malformed.
fn unescape(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.bytes();
    while let Some(byte) = rest.next() {
        let decoded = match byte {
            b'%' => hex(rest.next()).zip(hex(rest.next())).map(|(high, low)| high << 4 | low),
            other => Some(other),
        };
        let Some(decoded) = decoded else { return key.to_owned() };
        bytes.push(decoded);
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

fn hex(digit: Option<u8>) -> Option<u8> {
    char::from(digit?).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
