//! A server's life: what it needs is found or made, then it serves, then it is asked to stop.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bailiwick_apiserver::{BindError, Listener, ListenerOptions, Loading, Metrics, Tls, TlsError, TlsFiles};
use bailiwick_registry::{AllowPathError, Clock, SystemClock, kinds};
use bailiwick_storage::Store;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use time::OffsetDateTime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::authentication::{AuthenticationSetupError, authentication};
use crate::certificates::{Pair, Pki, PkiError};
use crate::data_folder::{DataFolder, DataFolderError};
use crate::flags::{ListenFlags, ServeFlags, ServiceName};
use crate::handler::{HandlerError, Parts, handler};
use crate::kubeconfig::kubeconfig;
use crate::mode::{Mode, ModeError};
use crate::private_file::{self, PrivateFileError};
use crate::service_authority::{ServiceAuthority, ServiceAuthorityError};
use crate::signals::StopSignals;
use crate::store::{self, StoreError};
use crate::{controllers, logging, report};

/// Names by which pods of a cluster know the API.
const CLUSTER_NAMES: [&str; 3] = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    DataFolder(#[from] DataFolderError),
    #[error(transparent)]
    Pki(#[from] PkiError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Authentication(#[from] AuthenticationSetupError),
    #[error(transparent)]
    Mode(#[from] ModeError),
    #[error(transparent)]
    ServiceAuthority(#[from] ServiceAuthorityError),
    #[error("--service is for a server behind a cluster: give --kubeconfig, or --mode=aggregated in a pod")]
    ServiceWithoutCluster,
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error(transparent)]
    Handler(#[from] HandlerError),
    #[error("--authorization-always-allow-paths: {0}")]
    AllowPaths(#[from] AllowPathError),
    #[error("signals cannot be caught: {0}")]
    Signals(std::io::Error),
}

/// The certificates in use.
struct Certificates {
    files: TlsFiles,
    /// What clients trust this server by, PEM.
    trusted: String,
    /// The administrator's, unless clients come from elsewhere.
    admin: Option<Pair>,
    /// What was made, for people to read, and where.
    made: Vec<&'static str>,
    folder: PathBuf,
}

/// A server that has all it needs.
struct Started {
    /// Held for as long as it runs.
    folder: DataFolder,
    /// Takes requests from the beginning, and answers them once all is there.
    listening: JoinHandle<()>,
    store: Arc<dyn Store>,
    /// What runs here while this server leads, and gives that up in the end.
    leading: Option<JoinHandle<()>>,
    stop: Stop,
}

/// How a server is stopped, in three steps.
#[derive(Clone, Default)]
struct Stop {
    /// From the first on it is not ready, but serves.
    stopping: CancellationToken,
    /// From the second on it takes no more requests, and watches end.
    stopped: CancellationToken,
    /// From the third on all requests are answered, and whoever holds the store lets it go.
    closing: CancellationToken,
}

/// Serves until a signal.
pub(crate) async fn serve(flags: ServeFlags) -> Result<(), ServeError> {
    logging::start(flags.log);
    allow_many_connections();
    let mut signals = StopSignals::catch().map_err(ServeError::Signals)?;
    let Started { folder, listening, store, leading, stop } = tokio::select! {
        started = start(&flags) => started?,
        signal = signals.next() => std::process::exit(128 + signal),
    };
    let serving = async {
        if listening.await.is_err() {
            tracing::error!("taking requests failed");
        }
        if let Some(leading) = leading
            && leading.await.is_err()
        {
            tracing::error!("controllers failed");
        }
        stop.closing.cancel();
        store::close(store).await;
    };
    run(serving, &stop, flags.time.shutdown_delay_duration, &mut signals).await;
    tracing::info!("stopped");
    drop(folder);
    Ok(())
}

/// Finds or makes everything, and says so.
async fn start(flags: &ServeFlags) -> Result<Started, ServeError> {
    let folder = DataFolder::take(&flags.data.data_dir)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mode = Mode::open(flags, &folder.pki(), &clock).await?;
    let authority = service_authority(&folder, flags, &mode, &clock)?;
    if let Some(authority) = &authority {
        authority.wait().await;
    }
    let mut certificates = certificates(&folder, &flags.listen, &mode)?;
    certificates.files.request_header_ca = flags.authentication.request_header.requestheader_client_ca_file.clone();
    let tls = Arc::new(Tls::load(&certificates.files)?);
    let metrics = Arc::new(Metrics::beside(bailiwick_controllers::register_metrics));
    let authentication = authentication(&flags.authentication, mode.tokens(&metrics), tls.clone(), clock.clone())?;
    let options = ListenerOptions { shutdown_grace: flags.time.request_timeout, ..ListenerOptions::default() };
    let address = SocketAddr::new(flags.listen.bind_address, flags.listen.secure_port);
    // Before the store is opened, which takes longer.
    let listener = Listener::bind(address, tls, options).await?.counted_by(metrics.clone());
    let (url, stop, loading) = (url(listener.address()), Stop::default(), Loading::new(clock.clone()));
    let listening = tokio::spawn(listener.run(loading.clone(), stop.stopped.clone()));
    if let Some(authority) = authority {
        tokio::spawn(authority.keep(stop.stopped.clone()));
    }
    let store = store::open(&flags.etcd, &folder.store(), &metrics.storage).await?;
    let cluster = mode.cluster().cloned();
    let parts = Parts {
        store: store.clone(),
        authentication,
        mode,
        url: url.clone(),
        clock,
        event_ttl: flags.host.event_ttl,
        aliases: flags.mode.alias_groups,
        always_allow: flags.authorization.always_allow()?,
        request_timeout: flags.time.request_timeout,
        min_request_timeout: flags.time.min_request_timeout,
        limits: flags.limits,
        audit: flags.audit.clone(),
        metrics,
        stopping: stop.stopping.clone(),
        stopped: stop.stopped.clone(),
        closing: stop.closing.clone(),
    };
    let handler = handler(parts).await?;
    let leading = match &cluster {
        None => {
            controllers::start(handler.server(), &flags.host, certificates.trusted.clone(), &stop.stopped);
            None
        }
        Some(cluster) => flags.host.runs_behind_a_cluster().then(|| {
            let namespace = flags.listen.service.as_ref().map(|service| service.namespace.clone());
            let host = flags.host.clone();
            controllers::elected::start(handler.server(), cluster.clone(), namespace, host, stop.stopped.clone())
        }),
    };
    loading.done(handler);
    write_kubeconfig(&folder, &certificates, &url)?;
    announce(&folder, &certificates, &url, cluster.as_ref().map(|cluster| cluster.url.as_str()));
    tracing::info!(url, version = env!("CARGO_PKG_VERSION"), "serving");
    Ok(Started { folder, listening, store, leading, stop })
}

/// Serves until the first signal, and a little longer. The second one ends the process where it stands: everything that
/// was acknowledged is durable.
async fn run(serving: impl Future<Output = ()>, stop: &Stop, delay: Duration, signals: &mut StopSignals) {
    let insisted = async {
        signals.next().await;
        tracing::info!("asked to stop: not ready from now on, and done when the requests under way are");
        stop.stopping.cancel();
        stop_after(delay, stop.stopped.clone());
        signals.next().await
    };
    tokio::select! {
        () = serving => {}
        signal = insisted => {
            tracing::warn!("asked to stop again: ending at once");
            std::process::exit(128 + signal);
        }
    }
}

fn stop_after(delay: Duration, stopped: CancellationToken) {
    tokio::spawn(async move {
        tokio::time::sleep(delay).await;
        stopped.cancel();
    });
}

/// Who keeps the certificate good by which a cluster's kube-apiserver knows this server, if that is wanted.
fn service_authority(
    folder: &DataFolder,
    flags: &ServeFlags,
    mode: &Mode,
    clock: &Arc<dyn Clock>,
) -> Result<Option<ServiceAuthority>, ServeError> {
    let Some(service) = flags.listen.service.clone() else { return Ok(None) };
    let cluster = mode.cluster().ok_or(ServeError::ServiceWithoutCluster)?;
    let names = serving_names(&flags.listen);
    let kinds = kinds::all().and_then(|kinds| match flags.mode.alias_groups {
        Some(true) => kinds::with_aliases(kinds),
        _ => Ok(kinds),
    });
    let kinds = kinds.map_err(HandlerError::from)?;
    Ok(Some(ServiceAuthority::new(cluster.own.clone(), service, names, folder.service_pki(), clock.clone(), &kinds)))
}

/// Finds or makes what the flags do not name.
fn certificates(folder: &DataFolder, flags: &ListenFlags, mode: &Mode) -> Result<Certificates, ServeError> {
    let folder = if flags.service.is_some() { folder.service_pki() } else { folder.pki() };
    // A cluster has authorities and an administrator of its own.
    let are_clients_known = flags.client_ca_file.is_some() || mode.cluster().is_some();
    if let (Some(certificate), Some(key), true) = (&flags.tls_cert_file, &flags.tls_private_key_file, are_clients_known)
    {
        let files = TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            client_ca: flags.client_ca_file.clone(),
            request_header_ca: None,
        };
        // Its authority is not known here: clients trust the certificate itself.
        let trusted = private_file::read(certificate)?.unwrap_or_default();
        return Ok(Certificates { files, trusted, admin: None, made: Vec::new(), folder });
    }
    let mut pki = Pki::open(folder.clone(), now())?;
    let (certificate, key, trusted) = match (&flags.tls_cert_file, &flags.tls_private_key_file) {
        (Some(certificate), Some(key)) => {
            // Its authority is not known here: clients trust the certificate itself.
            let trusted = private_file::read(certificate)?.unwrap_or_default();
            (certificate.clone(), key.clone(), trusted)
        }
        _ => {
            pki.serving(&serving_names(flags))?;
            (pki.file("serving.crt"), pki.file("serving.key"), pki.authority().to_owned())
        }
    };
    let admin = if are_clients_known { None } else { Some(pki.admin()?) };
    let client_ca = if are_clients_known { flags.client_ca_file.clone() } else { Some(pki.file("ca.crt")) };
    let files = TlsFiles { certificate, key, client_ca, request_header_ca: None };
    Ok(Certificates { files, trusted, admin, made: pki.made().to_vec(), folder })
}

fn serving_names(flags: &ListenFlags) -> Vec<String> {
    let bind_address = flags.bind_address;
    let mut names = vec!["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string(), Ipv6Addr::LOCALHOST.to_string()];
    names.extend(CLUSTER_NAMES.map(str::to_owned));
    names.extend(flags.service.iter().flat_map(ServiceName::hosts));
    if !bind_address.is_unspecified() {
        names.push(bind_address.to_string());
    }
    if !bind_address.is_loopback()
        && let Ok(host) = rustix::system::uname().nodename().to_str()
        && !host.is_empty()
    {
        names.push(host.to_owned());
    }
    names.sort();
    names.dedup();
    names
}

fn write_kubeconfig(folder: &DataFolder, certificates: &Certificates, url: &str) -> Result<(), ServeError> {
    let Some(admin) = &certificates.admin else { return Ok(()) };
    let text = kubeconfig(url, &certificates.trusted, "admin", admin);
    Ok(private_file::write(&folder.kubeconfig(), &text)?)
}

/// Tells a person what happened, and what to do next. Who has been told before gets the short form.
fn announce(folder: &DataFolder, certificates: &Certificates, url: &str, cluster: Option<&str>) {
    report::line(format!("{} serves {url} from {}", report::VERSION_LINE, folder.path().display()));
    if !certificates.made.is_empty() {
        report::line(format!("Made in {}: {}.", certificates.folder.display(), certificates.made.join(", ")));
    }
    if let Some(cluster) = cluster {
        report::line(format!(
            "The cluster at {cluster} says who clients are and what they may do; no kubeconfig was written."
        ));
        return;
    }
    if certificates.admin.is_none() {
        report::line("Clients are known by the certificates of --client-ca-file; no kubeconfig was written.");
        return;
    }
    let export = format!("  export KUBECONFIG={}", shell_word(&folder.kubeconfig()));
    if folder.is_new() {
        report::line("Try, in another terminal:");
        report::line(export);
        report::line("  kubectl api-resources");
        report::line("  kubectl get organizations");
    } else {
        report::line(export);
    }
}

/// A path as a shell takes it, wherever it is read.
fn shell_word(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = path.to_string_lossy();
    let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c));
    if is_plain { path.into_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Where clients on this machine find the server.
fn url(mut address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("https://{address}")
}

/// Each connection is an open file, and the usual bound is meant for programs that have few.
fn allow_many_connections() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_err() {
        tracing::warn!("the number of open files cannot be raised: raise it with ulimit -n for many clients");
    }
}

#[allow(clippy::disallowed_methods, reason = "the program is where the time comes in")]
fn now() -> OffsetDateTime {
    SystemTime::now().into()
}
