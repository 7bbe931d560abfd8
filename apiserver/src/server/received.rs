//! A request as it comes. Its head is read, and its time begins, before it is known who asks: someone else may have to say
//! that.

use std::time::SystemTime;

use bailiwick_machinery::Status;
use http::Response;
use http::request::Parts;
use tokio::time::Instant;

use super::Server;
use crate::body::Body;
use crate::form::Form;
use crate::listener::CloseConnection;
use crate::request::Request;
use crate::respond;
use crate::takeover;

/// A request whose head has come.
pub(crate) struct Received {
    pub(super) now: SystemTime,
    pub(super) begun: Instant,
    /// What is asked for, or why it is not even read.
    pub(super) asked: Result<Request, Box<Response<Body>>>,
}

impl Server {
    /// Reads the head of a request, which has come now.
    pub(crate) fn receive(&self, head: &Parts) -> Received {
        let (now, begun) = (self.clock.now(), Instant::now());
        Received { now, begun, asked: read(head, now) }
    }

    /// By when it must be known who asks, which is when the request must be answered. One that cannot be read is given all the
    /// time there is.
    pub(crate) fn due(&self, received: &Received) -> Instant {
        let by = received.asked.as_ref().ok().and_then(|request| self.deadline(request, received.begun).ok());
        by.unwrap_or(received.begun + self.request_timeout)
    }

    /// When the request must be answered. Of a watch that is when it must have begun.
    pub(super) fn deadline(&self, request: &Request, begun: Instant) -> Result<Instant, Box<Status>> {
        let wanted = if request.is_watch() { None } else { request.timeout()? };
        Ok(begun + wanted.map_or(self.request_timeout, |wanted| wanted.min(self.request_timeout)))
    }
}

/// Reads what is asked for, or says why it is not even read.
fn read(head: &Parts, now: SystemTime) -> Result<Request, Box<Response<Body>>> {
    let refuse = |status: &Status| Box::new(respond::status(&Form::of_status(&head.headers, None, now), status));
    if let Some(status) = takeover::refusal(head) {
        let mut response = refuse(&status);
        response.extensions_mut().insert(CloseConnection);
        return Err(response);
    }
    // A target that is only a host and a port is no path, and stands for none.
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    Request::parse(&head.method, target).map_err(|error| refuse(&error.into()))
}
