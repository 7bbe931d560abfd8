//! One address as the head of a mail may name it: `a@b.c`, `A. B. <a@b.c>`, with comments.

use std::net::IpAddr;

/// How deep comments may nest.
const MAX_DEPTH: usize = 64;

pub(super) fn is_email(text: &str) -> bool {
    let mut mail = Mail { rest: text };
    mail.address(true) == Some(1) && mail.comments().is_some() && mail.rest.is_empty()
}

struct Mail<'t> {
    rest: &'t str,
}

impl Mail<'_> {
    /// An address, or a group of them; how many there were.
    fn address(&mut self, group: bool) -> Option<usize> {
        self.space();
        let start = self.rest;
        if self.specification().is_some() {
            self.space();
            if self.rest.starts_with('(') {
                self.comments()?;
            }
            return Some(1);
        }
        self.rest = start;
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.space();
        if group && self.eat(':') {
            return self.group();
        }
        if !self.eat('<') {
            return None;
        }
        self.specification()?;
        self.eat('>').then_some(1)
    }

    fn group(&mut self) -> Option<usize> {
        self.comments()?;
        if self.eat(';') {
            self.comments()?;
            return Some(0);
        }
        let mut count = 0;
        loop {
            self.space();
            count += self.address(false)?;
            self.comments()?;
            if self.eat(';') {
                self.comments()?;
                return Some(count);
            }
            if !self.eat(',') {
                return None;
            }
        }
    }

    /// `local@domain`.
    fn specification(&mut self) -> Option<()> {
        self.space();
        if self.rest.starts_with('"') {
            self.quoted().filter(|length| *length > 0)?;
        } else {
            self.atom(false)?;
        }
        if !self.eat('@') {
            return None;
        }
        self.space();
        if self.rest.is_empty() {
            return None;
        }
        if self.rest.starts_with('[') { self.literal() } else { self.atom(false) }
    }

    /// `[127.0.0.1]`, `[::1]`.
    fn literal(&mut self) -> Option<()> {
        let (text, after) = self.rest.strip_prefix('[')?.split_once(']')?;
        self.rest = after;
        text.parse::<IpAddr>().ok().map(drop)
    }

    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            self.space();
            let start = self.rest;
            let word = if self.rest.starts_with('"') { self.quoted().map(drop) } else { self.atom(true) };
            if word.is_none() {
                self.rest = start;
                return (words > 0).then_some(());
            }
            words += 1;
        }
    }

    /// Letters with dots between; more in a name that is not part of the address.
    fn atom(&mut self, permissive: bool) -> Option<()> {
        let inner = |c: char| match c {
            '.' => true,
            '(' | ')' | '[' | ']' | ';' | '@' | '\\' | ',' => permissive,
            '<' | '>' | '"' | ':' => false,
            c => c > ' ' && c != '\u{7f}',
        };
        let end = self.rest.find(|c| !inner(c)).unwrap_or(self.rest.len());
        let (atom, after) = self.rest.split_at(end);
        let strict = || !atom.starts_with('.') && !atom.ends_with('.') && !atom.contains("..");
        if atom.is_empty() || !(permissive || strict()) {
            return None;
        }
        self.rest = after;
        Some(())
    }

    /// Text in quotes; how long it is.
    fn quoted(&mut self) -> Option<usize> {
        let mut chars = self.rest.strip_prefix('"')?.chars();
        let mut length = 0;
        loop {
            match chars.next()? {
                '"' => {
                    self.rest = chars.as_str();
                    return Some(length);
                }
                '\\' => {
                    chars.next().filter(|c| is_visible(*c) || is_space(*c))?;
                }
                c if is_visible(c) || is_space(c) => {}
                _ => return None,
            }
            length += 1;
        }
    }

    /// Spaces and comments.
    fn comments(&mut self) -> Option<()> {
        self.space();
        while self.eat('(') {
            let mut depth = 1;
            while depth > 0 {
                let mut chars = self.rest.chars();
                match chars.next()? {
                    '\\' => drop(chars.next()),
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                if depth > MAX_DEPTH {
                    return None;
                }
                self.rest = chars.as_str();
            }
            self.space();
        }
        Some(())
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }
}

fn is_visible(c: char) -> bool {
    c > ' ' && c != '\u{7f}'
}

fn is_space(c: char) -> bool {
    c == ' ' || c == '\t'
}
