//! Paths into an object, as the columns of a definition have them: `.spec.parts[0].name`, `.metadata.annotations['a/b']`,
//! `.status.conditions[?(@.type=="Ready")].status`.

use serde_json::Value;

/// A path, ready to be followed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// The field of this name.
    Field(String),
    /// All fields, or all items.
    All,
    /// The items from one on, before another, each so far apart.
    Items { from: Option<i64>, to: Option<i64>, every: usize },
    /// The items for which something is so.
    Where(Filter),
    /// Everything below, in any depth.
    Below,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Operand,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Compares(Comparison, Operand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(JsonPath),
    Literal(Value),
}

/// How many values a path is followed to. Only the first one is shown, but a filter has to look at all.
const MAX_VALUES: usize = 10_000;

// === impl JsonPath ===

impl JsonPath {
    /// Reads a path; none if it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.trim().trim_start_matches(['$', '@']);
        while !rest.is_empty() {
            rest = if let Some(below) = rest.strip_prefix("..") {
                steps.push(Step::Below);
                if below.starts_with('[') { below } else { field(below, &mut steps) }
            } else if let Some(named) = rest.strip_prefix('.') {
                if named.starts_with('[') { named } else { field(named, &mut steps) }
            } else if let Some(inner) = rest.strip_prefix('[') {
                let (inner, after) = bracket(inner)?;
                steps.push(subscript(inner.trim())?);
                after
            } else {
                field(rest, &mut steps)
            };
        }
        Some(Self(steps))
    }

    /// The first value that it leads to.
    pub(super) fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.all(value).into_iter().next()
    }

    fn all<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.0.iter().fold(vec![value], |values, step| {
            let mut found = Vec::new();
            values.into_iter().for_each(|value| step.follow(value, &mut found));
            found.truncate(MAX_VALUES);
            found
        })
    }
}

/// A field by its plain name, with points in it behind backslashes. Gives what follows.
fn field<'t>(text: &'t str, steps: &mut Vec<Step>) -> &'t str {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => {
                push_field(name, steps);
                return text.get(at..).unwrap_or_default();
            }
            letter => name.push(letter),
        }
    }
    push_field(name, steps);
    ""
}

fn push_field(name: String, steps: &mut Vec<Step>) {
    match name.as_str() {
        "" => {}
        "*" => steps.push(Step::All),
        _ => steps.push(Step::Field(name)),
    }
}

/// What stands in a bracket, and what follows it.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut quote) = (1, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some((text.get(..at)?, text.get(at + 1..)?));
                }
            }
            (None, _) => {}
        }
    }
    None
}

fn subscript(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::All);
    }
    if let Some(name) = quoted(text) {
        return Some(Step::Field(name));
    }
    if let Some(condition) = text.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return Filter::parse(condition).map(Step::Where);
    }
    let number = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    match parts.as_slice() {
        [index] => {
            let from: i64 = index.parse().ok()?;
            Some(Step::Items { from: Some(from), to: from.checked_add(1).filter(|to| *to != 0), every: 1 })
        }
        [from, to] => Some(Step::Items { from: number(from)?, to: number(to)?, every: 1 }),
        [from, to, every] => {
            let every = every.parse().ok().filter(|every| *every > 0)?;
            Some(Step::Items { from: number(from)?, to: number(to)?, every })
        }
        _ => None,
    }
}

fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then(|| inner.replace('\\', ""))
}

// === impl Step ===

impl Step {
    fn follow<'v>(&self, value: &'v Value, found: &mut Vec<&'v Value>) {
        match (self, value) {
            (Self::Field(name), Value::Object(fields)) => found.extend(fields.get(name)),
            (Self::All, Value::Object(fields)) => found.extend(fields.values()),
            (Self::All, Value::Array(items)) => found.extend(items),
            (Self::Items { from, to, every }, Value::Array(items)) => {
                let bound = |bound: i64| {
                    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                    let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
                    usize::try_from(bound.clamp(0, length)).unwrap_or(0)
                };
                let (from, to) = (from.map_or(0, bound), to.map_or(items.len(), bound));
                found.extend(items.get(from..to.max(from)).unwrap_or_default().iter().step_by(*every));
            }
            (Self::Where(filter), Value::Array(items)) => found.extend(items.iter().filter(|item| filter.takes(item))),
            (Self::Below, value) => below(value, found),
            _ => {}
        }
    }
}

/// A value and all that is in it. Objects are not deeper than what can be read.
fn below<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    if found.len() >= MAX_VALUES {
        return;
    }
    found.push(value);
    match value {
        Value::Object(fields) => fields.values().for_each(|value| below(value, found)),
        Value::Array(items) => items.iter().for_each(|value| below(value, found)),
        _ => {}
    }
}

// === impl Filter ===

impl Filter {
    fn parse(text: &str) -> Option<Self> {
        const COMPARISONS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let found =
            COMPARISONS.iter().filter_map(|(sign, comparison)| Some((text.find(sign)?, sign.len(), comparison)));
        match found.min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length))) {
            None => Some(Self { left: Operand::parse(text)?, test: Test::Exists }),
            Some((at, length, comparison)) => {
                let (left, right) = (text.get(..at)?, text.get(at + length..)?);
                let test = Test::Compares(*comparison, Operand::parse(right)?);
                Some(Self { left: Operand::parse(left)?, test })
            }
        }
    }

    fn takes(&self, item: &Value) -> bool {
        let left = self.left.value(item);
        match &self.test {
            Test::Exists => left.is_some(),
            Test::Compares(comparison, right) => match (left, right.value(item)) {
                (Some(left), Some(right)) => comparison.holds(left, right),
                _ => false,
            },
        }
    }
}

// === impl Comparison ===

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right))
            }
            (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            _ => None,
        };
        order.is_some_and(|order| match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        })
    }
}

// === impl Operand ===

impl Operand {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.starts_with(['@', '$']) {
            return JsonPath::parse(text).map(Self::Path);
        }
        if let Some(text) = quoted(text) {
            return Some(Self::Literal(text.into()));
        }
        serde_json::from_str(text).ok().map(Self::Literal)
    }

    fn value<'v>(&'v self, item: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Path(path) => path.first(item),
            Self::Literal(value) => Some(value),
        }
    }
}

#[cfg(test)]
mod tests;
