//! As whom a request is to be taken, as its headers say.

use bailiwick_machinery::{Status, go};
use bailiwick_registry::User;
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};

use crate::query::{Plus, decode};
use crate::request::Part;

const PREFIX: &str = "impersonate-";
const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

/// As whom a request is to be taken, if as someone else; or why that cannot be read. Nobody else sees these headers.
pub(crate) struct Wanted(Result<Option<User>, Box<Status>>);

// === impl Wanted ===

impl Wanted {
    /// Takes the headers away, whatever they say.
    pub(crate) fn take(headers: &mut HeaderMap) -> Self {
        let is_ours = |name: &&HeaderName| name.as_str().starts_with(PREFIX);
        if !headers.keys().any(|name| is_ours(&name)) {
            return Self(Ok(None));
        }
        let wanted = read(headers);
        let ours: Vec<HeaderName> = headers.keys().filter(is_ours).cloned().collect();
        for name in ours {
            headers.remove(name);
        }
        Self(wanted)
    }

    /// What they said.
    pub(crate) fn into_user(self) -> Result<Option<User>, Box<Status>> {
        self.0
    }
}

fn read(headers: &HeaderMap) -> Result<Option<User>, Box<Status>> {
    let mut user = User { name: first(headers, USER)?, uid: first(headers, UID)?, ..User::default() };
    for group in headers.get_all(GROUP) {
        user.groups.push(text(GROUP, group)?);
    }
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            user.extra.entry(unescaped(key)).or_default().push(text(EXTRA, value)?);
        }
    }
    let says_more = !user.uid.is_empty() || !user.groups.is_empty() || !user.extra.is_empty();
    match (user.name.is_empty(), says_more) {
        (false, _) => Ok(Some(user)),
        (true, false) => Ok(None),
        (true, true) => {
            let message = format!("requested {} without impersonating a user name", in_go(&user));
            Err(Box::new(Status::bad_request(message)))
        }
    }
}

fn first(headers: &HeaderMap, name: &str) -> Result<String, Box<Status>> {
    headers.get(name).map_or_else(|| Ok(String::new()), |value| text(name, value))
}

/// Go takes any bytes for text. Who would be meant by what is none is not clear to anyone, so it is refused.
fn text(name: &str, value: &HeaderValue) -> Result<String, Box<Status>> {
    let text = std::str::from_utf8(value.as_bytes());
    text.map(str::to_owned)
        .map_err(|_| Box::new(Status::bad_request(format!("the request's {name} header is not UTF-8"))))
}

/// What cannot be decoded is meant as it is written.
fn unescaped(key: &str) -> String {
    decode(key, Part::Path, Plus::Itself).unwrap_or_else(|_| key.to_owned())
}

/// A user as Go's `%#v` prints it.
fn in_go(user: &User) -> String {
    let list = |texts: &[String]| {
        let quoted: Vec<String> = texts.iter().map(|text| go::quote(text)).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&user.groups) };
    let entries: Vec<String> =
        user.extra.iter().map(|(key, values)| format!("{}:{}", go::quote(key), list(values))).collect();
    let extra = match entries.as_slice() {
        [] => "map[string][]string(nil)".to_owned(),
        entries => format!("map[string][]string{{{}}}", entries.join(", ")),
    };
    let (name, uid) = (go::quote(&user.name), go::quote(&user.uid));
    format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}")
}
