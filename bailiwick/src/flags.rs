//! The command line. Flags have the names that kube-apiserver gives them; each flag of a server is also an environment variable.

mod authentication;
mod duration;
mod host;
mod install;
mod mode;
mod service;
mod service_account;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use bailiwick_registry::{AllowPathError, AllowPaths};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::authentication::{AuthenticationFlags, OidcFlags, RequestHeaderFlags};
pub(crate) use self::host::{ControllerName, HostFlags};
pub(crate) use self::install::{ActAs, ClusterFlags, InstallFlags, UninstallFlags};
pub(crate) use self::mode::{Mode, ModeFlags, NoCluster};
pub(crate) use self::service::ServiceName;
pub(crate) use self::service_account::ServiceAccountFlags;

/// A Kubernetes API server that lets administrators hand out authority in measured parts.
///
/// Started without a command it serves, with everything it needs in one folder.
#[derive(Debug, Parser)]
#[command(name = "bailiwick", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: Box<ServeFlags>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the API. This is what happens without a command, too.
    Serve(Box<ServeFlags>),
    /// Save the embedded store to a file, or make one from it. The server must not be running.
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Print what installs it in a cluster: bailiwick install | kubectl apply -f -
    Install(Box<InstallFlags>),
    /// Remove from a cluster what was installed and what followed from it. Says what that is; --yes does it.
    Uninstall(UninstallFlags),
    /// Print the version.
    Version,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Write everything that is stored to a file.
    Save(SnapshotFlags),
    /// Fill a data folder that holds no store yet from such a file.
    Restore(SnapshotFlags),
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotFlags {
    /// The snapshot.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataFlags,
}

#[derive(Debug, Args)]
pub(crate) struct DataFlags {
    /// The folder for data, certificates and the administrator's kubeconfig. It is made if it does not exist.
    #[arg(long, env = "BAILIWICK_DATA_DIR", value_name = "FOLDER", default_value = "bailiwick-data")]
    pub(crate) data_dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ServeFlags {
    #[command(flatten)]
    pub(crate) mode: ModeFlags,
    #[command(flatten)]
    pub(crate) data: DataFlags,
    #[command(flatten)]
    pub(crate) listen: ListenFlags,
    #[command(flatten)]
    pub(crate) authentication: AuthenticationFlags,
    #[command(flatten)]
    pub(crate) service_account: ServiceAccountFlags,
    #[command(flatten)]
    pub(crate) authorization: AuthorizationFlags,
    #[command(flatten)]
    pub(crate) etcd: EtcdFlags,
    #[command(flatten)]
    pub(crate) host: HostFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) audit: AuditFlags,
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

/// Where, and with which certificates.
#[derive(Debug, Args)]
pub(crate) struct ListenFlags {
    /// The address to listen on.
    #[arg(long, env = "BAILIWICK_BIND_ADDRESS", value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) bind_address: IpAddr,
    /// The port to serve HTTPS on; 0 picks a free one.
    #[arg(long, env = "BAILIWICK_SECURE_PORT", value_name = "PORT", default_value_t = 6443)]
    pub(crate) secure_port: u16,
    /// The serving certificate and those between it and its authority, PEM. Without it, one is made in the data folder.
    /// The file is watched: a new one is used for new connections.
    #[arg(long, env = "BAILIWICK_TLS_CERT_FILE", value_name = "FILE", requires = "tls_private_key_file")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// The key of the serving certificate, PEM.
    #[arg(long, env = "BAILIWICK_TLS_PRIVATE_KEY_FILE", value_name = "FILE", requires = "tls_cert_file")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// The Service by which the kube-apiserver of a cluster reaches this server. The serving certificate is then for its name,
    /// and of an authority that all servers share in the Secret bailiwick-authority beside it; the APIServices are told. All of
    /// that renews itself. bailiwick install makes the Service, the Secret and the rights.
    #[arg(long, env = "BAILIWICK_SERVICE", value_name = "NAMESPACE/NAME", conflicts_with = "tls_cert_file")]
    pub(crate) service: Option<ServiceName>,
    /// The authorities whose certificates identify clients, PEM. Without it, one is made in the data folder, and a
    /// certificate for the administrator with it. The file is watched.
    #[arg(long, env = "BAILIWICK_CLIENT_CA_FILE", value_name = "FILE")]
    pub(crate) client_ca_file: Option<PathBuf>,
}

/// Who may what.
#[derive(Debug, Args)]
pub(crate) struct AuthorizationFlags {
    /// Paths that everyone may ask for, with commas between them; a * at the end stands for whatever follows. Whoever is
    /// not known may only ask for those of them that tell of health.
    #[arg(
        long,
        env = "BAILIWICK_AUTHORIZATION_ALWAYS_ALLOW_PATHS",
        value_name = "PATHS",
        value_delimiter = ',',
        default_value = "/healthz,/readyz,/livez"
    )]
    pub(crate) authorization_always_allow_paths: Vec<String>,
}

// === impl AuthorizationFlags ===

impl AuthorizationFlags {
    /// The paths, read.
    pub(crate) fn always_allow(&self) -> Result<AllowPaths, AllowPathError> {
        AllowPaths::new(self.authorization_always_allow_paths.iter().filter(|path| !path.is_empty()))
    }
}

/// The store, if it is not the embedded one.
#[derive(Clone, Debug, Args)]
pub(crate) struct EtcdFlags {
    /// The client URLs of etcd's members, with commas between them. Without it, data is stored in the data folder.
    #[arg(long, env = "BAILIWICK_ETCD_SERVERS", value_name = "URLS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) etcd_servers: Vec<String>,
    /// The authorities that vouch for etcd, PEM. This file and the two below are read anew when they change.
    #[arg(long, env = "BAILIWICK_ETCD_CAFILE", value_name = "FILE", requires = "etcd_servers")]
    pub(crate) etcd_cafile: Option<PathBuf>,
    /// The certificate to show to etcd, PEM.
    #[arg(
        long,
        env = "BAILIWICK_ETCD_CERTFILE",
        value_name = "FILE",
        requires = "etcd_keyfile",
        requires = "etcd_cafile"
    )]
    pub(crate) etcd_certfile: Option<PathBuf>,
    /// The key of that certificate, PEM.
    #[arg(long, env = "BAILIWICK_ETCD_KEYFILE", value_name = "FILE", requires = "etcd_certfile")]
    pub(crate) etcd_keyfile: Option<PathBuf>,
    /// Below what the data lies in etcd.
    #[arg(long, env = "BAILIWICK_ETCD_PREFIX", value_name = "PREFIX", default_value = bailiwick_storage::etcd::DEFAULT_ROOT)]
    pub(crate) etcd_prefix: String,
}

/// How long things take.
#[derive(Debug, Args)]
pub(crate) struct TimeFlags {
    /// How long to go on serving, unready, once asked to stop: load balancers need that time to notice.
    #[arg(long, env = "BAILIWICK_SHUTDOWN_DELAY_DURATION", value_name = "DURATION", value_parser = duration::parse, default_value = "0s")]
    pub(crate) shutdown_delay_duration: Duration,
    /// How long a request may take, and how long requests may take to end at a shutdown. Watches are not bound by it.
    #[arg(long, env = "BAILIWICK_REQUEST_TIMEOUT", value_name = "DURATION", value_parser = duration::parse_positive, default_value = "1m0s")]
    pub(crate) request_timeout: Duration,
    /// How long a watch lasts at least, unless its client asks for less.
    #[arg(long, env = "BAILIWICK_MIN_REQUEST_TIMEOUT", value_name = "DURATION", value_parser = duration::parse_positive, default_value = "30m0s")]
    pub(crate) min_request_timeout: Duration,
}

/// How much at once.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LimitFlags {
    /// How many requests that change nothing are served at once; more wait shortly, then they are told to come back. 0 is no
    /// bound.
    #[arg(long, env = "BAILIWICK_MAX_REQUESTS_INFLIGHT", value_name = "NUMBER", default_value_t = 400)]
    pub(crate) max_requests_inflight: usize,
    /// How many requests that change something are served at once. 0 is no bound.
    #[arg(long, env = "BAILIWICK_MAX_MUTATING_REQUESTS_INFLIGHT", value_name = "NUMBER", default_value_t = 200)]
    pub(crate) max_mutating_requests_inflight: usize,
    /// How many watches may be open at once. 0 is no bound.
    #[arg(long, env = "BAILIWICK_MAX_WATCHES_INFLIGHT", value_name = "NUMBER", default_value_t = 20_000)]
    pub(crate) max_watches_inflight: usize,
    /// Which part of requests over HTTP/2 is asked to come back over another connection, so that a load balancer can send it
    /// elsewhere: 0 (none) to 0.02. With one server it only costs.
    #[arg(long, env = "BAILIWICK_GOAWAY_CHANCE", value_name = "CHANCE", value_parser = goaway_chance, default_value_t = 0.0)]
    pub(crate) goaway_chance: f64,
}

/// What is written down of requests.
#[derive(Clone, Debug, Args)]
pub(crate) struct AuditFlags {
    /// Which requests are written down, and how much of them: a Policy of audit.k8s.io/v1.
    #[arg(long, env = "BAILIWICK_AUDIT_POLICY_FILE", value_name = "FILE", requires = "audit_log_path")]
    pub(crate) audit_policy_file: Option<PathBuf>,
    /// Where they are written down; `-` is the standard output.
    #[arg(long, env = "BAILIWICK_AUDIT_LOG_PATH", value_name = "FILE", requires = "audit_policy_file")]
    pub(crate) audit_log_path: Option<PathBuf>,
    /// Whether requests wait for the log.
    #[arg(long, env = "BAILIWICK_AUDIT_LOG_MODE", value_name = "MODE", value_enum, default_value_t = AuditLogMode::Blocking)]
    pub(crate) audit_log_mode: AuditLogMode,
    /// How they are written.
    #[arg(long, env = "BAILIWICK_AUDIT_LOG_FORMAT", value_name = "FORMAT", value_enum, default_value_t = AuditLogFormat::Json)]
    pub(crate) audit_log_format: AuditLogFormat,
    /// For how many days old files are kept. 0 is for ever.
    #[arg(long, env = "BAILIWICK_AUDIT_LOG_MAXAGE", value_name = "DAYS", default_value_t = 366)]
    pub(crate) audit_log_maxage: u32,
    /// How many old files are kept. 0 is all.
    #[arg(long, env = "BAILIWICK_AUDIT_LOG_MAXBACKUP", value_name = "NUMBER", default_value_t = 100)]
    pub(crate) audit_log_maxbackup: usize,
    /// How large a file gets before the next one begins, in megabytes. 0 is without bound.
    #[arg(long, env = "BAILIWICK_AUDIT_LOG_MAXSIZE", value_name = "MEGABYTES", default_value_t = 100)]
    pub(crate) audit_log_maxsize: u32,
    /// Compress old files.
    #[arg(long, env = "BAILIWICK_AUDIT_LOG_COMPRESS")]
    pub(crate) audit_log_compress: bool,
}

/// Whether requests wait for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditLogMode {
    /// They do not.
    Batch,
    /// They do, and go on if it cannot be written.
    Blocking,
    /// They do, and are refused if it cannot be written.
    BlockingStrict,
}

/// How entries look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditLogFormat {
    /// One JSON object a line.
    Json,
}

fn goaway_chance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(chance) if (0.0..=0.02).contains(&chance) => Ok(chance),
        _ => Err("it can not be less than 0 or greater than 0.02".to_owned()),
    }
}

/// What is logged.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LogFlags {
    /// How much is logged, to the standard error: 0 to 2 what operators need, from 3 on what helps to find mistakes, from 6
    /// on everything.
    #[arg(short, long, env = "BAILIWICK_V", value_name = "LEVEL", default_value_t = 0)]
    pub(crate) v: u8,
    /// How it is written.
    #[arg(long, env = "BAILIWICK_LOGGING_FORMAT", value_name = "FORMAT", value_enum, default_value_t = LoggingFormat::Text)]
    pub(crate) logging_format: LoggingFormat,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoggingFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

#[cfg(test)]
mod tests;
