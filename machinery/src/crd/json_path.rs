//! Paths into an object, as columns have them: `.spec.parts[0].name`, `.status.conditions[?(@.type=="Ready")].status`.
//!
//! This is the language of client-go's `jsonpath`, oddities included, because people write columns until kubectl shows
//! what they want: `['a.b']` names `b` inside of `a`, and a point in a name stands behind a backslash.

use serde_json::Value;

mod follow;
mod parse;

pub use parse::JsonPathError;

/// How many values a path is followed to. Only the first one is shown, but a filter has to look at all.
pub const MAX_VALUES: usize = 10_000;

/// A path, ready to be followed.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// The field of this name.
    Field(String),
    /// All fields, or all items.
    All,
    /// This value and all inside it that have parts.
    Below,
    Items(Slice),
    /// What each of several paths leads to.
    Union(Vec<JsonPath>),
    /// The items for which something is so.
    Where(Filter),
    /// A value of its own.
    Literal(Value),
    /// A word that means nothing here, or cannot be used in a column.
    Word,
}

/// Some items of a list. What is below zero is counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    from: Option<i64>,
    to: SliceEnd,
    every: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SliceEnd {
    /// Where the list ends.
    Open,
    /// Before this item.
    At(i64),
    /// After the first: it was an index.
    AfterFirst,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: JsonPath,
    test: Option<(Operator, JsonPath)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Unknown,
}
