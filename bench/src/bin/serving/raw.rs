//! What etcd takes by itself: creates of values as long as the objects, by as many clients, with no server between: only our
//! storage engine, which makes one transaction of each. It says how much of etcd's speed a server passes on.

use std::sync::Arc;
use std::time::Instant;

use bailiwick_storage::etcd::{Etcd, EtcdOptions};
use bailiwick_storage::{Resource, Store, Txn};
use bytes::Bytes;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::options::Options;
use crate::target::OBJECT_BYTES;

/// Apart from the keys of all servers, so that none sees what is written here.
const ROOT: &str = "raw";

/// An etcd, written to directly.
pub(crate) struct RawEtcd {
    store: Arc<Etcd>,
    resource: Resource,
}

// === impl RawEtcd ===

impl RawEtcd {
    /// Connects to the members at these URLs.
    pub(crate) async fn connect(urls: Vec<String>) -> Result<Self, Error> {
        let mut options = EtcdOptions::new(urls);
        options.root = ROOT.to_owned();
        // That is for the servers to do.
        options.compaction = None;
        let store = Arc::new(Etcd::connect(options).await?);
        let resource = Resource::new("bench.bailiwick.dev", "values").expect("the names are API names");
        Ok(Self { store, resource })
    }

    /// Creates as many values as a round creates objects, and gives how many that were a second.
    pub(crate) async fn create_rate(&self, options: &Options, round: usize) -> Result<f64, Error> {
        let value = Bytes::from(vec![b'x'; OBJECT_BYTES]);
        let began = Instant::now();
        let mut clients = JoinSet::new();
        for client in 0..options.clients {
            let keys = (client..options.created).step_by(options.clients).map(|nth| {
                let key = self.resource.namespaced(format!("round-{round}"), format!("value-{nth:06}"));
                key.expect("the names are Kubernetes names")
            });
            let (store, value, keys) = (self.store.clone(), value.clone(), keys.collect::<Vec<_>>());
            clients.spawn(async move {
                for key in keys {
                    store.commit(Txn::new().create(key, value.clone())).await?;
                }
                Ok::<(), bailiwick_storage::Error>(())
            });
        }
        while let Some(ended) = clients.join_next().await {
            ended.expect("a client does not panic")?;
        }
        Ok(options.created as f64 / began.elapsed().as_secs_f64())
    }
}
