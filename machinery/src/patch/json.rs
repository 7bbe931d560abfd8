//! JSON patches: a list of operations, applied in turn.

use serde_json::{Map, Value};

use crate::decode::{MAX_DEPTH, MAX_PATH, MAX_PROBLEMS, cut, from_json, problems};
use crate::encode::json_len;
use crate::go;

use super::{MAX_COPIED, MAX_OPERATIONS, MAX_RESULT, MAX_WORK, PatchError, PlaceError};

/// A JSON patch.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPatch {
    operations: Vec<Operation>,
    problems: Vec<String>,
}

/// One operation as it was written. What is missing or null is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operation {
    /// What to do.
    pub op: Option<String>,
    /// Where.
    pub path: Option<String>,
    /// Where from.
    pub from: Option<String>,
    /// With what; missing is as good as null.
    pub value: Value,
}

// === impl JsonPatch ===

impl JsonPatch {
    /// Reads a patch.
    pub fn decode(body: &[u8]) -> Result<Self, PatchError> {
        let decoded = from_json(body).map_err(PatchError::Malformed)?;
        let mut texts = problems(&decoded.duplicates);
        let operations = match decoded.value {
            Value::Array(operations) => operations,
            Value::Null => Vec::new(),
            other => {
                return Err(PatchError::WrongType {
                    found: go::json_type(&other),
                    place: "value",
                    expected: "[]handlers.jsonPatchOp",
                });
            }
        };
        if operations.len() > MAX_OPERATIONS {
            return Err(PatchError::TooManyOperations { count: operations.len() });
        }
        let mut read = Vec::with_capacity(operations.len());
        for (position, operation) in operations.into_iter().enumerate() {
            read.push(match operation {
                Value::Object(members) => Operation::read(position, members, &mut texts)?,
                Value::Null => Operation::default(),
                other => {
                    return Err(PatchError::WrongType {
                        found: go::json_type(&other),
                        place: "value",
                        expected: "handlers.jsonPatchOp",
                    });
                }
            });
        }
        for text in &mut texts {
            text.insert_str(0, "json patch ");
        }
        Ok(Self { operations: read, problems: texts })
    }

    /// What is questionable about how it was written.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The operations.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The object with the patch applied. It may be a list then: `replace` with an empty path makes one.
    pub fn apply(&self, object: &Map<String, Value>) -> Result<Value, PatchError> {
        let mut document = Document { root: Value::Object(object.clone()), copied: 0, work: 0 };
        for operation in &self.operations {
            document.apply(operation)?;
        }
        if json_len(&document.root) > MAX_RESULT {
            return Err(PatchError::ResultTooLarge);
        }
        Ok(document.root)
    }
}

// === impl Operation ===

impl Operation {
    fn read(position: usize, members: Map<String, Value>, texts: &mut Vec<String>) -> Result<Self, PatchError> {
        let mut operation = Self::default();
        for (name, value) in members {
            match name.as_str() {
                "op" => operation.op = text(value, "struct field jsonPatchOp.op")?,
                "path" => operation.path = text(value, "struct field jsonPatchOp.path")?,
                "from" => operation.from = text(value, "struct field jsonPatchOp.from")?,
                "value" => operation.value = value,
                name if texts.len() < MAX_PROBLEMS => {
                    let path = format!("[{position}].{}", cut(name, MAX_PATH));
                    texts.push(format!("unknown field {}", go::quote(&path)));
                }
                _ => {}
            }
        }
        Ok(operation)
    }
}

/// A document that is being patched. It is never nested deeper than `MAX_DEPTH`.
struct Document {
    root: Value,
    copied: usize,
    work: usize,
}

/// A list or an object, and a place in it that may not exist.
enum Place<'d> {
    Field(&'d mut Map<String, Value>, String),
    Item(&'d mut Vec<Value>, String),
}

// === impl Document ===

impl Document {
    fn apply(&mut self, operation: &Operation) -> Result<(), PatchError> {
        match operation.op.as_deref() {
            Some("add") => {
                let path = path(operation, "add")?;
                self.check_depth(path, &operation.value)?;
                let missing = || missing("add", "doc is missing path", format!("\"{path}\""));
                let place = self.find(path).ok_or_else(missing)?;
                let moved = place.add(operation.value.clone()).map_err(|cause| bad("in add for path", path, cause))?;
                self.work(moved)
            }
            Some("remove") => {
                let path = path(operation, "remove")?;
                let missing = || missing("remove", "doc is missing path", format!("\"{path}\""));
                let place = self.find(path).ok_or_else(missing)?;
                let (_, moved) = place.remove().map_err(|cause| bad("in remove for path", path, cause))?;
                self.work(moved)
            }
            Some("replace") => self.replace(path(operation, "replace")?, &operation.value),
            Some("move") => self.move_value(operation),
            Some("copy") => self.copy(operation),
            Some("test") => self.test(path(operation, "test")?, &operation.value),
            Some(kind) => Err(PatchError::UnexpectedKind { kind: cut(kind, MAX_PATH) }),
            None => Err(PatchError::UnexpectedKind { kind: "unknown".to_owned() }),
        }
    }

    fn replace(&mut self, path: &str, value: &Value) -> Result<(), PatchError> {
        if path.is_empty() {
            if !matches!(value, Value::Object(_) | Value::Array(_)) {
                return Err(PatchError::BadRoot);
            }
            self.root = value.clone();
            return Ok(());
        }
        self.check_depth(path, value)?;
        let place = self.find(path).ok_or_else(|| missing("replace", "doc is missing path", path.to_owned()))?;
        match place {
            Place::Field(fields, key) => drop(fields.insert(key, value.clone())),
            Place::Item(items, key) => {
                let item = item(items, &key).ok().and_then(|index| items.get_mut(index));
                let missing = || missing("replace", "doc is missing key", path.to_owned());
                *item.ok_or_else(missing)? = value.clone();
            }
        }
        Ok(())
    }

    fn move_value(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let from = from(operation, "move")?;
        let missing_from = || missing("move", "doc is missing from path", from.to_owned());
        let place = self.find(from).ok_or_else(missing_from)?;
        let key = place.key().to_owned();
        let (value, moved) = place.remove().map_err(|cause| bad("in move for path", &key, cause))?;
        self.work(moved)?;
        let path = path(operation, "move")?;
        self.check_depth(path, &value)?;
        let missing = || missing("move", "doc is missing destination path", path.to_owned());
        let place = self.find(path).ok_or_else(missing)?;
        let moved = place.add(value).map_err(|cause| bad("in move for path", path, cause))?;
        self.work(moved)
    }

    fn copy(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let from = from(operation, "copy")?;
        let missing_from = || missing("copy", "doc is missing from path", from.to_owned());
        let place = self.find(from).ok_or_else(missing_from)?;
        let value = place.get().map_err(|cause| bad("in copy for from", from, cause))?;
        let size = value.map_or(0, json_len);
        let copied = self.copied.saturating_add(size);
        // The value is not cloned before its size is known to be allowed.
        let path = path(operation, "copy")?;
        let missing = || missing("copy", "doc is missing destination path", path.to_owned());
        if copied > MAX_COPIED {
            self.find(path).ok_or_else(missing)?;
            return Err(PatchError::TooMuchCopied { copied });
        }
        let value = self.find(from).and_then(|place| place.get().ok().flatten().cloned()).unwrap_or_default();
        self.copied = copied;
        self.check_depth(path, &value)?;
        let place = self.find(path).ok_or_else(missing)?;
        let moved = place.add(value).map_err(|cause| {
            let context = "while adding value during copy".to_owned();
            PatchError::BadPlace { context, cause }
        })?;
        self.work(moved)
    }

    fn test(&mut self, path: &str, value: &Value) -> Result<(), PatchError> {
        let failed = || PatchError::TestFailed { path: cut(path, MAX_PATH) };
        if path.is_empty() {
            return if self.root == *value { Ok(()) } else { Err(failed()) };
        }
        let place = self.find(path).ok_or_else(|| missing("test", "is missing path", path.to_owned()))?;
        let found = place.get().map_err(|cause| bad("in test for path", path, cause))?;
        if found.unwrap_or(&Value::Null) == value { Ok(()) } else { Err(failed()) }
    }

    /// The list or object that the path leads into, and the rest of the path. What stands before the first slash is
    /// overlooked.
    fn find(&mut self, path: &str) -> Option<Place<'_>> {
        let (_, path) = path.split_once('/')?;
        let (parents, key) = path.rsplit_once('/').map_or((None, path), |(parents, key)| (Some(parents), key));
        let mut at = &mut self.root;
        for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
            let part = unescape(part);
            at = match at {
                Value::Object(fields) => fields.get_mut(&part)?,
                Value::Array(items) => {
                    let index = item(items, &part).ok()?;
                    items.get_mut(index)?
                }
                _ => return None,
            };
        }
        let key = unescape(key);
        match at {
            Value::Object(fields) => Some(Place::Field(fields, key)),
            Value::Array(items) => Some(Place::Item(items, key)),
            _ => None,
        }
    }

    /// Refuses a value that would be too deep at its place.
    fn check_depth(&mut self, path: &str, value: &Value) -> Result<(), PatchError> {
        let parents = path.bytes().filter(|byte| *byte == b'/').count();
        let deepest = depth_within(value, &mut self.work);
        self.work(0)?;
        // A path longer than the document is deep leads nowhere, and is answered as such.
        if parents <= MAX_DEPTH && parents + deepest > MAX_DEPTH { Err(PatchError::ResultTooDeep) } else { Ok(()) }
    }

    fn work(&mut self, moved: usize) -> Result<(), PatchError> {
        // Moving the items of a list up or down is quicker than looking at them.
        self.work += moved / 2 + 1;
        if self.work > MAX_WORK { Err(PatchError::TooMuchWork) } else { Ok(()) }
    }
}

// === impl Place ===

impl<'d> Place<'d> {
    fn key(&self) -> &str {
        match self {
            Self::Field(_, key) | Self::Item(_, key) => key,
        }
    }

    /// A field that is missing is `None`; an item that is missing is an error.
    fn get(self) -> Result<Option<&'d Value>, PlaceError> {
        match self {
            Self::Field(fields, key) => Ok(fields.get(&key)),
            Self::Item(items, key) => {
                let index = item(items, &key)?;
                Ok(items.get(index))
            }
        }
    }

    /// Adds a value, and tells how many items had to move.
    fn add(self, value: Value) -> Result<usize, PlaceError> {
        match self {
            Self::Field(fields, key) => {
                fields.insert(key, value);
                Ok(0)
            }
            Self::Item(items, key) if key == "-" => {
                items.push(value);
                Ok(0)
            }
            Self::Item(items, key) => {
                let index = index(&key, true)?;
                // Counted from the end of the list as it will be.
                let end = items.len() + 1;
                let position = position(index, end).filter(|position| *position < end);
                let position = position.ok_or(PlaceError::NoIndex { index })?;
                let moved = items.len() - position;
                items.insert(position, value);
                Ok(moved)
            }
        }
    }

    /// Removes the value, and tells how many items had to move.
    fn remove(self) -> Result<(Value, usize), PlaceError> {
        match self {
            Self::Field(fields, key) => match fields.remove(&key) {
                Some(value) => Ok((value, 0)),
                None => Err(PlaceError::NoKey { key: cut(&key, MAX_PATH) }),
            },
            Self::Item(items, key) => {
                let index = item(items, &key)?;
                let moved = items.len() - index;
                Ok((items.remove(index), moved))
            }
        }
    }
}

/// How deep lists and objects are nested in a value.
pub(super) fn depth(value: &Value) -> usize {
    depth_within(value, &mut 0)
}

/// The same, counting the values it looks at.
fn depth_within(value: &Value, work: &mut usize) -> usize {
    *work += 1;
    let deepest = match value {
        Value::Array(items) => items.iter().map(|item| depth_within(item, work)).max(),
        Value::Object(fields) => fields.values().map(|field| depth_within(field, work)).max(),
        _ => return 0,
    };
    deepest.unwrap_or(0) + 1
}

/// The position of an item that exists.
fn item(items: &[Value], key: &str) -> Result<usize, PlaceError> {
    let index = index(key, false)?;
    position(index, items.len()).filter(|position| *position < items.len()).ok_or(PlaceError::NoIndex { index })
}

/// A negative index counts from the end.
fn position(index: i64, end: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(position) => Some(position),
        Err(_) => end.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

fn index(key: &str, adding: bool) -> Result<i64, PlaceError> {
    let digits = key.strip_prefix(['+', '-']).unwrap_or(key);
    let sound = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let problem = if sound { "value out of range" } else { "invalid syntax" };
    let parsed = if sound { key.parse().ok() } else { None };
    parsed.ok_or_else(|| PlaceError::NotAnIndex { key: cut(key, MAX_PATH), problem, adding })
}

/// `~1` is a slash and `~0` a tilde, in one pass.
fn unescape(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('~') {
        text.push_str(before);
        rest = match after.as_bytes() {
            [b'1', ..] => {
                text.push('/');
                after.get(1..).unwrap_or_default()
            }
            [b'0', ..] => {
                text.push('~');
                after.get(1..).unwrap_or_default()
            }
            _ => {
                text.push('~');
                after
            }
        };
    }
    text.push_str(rest);
    text
}

fn path<'o>(operation: &'o Operation, name: &'static str) -> Result<&'o str, PatchError> {
    operation.path.as_deref().ok_or(PatchError::MissingMember { operation: name, member: "path" })
}

fn from<'o>(operation: &'o Operation, name: &'static str) -> Result<&'o str, PatchError> {
    operation.from.as_deref().ok_or(PatchError::MissingMember { operation: name, member: "from" })
}

fn missing(operation: &'static str, place: &'static str, path: String) -> PatchError {
    PatchError::MissingPath { operation, place, path: cut(&path, MAX_PATH) }
}

fn bad(context: &str, path: &str, cause: PlaceError) -> PatchError {
    PatchError::BadPlace { context: format!("{context}: '{}'", cut(path, MAX_PATH)), cause }
}

fn text(value: Value, place: &'static str) -> Result<Option<String>, PatchError> {
    match value {
        Value::String(text) => Ok(Some(text)),
        Value::Null => Ok(None),
        other => Err(PatchError::WrongType { found: go::json_type(&other), place, expected: "string" }),
    }
}
