//! Patterns in Go's dialect of regular expressions, run by the `regex` crate.
//!
//! The two dialects are close but not equal: `\d` means ten digits in Go and every Unicode digit in Rust, `[[]` is a
//! class of one bracket in Go and an open set in Rust, `x{,2}` is text in Go. A pattern is therefore read by Go's rules
//! and written anew, every literal escaped. Groups capture nothing, because only the fact of a match is asked for.

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};

/// Bytes that one compiled pattern may take: the least of these that suffices is what it counts for.
const SIZE_LIMITS: [usize; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Bytes that all compiled patterns of a schema may take. A schema of three megabytes could hold a hundred thousand of them.
const SCHEMA_LIMIT: usize = 64 << 20;
/// Bytes that the cache of one pattern may take while it runs.
const CACHE_LIMIT: usize = 1 << 20;
/// Bytes of a pattern as it is written. Reading one takes some two hundred bytes for each of them, before the limit on what
/// is compiled can hold.
const MAX_SOURCE: usize = 64 << 10;
/// How often something may be repeated by a count, as in Go.
const MAX_REPEAT: u32 = 1000;

/// What the patterns of a schema may still take.
#[derive(Debug)]
pub(crate) struct PatternBudget {
    left: usize,
}

/// A compiled pattern.
#[derive(Clone)]
pub(crate) struct Pattern {
    source: Box<str>,
    regex: Regex,
}

/// Why a pattern is none, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("error parsing regexp: {reason}: `{text}`")]
    At { reason: &'static str, text: String },
    #[error("error parsing regexp: {0}")]
    Whole(&'static str),
}

// === impl PatternBudget ===

impl Default for PatternBudget {
    fn default() -> Self {
        Self { left: SCHEMA_LIMIT }
    }
}

// === impl Pattern ===

impl Pattern {
    /// Compiles a pattern, as part of a schema that has this budget.
    pub(crate) fn new(source: &str, budget: &mut PatternBudget) -> Result<Self, PatternError> {
        if source.len() > MAX_SOURCE {
            return Err(PatternError::Whole("expression too large"));
        }
        let mut translation = Translation { rest: source, output: String::with_capacity(source.len() * 2) };
        translation.run(source)?;
        for limit in SIZE_LIMITS {
            if limit > budget.left {
                return Err(PatternError::Whole("expression too large beside the others of its schema"));
            }
            let built = RegexBuilder::new(&translation.output).size_limit(limit).dfa_size_limit(CACHE_LIMIT).build();
            match built {
                Ok(regex) => {
                    budget.left -= limit;
                    return Ok(Self { source: source.into(), regex });
                }
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(_) => return Err(at("invalid or unsupported syntax", source)),
            }
        }
        Err(PatternError::Whole("expression too large"))
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.source, f)
    }
}

// === impl Translation ===

/// Go's syntax in `rest`, Rust's in `output`.
struct Translation<'p> {
    rest: &'p str,
    output: String,
}

/// What stands before the next operator.
#[derive(Clone, Copy, PartialEq)]
enum Before<'p> {
    /// Nothing that could be repeated.
    Nothing,
    /// Something that can be repeated.
    Operand,
    /// Something that is repeated already, with the text from its operator on.
    Repeated(&'p str),
}

impl<'p> Translation<'p> {
    fn run(&mut self, whole: &'p str) -> Result<(), PatternError> {
        let mut before = Before::Nothing;
        let mut groups = Vec::new();
        // How often counted repetitions, taken together, repeat the last operand, and the most of it in this group.
        let (mut repeats, mut most_repeats) = (1, 1);
        while let Some(c) = self.rest.chars().next() {
            let here = self.rest;
            before = match c {
                '(' => {
                    if here.starts_with("(?") {
                        if self.flags()? {
                            groups.push(std::mem::replace(&mut most_repeats, 1));
                        }
                    } else {
                        self.take(1, "(?:");
                        groups.push(std::mem::replace(&mut most_repeats, 1));
                    }
                    Before::Nothing
                }
                ')' => {
                    let outer: u32 = groups.pop().ok_or_else(|| at("unexpected )", whole))?;
                    repeats = most_repeats;
                    most_repeats = outer.max(repeats);
                    self.take(1, ")");
                    before = Before::Operand;
                    continue;
                }
                '|' => {
                    self.take(1, "|");
                    Before::Nothing
                }
                '^' | '$' | '.' => {
                    self.take(1, &here[..1]);
                    Before::Operand
                }
                '[' => {
                    self.class()?;
                    Before::Operand
                }
                '*' | '+' | '?' => self.repeat(before, &here[..1], &here[1..])?,
                '{' => match counts(here) {
                    Some((least, most, after)) => {
                        let text = &here[..here.len() - after.len()];
                        let bounded = |count: u32| count <= MAX_REPEAT;
                        let ordered = bounded(least) && most.is_none_or(|most| bounded(most) && most >= least);
                        let times = most.unwrap_or(least);
                        if !ordered || before == Before::Operand && !bounded(times.saturating_mul(repeats)) {
                            return Err(at("invalid repeat count", text));
                        }
                        let repeated = self.repeat(before, text, after)?;
                        most_repeats = most_repeats.max(times.saturating_mul(repeats));
                        repeated
                    }
                    None => {
                        self.literal('{');
                        self.rest = &here[1..];
                        Before::Operand
                    }
                },
                '\\' => {
                    self.escape()?;
                    Before::Operand
                }
                c => {
                    self.literal(c);
                    self.rest = &here[c.len_utf8()..];
                    Before::Operand
                }
            };
            repeats = 1;
        }
        if !groups.is_empty() { Err(at("missing closing )", whole)) } else { Ok(()) }
    }

    fn take(&mut self, length: usize, output: &str) {
        self.rest = &self.rest[length..];
        self.output.push_str(output);
    }

    fn literal(&mut self, c: char) {
        match c {
            c if c.is_ascii_alphanumeric() => self.output.push(c),
            c => self.output.push_str(&format!("\\x{{{:x}}}", u32::from(c))),
        }
    }

    fn repeat(&mut self, before: Before<'p>, operator: &str, after: &'p str) -> Result<Before<'p>, PatternError> {
        let here = self.rest;
        let lazy = after.starts_with('?');
        let after = if lazy { &after[1..] } else { after };
        let text = |from: &'p str| from[..from.len() - after.len()].to_owned();
        match before {
            Before::Nothing => {
                Err(PatternError::At { reason: "missing argument to repetition operator", text: text(here) })
            }
            Before::Repeated(from) => {
                Err(PatternError::At { reason: "invalid nested repetition operator", text: text(from) })
            }
            Before::Operand => {
                self.output.push_str(operator);
                if lazy {
                    self.output.push('?');
                }
                self.rest = after;
                Ok(Before::Repeated(here))
            }
        }
    }

    /// `(?...`; whether it opens a group.
    fn flags(&mut self) -> Result<bool, PatternError> {
        let here = self.rest;
        let name = here.strip_prefix("(?P<").or_else(|| here.strip_prefix("(?<"));
        if let Some(name) = name {
            let Some(end) = name.find('>') else {
                return Err(at("invalid named capture", here));
            };
            let valid = |c: char| c == '_' || c.is_ascii_alphanumeric();
            let after = &name[end + 1..];
            if end == 0 || !name[..end].chars().all(valid) {
                return Err(at("invalid named capture", &here[..here.len() - after.len()]));
            }
            self.rest = after;
            self.output.push_str("(?:");
            return Ok(true);
        }
        let mut negated = false;
        let mut any = false;
        for (i, c) in here.char_indices().skip(2) {
            match c {
                'i' | 'm' | 's' | 'U' => any = true,
                '-' if !negated => {
                    negated = true;
                    any = false;
                }
                ':' | ')' if !negated || any => {
                    let text = &here[..=i];
                    if text != "(?)" {
                        self.output.push_str(text);
                    }
                    self.rest = &here[i + 1..];
                    return Ok(c == ':');
                }
                c => return Err(at("invalid or unsupported Perl syntax", &here[..i + c.len_utf8()])),
            }
        }
        Err(at("invalid or unsupported Perl syntax", here))
    }

    /// `\...` outside of a class.
    fn escape(&mut self) -> Result<(), PatternError> {
        let here = self.rest;
        match here[1..].chars().next() {
            Some('A') => self.take(2, "\\A"),
            Some('z') => self.take(2, "\\z"),
            Some('b') => self.take(2, "(?-u:\\b)"),
            Some('B') => self.take(2, "(?-u:\\B)"),
            Some('Q') => {
                let quoted = &here[2..];
                let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                // An empty quotation is still something: without a group, what follows would repeat what was before.
                self.output.push_str("(?:)");
                text.chars().for_each(|c| self.literal(c));
                self.rest = after;
            }
            Some('p' | 'P') => self.unicode_class()?,
            Some(c) => match perl_class(c) {
                Some(class) => {
                    let negation = if c.is_ascii_uppercase() { "^" } else { "" };
                    self.take(2, &format!("[{negation}{class}]"));
                }
                None => {
                    let c = self.escaped()?;
                    self.literal(c);
                }
            },
            None => return Err(PatternError::Whole("trailing backslash at end of expression: ``")),
        }
        Ok(())
    }

    /// `\pL`, `\p{Greek}`, `\p{^Greek}`.
    fn unicode_class(&mut self) -> Result<(), PatternError> {
        let here = self.rest;
        let mut negated = here.starts_with("\\P");
        let after = &here[2..];
        let (name, rest) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or_else(|| at("invalid character class range", here))?,
            None => {
                let width = after.chars().next().map_or(0, char::len_utf8);
                after.split_at(width)
            }
        };
        let text = &here[..here.len() - rest.len()];
        let name = match name.strip_prefix('^') {
            Some(name) => {
                negated = !negated;
                name
            }
            None => name,
        };
        let class = format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' });
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain || Regex::new(&class).is_err() {
            return Err(at("invalid character class range", text));
        }
        self.output.push_str(&class);
        self.rest = rest;
        Ok(())
    }

    /// The one character that an escape stands for.
    fn escaped(&mut self) -> Result<char, PatternError> {
        let here = self.rest;
        let mut chars = here[1..].chars();
        let Some(c) = chars.next() else {
            return Err(PatternError::Whole("trailing backslash at end of expression: ``"));
        };
        let invalid = |rest: &str| at("invalid escape sequence", &here[..here.len() - rest.len()]);
        let value = match c {
            'a' => '\u{07}',
            'f' => '\u{0c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{0b}',
            '0'..='7' => {
                let digits: String = here[1..].chars().take(3).take_while(|c| ('0'..='7').contains(c)).collect();
                if c != '0' && digits.len() == 1 {
                    return Err(invalid(chars.as_str()));
                }
                self.rest = &here[1 + digits.len()..];
                let code = u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32);
                return code.ok_or_else(|| invalid(self.rest));
            }
            'x' => {
                let braced = chars.as_str().starts_with('{');
                let most = if braced { usize::MAX } else { 2 };
                if braced {
                    chars.next();
                }
                let (mut code, mut digits) = (0, 0);
                while digits < most {
                    match chars.next() {
                        Some('}') if braced && digits > 0 => break,
                        c => match c.and_then(|c| c.to_digit(16)) {
                            Some(digit) if code * 16 + digit <= u32::from(char::MAX) => code = code * 16 + digit,
                            _ => {
                                // Without braces, both digits are read before they are judged.
                                if !braced && digits == 0 {
                                    chars.next();
                                }
                                return Err(invalid(chars.as_str()));
                            }
                        },
                    }
                    digits += 1;
                }
                self.rest = chars.as_str();
                return char::from_u32(code).ok_or_else(|| invalid(self.rest));
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            _ => return Err(invalid(chars.as_str())),
        };
        self.rest = chars.as_str();
        Ok(value)
    }

    /// `[...]`.
    fn class(&mut self) -> Result<(), PatternError> {
        let whole = self.rest;
        self.take(1, "[");
        if self.rest.starts_with('^') {
            self.take(1, "^");
        }
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            let here = self.rest;
            if let Some(named) = here.strip_prefix("[:")
                && let Some((name, after)) = named.split_once(":]")
            {
                if !POSIX_CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
                    return Err(at("invalid character class range", &here[..here.len() - after.len()]));
                }
                self.output.push_str(&here[..here.len() - after.len()]);
                self.rest = after;
                continue;
            }
            if here.starts_with("\\p") || here.starts_with("\\P") {
                self.unicode_class()?;
                continue;
            }
            if let Some(c) = here.strip_prefix('\\').and_then(|after| after.chars().next())
                && let Some(class) = perl_class(c)
            {
                let negation = if c.is_ascii_uppercase() { "^" } else { "" };
                self.take(2, &format!("[{negation}{class}]"));
                continue;
            }
            let low = self.class_char(whole)?;
            let high = match self.rest.strip_prefix('-') {
                Some(after) if !after.is_empty() && !after.starts_with(']') => {
                    self.rest = after;
                    self.class_char(whole)?
                }
                _ => low,
            };
            if high < low {
                return Err(at("invalid character class range", &here[..here.len() - self.rest.len()]));
            }
            self.literal(low);
            if high > low {
                self.output.push('-');
                self.literal(high);
            }
        }
        self.take(1, "]");
        Ok(())
    }

    fn class_char(&mut self, whole: &str) -> Result<char, PatternError> {
        match self.rest.chars().next() {
            None => Err(at("missing closing ]", whole)),
            Some('\\') => self.escaped(),
            Some(c) => {
                self.rest = &self.rest[c.len_utf8()..];
                Ok(c)
            }
        }
    }
}

const POSIX_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

fn perl_class(c: char) -> Option<&'static str> {
    match c {
        'd' | 'D' => Some("0-9"),
        'w' | 'W' => Some("0-9A-Za-z_"),
        's' | 'S' => Some("\\t\\n\\x0c\\r\\x20"),
        _ => None,
    }
}

/// `{n}`, `{n,}` or `{n,m}` and what comes after.
fn counts(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let (inside, after) = text.strip_prefix('{')?.split_once('}')?;
    let count = |digits: &str| {
        let plain = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        let leading = digits.len() > 1 && digits.starts_with('0');
        (plain && !leading).then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let (least, most) = match inside.split_once(',') {
        None => (count(inside)?, Some(count(inside)?)),
        Some((least, "")) => (count(least)?, None),
        Some((least, most)) => (count(least)?, Some(count(most)?)),
    };
    Some((least, most, after))
}

fn at(reason: &'static str, text: &str) -> PatternError {
    PatternError::At { reason, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let pattern = compiled(pattern).unwrap();
        for text in yes {
            assert!(pattern.matches(text), "{pattern:?} should match {text:?}");
        }
        for text in no {
            assert!(!pattern.matches(text), "{pattern:?} should not match {text:?}");
        }
    }

    #[track_caller]
    fn fails(pattern: &str, expected: &str) {
        assert_eq!(compiled(pattern).unwrap_err().to_string(), format!("error parsing regexp: {expected}"));
    }

    fn compiled(pattern: &str) -> Result<Pattern, PatternError> {
        Pattern::new(pattern, &mut PatternBudget::default())
    }

    #[test]
    fn classes_are_ascii() {
        check(r"^\d$", &["7"], &["٣", "x"]);
        check(r"^[\d]$", &["7"], &["٣"]);
        check(r"^\w+$", &["a_1"], &["é"]);
        check(r"^[^\W]$", &["a"], &["-", "é"]);
        check(r"^\s$", &[" ", "\n"], &["\u{a0}", "\u{0b}"]);
        check(r"\bé", &["aé"], &["-é"]);
        check(r"^.$", &["é"], &["éé", "\n"]);
    }

    #[test]
    fn what_rust_would_read_differently() {
        check(r"^[[]$", &["["], &["]"]);
        check(r"^[a&&b]+$", &["a&b"], &["c"]);
        check(r"^x{,2}$", &["x{,2}"], &["xx"]);
        check(r"^x{$", &["x{"], &["x"]);
        check(r"^\<$", &["<"], &[""]);
        check(r"^[]a]$", &["]", "a"], &["b"]);
        check(r"^\Qa.b\E$", &["a.b"], &["axb"]);
        check(r"^\101$", &["A"], &["1"]);
        check(r"^(?P<n>a)(b)$", &["ab"], &["a"]);
        check(r"^(?i)straße$", &["STRAßE"], &["strase"]);
        check(r"^[[:alpha:]-]+$", &["a-b"], &["1"]);
        check(r"^#\x{1F600}~$", &["#😀~"], &[]);
        check(r"^\p{Greek}\PN$", &["αα"], &["α1"]);
    }

    #[test]
    fn mistakes_are_told_as_go_tells_them() {
        fails("a(", "missing closing ): `a(`");
        fails("a)", "unexpected ): `a)`");
        fails("[a", "missing closing ]: `[a`");
        fails("[b-a]", "invalid character class range: `b-a`");
        fails("*", "missing argument to repetition operator: `*`");
        fails("a**", "invalid nested repetition operator: `**`");
        fails("a{2}{3}", "invalid nested repetition operator: `{2}{3}`");
        fails("a{1001}", "invalid repeat count: `{1001}`");
        fails(r"\8", r"invalid escape sequence: `\8`");
        fails(r"\", "trailing backslash at end of expression: ``");
        fails("(?=a)", "invalid or unsupported Perl syntax: `(?=`");
        fails("(?<n", "invalid named capture: `(?<n`");
    }
}
