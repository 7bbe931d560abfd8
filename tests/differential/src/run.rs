//! Holding a conversation: one scenario with one server.

use std::collections::HashMap;
use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::Value;
use tokio::time::Instant;
use tokio::time::sleep;

use crate::client::Answer;
use crate::client::Connection;
use crate::client::Stream;
use crate::error::Error;
use crate::expand::Variables;
use crate::scenario::Action;
use crate::scenario::Capture;
use crate::scenario::Scenario;
use crate::scenario::Step;
use crate::target::Target;

/// After which time without a change nothing more is expected to happen: kube-controller-manager begins to empty a namespace
/// five seconds after it was deleted.
const SETTLED_AFTER: Duration = Duration::from_secs(7);

/// How long controllers may take.
const SETTLE_LIMIT: Duration = Duration::from_secs(60);

/// How often to ask meanwhile.
const SETTLE_POLL: Duration = Duration::from_millis(100);

/// How long a server may take to come to what is waited for.
const AWAITED_LIMIT: Duration = Duration::from_secs(30);

/// How often to ask meanwhile.
const AWAITED_POLL: Duration = Duration::from_millis(50);

const BOOKMARK: &str = r#""type":"BOOKMARK""#;

/// The annotation of the one bookmark that clients wait for.
const END_OF_INITIAL_EVENTS: &str = "k8s.io/initial-events-end";

/// A step, as it was done.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// The method. Empty for a step that only reads.
    pub method: String,
    /// The path and query that were sent. Empty for a step that only reads.
    pub path: String,
    /// The body that was sent.
    pub sent: String,
    /// What came back.
    pub answer: Answer,
}

/// Holds `scenario` with `target`, in the namespace `id`, which it makes.
pub async fn run(target: &Target, scenario: &Scenario, id: &str) -> Result<Vec<Exchange>, Error> {
    target.create_namespace(id).await?;
    let mut talk = Talk {
        connection: target.client().connection(),
        target,
        variables: Variables::new(id),
        watches: HashMap::new(),
    };
    let mut exchanges = Vec::with_capacity(scenario.steps.len());
    for (index, step) in scenario.steps.iter().enumerate() {
        exchanges.push(talk.step(&scenario.step_path(index), step).await?);
    }
    Ok(exchanges)
}

struct Talk<'a> {
    target: &'a Target,
    connection: Connection,
    variables: Variables,
    watches: HashMap<String, Stream>,
}

impl Talk<'_> {
    async fn step(&mut self, name: &str, step: &Step) -> Result<Exchange, Error> {
        let exchange = match &step.action {
            Action::Send { method, path } => {
                let (path, sent) = (self.variables.expand(name, path)?, self.variables.expand(name, &step.body)?);
                let answer = self.send(name, step, method, &path, &sent).await?;
                Exchange { method: method.clone(), path, sent, answer }
            }
            Action::Settle { path } => {
                let path = self.variables.expand(name, path)?;
                let answer = self.settle(name, step, &path).await?;
                Exchange { method: "GET".to_owned(), path, sent: String::new(), answer }
            }
            Action::Watch { watch, path } => {
                let path = self.variables.expand(name, path)?;
                let request = self.request(name, step, "GET", &path, "")?;
                let answer = match self.target.client().connection().stream(name, request).await {
                    Ok((answer, stream)) => {
                        self.watches.insert(watch.clone(), stream);
                        answer
                    }
                    Err(error) => broken_off(error)?,
                };
                Exchange { method: "GET".to_owned(), path, sent: String::new(), answer }
            }
            Action::Events { watch, count } => {
                let body = match self.watches.get_mut(watch) {
                    None => Vec::new(),
                    Some(stream) => events(name, stream, *count).await?,
                };
                Exchange { answer: Answer { body, ..Answer::default() }, ..Exchange::default() }
            }
        };
        self.capture(&step.captures, &exchange.answer);
        Ok(exchange)
    }

    /// Asks until the answer is of the expected code and has not changed for a while, or until that took too long: then the
    /// last answer tells why.
    async fn settle(&mut self, name: &str, step: &Step, path: &str) -> Result<Answer, Error> {
        let begun = Instant::now();
        let (mut last, mut since) = (Answer::default(), begun);
        loop {
            let request = self.request(name, step, "GET", path, "")?;
            let answer = self.connection.send(name, request).await.or_else(broken_off)?;
            if answer.body != last.body {
                since = Instant::now();
            }
            last = answer;
            let is_expected = step.expected.as_ref().is_none_or(|expected| expected.code == last.status);
            // What is gone does not come back.
            let is_settled = last.status == 404 || since.elapsed() >= SETTLED_AFTER;
            if (is_expected && is_settled) || begun.elapsed() > SETTLE_LIMIT {
                return Ok(last);
            }
            sleep(SETTLE_POLL).await;
        }
    }

    /// Sends the request of a step, again and again if its answer is waited for. What does not come in time is an answer,
    /// too.
    async fn send(&mut self, name: &str, step: &Step, method: &str, path: &str, sent: &str) -> Result<Answer, Error> {
        let start = Instant::now();
        loop {
            let request = self.request(name, step, method, path, sent)?;
            let answer = self.connection.send(name, request).await.or_else(broken_off)?;
            let text = String::from_utf8_lossy(&answer.body);
            if step.awaited.iter().all(|awaited| text.contains(awaited)) || start.elapsed() > AWAITED_LIMIT {
                return Ok(answer);
            }
            sleep(AWAITED_POLL).await;
        }
    }

    fn request(
        &self,
        name: &str,
        step: &Step,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let mut request = Request::builder().method(method).uri(escape(path));
        for (header, value) in &step.headers {
            request = request.header(header, self.variables.expand(name, value)?);
        }
        let sets_type = step.headers.iter().any(|(header, _)| header.eq_ignore_ascii_case("content-type"));
        if !step.body.is_empty() && !sets_type {
            request = request.header("content-type", "application/json");
        }
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        request.body(body).map_err(|source| Error::Request { step: name.to_owned(), source })
    }

    /// What an answer lacks gets a value that no server knows, so that the conversation goes on and shows what comes of it.
    fn capture(&mut self, captures: &[Capture], answer: &Answer) {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        for Capture { name, path } in captures {
            let value = match body.pointer(&format!("/{}", path.join("/"))) {
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => format!("no-{name}"),
            };
            self.variables.capture(name, value);
        }
    }
}

/// Reads events, but for those that only say how far a server has come: they come when they come.
async fn events(name: &str, stream: &mut Stream, count: usize) -> Result<Vec<u8>, Error> {
    let mut events = Vec::new();
    let mut missing = count;
    while missing > 0 {
        let line = stream.line(name).await?;
        if line.is_empty() {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        if !text.contains(BOOKMARK) || text.contains(END_OF_INITIAL_EVENTS) {
            events.extend_from_slice(&line);
            missing -= 1;
        }
    }
    Ok(events)
}

/// That a server breaks off is an answer, too: the other one did not.
fn broken_off(error: Error) -> Result<Answer, Error> {
    match error {
        Error::Http { .. } | Error::Late { .. } => {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            Ok(Answer { body: format!("{error}: {cause}").into_bytes(), ..Answer::default() })
        }
        error => Err(error),
    }
}

/// Case files are for people: what cannot stand in a request line is escaped here. A percent sign is left as it is.
fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0x7f.. => {
                escaped.push_str(&format!("%{byte:02X}"));
            }
            byte => escaped.push(char::from(byte)),
        }
    }
    escaped
}
