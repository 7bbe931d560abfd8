//! Which encoding a request body has, and which one the answer gets.
//!
//! The rules are those of kube-apiserver's negotiation package, whose oddities clients have come to rely on: a wildcard
//! takes the first encoding offered, a clause whose parameters the endpoint cannot serve is passed over rather than
//! refused, and the preference (`q`) yields to the order of the clauses in ways that only its sort explains.

use std::fmt;

use crate::partial::MetaVersion;

/// The encodings of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaType {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// What an endpoint can answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint<'e> {
    /// Its own answer and nothing else.
    Plain,
    /// Objects, as they are or as something made of them.
    Resource {
        /// Whether it makes tables.
        tables: bool,
        /// The encodings of the objects as they are; empty if these are all that are offered.
        plain: &'e [MediaType],
    },
    /// The list of all groups, and nothing else. What is not acceptable here is answered by `Plain`.
    Discovery,
}

/// What the answer is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Its encoding.
    pub media_type: MediaType,
    /// What it is made into.
    pub transform: Transform,
    /// Whether the encoding is to be readable.
    pub pretty: bool,
    /// Whether the client named the form of a stream of events.
    pub stream: bool,
    /// The kind of discovery asked for; `nopeer` leaves out what other servers serve.
    pub profile: String,
}

/// What an answer is made into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Nothing.
    #[default]
    None,
    /// A table.
    Table(MetaVersion),
    /// The metadata of an object.
    PartialObjectMetadata(MetaVersion),
    /// The metadata of objects.
    PartialObjectMetadataList(MetaVersion),
    /// The list of all groups with their resources, in `apidiscovery.k8s.io/v2`; its beta version is served no longer.
    ApiGroupDiscoveryList,
}

/// No encoding is acceptable to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only the following media types are accepted: {}", accepted.join(", "))]
pub struct NotAcceptable {
    /// Those there are.
    pub accepted: Vec<String>,
}

/// The encoding of a request body is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body of the request was in an unknown format - accepted media types include: {}", accepted.join(", "))]
pub struct UnsupportedMediaType {
    /// Those there are.
    pub accepted: Vec<String>,
}

/// The most clauses of an `Accept` header that are looked at.
pub const MAX_CLAUSES: usize = 64;

/// The encoding of a request body; without a header it is the first one offered.
pub fn content_type(header: &str, offered: &[MediaType]) -> Result<MediaType, UnsupportedMediaType> {
    let found = match header {
        "" => offered.first().copied(),
        header => essence(header).and_then(|essence| offered.iter().copied().find(|offer| offer.as_str() == essence)),
    };
    found.ok_or_else(|| UnsupportedMediaType { accepted: names(offered) })
}

/// The encoding of a patch: what stands before the parameters, as it stands there.
pub fn patch_type<'h>(header: &'h str, accepted: &[&str]) -> Result<&'h str, UnsupportedMediaType> {
    let essence = match header.find(';') {
        Some(end) if end > 0 => header.get(..end).unwrap_or(header),
        _ => header,
    };
    if accepted.contains(&essence) {
        return Ok(essence);
    }
    Err(UnsupportedMediaType { accepted: accepted.iter().map(|name| (*name).to_owned()).collect() })
}

/// What an answer is to be, by the `Accept` header.
pub fn negotiate(header: &str, offered: &[MediaType], endpoint: Endpoint<'_>) -> Result<Negotiated, NotAcceptable> {
    find(header, offered, endpoint).ok_or_else(|| NotAcceptable { accepted: names(offered) })
}

/// Which of some media types an answer is to have, by the `Accept` header. Parameters do not matter.
pub fn choose<'o>(header: &str, offered: &[&'o str]) -> Result<&'o str, NotAcceptable> {
    let found = match header {
        "" => offered.first().copied(),
        header => {
            let mut clauses = clauses(header).into_iter();
            clauses.find_map(|clause| offered.iter().copied().find(|offer| clause.takes(offer)))
        }
    };
    found.ok_or_else(|| NotAcceptable { accepted: offered.iter().map(|offer| (*offer).to_owned()).collect() })
}

/// What a stream of events is to be, by the `Accept` header.
pub fn negotiate_stream(
    header: &str,
    offered: &[MediaType],
    endpoint: Endpoint<'_>,
) -> Result<Negotiated, NotAcceptable> {
    find(header, offered, endpoint).filter(|negotiated| negotiated.media_type.streams()).ok_or_else(|| {
        let streams = offered.iter().filter(|offer| offer.streams());
        NotAcceptable { accepted: streams.map(|offer| format!("{offer};stream=watch")).collect() }
    })
}

/// Whether an answer is for human eyes, by the request parameter `pretty` or else by the client's name.
pub fn is_pretty(parameter: &str, user_agent: &str) -> bool {
    match parameter {
        "" => ["curl", "Wget", "Mozilla/5.0"].iter().any(|name| user_agent.starts_with(name)),
        parameter => matches!(parameter, "1" | "t" | "T" | "true" | "TRUE" | "True"),
    }
}

// === impl MediaType ===

impl MediaType {
    /// As headers write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Whether events can be streamed in it.
    pub fn streams(self) -> bool {
        match self {
            Self::Json | Self::Protobuf => true,
            Self::Yaml => false,
        }
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A clause of an `Accept` header.
struct Clause<'h> {
    kind: &'h str,
    subtype: &'h str,
    preference: f32,
    parameters: Vec<(&'h str, &'h str)>,
}

// === impl Clause ===

impl<'h> Clause<'h> {
    /// `None` for what makes no sense; upstream passes over it.
    fn parse(text: &'h str) -> Option<Self> {
        let (name, mut rest) = split(trim(text), ';');
        let (kind, subtype) = split(name, '/');
        let kind = trim(kind);
        let subtype = match subtype {
            "" if kind == "*" => "*",
            "" => return None,
            subtype => match split(subtype, '/') {
                (subtype, "") => trim(subtype),
                _ => return None,
            },
        };
        let mut clause = Self { kind, subtype, preference: 1.0, parameters: Vec::new() };
        while !rest.is_empty() {
            let parameter;
            (parameter, rest) = split(rest, ';');
            let (name, value) = split(parameter, '=');
            let (value, "") = split(value, '=') else { continue };
            if value.is_empty() {
                continue;
            }
            match trim(name) {
                "q" => clause.preference = value.parse().unwrap_or(0.0),
                name => clause.parameters.push((name, trim(value))),
            }
        }
        Some(clause)
    }

    fn takes(&self, offer: &str) -> bool {
        let (kind, subtype) = split(offer, '/');
        match (self.kind, self.subtype) {
            ("*", "*") => true,
            (own, "*") => own == kind,
            (own, own_subtype) => own == kind && own_subtype == subtype,
        }
    }

    /// Whether it comes before the other. This is no order: `q` and the wildcards may contradict each other.
    fn before(&self, other: &Self) -> bool {
        self.preference > other.preference
            || (self.kind != "*" && other.kind == "*")
            || (self.subtype != "*" && other.subtype == "*")
    }

    fn negotiate(&self, offer: MediaType, endpoint: Endpoint<'_>) -> Option<Negotiated> {
        // Of a parameter given twice, the last counts.
        let parameter =
            |name: &str| self.parameters.iter().rev().find(|(own, _)| *own == name).map(|(_, value)| *value);
        let stream = match parameter("stream") {
            None | Some("") => false,
            Some("watch") if offer.streams() => true,
            Some(_) => return None,
        };
        match (parameter("sv"), endpoint) {
            (None | Some(""), _) | (Some("v1"), Endpoint::Resource { .. }) => {}
            _ => return None,
        }
        let target = match (parameter("as"), parameter("g"), parameter("v")) {
            (None, None, None) => None,
            (kind, group, version) => {
                Some((group.unwrap_or_default(), version.unwrap_or_default(), kind.unwrap_or_default()))
            }
        };
        Some(Negotiated {
            media_type: offer,
            transform: endpoint.transform(offer, target)?,
            pretty: parameter("pretty") == Some("1"),
            stream,
            profile: parameter("profile").unwrap_or_default().to_owned(),
        })
    }
}

// === impl Endpoint ===

impl Endpoint<'_> {
    /// `None` if the endpoint does not make that of its answer in that encoding.
    fn transform(self, offer: MediaType, target: Option<(&str, &str, &str)>) -> Option<Transform> {
        match (self, target) {
            (Self::Plain, None) => Some(Transform::None),
            (Self::Resource { plain, .. }, None) => {
                (plain.is_empty() || plain.contains(&offer)).then_some(Transform::None)
            }
            (Self::Resource { tables, .. }, Some(("meta.k8s.io", version, kind))) => {
                let version = match version {
                    "v1" => MetaVersion::V1,
                    "v1beta1" => MetaVersion::V1beta1,
                    _ => return None,
                };
                match kind {
                    "Table" if tables && offer != MediaType::Protobuf => Some(Transform::Table(version)),
                    "PartialObjectMetadata" => Some(Transform::PartialObjectMetadata(version)),
                    "PartialObjectMetadataList" => Some(Transform::PartialObjectMetadataList(version)),
                    _ => None,
                }
            }
            (Self::Discovery, Some(("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"))) => {
                Some(Transform::ApiGroupDiscoveryList)
            }
            _ => None,
        }
    }
}

fn find(header: &str, offered: &[MediaType], endpoint: Endpoint<'_>) -> Option<Negotiated> {
    if header.is_empty() {
        return Some(Negotiated {
            media_type: offered.first().copied()?,
            transform: Transform::None,
            pretty: false,
            stream: false,
            profile: String::new(),
        });
    }
    clauses(header).iter().find_map(|clause| {
        let taken = offered.iter().copied().filter(|offer| clause.takes(offer.as_str()));
        taken.into_iter().find_map(|offer| clause.negotiate(offer, endpoint))
    })
}

/// The clauses of a header, in the order in which they count.
fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = Vec::new();
    for clause in header.split(',').take(MAX_CLAUSES).filter_map(Clause::parse) {
        // An insertion sort, step by step as Go sorts up to twelve elements: another one gives another result, because
        // `before` is no order.
        let mut position = clauses.len();
        while position > 0 && clauses.get(position - 1).is_some_and(|other| clause.before(other)) {
            position -= 1;
        }
        clauses.insert(position, clause);
    }
    clauses
}

fn names(offered: &[MediaType]) -> Vec<String> {
    offered.iter().map(ToString::to_string).collect()
}

fn split(text: &str, at: char) -> (&str, &str) {
    text.split_once(at).unwrap_or((text, ""))
}

fn trim(text: &str) -> &str {
    text.trim_matches(' ')
}

/// The type and subtype of a media type with sound parameters, in lower case: Go's `mime.ParseMediaType`.
fn essence(header: &str) -> Option<String> {
    let (name, _) = split(header, ';');
    let mut rest = header.get(name.len()..)?;
    let essence = name.trim().to_ascii_lowercase();
    let (kind, after) = token(&essence);
    if kind.is_empty() || !(after.is_empty() || after.strip_prefix('/').is_some_and(is_token)) {
        return None;
    }
    let mut parameters: Vec<(String, String)> = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(essence);
        }
        let Some((name, value, after)) = parameter(rest) else {
            return (rest.trim() == ";").then_some(essence);
        };
        if parameters.iter().any(|(other, other_value)| *other == name && *other_value != value) {
            return None;
        }
        // Each is compared with all before it, and a header is short.
        if parameters.len() >= MAX_CLAUSES {
            return None;
        }
        parameters.push((name, value));
        rest = after;
    }
}

fn parameter(text: &str) -> Option<(String, String, &str)> {
    let (name, rest) = token(text.strip_prefix(';')?.trim_start());
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let (value, after) = match rest.strip_prefix('"') {
        None => {
            let (value, after) = token(rest);
            (value.to_owned(), after)
        }
        Some(quoted) => quoted_value(quoted)?,
    };
    if name.is_empty() || (value.is_empty() && after.len() == rest.len()) {
        return None;
    }
    Some((name.to_ascii_lowercase(), value, after))
}

fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text.chars();
    loop {
        match rest.next()? {
            '"' => return Some((value, rest.as_str())),
            '\r' | '\n' => return None,
            '\\' => {
                let mut after = rest.clone();
                match after.next() {
                    Some(c) if is_special(c) => {
                        value.push(c);
                        rest = after;
                    }
                    _ => value.push('\\'),
                }
            }
            c => value.push(c),
        }
    }
}

fn token(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c| !is_token_char(c)).unwrap_or(text.len()))
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_char)
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_graphic() && !is_special(c)
}

fn is_special(c: char) -> bool {
    "()<>@,;:\\\"/[]?=".contains(c)
}

#[cfg(test)]
mod tests;
