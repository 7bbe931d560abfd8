//! Which store: the one in the data folder, or etcd.

mod certificates;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder, OpenError};
use bailiwick_storage::etcd::{ConnectError, Etcd, EtcdOptions, TlsOptions};
use bailiwick_storage::{Measured, Metrics, Store};
use tokio::time::{Instant, sleep};

use crate::flags::EtcdFlags;

/// How long tasks that hold the store may take to end.
const LAST_HOLDERS: Duration = Duration::from_secs(2);
/// How often to look whether they have.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How long to wait before etcd is looked for again, which itself takes some seconds.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Why there is no store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(transparent)]
    Embedded(#[from] OpenError),
    #[error(transparent)]
    Etcd(#[from] ConnectError),
    #[error("cannot read {}: {source}; check that the file exists and that you may read it", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("the key in {} is not text: give a PEM file", path.display())]
    Key { path: PathBuf },
}

/// Opens the store that the flags ask for, when it is there.
pub(crate) async fn open(flags: &EtcdFlags, folder: &Path, metrics: &Metrics) -> Result<Arc<dyn Store>, StoreError> {
    if flags.etcd_servers.is_empty() {
        let store = Arc::new(open_embedded(folder, metrics.clone()).await?);
        return Ok(Arc::new(Measured::new(store, metrics.clone())));
    }
    let (store, tls) = wait_for_etcd(flags).await?;
    let store = Arc::new(store);
    if let Some(tls) = tls {
        tokio::spawn(certificates::follow(flags.clone(), tls, Arc::downgrade(&store)));
    }
    Ok(Arc::new(Measured::new(store, metrics.clone())))
}

/// Waits for an etcd that is not there, until the process is asked to stop: it may be on its way, and a server that gives up is
/// only started again, later each time. What is wrong with the flags, or with etcd, is said at once.
async fn wait_for_etcd(flags: &EtcdFlags) -> Result<(Etcd, Option<TlsOptions>), StoreError> {
    loop {
        let mut options = EtcdOptions::new(&flags.etcd_servers);
        // Kubernetes writes it with a `/` in front.
        options.root = flags.etcd_prefix.trim_start_matches('/').to_owned();
        // Each time anew: they may have been replaced.
        options.tls = certificates::read(flags)?;
        let tls = options.tls.clone();
        match Etcd::connect(options).await {
            Ok(store) => return Ok((store, tls)),
            Err(error @ ConnectError::Unreachable { .. }) => {
                tracing::warn!(%error, "waiting for etcd; requests are answered by 503 until it is there");
            }
            Err(error) => return Err(error.into()),
        }
        sleep(TRY_AGAIN).await;
    }
}

/// Opens the store in a folder.
pub(crate) async fn open_embedded(folder: &Path, metrics: Metrics) -> Result<Embedded, OpenError> {
    let folder = Folder::take(folder)?;
    Embedded::open(EmbeddedOptions { metrics, ..EmbeddedOptions::new(Arc::new(folder)) }).await
}

/// Waits until everything is written. Tasks that hold the store end with the server, some of them a moment later; who holds
/// it for longer keeps it open, which is a mistake.
pub(crate) async fn close(store: Arc<dyn Store>) {
    let others = || Arc::strong_count(&store) - 1;
    let deadline = Instant::now() + LAST_HOLDERS;
    while others() > 0 && Instant::now() < deadline {
        sleep(LOOK_AGAIN).await;
    }
    let holders = others();
    if holders > 0 {
        tracing::warn!(holders, "the store is still in use: it is closed with the process");
    }
    // Dropping it waits for the disk.
    if tokio::task::spawn_blocking(move || drop(store)).await.is_err() {
        tracing::error!("the store was not closed well");
    }
}
