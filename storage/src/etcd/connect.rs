//! Finding etcd: addresses, certificates, the password, and the first question, which is whose store this is.

use std::fmt;
use std::time::Duration;

use etcd_client::proto::{PbRangeResponse, PbTxnOpResponse};
use etcd_client::{Compare, CompareOp, GetOptions, Txn, TxnOp, TxnResponse};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity as TlsIdentity};

use super::EtcdOptions;
use super::identity::{FORMAT, Identity, MAX_BASE, Meta};
use super::layout::{InvalidRoot, Layout};
use super::members::{Members, Patience, Target};
use super::status::{Failure, describe};
use crate::key::Prefix;

/// A member that does not take a connection within this time is given up for the next one.
const DIAL_TIMEOUT: Duration = Duration::from_secs(2);
/// etcd closes connections that are pinged more often than every 5 s (`--grpc-keepalive-min-time`).
const PING_INTERVAL: Duration = Duration::from_secs(6);
/// A ping not answered within this time ends the connection.
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// How much one stream may send ahead of its reader.
const STREAM_WINDOW_BYTES: u32 = 2 << 20;
/// How much all streams of a connection may: enough for many readers that stand still not to stop the others.
const CONNECTION_WINDOW_BYTES: u32 = 128 << 20;

/// What a certificate in PEM begins with.
const PEM_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

/// How to recognise etcd, and how to show etcd who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificates, in PEM, of the authorities that may vouch for etcd. No others are trusted.
    pub ca: Vec<u8>,
    /// The certificate and key to show, if etcd asks for one (`--client-cert-auth`).
    pub client: Option<ClientCertificate>,
    /// The name etcd's certificate must carry, if it is not the one in the address.
    pub server_name: Option<String>,
}

/// A certificate to show to etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate and those between it and the authority, in PEM.
    pub certificate: Vec<u8>,
    /// Its key, in PEM.
    pub key: Secret,
}

/// A user of etcd's own authentication.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: Secret,
}

/// Text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a store in etcd cannot be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No address to connect to.
    #[error("no etcd endpoint is given: give the client URL of at least one member, such as https://etcd-0:2379")]
    NoEndpoints,
    /// An address that cannot be used.
    #[error("the etcd endpoint {endpoint:?} cannot be used: {problem}")]
    InvalidEndpoint {
        /// The address.
        endpoint: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// Certificates or keys that cannot be read.
    #[error(
        "the certificates for etcd cannot be used: {problem}; give PEM files: the CA, and the client's certificate and key"
    )]
    InvalidCertificates {
        /// What is wrong with them.
        problem: String,
    },
    /// A root that cannot be part of a key.
    #[error(transparent)]
    InvalidRoot(#[from] InvalidRoot),
    /// A base that leaves no room for revisions.
    #[error("the base {base} is too large: choose one of at most {MAX_BASE}")]
    InvalidBase {
        /// The base.
        base: u64,
    },
    /// No member answered.
    #[error(
        "etcd cannot be reached at {endpoints}: {problem}; check that it runs, has a leader, and that the address and the network are right"
    )]
    Unreachable {
        /// The addresses.
        endpoints: String,
        /// What happened last.
        problem: String,
    },
    /// The two sides do not trust each other's certificates, or one of them speaks no TLS.
    #[error(
        "no TLS connection to etcd at {endpoints}: {problem}; check that the CA is the one that signed etcd's certificate, that etcd trusts the client certificate, and that etcd speaks TLS there"
    )]
    Tls {
        /// The addresses.
        endpoints: String,
        /// What happened last.
        problem: String,
    },
    /// etcd does not know the user, or does not let it in.
    #[error(
        "etcd refuses the user: {problem}; check the user, the password, and that its role may read and write everything below /{root}/"
    )]
    Unauthorized {
        /// The store's root.
        root: String,
        /// What etcd says.
        problem: String,
    },
    /// etcd answers, but not what was asked for.
    #[error("etcd refuses to open the store: {problem}")]
    Refused {
        /// What etcd says.
        problem: String,
    },
    /// The identity record is there but cannot be read.
    #[error(
        "the record at {place} cannot be read: {problem}; if another program owns it choose another root, otherwise restore it from a snapshot"
    )]
    UnreadableIdentity {
        /// Where it lies.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is data below the root, but no identity record.
    #[error(
        "there are {records} records below the root {root}, but no record at {place} that says whose they are: restore it from a snapshot, or choose another root"
    )]
    NoIdentity {
        /// The store's root.
        root: String,
        /// Where it should lie.
        place: String,
        /// How many records there are.
        records: i64,
    },
    /// The store is laid out in a form this program does not know.
    #[error(
        "the store has the format {found}, and this program knows {FORMAT}: use the version of Bailiwick that wrote it, or a newer one"
    )]
    OtherFormat {
        /// Its form.
        found: u32,
    },
}

// === impl Secret ===

impl Secret {
    /// Keeps `text` from being printed.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

// === first contact ===

/// Where the members are, before any has been spoken to.
pub(super) fn targets(options: &EtcdOptions) -> Result<Vec<Target>, ConnectError> {
    if options.endpoints.is_empty() {
        return Err(ConnectError::NoEndpoints);
    }
    options.endpoints.iter().map(|name| target(name, options)).collect()
}

/// Opens the store below the root, and makes it if there is none.
pub(super) async fn open(
    members: &Members,
    layout: &Layout,
    options: &EtcdOptions,
    patience: Patience,
) -> Result<Identity, ConnectError> {
    if options.base > MAX_BASE {
        return Err(ConnectError::InvalidBase { base: options.base });
    }
    let fail = |failure| explain(failure, members, options);
    let found = members.ask(patience, |mut kv| async move { kv.txn(look(layout)).await }).await.map_err(fail)?;
    let (header, mut ranges) = take_apart(found).map_err(fail)?;
    let records = ranges.pop().map_or(0, |data| data.count);
    let (header, record) = match record_of(&mut ranges) {
        Some(record) => (header, record),
        None if records > 0 => {
            let place = layout.meta().to_owned();
            return Err(ConnectError::NoIdentity { root: options.root.clone(), place, records });
        }
        None => create(members, layout, options, patience).await?,
    };
    let meta: Meta = serde_json::from_slice(&record).map_err(|error| ConnectError::UnreadableIdentity {
        place: layout.meta().to_owned(),
        problem: error.to_string(),
    })?;
    if meta.format != FORMAT {
        return Err(ConnectError::OtherFormat { found: meta.format });
    }
    if meta.base > MAX_BASE {
        return Err(ConnectError::InvalidBase { base: meta.base });
    }
    tracing::info!(store = %meta.id, base = meta.base, root = options.root, "opened the store in etcd");
    Ok(Identity::new(meta, record, header.cluster, header.revision))
}

/// Whether etcd lets in who comes to `members`.
pub(super) async fn try_out(
    members: &Members,
    layout: &Layout,
    options: &EtcdOptions,
    patience: Patience,
) -> Result<(), ConnectError> {
    let asking = members.ask(patience, |mut kv| async move { kv.txn(look(layout)).await });
    asking.await.map(drop).map_err(|failure| explain(failure, members, options))
}

/// What every answer of etcd begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) cluster: u64,
    pub(super) revision: i64,
}

/// The header and the answers to the reads of a transaction.
pub(super) fn take_apart(answer: TxnResponse) -> Result<(Header, Vec<PbRangeResponse>), Failure> {
    let answer = answer.0;
    let header = answer.header.ok_or_else(|| Failure::Refused("the answer has no header".to_owned()))?;
    let ranges = answer.responses.into_iter().filter_map(|response| match response.response {
        Some(PbTxnOpResponse::ResponseRange(range)) => Some(range),
        _ => None,
    });
    Ok((Header { cluster: header.cluster_id, revision: header.revision }, ranges.collect()))
}

// The record and, if there is none, whether there is data all the same. Reading first means that a store that has run
// out of space can still be opened.
fn look(layout: &Layout) -> Txn {
    let data = layout.range(&Prefix::everything());
    let count = GetOptions::new().with_range(data.end).with_count_only();
    Txn::new().and_then([TxnOp::get(layout.meta(), None), TxnOp::get(data.start, Some(count))])
}

// Two replicas may do this at the same time: one wins, and both go on with the winner's record.
async fn create(
    members: &Members,
    layout: &Layout,
    options: &EtcdOptions,
    patience: Patience,
) -> Result<(Header, Vec<u8>), ConnectError> {
    let fail = |failure| explain(failure, members, options);
    let meta = Meta::fresh(options.base);
    let record = serde_json::to_vec(&meta).map_err(|error| fail(Failure::Refused(error.to_string())))?;
    let txn = Txn::new()
        .when([Compare::version(layout.meta(), CompareOp::Equal, 0)])
        .and_then([TxnOp::put(layout.meta(), record.clone(), None)])
        .or_else([TxnOp::get(layout.meta(), None)]);
    let answer = members
        .ask(patience, |mut kv| {
            let txn = txn.clone();
            async move { kv.txn(txn).await }
        })
        .await
        .map_err(fail)?;
    let made = answer.succeeded();
    let (header, mut ranges) = take_apart(answer).map_err(fail)?;
    if made {
        tracing::info!(store = %meta.id, "made a new store in etcd");
        return Ok((header, record));
    }
    let record = record_of(&mut ranges).ok_or_else(|| fail(Failure::Refused("the answer is incomplete".to_owned())))?;
    Ok((header, record))
}

fn record_of(ranges: &mut Vec<PbRangeResponse>) -> Option<Vec<u8>> {
    Some(ranges.pop()?.kvs.pop()?.value)
}

fn explain(failure: Failure, members: &Members, options: &EtcdOptions) -> ConnectError {
    let endpoints = members.names();
    let problem = failure.to_string();
    match failure {
        Failure::Tls(_) => ConnectError::Tls { endpoints, problem },
        Failure::Unauthorized(_) | Failure::StaleToken(_) => {
            ConnectError::Unauthorized { root: options.root.clone(), problem }
        }
        Failure::NotDone(_) | Failure::Lost(_) => ConnectError::Unreachable { endpoints, problem },
        Failure::Compacted | Failure::Future | Failure::NoSpace | Failure::Refused(_) => {
            ConnectError::Refused { problem }
        }
    }
}

fn target(name: &str, options: &EtcdOptions) -> Result<Target, ConnectError> {
    let invalid = |problem: String| ConnectError::InvalidEndpoint { endpoint: name.to_owned(), problem };
    let endpoint = Endpoint::from_shared(name.to_owned()).map_err(|error| invalid(describe(&error)))?;
    let endpoint = match (endpoint.uri().scheme_str(), &options.tls) {
        (Some("https"), Some(tls)) => {
            let unusable = |problem: String| ConnectError::InvalidCertificates { problem };
            // Without this an empty file would be taken for a CA that trusts nobody, and blamed on etcd.
            if !String::from_utf8_lossy(&tls.ca).contains(PEM_CERTIFICATE) {
                return Err(unusable("the CA contains no certificate".to_owned()));
            }
            endpoint.tls_config(tls_config(tls)).map_err(|error| unusable(describe(&error)))?
        }
        (Some("https"), None) => return Err(invalid("it needs TLS options: give at least the CA".to_owned())),
        (Some("http"), None) => endpoint,
        (Some("http"), Some(_)) => {
            return Err(invalid("TLS options are given, but the address begins with http: use https".to_owned()));
        }
        _ => return Err(invalid("it must begin with https:// or http://".to_owned())),
    };
    let endpoint = endpoint
        .connect_timeout(DIAL_TIMEOUT.min(options.connect_timeout))
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        // etcd counts pings on a connection without streams as an attack.
        .keep_alive_while_idle(false)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .tcp_nodelay(true);
    let user = options.credentials.as_ref().map(|given| (given.user.clone(), given.password.expose().to_owned()));
    Ok(Target { name: name.to_owned(), endpoint, user })
}

fn tls_config(tls: &TlsOptions) -> ClientTlsConfig {
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.ca)).timeout(DIAL_TIMEOUT);
    if let Some(client) = &tls.client {
        config = config.identity(TlsIdentity::from_pem(&client.certificate, client.key.expose()));
    }
    if let Some(name) = &tls.server_name {
        config = config.domain_name(name);
    }
    config
}
