//! How many there are and which, in sentences that people read, conditions and refusals; and words of the commands in them.

use std::borrow::Cow;
use std::fmt::Display;

/// How many names a sentence holds.
pub const MAX_NAMED: usize = 10;

/// So many of what regular nouns call: `1 project`, `2 projects`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The first few of many, and how many more there are: `a, b and 3 more`.
pub fn some_of<T: Display>(names: impl ExactSizeIterator<Item = T>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let named: Vec<String> = names.take(MAX_NAMED).map(|name| name.to_string()).collect();
    let named = named.join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

/// A word of a command that people copy into a shell, which takes it for nothing but a word: names of users and roles are
/// chosen by others, and may hold anything.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "@%+=:,./_-".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests;
