//! YAML, written as sigs.k8s.io/yaml writes it: block style, lists at the level of their key, keys in an order in which
//! `a2` comes before `a10`, and quotes only where the text would be read as something else.
//!
//! The rules about styles, line lengths and indentation are those of go-yaml v2's emitter.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::decode::looks_like_text;

use super::number::{general_float, json_float};

/// Lines longer than this are folded at the next space.
const WIDTH: usize = 80;
/// Keys longer than this are written after a question mark.
const LONGEST_KEY: usize = 128;
const INDENT: usize = 2;

/// YAML, ending with a line end.
pub fn to_yaml(value: &Value) -> String {
    let mut emitter = Emitter { text: String::new(), column: 0, space_before: true, at_indent: true, indent: None };
    emitter.node(value, Place::Item);
    emitter.start_line();
    emitter.text
}

struct Emitter {
    text: String,
    column: usize,
    /// Whether what was written last counts as a space.
    space_before: bool,
    /// Whether only indentation and indicators stand on this line.
    at_indent: bool,
    /// The indentation; `None` outside of everything.
    indent: Option<usize>,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a list, or by itself.
    Item,
    /// The value of a key, or a key after a question mark.
    Field,
    /// A key.
    Key,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// In which styles a text can be written.
#[derive(Default)]
struct Analysis {
    no_plain: bool,
    no_single: bool,
    no_literal: bool,
    several_lines: bool,
}

// === impl Emitter ===

impl Emitter {
    fn node(&mut self, value: &Value, place: Place) {
        match value {
            Value::Null => self.plain("null", place),
            Value::Bool(truth) => self.plain(if *truth { "true" } else { "false" }, place),
            Value::Number(number) => {
                let text = match number.as_f64() {
                    Some(float) if number.is_f64() => yaml_float(float),
                    _ => number.to_string(),
                };
                self.plain(&text, place);
            }
            Value::String(text) => self.string(text, place),
            Value::Array(items) => self.list(items, place),
            Value::Object(fields) => self.mapping(fields),
        }
    }

    fn list(&mut self, items: &[Value], place: Place) {
        if items.is_empty() {
            self.indicator("[", true, true, false);
            return self.indicator("]", false, false, false);
        }
        let outer = self.indent;
        let level_with_key = place == Place::Field && !self.at_indent;
        self.indent = match outer {
            None => Some(0),
            Some(indent) if level_with_key => Some(indent),
            Some(indent) => Some(indent + INDENT),
        };
        for item in items {
            self.start_line();
            self.indicator("-", true, false, true);
            self.node(item, Place::Item);
        }
        self.indent = outer;
    }

    fn mapping(&mut self, fields: &Map<String, Value>) {
        if fields.is_empty() {
            self.indicator("{", true, true, false);
            return self.indicator("}", false, false, false);
        }
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |indent| indent + INDENT));
        let mut keys: Vec<(&String, &Value)> = fields.iter().collect();
        sort(&mut keys);
        for (key, value) in keys {
            self.start_line();
            if key.len() <= LONGEST_KEY && !key.contains(is_break) {
                self.string(key, Place::Key);
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.string(key, Place::Field);
                self.start_line();
                self.indicator(":", true, false, true);
            }
            self.node(value, Place::Field);
        }
        self.indent = outer;
    }

    fn string(&mut self, text: &str, place: Place) {
        let analysis = analyse(text);
        let mut style = if text.contains('\n') {
            Style::Literal
        } else if looks_like_text(text) {
            Style::Plain
        } else {
            Style::Double
        };
        // Upstream writes the key `<<` plainly, and reads a merge.
        if place == Place::Key && (analysis.several_lines || text == "<<") {
            style = Style::Double;
        }
        if style == Style::Plain && analysis.no_plain {
            style = Style::Single;
        }
        if style == Style::Single && analysis.no_single {
            style = Style::Double;
        }
        if style == Style::Literal && (analysis.no_literal || place == Place::Key) {
            style = Style::Double;
        }
        let outer = self.indent;
        self.indent = Some(outer.map_or(INDENT, |indent| indent + INDENT));
        let fold = place != Place::Key;
        match style {
            Style::Plain => self.flow_text(text, fold),
            Style::Single => {
                self.indicator("'", true, false, false);
                self.single(text, fold);
                self.indicator("'", false, false, false);
            }
            Style::Double => {
                self.indicator("\"", true, false, false);
                self.double(text, fold);
                self.indicator("\"", false, false, false);
            }
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    /// A word that is no string.
    fn plain(&mut self, text: &str, place: Place) {
        self.flow_text(text, place != Place::Key);
    }

    fn flow_text(&mut self, text: &str, fold: bool) {
        if !self.space_before {
            self.put(' ');
        }
        let mut spaces = false;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            if c == ' ' {
                if fold && !spaces && self.column > WIDTH && rest.peek() != Some(&' ') {
                    self.start_line();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                self.at_indent = false;
                spaces = false;
            }
        }
        self.space_before = false;
        self.at_indent = false;
    }

    fn single(&mut self, text: &str, fold: bool) {
        let mut spaces = false;
        let mut rest = text.chars().peekable();
        let mut first = true;
        while let Some(c) = rest.next() {
            if c == ' ' {
                let inside = !first && rest.peek().is_some_and(|next| *next != ' ');
                if fold && !spaces && self.column > WIDTH && inside {
                    self.start_line();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                if c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.at_indent = false;
                spaces = false;
            }
            first = false;
        }
    }

    fn double(&mut self, text: &str, fold: bool) {
        // Upstream looks for the mark at the start of the text whichever character it looks at.
        let marked = text.starts_with('\u{feff}');
        let mut spaces = false;
        let mut rest = text.chars().peekable();
        let mut first = true;
        while let Some(c) = rest.next() {
            if marked || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                self.escape(c);
                spaces = false;
            } else if c == ' ' {
                let inside = !first && rest.peek().is_some();
                if fold && !spaces && self.column > WIDTH && inside {
                    self.start_line();
                    if rest.peek() == Some(&' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
            first = false;
        }
    }

    fn escape(&mut self, c: char) {
        let short = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            c => {
                let code = u32::from(c);
                let long = match code {
                    ..=0xff => format!("\\x{code:02X}"),
                    0x100..=0xffff => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                };
                return long.chars().for_each(|c| self.put(c));
            }
        };
        self.put('\\');
        self.put(short);
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if text.starts_with([' ', '\n']) {
            self.indicator("2", false, false, false);
        }
        if !text.ends_with('\n') {
            self.indicator("-", false, false, false);
        } else if text == "\n" || text.ends_with("\n\n") {
            self.indicator("+", false, false, false);
        }
        self.end_line();
        self.at_indent = true;
        self.space_before = true;
        let mut line_start = true;
        for c in text.chars() {
            if c == '\n' {
                self.end_line();
                self.at_indent = true;
                line_start = true;
            } else {
                if line_start {
                    self.start_line();
                }
                self.put(c);
                self.at_indent = false;
                line_start = false;
            }
        }
    }

    fn start_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.at_indent || self.column > indent || (self.column == indent && !self.space_before) {
            self.end_line();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.space_before = true;
        self.at_indent = true;
    }

    fn end_line(&mut self) {
        self.text.push('\n');
        self.column = 0;
    }

    fn indicator(&mut self, indicator: &str, needs_space: bool, is_space: bool, keeps_indent: bool) {
        if needs_space && !self.space_before {
            self.put(' ');
        }
        indicator.chars().for_each(|c| self.put(c));
        self.space_before = is_space;
        self.at_indent = self.at_indent && keeps_indent;
    }

    fn put(&mut self, c: char) {
        self.text.push(c);
        self.column += 1;
    }
}

/// Upstream writes JSON, reads it as YAML and writes that.
fn yaml_float(float: f64) -> String {
    let text = json_float(float);
    match text.parse::<i64>() {
        Ok(whole) => whole.to_string(),
        Err(_) if text.parse::<u64>().is_ok() => text,
        Err(_) => general_float(&format!("{float:e}")),
    }
}

fn analyse(text: &str) -> Analysis {
    let mut analysis = Analysis::default();
    if text.is_empty() {
        analysis.no_literal = true;
        return analysis;
    }
    if text.starts_with("---") || text.starts_with("...") {
        analysis.no_plain = true;
    }
    let (mut before_blank, mut before_space, mut before_break) = (true, false, false);
    let mut rest = text.chars().peekable();
    let mut first = true;
    while let Some(c) = rest.next() {
        let last = rest.peek().is_none();
        let blank_follows = rest.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        let indicates = match c {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' if first => {
                true
            }
            '?' | '-' if first => blank_follows,
            ':' => blank_follows,
            '#' => before_blank,
            _ => false,
        };
        analysis.no_plain |= indicates;
        // Unlike upstream, which writes the two separators as line ends that readers of YAML 1.2 do not take for such.
        if !is_printable(c) || matches!(c, '\u{2028}' | '\u{2029}') {
            (analysis.no_plain, analysis.no_single, analysis.no_literal) = (true, true, true);
        }
        if c == ' ' {
            analysis.no_plain |= first || last;
            analysis.no_literal |= last;
            if before_break {
                (analysis.no_plain, analysis.no_single) = (true, true);
            }
            (before_space, before_break) = (true, false);
        } else if is_break(c) {
            analysis.several_lines = true;
            analysis.no_plain = true;
            if before_space {
                (analysis.no_single, analysis.no_literal) = (true, true);
            }
            (before_space, before_break) = (false, true);
        } else {
            (before_space, before_break) = (false, false);
        }
        before_blank = matches!(c, ' ' | '\t') || is_break(c) || c == '\0';
        first = false;
    }
    analysis
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    match c {
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' => true,
        '\u{e000}'..='\u{fffd}' => c != '\u{feff}',
        _ => false,
    }
}

/// Sorts by `compare`. It is a merge sort by hand because the order is upstream's, and no proof that it is one: the
/// library's sort may panic where `a < b < c < a`.
fn sort(keys: &mut Vec<(&String, &Value)>) {
    let mut width = 1;
    while width < keys.len() {
        let mut sorted = Vec::with_capacity(keys.len());
        for pair in keys.chunks(width * 2) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let ([l, left_rest @ ..], [r, right_rest @ ..]) = (left, right) {
                if compare(r.0, l.0) == Ordering::Less {
                    sorted.push(*r);
                    right = right_rest;
                } else {
                    sorted.push(*l);
                    left = left_rest;
                }
            }
            sorted.extend(left.iter().chain(right));
        }
        *keys = sorted;
        width *= 2;
    }
}

/// Letters after other characters, and digits by the number they make.
fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.chars(), b.chars());
    // Whether the digits just before have another digit than zero among them.
    let mut in_number = false;
    loop {
        let (left_rest, right_rest) = (left.clone(), right.clone());
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(l), Some(r)) if l == r => {
                in_number = l.is_ascii_digit() && (in_number || l != '0');
            }
            (Some(l), Some(r)) => {
                match (l.is_alphabetic(), r.is_alphabetic()) {
                    (true, true) => return l.cmp(&r),
                    (true, false) => return Ordering::Greater,
                    (false, true) => return Ordering::Less,
                    (false, false) => {}
                }
                let start = i64::from((l == '0' || r == '0') && in_number);
                let (left_number, left_digits) = digits(left_rest, start);
                let (right_number, right_digits) = digits(right_rest, start);
                return (left_number, left_digits, l).cmp(&(right_number, right_digits, r));
            }
        }
    }
}

fn digits(text: std::str::Chars<'_>, start: i64) -> (i64, usize) {
    text.take_while(char::is_ascii_digit).fold((start, 0), |(number, count), digit| {
        let digit = i64::from(digit.to_digit(10).unwrap_or(0));
        (number.wrapping_mul(10).wrapping_add(digit), count + 1)
    })
}
