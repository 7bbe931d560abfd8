//! HTTPS to one server, as one user: what was sent is what the case file says, and what came back is kept whole.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_test_host::Tls;
use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::Full;
use hyper::Request;
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio::time::timeout;
use tokio::time::timeout_at;

use crate::error::Error;
use crate::kubeconfig::Kubeconfig;

/// How long an answer may take. Watches of the cases end by themselves after a second or two.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// How long to wait for an event that should have happened.
const EVENT_LIMIT: Duration = Duration::from_secs(10);

/// A server, and the certificate to show it.
#[derive(Debug, Clone)]
pub struct Client {
    authority: Arc<str>,
    tls: Tls,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status. 0 for events that were read from an answer that had begun before.
    pub status: u16,
    /// The headers, by name in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A connection that is opened when needed, and again if the server closes it.
#[derive(Debug)]
pub struct Connection {
    client: Client,
    sender: Option<SendRequest<Full<Bytes>>>,
}

/// An answer that goes on.
#[derive(Debug)]
pub struct Stream {
    body: Incoming,
    /// What was received and not yet asked for.
    rest: Vec<u8>,
    /// Its connection, which ends with it.
    _connection: Connection,
}

// === impl Client ===

impl Client {
    /// A client for what a kubeconfig names.
    pub fn new(config: &Kubeconfig) -> Result<Self, Error> {
        let tls = Tls::new(&config.ca, Some(&config.identity))?;
        Ok(Self { authority: config.authority.as_str().into(), tls })
    }

    /// The server's host and port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// A connection of its own.
    pub fn connection(&self) -> Connection {
        Connection { client: self.clone(), sender: None }
    }

    /// Connects; once more if a server gave up on the handshake, as both do with clients that a busy machine slows down. Nothing
    /// has been asked then.
    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Error> {
        match self.try_connect().await {
            Err(Error::Connect { source, .. }) if source.kind() == io::ErrorKind::UnexpectedEof => {
                self.try_connect().await
            }
            connected => connected,
        }
    }

    async fn try_connect(&self) -> Result<SendRequest<Full<Bytes>>, Error> {
        let fail = |source| Error::Connect { address: self.authority.to_string(), source };
        let stream = TcpStream::connect(&*self.authority).await.map_err(fail)?;
        let host = self.authority.rsplit_once(':').map_or(&*self.authority, |(host, _)| host);
        let stream = self.tls.connect(host, stream).await.map_err(fail)?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| fail(io::Error::other(error)))?;
        // Ends with the sender; what goes wrong in it reaches whoever waits for an answer.
        tokio::spawn(connection);
        Ok(sender)
    }
}

// === impl Connection ===

impl Connection {
    /// Sends a request and reads the answer to its end. `step` is for errors.
    pub async fn send(&mut self, step: &str, request: Request<Full<Bytes>>) -> Result<Answer, Error> {
        let exchange = async {
            let (mut answer, body) = self.open(step, request).await?;
            let body = body.collect().await.map_err(http_error(step))?;
            answer.body = body.to_bytes().to_vec();
            Ok(answer)
        };
        let late = |_| Error::Late { step: step.to_owned(), limit: ANSWER_LIMIT };
        timeout(ANSWER_LIMIT, exchange).await.map_err(late)?
    }

    /// Sends a request and reads only the head of the answer.
    pub async fn stream(mut self, step: &str, request: Request<Full<Bytes>>) -> Result<(Answer, Stream), Error> {
        let late = |_| Error::Late { step: step.to_owned(), limit: ANSWER_LIMIT };
        let (answer, body) = timeout(ANSWER_LIMIT, self.open(step, request)).await.map_err(late)??;
        Ok((answer, Stream { body, rest: Vec::new(), _connection: self }))
    }

    async fn open(&mut self, step: &str, mut request: Request<Full<Bytes>>) -> Result<(Answer, Incoming), Error> {
        let host = self.client.authority.parse().map_err(|_| Error::Connect {
            address: self.client.authority.to_string(),
            source: io::ErrorKind::InvalidInput.into(),
        })?;
        request.headers_mut().insert("host", host);
        let response = self.sender().await?.send_request(request).await.map_err(http_error(step))?;
        let (head, body) = response_parts(response);
        Ok((head, body))
    }

    async fn sender(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, Error> {
        let usable = match &mut self.sender {
            None => false,
            Some(sender) => sender.ready().await.is_ok(),
        };
        if !usable {
            self.sender = None;
        }
        match &mut self.sender {
            Some(sender) => Ok(sender),
            slot => Ok(slot.insert(self.client.connect().await?)),
        }
    }
}

// === impl Stream ===

impl Stream {
    /// Reads a line. It is empty if the answer ends, or if nothing comes in time.
    pub async fn line(&mut self, step: &str) -> Result<Vec<u8>, Error> {
        let deadline = Instant::now() + EVENT_LIMIT;
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                return Ok(self.rest.drain(..=end).collect());
            }
            let Ok(Some(frame)) = timeout_at(deadline, self.body.frame()).await else { return Ok(Vec::new()) };
            if let Ok(data) = frame.map_err(http_error(step))?.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}

fn response_parts(response: Response<Incoming>) -> (Answer, Incoming) {
    let (head, body) = response.into_parts();
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    (Answer { status: head.status.as_u16(), headers, body: Vec::new() }, body)
}

fn http_error(step: &str) -> impl FnOnce(hyper::Error) -> Error {
    move |source| Error::Http { step: step.to_owned(), source }
}
