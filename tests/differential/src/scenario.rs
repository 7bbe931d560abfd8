//! Case files: conversations as text.
//!
//! ```text
//! # A comment.
//!
//! ## a claim is created once
//! POST ${claims} -> 201
//! Content-Type: application/json
//!     {"apiVersion": "…", "kind": "…", "metadata": {"name": "a"}, …}
//! > version = metadata.resourceVersion
//!
//! PUT ${claims}/a -> 409 Conflict
//!     …
//! ```
//!
//! A scenario begins with `##` and has a namespace of its own. A request line is a method, a path with its query, and the code
//! (and reason, if the answer is a Status that has one) with which a real kube-apiserver answers: it tells the reader what
//! happens, and fails if that is not so. Then come headers, a body (indented by four spaces, sent as written) and captures,
//! which name a part of the answer for later steps. `~ TEXT` says that the request is sent until the answer has this text:
//! for what a server does in its own time. `SETTLE PATH` asks until the answer has the code and stays as it is. `WATCH w PATH` opens a watch in the background and `EVENTS w 2` reads two
//! events from it. `${…}` is replaced: by a capture, or by what the module `expand` knows.

use std::collections::HashSet;

use crate::error::CaseProblem;
use crate::error::Error;

/// What a body is indented by.
const BODY_INDENT: &str = "    ";

/// Separates a request from the expected answer.
const ARROW: &str = " -> ";

/// A conversation.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The name of its file, without the extension.
    pub file: String,
    /// What happens in it.
    pub name: String,
    /// What is said, in this order.
    pub steps: Vec<Step>,
}

/// A request, or a part of one.
#[derive(Debug, Clone)]
pub struct Step {
    /// The line of the request in the case file, from 1.
    pub line: usize,
    /// What is done.
    pub action: Action,
    /// Headers to send, as written.
    pub headers: Vec<(String, String)>,
    /// The body to send, as written.
    pub body: String,
    /// Names for parts of the answer.
    pub captures: Vec<Capture>,
    /// What the answer is waited for to have.
    pub awaited: Vec<String>,
    /// How a real server answers. None if nobody has asked it yet.
    pub expected: Option<Expected>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Sends a request and reads the answer to its end.
    Send {
        /// The HTTP method.
        method: String,
        /// The path and the query, as written.
        path: String,
    },
    /// Gets something until it is as expected and changes no more.
    Settle {
        /// The path and the query, as written.
        path: String,
    },
    /// Opens a watch and reads only the head of the answer.
    Watch {
        /// What later steps call it.
        watch: String,
        /// The path and the query, as written.
        path: String,
    },
    /// Reads events of an open watch.
    Events {
        /// The watch.
        watch: String,
        /// How many to read.
        count: usize,
    },
}

/// A name for a part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The name.
    pub name: String,
    /// The keys and indices that lead to it, such as `items`, `0`, `metadata`, `name`.
    pub path: Vec<String>,
}

/// How a real server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The HTTP status.
    pub code: u16,
    /// The reason of the Status in the body.
    pub reason: Option<String>,
}

// === impl Scenario ===

impl Scenario {
    /// Reads the case file called `file`.
    pub fn parse(file: &str, text: &str) -> Result<Vec<Self>, Error> {
        let mut scenarios: Vec<Self> = Vec::new();
        let mut names = HashSet::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let fail = |problem| Error::Case { file: file.to_owned(), line: number, problem };
            if let Some(name) = line.strip_prefix("## ") {
                if !names.insert(name) {
                    return Err(fail(CaseProblem::SameName));
                }
                scenarios.push(Self { file: file.to_owned(), name: name.trim().to_owned(), steps: Vec::new() });
            } else if line.trim().is_empty() || line.starts_with('#') {
            } else {
                let scenario = scenarios.last_mut().ok_or_else(|| fail(CaseProblem::NoScenario))?;
                scenario.read_line(number, line).map_err(fail)?;
            }
        }
        Ok(scenarios)
    }

    /// The name that no other scenario has: `create/a claim is created once`.
    pub fn path(&self) -> String {
        format!("{}/{}", self.file, self.name)
    }

    /// The name of a step: `create/a claim is created once/2`.
    pub fn step_path(&self, index: usize) -> String {
        format!("{}/{}", self.path(), index + 1)
    }

    fn read_line(&mut self, number: usize, line: &str) -> Result<(), CaseProblem> {
        if is_request(line) {
            self.steps.push(Step::parse(number, line)?);
            return Ok(());
        }
        let step = self.steps.last_mut().ok_or(CaseProblem::NoStep)?;
        if let Some(body) = line.strip_prefix(BODY_INDENT) {
            if !step.body.is_empty() {
                step.body.push('\n');
            }
            step.body.push_str(body);
        } else if let Some(capture) = line.strip_prefix("> ") {
            let (name, path) = capture.split_once(" = ").ok_or(CaseProblem::Unreadable)?;
            step.captures.push(Capture { name: name.to_owned(), path: path.split('.').map(str::to_owned).collect() });
        } else if let Some(text) = line.strip_prefix("~ ") {
            step.awaited.push(text.to_owned());
        } else {
            let (name, value) = line.split_once(": ").ok_or(CaseProblem::Unreadable)?;
            step.headers.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }
}

// === impl Step ===

impl Step {
    fn parse(line: usize, text: &str) -> Result<Self, CaseProblem> {
        let words: Vec<&str> = text.split(' ').collect();
        if let ["EVENTS", watch, count] = words[..] {
            let count = count.parse().map_err(|_| CaseProblem::Unreadable)?;
            return Ok(Self::new(line, Action::Events { watch: watch.to_owned(), count }, None));
        }
        let (request, expected) = text.rsplit_once(ARROW).ok_or(CaseProblem::NoExpectation)?;
        let (method, path) = request.split_once(' ').ok_or(CaseProblem::Unreadable)?;
        let action = match method {
            "SETTLE" => Action::Settle { path: path.to_owned() },
            "WATCH" => {
                let (watch, path) = path.split_once(' ').ok_or(CaseProblem::Unreadable)?;
                Action::Watch { watch: watch.to_owned(), path: path.to_owned() }
            }
            _ => Action::Send { method: method.to_owned(), path: path.to_owned() },
        };
        Ok(Self::new(line, action, Expected::parse(expected)?))
    }

    /// The same with a body.
    pub(crate) fn with_body(self, body: String) -> Self {
        Self { body, ..self }
    }

    pub(crate) fn new(line: usize, action: Action, expected: Option<Expected>) -> Self {
        let (headers, body, captures, awaited) = (Vec::new(), String::new(), Vec::new(), Vec::new());
        Self { line, action, headers, body, captures, awaited, expected }
    }

    /// The request line without the expected answer, for people.
    pub fn title(&self) -> String {
        match &self.action {
            Action::Send { method, path } => format!("{method} {path}"),
            Action::Settle { path } => format!("SETTLE {path}"),
            Action::Watch { watch, path } => format!("WATCH {watch} {path}"),
            Action::Events { watch, count } => format!("EVENTS {watch} {count}"),
        }
    }

    /// The path and query as written. None for a step that sends nothing.
    pub fn path(&self) -> Option<&str> {
        match &self.action {
            Action::Send { path, .. } | Action::Settle { path } | Action::Watch { path, .. } => Some(path),
            Action::Events { .. } => None,
        }
    }
}

// === impl Expected ===

impl Expected {
    fn parse(text: &str) -> Result<Option<Self>, CaseProblem> {
        if text == "?" {
            return Ok(None);
        }
        let (code, reason) = match text.split_once(' ') {
            None => (text, None),
            Some((code, reason)) => (code, Some(reason.to_owned())),
        };
        let code = code.parse().map_err(|_| CaseProblem::NoExpectation)?;
        Ok(Some(Self { code, reason }))
    }
}

/// A request line is the only one that starts with a word of capitals and a space.
fn is_request(line: &str) -> bool {
    let method = line.split(' ').next().unwrap_or_default();
    line.contains(' ') && !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests;
