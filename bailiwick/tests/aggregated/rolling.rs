//! Two of us behind one Service of the cluster, replaced one after the other, while everyone comes through the aggregator.
//!
//! The Service leads to one address, as one of type ExternalName does; behind it stand both, and what of them is not ready gets no
//! new connections, as kube-proxy sees to in a cluster.

use std::collections::BTreeSet;
use std::time::Duration;

use bailiwick_test_host::{Balancer, Kubectl, Port};
use http::Method;
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::direct::Direct;
use crate::process::folder;
use crate::replicas::{name, revision, watch, write};
use crate::world::{ENTRIES, SOON, entry, world};

const WRITERS: usize = 3;
const WATCHERS: usize = 3;
/// How often each of both is replaced.
const ROUNDS: usize = 2;
/// How long both run between that.
const LIFE: Duration = Duration::from_secs(2);
/// How often whoever uses kubectl repeats a command before they complain.
const TRIES: usize = 20;
const SERVICE: &str = "apiservice v1alpha1.catalog.bailiwick.dev";

/// through the aggregator: while replicas are replaced in turn, no request that is tried again is lost, what was
/// acknowledged is there, every watch is told of everything once, kubectl gets its answers, and the cluster does not find us
/// missing.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_replaced_in_turn_and_nobody_behind_the_aggregator_misses_anything() {
    let (_turn, world) = world().await;
    let folders = [folder(), folder()];
    let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
    let arguments = ["--etcd-prefix=/rolling", "--shutdown-delay-duration=1s"];
    let start = async |number: usize| world.start_on(folders[number].path(), ports[number].number(), &arguments).await;
    let mut servers = [Some(start(0).await), Some(start(1).await)];
    let balancer = Balancer::open(&world.port, ports.iter().map(Port::address)).await.unwrap();
    world.wait_available().await;
    let changed =
        format!("get {SERVICE} -o jsonpath={{.status.conditions[?(@.type==\"Available\")].lastTransitionTime}}");
    let available_since = world.run(&changed).await;

    let identity = world.cluster.tls().user("master", &["system:masters"]).unwrap();
    let aggregator = world.cluster.server().strip_prefix("https://").unwrap().parse().unwrap();
    let through = vec![Direct::new(aggregator, world.cluster.tls().ca.text(), Some(&identity))];
    let beginning = revision(&through[0].get(ENTRIES).await.expect(200));
    let (stop, finished) = (CancellationToken::new(), CancellationToken::new());
    let writers: Vec<_> =
        (0..WRITERS).map(|number| tokio::spawn(write(through.clone(), number, stop.clone()))).collect();
    let watchers: Vec<_> =
        (0..WATCHERS).map(|number| tokio::spawn(watch(through.clone(), number, beginning, finished.clone()))).collect();
    let commands = tokio::spawn(use_kubectl(world.user("master", &["system:masters"]).await, stop.clone()));
    for number in (0..ROUNDS).flat_map(|_| [0, 1]) {
        sleep(LIFE).await;
        // As an endpoint goes when its pod is to end.
        balancer.take_out(number);
        let server = servers[number].take().unwrap();
        server.signal(Signal::TERM);
        assert_eq!(server.end().await.code(), Some(0));
        servers[number] = Some(start(number).await);
        balancer.put_in(number);
    }
    sleep(LIFE).await;
    stop.cancel();
    let (mut written, mut repeated) = (BTreeSet::new(), 0);
    for writer in writers {
        let wrote = writer.await.unwrap();
        repeated += wrote.repeated;
        written.extend(wrote.names);
    }
    let used = commands.await.unwrap();
    written.extend(used.names);
    let listed: BTreeSet<String> =
        through[0].get(ENTRIES).await.expect(200)["items"].as_array().unwrap().iter().map(name).collect();
    assert_eq!(listed, written);
    // Watchers end with the next event, which is theirs alone.
    finished.cancel();
    through[0].send(Method::POST, ENTRIES, &[], &entry("the-end")).await.unwrap().expect(201);
    let mut resumed = 0;
    for watcher in watchers {
        let seen = timeout(SOON, watcher).await.expect("the watchers end").unwrap();
        let names: BTreeSet<String> = seen.events.keys().filter(|name| *name != "the-end").cloned().collect();
        assert_eq!(names, written, "every object was told of");
        assert!(seen.events.values().all(|times| *times == 1), "and once: {:?}", seen.events);
        resumed += seen.watches - 1;
    }
    let connections = [0, 1].map(|number| balancer.connections(number));
    println!(
        "{} written, {repeated} requests and {} of {} commands repeated, {resumed} watches resumed, {connections:?} connections",
        written.len(),
        used.repeated,
        used.commands
    );
    assert!(written.len() > 50 && resumed >= WATCHERS && connections.iter().all(|count| *count > 0));
    assert_eq!(world.run(&changed).await, available_since, "the cluster has never missed us");
    for server in servers.into_iter().flatten() {
        server.stop().await;
    }
}

struct Used {
    names: Vec<String>,
    commands: usize,
    repeated: usize,
}

/// Makes and reads objects with kubectl, each time by a new process, as people do.
async fn use_kubectl(kubectl: Kubectl, stop: CancellationToken) -> Used {
    let mut used = Used { names: Vec::new(), commands: 0, repeated: 0 };
    while !stop.is_cancelled() {
        let name = format!("by-kubectl-{}", used.names.len());
        used.repeat(&kubectl, Command::Apply(entry(&name))).await;
        let words = format!("get resourcecatalogentries {name} -n default -o name");
        used.repeat(&kubectl, Command::Run(words)).await;
        used.names.push(name);
    }
    used
}

#[derive(Debug)]
enum Command {
    Apply(String),
    Run(String),
}

// === impl Command ===

impl Command {
    async fn try_once(&self, kubectl: &Kubectl) -> Result<(), String> {
        let done = match self {
            Self::Apply(manifest) => kubectl.apply(manifest).await,
            Self::Run(words) => kubectl.run(words.split(' ')).await.unwrap().success().map(drop),
        };
        done.map_err(|error| error.to_string())
    }
}

// === impl Used ===

impl Used {
    /// Runs a command until it succeeds.
    async fn repeat(&mut self, kubectl: &Kubectl, command: Command) {
        let (began, mut last) = (Instant::now(), String::new());
        self.commands += 1;
        for _ in 0..TRIES {
            match command.try_once(kubectl).await {
                Ok(()) => return,
                Err(error) => last = error,
            }
            // What was acknowledged is there, and nothing else was asked for.
            assert!(!last.contains("NotFound"), "{command:?}: {last}");
            self.repeated += 1;
            sleep(Duration::from_millis(100)).await;
        }
        panic!("{command:?} fails after {:?}: {last}", began.elapsed());
    }
}
