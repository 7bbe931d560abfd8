//! YAML, read as sigs.k8s.io/yaml reads it: what go-yaml v2 makes of it, turned into JSON, and that read again.
//!
//! A parser for YAML 1.2 takes the text apart; which plain words are numbers or booleans, what a merge does and which
//! key wins is decided here, in the order in which upstream decides it. Only the first document is read. Aliases are
//! expanded, within a budget.

pub(crate) mod resolve;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value};

use super::budget::Budget;
use super::json::{MAX_PATH, number, sound_text};
use super::{DecodeError, Decoded, Duplicate, MAX_DEPTH, MAX_PROBLEMS};
use crate::encode::number::{general_float, json_float};
use crate::go;
use resolve::{Resolved, resolve};

/// The most that aliases may add to a document: the bytes of their scalars, and `NODE_COST` for each node. It is the
/// size of the largest request body, so aliases make nothing that could not be sent without them.
pub const MAX_ALIASED: usize = 3 * 1024 * 1024;
const NODE_COST: usize = 32;

/// Reads the first document of a YAML text.
pub fn from_yaml(text: &[u8]) -> Result<Decoded, DecodeError> {
    let text = characters(text)?;
    let mut budget = Budget::new();
    let Some(tree) = parse(&text, &mut budget)? else {
        return Ok(Decoded { value: Value::Null, duplicates: Vec::new() });
    };
    let mut reader = Reader {
        tree: &tree,
        path: Vec::new(),
        expanding: HashSet::new(),
        read: 0,
        aliased: 0,
        aliased_bytes: 0,
        budget,
        duplicates: Vec::new(),
    };
    let value = reader.value(0, 0)?;
    Ok(Decoded { value, duplicates: reader.duplicates })
}

/// A text of at most `most` bytes, and dots if it was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.get(..text.floor_char_boundary(most)) {
        Some(start) if start.len() < text.len() => format!("{start}..."),
        _ => text.to_owned(),
    }
}

/// A document as it was written, its root first.
struct Tree<'t> {
    nodes: Vec<Node<'t>>,
}

struct Node<'t> {
    line: usize,
    content: Content<'t>,
}

enum Content<'t> {
    Scalar {
        text: Cow<'t, str>,
        /// Whether it is plain, or says by its tag that it should be taken as if it were.
        implicit: bool,
        tag: Option<Box<str>>,
    },
    List(Vec<usize>),
    /// Keys and values in turn.
    Mapping(Vec<usize>),
    Alias {
        name: Box<str>,
        target: usize,
    },
}

/// A key as YAML sees it: `1` and `"1"` are two keys, until JSON makes them one. The text comes last, and so wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Bool(bool),
    Whole(i64),
    Float(u64),
    Text(String),
}

enum Step {
    Field(String),
    Item(usize),
}

struct Reader<'r, 't> {
    tree: &'r Tree<'t>,
    path: Vec<Step>,
    /// The aliases whose targets are being read.
    expanding: HashSet<usize>,
    read: usize,
    aliased: usize,
    aliased_bytes: usize,
    budget: Budget,
    duplicates: Vec<Duplicate>,
}

// === impl Reader ===

impl Reader<'_, '_> {
    fn value(&mut self, index: usize, depth: usize) -> Result<Value, DecodeError> {
        self.count()?;
        let tree = self.tree;
        let Some(node) = tree.nodes.get(index) else { return Ok(Value::Null) };
        match &node.content {
            Content::Scalar { text, implicit, tag } => self.scalar(text, *implicit, tag.as_deref())?.into_value(),
            Content::Alias { name, target } => {
                self.enter(index, name)?;
                let value = self.value(*target, depth)?;
                self.expanding.remove(&index);
                Ok(value)
            }
            Content::List(children) => {
                deeper(depth)?;
                let mut items = Vec::with_capacity(children.len());
                for (position, child) in children.iter().enumerate() {
                    self.budget.item(position)?;
                    self.path.push(Step::Item(position));
                    items.push(self.value(*child, depth + 1)?);
                    self.path.pop();
                }
                Ok(Value::Array(items))
            }
            Content::Mapping(children) => {
                let mut fields = BTreeMap::new();
                self.mapping(children, &mut fields, depth)?;
                let mut object = Map::new();
                for (key, value) in fields {
                    object.insert(key.into_text(), value);
                }
                Ok(Value::Object(object))
            }
        }
    }

    fn mapping(
        &mut self,
        children: &[usize],
        fields: &mut BTreeMap<Key, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        deeper(depth)?;
        for pair in children.chunks_exact(2) {
            let [key, value] = pair else { continue };
            if self.is_merge(*key) {
                self.merge(*value, fields, depth)?;
                continue;
            }
            let key = self.key(*key)?;
            self.path.push(Step::Field(key.clone().into_text()));
            let line = self.tree.nodes.get(*value).map_or(0, |node| node.line);
            let value = self.value(*value, depth + 1)?;
            if fields.contains_key(&key) && self.duplicates.len() < MAX_PROBLEMS {
                let path = self.path_text();
                self.duplicates.push(Duplicate { path, yaml: Some((line, cut(&key.go_text(), MAX_PATH))) });
            }
            self.path.pop();
            self.budget.field(fields.len())?;
            fields.insert(key, value);
        }
        Ok(())
    }

    /// Merges mappings into the fields read so far. What is merged wins over them, and what follows over it; upstream
    /// has this order too.
    fn merge(&mut self, index: usize, fields: &mut BTreeMap<Key, Value>, depth: usize) -> Result<(), DecodeError> {
        match self.tree.nodes.get(index).map(|node| &node.content) {
            // Of several, the first wins.
            Some(Content::List(children)) => {
                children.iter().rev().try_for_each(|child| self.merge_one(*child, fields, depth))
            }
            _ => self.merge_one(index, fields, depth),
        }
    }

    fn merge_one(&mut self, index: usize, fields: &mut BTreeMap<Key, Value>, depth: usize) -> Result<(), DecodeError> {
        self.count()?;
        let tree = self.tree;
        match tree.nodes.get(index).map(|node| &node.content) {
            Some(Content::Mapping(children)) => self.mapping(children, fields, depth),
            Some(Content::Alias { name, target }) => match tree.nodes.get(*target).map(|node| &node.content) {
                Some(Content::Mapping(children)) => {
                    self.enter(index, name)?;
                    self.count()?;
                    self.mapping(children, fields, depth)?;
                    self.expanding.remove(&index);
                    Ok(())
                }
                _ => Err(DecodeError::BadMerge),
            },
            _ => Err(DecodeError::BadMerge),
        }
    }

    fn is_merge(&self, index: usize) -> bool {
        match self.tree.nodes.get(index).map(|node| &node.content) {
            Some(Content::Scalar { text, implicit, tag }) => {
                text == "<<" && (*implicit || tag.as_deref() == Some("tag:yaml.org,2002:merge"))
            }
            _ => false,
        }
    }

    fn key(&mut self, index: usize) -> Result<Key, DecodeError> {
        self.count()?;
        let tree = self.tree;
        match tree.nodes.get(index).map(|node| &node.content) {
            Some(Content::Scalar { text, implicit, tag }) => {
                match self.scalar(text, *implicit, tag.as_deref())? {
                    Resolved::Null => Err(DecodeError::UnsupportedKey { kind: "null" }),
                    Resolved::Bool(truth) => Ok(Key::Bool(truth)),
                    Resolved::Whole(whole) => Ok(Key::Whole(whole)),
                    // Upstream forgot them.
                    Resolved::Unsigned(_) => Err(DecodeError::UnsupportedKey { kind: "uint64" }),
                    Resolved::Float(float) => Ok(Key::Float(float.to_bits())),
                    Resolved::Text(text) => Ok(Key::Text(text.into_owned())),
                }
            }
            Some(Content::Alias { name, target }) => {
                self.enter(index, name)?;
                let key = self.key(*target)?;
                self.expanding.remove(&index);
                Ok(key)
            }
            Some(Content::List(_)) => Err(DecodeError::CollectionKey { kind: "sequence" }),
            Some(Content::Mapping(_)) | None => Err(DecodeError::CollectionKey { kind: "mapping" }),
        }
    }

    fn scalar<'s>(&mut self, text: &'s str, implicit: bool, tag: Option<&str>) -> Result<Resolved<'s>, DecodeError> {
        self.budget.text(text.len())?;
        if !self.expanding.is_empty() {
            self.aliased_bytes = self.aliased_bytes.saturating_add(text.len());
            if self.aliased_bytes > MAX_ALIASED {
                return Err(DecodeError::ExcessiveAliasing);
            }
        }
        match tag {
            None if !implicit => Ok(Resolved::Text(Cow::Borrowed(text))),
            tag => resolve(tag.unwrap_or_default(), text),
        }
    }

    fn enter(&mut self, index: usize, name: &str) -> Result<(), DecodeError> {
        if self.expanding.insert(index) { Ok(()) } else { Err(DecodeError::SelfAlias { anchor: cut(name, 64) }) }
    }

    /// Counts a node that is read. Upstream's rule about the share of aliases refuses what multiplies itself early; the
    /// budget of bytes holds where that rule is blind, as with a long text and many aliases to it.
    fn count(&mut self) -> Result<(), DecodeError> {
        self.read += 1;
        if !self.expanding.is_empty() {
            self.aliased += 1;
            self.aliased_bytes = self.aliased_bytes.saturating_add(NODE_COST);
        }
        let excessive = self.aliased > 100
            && self.read > 1000
            && self.aliased as f64 / self.read as f64 > allowed_alias_ratio(self.read);
        if excessive || self.aliased_bytes > MAX_ALIASED { Err(DecodeError::ExcessiveAliasing) } else { Ok(()) }
    }

    fn path_text(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Item(position) => path.push_str(&format!("[{position}]")),
                Step::Field(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&cut(name, MAX_PATH));
                }
            }
            if path.len() > MAX_PATH {
                return cut(&path, MAX_PATH);
            }
        }
        path
    }
}

// === impl Key ===

impl Key {
    /// As it is written in JSON.
    fn into_text(self) -> String {
        match self {
            Self::Bool(truth) => truth.to_string(),
            Self::Whole(whole) => whole.to_string(),
            Self::Text(text) => text,
            Self::Float(bits) => {
                let float = f64::from_bits(bits);
                if float.is_nan() {
                    ".nan".to_owned()
                } else if float.abs() > f64::from(f32::MAX) {
                    if float > 0.0 { ".inf".to_owned() } else { "-.inf".to_owned() }
                } else {
                    // Upstream prints the key in single precision.
                    general_float(&format!("{:e}", float as f32))
                }
            }
        }
    }

    /// As Go prints it in a message.
    fn go_text(&self) -> String {
        match self {
            Self::Text(text) => go::quote(text),
            Self::Float(bits) => general_float(&format!("{:e}", f64::from_bits(*bits))),
            other => other.clone().into_text(),
        }
    }
}

// === impl Resolved ===

impl Resolved<'_> {
    fn into_value(self) -> Result<Value, DecodeError> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => truth.into(),
            Self::Whole(whole) => whole.into(),
            Self::Unsigned(whole) => number(&whole.to_string()).map_or(Value::Null, Value::Number),
            Self::Float(float) if float.is_nan() => return Err(DecodeError::NotFinite { number: "NaN" }),
            Self::Float(float) if float.is_infinite() => {
                let number = if float > 0.0 { "+Inf" } else { "-Inf" };
                return Err(DecodeError::NotFinite { number });
            }
            // Upstream writes JSON and reads it again, which makes a whole number of `1e3` and of `2.0`.
            Self::Float(float) => number(&json_float(float)).or_else(|| Number::from_f64(float)).into(),
            Self::Text(text) => text.into_owned().into(),
        })
    }
}

fn deeper(depth: usize) -> Result<(), DecodeError> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(DecodeError::YamlTooDeep) }
}

/// The share of aliased nodes that upstream allows in a document of so many nodes.
fn allowed_alias_ratio(read: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    match read {
        ..=LOW => 0.99,
        HIGH.. => 0.10,
        read => 0.99 - 0.89 * ((read - LOW) as f64 / (HIGH - LOW) as f64),
    }
}

/// The events of the first document, as a tree; `None` if there is no document.
fn parse<'t>(text: &'t str, budget: &mut Budget) -> Result<Option<Tree<'t>>, DecodeError> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.emit_unresolved_aliases = true;
    options.flow_nesting_limit = MAX_DEPTH + 1;
    options.block_nesting_limit = MAX_DEPTH + 1;

    let mut nodes: Vec<Node<'t>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut anchors: HashMap<usize, usize> = HashMap::new();
    let mut line = 0;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
                return DecodeError::YamlTooDeep;
            }
            let line = Some(error.marker().line()).filter(|line| *line > 1);
            DecodeError::Yaml { line, problem: error.info() }
        })?;
        let (content, anchor) = match event {
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                continue;
            }
            Event::Scalar(mut value, style, anchor, tag) => {
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                // Upstream adds no line end where the text has none.
                if block && !text.ends_with(['\n', '\r']) && value.ends_with('\n') && reaches_end(text, &span) {
                    value.to_mut().pop();
                }
                // Upstream counts from the indicator, which stands on the line of the key, and not from the text.
                line = if block { line } else { span.start.line() };
                let tag = tag.map(|tag| whole_tag(&tag)).filter(|tag| !tag.is_empty());
                let unspecific = tag.as_deref() == Some("!");
                let implicit = unspecific || (tag.is_none() && matches!(style, ScalarStyle::Plain));
                (Content::Scalar { text: value, implicit, tag }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                line = span.start.line();
                (Content::List(Vec::new()), anchor)
            }
            Event::MappingStart(_, anchor, _) => {
                line = span.start.line();
                budget.mapping()?;
                (Content::Mapping(Vec::new()), anchor)
            }
            Event::Alias(id) => {
                let name = span.slice(text).unwrap_or_default().trim_start_matches('*').into();
                line = span.start.line();
                let target = anchors.get(&id).copied().unwrap_or(usize::MAX);
                (Content::Alias { name, target }, 0)
            }
            Event::UnresolvedAlias(name) => {
                let problem = format!("unknown anchor '{}' referenced", cut(&name, 64));
                return Err(DecodeError::Yaml { line: None, problem });
            }
            _ => continue,
        };
        budget.node()?;
        let index = nodes.len();
        if anchor != 0 {
            budget.anchor()?;
            anchors.insert(anchor, index);
        }
        if let Some(parent) = open.last().and_then(|parent| nodes.get_mut(*parent))
            && let Content::List(children) | Content::Mapping(children) = &mut parent.content
        {
            children.push(index);
        }
        if matches!(content, Content::List(_) | Content::Mapping(_)) {
            deeper(open.len())?;
            open.push(index);
        }
        nodes.push(Node { line, content });
    }
    Ok(if nodes.is_empty() { None } else { Some(Tree { nodes }) })
}

fn reaches_end(text: &str, span: &Span) -> bool {
    let end = span.end.byte_offset().unwrap_or(0);
    let last_line = text.rsplit(['\n', '\r']).next().unwrap_or_default();
    end >= text.len() && !last_line.trim_matches(' ').is_empty()
}

fn whole_tag(tag: &Tag) -> Box<str> {
    format!("{}{}", tag.handle(), tag.suffix()).into_boxed_str()
}

/// The characters of a text: UTF-8, or UTF-16 that says so by its first two bytes. Control characters are refused.
fn characters(bytes: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    let error = |problem: &str| DecodeError::Yaml { line: None, problem: problem.to_owned() };
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let pairs = rest.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return Err(error("incomplete UTF-16 character"));
        }
        let units = pairs.map(|pair| unit([pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)]));
        char::decode_utf16(units)
            .collect::<Result<String, _>>()
            .map(Cow::Owned)
            .map_err(|_| error("unexpected low surrogate area"))
    };
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => narrow(rest)?,
        bytes => narrow(bytes)?,
    };
    let allowed = |c: char| match c {
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' => true,
        c => c >= '\u{a0}' && !matches!(c, '\u{fffe}' | '\u{ffff}'),
    };
    if text.chars().all(allowed) { Ok(text) } else { Err(error("control characters are not allowed")) }
}

fn narrow(bytes: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let first = bytes.get(error.valid_up_to()).copied().unwrap_or(0);
        let problem = match (first, error.error_len()) {
            (0x80..=0xbf | 0xf8.., _) => "invalid leading UTF-8 octet",
            (_, None) => "incomplete UTF-8 octet sequence",
            _ => "invalid trailing UTF-8 octet",
        };
        DecodeError::Yaml { line: None, problem: problem.to_owned() }
    })
}

/// The text of a `!!binary`: its bytes as text.
fn binary(text: &str) -> Result<String, DecodeError> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = 0_u32;
    let mut digits = 0;
    let mut padding = 0;
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')) {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if digits >= 2 && digits + padding < 4 => {
                padding += 1;
                continue;
            }
            _ => return Err(DecodeError::BadBinary),
        };
        if padding > 0 {
            return Err(DecodeError::BadBinary);
        }
        group = group << 6 | u32::from(digit);
        digits += 1;
        if digits == 4 {
            let [_, whole @ ..] = group.to_be_bytes();
            bytes.extend(whole);
            (group, digits) = (0, 0);
        }
    }
    match (digits, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push((group >> 4) as u8),
        (3, 1) => bytes.extend([(group >> 10) as u8, (group >> 2) as u8]),
        _ => return Err(DecodeError::BadBinary),
    }
    Ok(sound_text(&bytes))
}
