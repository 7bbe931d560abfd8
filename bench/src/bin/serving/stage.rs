//! All contenders, running and filled, and the rounds that they are put through.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::client::Client;
use crate::error::Error;
use crate::fanout::{self, Connected};
use crate::load::{self, Measurement, Until};
use crate::operation::Operation;
use crate::options::Options;
use crate::ours::{Ours, Store};
use crate::peers::Peers;
use crate::raw::RawEtcd;
use crate::results::Results;
use crate::script::{Scripts, base_name, batch};
use crate::target::Target;

/// How long a server that runs may take to serve its kind.
const SERVING_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);

/// What a server still does for the last measurement is not to be counted in the next.
const PAUSE: Duration = Duration::from_millis(200);

/// Everything that runs. Our servers end before the etcd they use.
pub(crate) struct Stage<'run> {
    options: &'run Options,
    contenders: Vec<Contender>,
    raw: RawEtcd,
    _ours: Vec<Ours>,
    peers: Peers,
}

/// A target, with the connections to it.
struct Contender {
    target: Arc<Target>,
    connections: Vec<Client>,
}

// === impl Stage ===

impl<'run> Stage<'run> {
    /// Starts everything, fills it with objects, and checks that all give the same answers.
    pub(crate) async fn set(options: &'run Options, program: Option<&Path>) -> Result<Self, Error> {
        eprintln!("starting …");
        let peers = Peers::start().await?;
        let (mut ours, mut targets) = (Vec::new(), Vec::new());
        if let Some(program) = program {
            let shared = Store::Etcd { urls: peers.etcd_urls().join(","), process: peers.etcd()? };
            for store in [shared, Store::Embedded] {
                let (server, target) = Ours::start(program, store).await?;
                ours.push(server);
                targets.push(target);
            }
        }
        targets.extend(peers.targets()?);
        let mut contenders = Vec::new();
        for target in targets {
            eprintln!("filling {} …", target.name);
            contenders.push(Contender::prepare(target, options).await?);
        }
        let raw = RawEtcd::connect(peers.etcd_urls()).await?;
        Ok(Self { options, contenders, raw, _ours: ours, peers })
    }

    /// Runs all rounds. If that fails, shows which peers have ended, and why.
    pub(crate) async fn perform(&mut self) -> Result<Results, Error> {
        let performed = self.rounds().await;
        if performed.is_err() {
            self.peers.last_words().iter().for_each(|words| eprintln!("{words}"));
        }
        performed
    }

    async fn rounds(&mut self) -> Result<Results, Error> {
        let mut results = Results::new(self.contenders.iter().map(|contender| contender.target.name));
        for round in 0..=self.options.rounds {
            let options = if round == 0 { self.options.warm_up() } else { self.options.clone() };
            for operation in options.operations() {
                eprintln!("round {round} of {}: {} …", self.options.rounds, operation.id());
                for contender in &mut self.contenders {
                    sleep(PAUSE).await;
                    let measurement = contender.measure(operation, &options, round).await?;
                    if round > 0 {
                        results.add(contender.target.name, operation, measurement);
                    }
                }
                if operation == Operation::Create {
                    let rate = self.raw.create_rate(&options, round).await?;
                    if round > 0 {
                        results.add_raw_creates(rate);
                    }
                }
            }
        }
        for Contender { target, .. } in &self.contenders {
            results.set_memory(target.name, target.process.memory()?);
        }
        Ok(results)
    }
}

// === impl Contender ===

impl Contender {
    async fn prepare(target: Arc<Target>, options: &Options) -> Result<Self, Error> {
        let connections = target.endpoint.connect(options.connections).await?;
        let mut contender = Self { target, connections };
        contender.wait_serving().await?;
        let scripts = Scripts { target: &contender.target, options, round: 0 }.fill();
        load::run(&contender.target, &contender.connections, scripts, Until::Done).await?;
        contender.check(options).await?;
        Ok(contender)
    }

    async fn measure(&mut self, operation: Operation, options: &Options, round: usize) -> Result<Measurement, Error> {
        let until = match operation {
            Operation::Create | Operation::Delete | Operation::ApplyNew => Until::Done,
            _ => Until::Elapsed(options.span),
        };
        let connected = match operation {
            Operation::DeliveryAlone => Connected::Alone,
            _ => Connected::Shared,
        };
        let scripts = Scripts { target: &self.target, options, round };
        let measurement = match scripts.of(operation) {
            Some(scripts) => load::run(&self.target, &self.connections, scripts, until).await?,
            None => fanout::measure(&self.target, &mut self.connections[0], options, connected, round).await?,
        };
        if operation == Operation::ApplyNew {
            load::run(&self.target, &self.connections, scripts.clear(), Until::Done).await?;
        }
        Ok(measurement)
    }

    /// Waits until the collection is there; kube-apiserver needs a moment after it has found the custom resource good.
    async fn wait_serving(&mut self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match self.connections[0].exchange(self.target.list("?limit=1")).await {
                Ok(_) => return Ok(()),
                Err(error) if start.elapsed() > SERVING_LIMIT => return Err(error),
                Err(_) => sleep(POLL).await,
            }
        }
    }

    /// Makes sure that this target does the same work as all others.
    async fn check(&mut self, options: &Options) -> Result<(), Error> {
        let (target, client) = (&self.target, &mut self.connections[0]);
        let by_label = format!("?labelSelector=batch%3D{}", batch(options, 0));
        for (query, expected) in [("", options.objects), (by_label.as_str(), options.per_batch)] {
            let list = target.read_list(client, query).await?;
            let found = list["items"].as_array().map_or(0, Vec::len);
            if found != expected {
                return Err(target.unequal(format!("list{query} has {found} items instead of {expected}")));
            }
        }
        let name = base_name(options.objects - 1);
        let object = client.fetch(target.get(&name)).await?;
        let object: serde_json::Value = serde_json::from_slice(&object).unwrap_or_default();
        // A server may add to the spec what is set by default.
        let spec = (target.kind.spec)(options.objects - 1);
        let same =
            spec.as_object().is_some_and(|sent| sent.iter().all(|(field, value)| object["spec"][field] == *value));
        match same && object["metadata"]["name"] == *name {
            true => Ok(()),
            false => Err(target.unequal(format!("\"{name}\" is not what was created: {object}"))),
        }
    }
}

#[cfg(test)]
mod tests;
