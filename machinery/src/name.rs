//! The rules for names: of objects, labels, annotations and finalizers, with Kubernetes' words for what is wrong.
//!
//! Each rule returns everything that is wrong with a text, and nothing if nothing is. Lengths count bytes.

use std::borrow::Cow;

/// Everything that is wrong with a name.
pub type Messages = Vec<Cow<'static, str>>;

/// The most bytes of a label of a DNS name.
pub const MAX_DNS_LABEL_BYTES: usize = 63;
/// The most bytes of a DNS name.
pub const MAX_DNS_SUBDOMAIN_BYTES: usize = 253;
/// The most bytes of a label's value, and of its key without the prefix.
pub const MAX_LABEL_BYTES: usize = 63;
/// The most bytes that all annotations of an object have together.
pub const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;
/// The most bytes of `generateName` that a generated name keeps.
pub const MAX_GENERATED_BASE_BYTES: usize = 63 - GENERATED_SUFFIX_LENGTH;
/// How many characters a generated name has more than what it is made of.
pub const GENERATED_SUFFIX_LENGTH: usize = 5;
/// What a generated name ends in: no vowels, so that no words come about.
pub const GENERATED_SUFFIX_ALPHABET: &str = "bcdfghjklmnpqrstvwxz2456789";

/// Which names a kind allows.
#[derive(Clone, Copy, Debug)]
pub enum NameRule {
    /// A DNS name; the rule of most kinds.
    DnsSubdomain,
    /// One label of a DNS name, as for namespaces.
    DnsLabel,
    /// One label of a DNS name that starts with a letter, as for services.
    Dns1035Label,
    /// Whatever can be a part of a path, as for roles.
    PathSegment,
    /// A rule of the kind's own.
    Custom(fn(&str, NameForm) -> Messages),
}

/// What of a name is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameForm {
    /// The name.
    Whole,
    /// The start of a name; the rest will be generated.
    Prefix,
}

// === impl NameRule ===

impl NameRule {
    /// What is wrong with a name.
    pub fn check(self, name: &str, form: NameForm) -> Messages {
        let masked = match form {
            NameForm::Whole => Cow::Borrowed(name.as_bytes()),
            NameForm::Prefix => mask_trailing_dash(name),
        };
        match (self, form) {
            (Self::DnsSubdomain, _) => check_dns1123_subdomain(&masked),
            (Self::DnsLabel, _) => check_dns1123_label(&masked),
            (Self::Dns1035Label, _) => check_dns1035_label(&masked),
            (Self::PathSegment, NameForm::Whole) => path_segment(name),
            (Self::PathSegment, NameForm::Prefix) => path_segment_prefix(name),
            (Self::Custom(check), form) => check(name, form),
        }
    }
}

/// What keeps a text from being a label of a DNS name (RFC 1123).
pub fn dns1123_label(value: &str) -> Messages {
    check_dns1123_label(value.as_bytes())
}

/// What keeps a text from being a DNS name (RFC 1123).
pub fn dns1123_subdomain(value: &str) -> Messages {
    check_dns1123_subdomain(value.as_bytes())
}

/// What keeps a text from being a label of a DNS name that starts with a letter (RFC 1035).
pub fn dns1035_label(value: &str) -> Messages {
    check_dns1035_label(value.as_bytes())
}

/// What keeps a text from being a part of a path. It may be empty and of any length.
pub fn path_segment(value: &str) -> Messages {
    match value {
        "." => vec!["may not be '.'".into()],
        ".." => vec!["may not be '..'".into()],
        value => path_segment_prefix(value),
    }
}

/// A name as a part of a path of a URL, which it cannot leave, whatever is in it; `None` if no object can be called so.
pub fn in_path(name: &str) -> Option<String> {
    if name.is_empty() || !path_segment(name).is_empty() {
        return None;
    }
    let encode = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' | b':' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    Some(name.bytes().map(encode).collect())
}

/// What keeps a text from being the start of a part of a path.
pub fn path_segment_prefix(value: &str) -> Messages {
    let mut messages = Messages::new();
    if value.contains('/') {
        messages.push("may not contain '/'".into());
    }
    if value.contains('%') {
        messages.push("may not contain '%'".into());
    }
    messages
}

/// What keeps a text from being a qualified name, such as a label's key: `name` or `dns.prefix/name`.
pub fn qualified_name(value: &str) -> Messages {
    let mut messages = Messages::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, rest)) if rest.contains('/') => {
            messages.push(text::QUALIFIED_NAME.into());
            return messages;
        }
        Some(("", name)) => {
            messages.push("prefix part must be non-empty".into());
            name
        }
        Some((prefix, name)) => {
            if prefix.len() > MAX_DNS_SUBDOMAIN_BYTES {
                messages.push("prefix part must be no more than 253 bytes".into());
            }
            if !is_subdomain(prefix.as_bytes()) {
                messages.push(text::PREFIX_PART.into());
            }
            name
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".into());
    } else if name.len() > MAX_LABEL_BYTES {
        messages.push("name part must be no more than 63 bytes".into());
    }
    if !is_label_text(name.as_bytes()) {
        messages.push(text::NAME_PART.into());
    }
    messages
}

/// What keeps a text from being a label's value. It may be empty.
pub fn label_value(value: &str) -> Messages {
    let mut messages = Messages::new();
    if value.len() > MAX_LABEL_BYTES {
        messages.push("must be no more than 63 bytes".into());
    }
    if !value.is_empty() && !is_label_text(value.as_bytes()) {
        messages.push(text::LABEL_VALUE.into());
    }
    messages
}

/// What keeps a text from being a key of a ConfigMap or a Secret, which becomes the name of a file.
pub fn config_key(value: &str) -> Messages {
    let mut messages = Messages::new();
    if value.len() > MAX_DNS_SUBDOMAIN_BYTES {
        messages.push("must be no more than 253 characters".into());
    }
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if value.is_empty() || !value.bytes().all(is_inner) {
        messages.push(text::CONFIG_KEY.into());
    }
    match value {
        "." => messages.push("must not be '.'".into()),
        ".." => messages.push("must not be '..'".into()),
        value if value.starts_with("..") => messages.push("must not start with '..'".into()),
        _ => {}
    }
    messages
}

/// What keeps a text from being an annotation's key: a qualified name in lower or upper case.
pub fn annotation_key(value: &str) -> Messages {
    if value.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return qualified_name(value);
    }
    // As Go does it: character by character and never into several. Two that are not ASCII become letters that are, so
    // that Kubernetes accepts them.
    let lower = value.chars().map(|c| if c == 'İ' { 'i' } else { c.to_lowercase().next().unwrap_or(c) });
    qualified_name(&lower.collect::<String>())
}

/// A name made of `generateName`: its start, and characters that are chosen by `random`, which is given how many there
/// are to choose from.
pub fn generated_name(base: &str, mut random: impl FnMut(usize) -> usize) -> String {
    let kept = base.floor_char_boundary(MAX_GENERATED_BASE_BYTES);
    let alphabet = GENERATED_SUFFIX_ALPHABET.as_bytes();
    let mut name = base[..kept].to_owned();
    for _ in 0..GENERATED_SUFFIX_LENGTH {
        name.push(char::from(alphabet[random(alphabet.len()) % alphabet.len()]));
    }
    name
}

fn check_dns1123_label(value: &[u8]) -> Messages {
    let mut messages = Messages::new();
    if value.len() > MAX_DNS_LABEL_BYTES {
        messages.push("must be no more than 63 characters".into());
    }
    if !is_label(value) {
        let dots = is_subdomain(value);
        messages.push(if dots { "must not contain dots" } else { text::DNS1123_LABEL }.into());
    }
    messages
}

fn check_dns1123_subdomain(value: &[u8]) -> Messages {
    let mut messages = Messages::new();
    if value.len() > MAX_DNS_SUBDOMAIN_BYTES {
        messages.push("must be no more than 253 characters".into());
    }
    if !is_subdomain(value) {
        messages.push(text::DNS1123_SUBDOMAIN.into());
    }
    messages
}

fn check_dns1035_label(value: &[u8]) -> Messages {
    let mut messages = Messages::new();
    if value.len() > MAX_DNS_LABEL_BYTES {
        messages.push("must be no more than 63 characters".into());
    }
    if !(is_label(value) && value.first().is_some_and(u8::is_ascii_lowercase)) {
        messages.push(text::DNS1035_LABEL.into());
    }
    messages
}

/// A dash may end what is generated from. Kubernetes' `maskTrailingDash` takes the character before it away too, which
/// is why `a.-` passes.
fn mask_trailing_dash(name: &str) -> Cow<'_, [u8]> {
    match name.as_bytes() {
        [start @ .., _, b'-'] => Cow::Owned([start, b"a"].concat()),
        whole => Cow::Borrowed(whole),
    }
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn is_label(value: &[u8]) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    value.iter().all(inner) && value.first().is_some_and(|&b| b != b'-') && value.last().is_some_and(|&b| b != b'-')
}

/// Labels with dots between.
fn is_subdomain(value: &[u8]) -> bool {
    value.split(|&byte| byte == b'.').all(is_label)
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
fn is_label_text(value: &[u8]) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    value.iter().all(inner)
        && value.first().is_some_and(u8::is_ascii_alphanumeric)
        && value.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// Messages that clients have seen for years, down to the spaces.
mod text {
    macro_rules! dns1123_subdomain {
        () => {
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and \
             end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        };
    }
    macro_rules! qualified {
        () => {
            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
             (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        };
    }

    pub(super) const DNS1123_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an \
         alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    pub(super) const DNS1123_SUBDOMAIN: &str = dns1123_subdomain!();
    pub(super) const DNS1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and \
         end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
         '[a-z]([-a-z0-9]*[a-z0-9])?')";
    pub(super) const PREFIX_PART: &str = concat!("prefix part ", dns1123_subdomain!());
    pub(super) const NAME_PART: &str = concat!("name part ", qualified!());
    pub(super) const QUALIFIED_NAME: &str = concat!(
        "a valid label key ",
        qualified!(),
        " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    );
    pub(super) const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or \
         'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    pub(super) const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
         with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

#[cfg(test)]
mod tests;
