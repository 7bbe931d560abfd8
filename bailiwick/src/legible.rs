//! Clients that can read whatever a host stores.
//!
//! Whoever may write an object may say when its fields were written, and hosts keep more times than the library can read that
//! clients are made of. One of those, and every list is lost that the object is in, every watch that comes to it, and whoever
//! follows its kind. So they are taken out of answers before anyone reads them; whose the fields are stays, and nothing else of
//! an answer is changed.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use hyper::body::{Body as HttpBody, Frame};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tower_service::Service;

/// How times begin in JSON that can be stored and not be read: those at the end of the year 9999, and those that an offset takes
/// out of the years of four digits.
const SUSPECTS: [&str; 3] = ["\"9999-12-3", "\"10000-01-0", "\"-0001-12-3"];

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The same client, which can read all answers.
pub(crate) fn legible(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(Legible(client), namespace)
}

#[derive(Clone)]
struct Legible(Client);

/// An answer, line by line: an event of a watch is a line, and so is all of any other answer.
struct LegibleBody {
    body: Body,
    /// What has come of a line that is not over.
    begun: BytesMut,
    is_over: bool,
}

// === impl Legible ===

impl Service<Request<Body>> for Legible {
    type Response = Response<LegibleBody>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = kube::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<kube::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let answer = client.send(request).await?;
            Ok(answer.map(|body| LegibleBody { body, begun: BytesMut::new(), is_over: false }))
        })
    }
}

// === impl LegibleBody ===

impl HttpBody for LegibleBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        while !self.is_over {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                None => self.is_over = true,
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                Some(Ok(frame)) => {
                    if let Some(lines) = frame.into_data().ok().and_then(|data| self.whole_lines(data)) {
                        return Poll::Ready(Some(Ok(Frame::data(readable(lines)))));
                    }
                }
            }
        }
        let rest = std::mem::take(&mut self.begun).freeze();
        Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(readable(rest)))))
    }
}

impl LegibleBody {
    /// The lines that are over with what has come now.
    fn whole_lines(&mut self, mut data: Bytes) -> Option<Bytes> {
        let Some(end) = data.iter().rposition(|byte| *byte == b'\n') else {
            self.begun.extend_from_slice(&data);
            return None;
        };
        let rest = data.split_off(end + 1);
        let mut begun = std::mem::replace(&mut self.begun, BytesMut::from(&rest[..]));
        if begun.is_empty() {
            return Some(data);
        }
        begun.extend_from_slice(&data);
        Some(begun.freeze())
    }
}

/// The same lines, without times that cannot be read.
fn readable(lines: Bytes) -> Bytes {
    let is_suspect = |text: &str| SUSPECTS.iter().any(|suspect| text.contains(suspect));
    let Some(text) = std::str::from_utf8(&lines).ok().filter(|text| is_suspect(text)) else { return lines };
    let mut readable = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let repaired = if is_suspect(line) { repaired(line) } else { None };
        readable.push_str(repaired.as_deref().unwrap_or(line));
    }
    readable.into()
}

/// An answer without times that cannot be read; none if it has none, or is no answer.
fn repaired(line: &str) -> Option<String> {
    let mut answer: Value = serde_json::from_str(line).ok()?;
    // A kind may be called like a list. What tells them apart is what Kubernetes' own clients go by.
    let has_items = answer.get("items").is_some_and(Value::is_array);
    let objects = match answer.get("kind").and_then(Value::as_str) {
        None => answer.get_mut("object").into_iter().collect(),
        Some(kind) if has_items && kind.ends_with("List") => {
            answer.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten().collect()
        }
        Some(_) => vec![&mut answer],
    };
    let forgotten: usize = objects.into_iter().map(forget_unreadable).sum();
    let end = if line.ends_with('\n') { "\n" } else { "" };
    (forgotten > 0).then(|| format!("{answer}{end}"))
}

/// Takes from an object the times of its owners that cannot be read, and tells how many those were.
fn forget_unreadable(object: &mut Value) -> usize {
    let owners = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
    let owners = owners.into_iter().flatten().filter_map(Value::as_object_mut);
    let is_unreadable = |owner: &&mut serde_json::Map<String, Value>| {
        owner.get("time").is_some_and(|time| serde_json::from_value::<Time>(time.clone()).is_err())
    };
    owners.filter(is_unreadable).filter_map(|owner| owner.remove("time")).count()
}

#[cfg(test)]
mod tests;
