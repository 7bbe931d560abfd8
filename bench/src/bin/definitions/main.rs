//! Measures what definitions of custom resources cost, ours beside a kube-apiserver: installing many, the memory and the
//! discovery afterwards, how soon a new kind is served, and operations on a custom resource beside those on a native kind that
//! has no rules of its own either, with as much in it.
//!
//! ```sh
//! cargo build --release -p bailiwick -p bailiwick-bench && target/release/definitions [PROGRAM [--alone]]
//! ```
//!
//! PROGRAM is a built `bailiwick`; without it, the one beside this program. `--alone` leaves the kube-apiserver out.

mod server;

use std::time::{Duration, Instant};

use bailiwick_bench::Failure;
use bailiwick_bench::client::Client;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::server::Server;

/// How many definitions are installed.
const DEFINITIONS: usize = 500;
/// How many operations a figure is the mean of.
const OPERATIONS: usize = 3_000;
/// How often a figure is taken; the median is told.
const ROUNDS: usize = 5;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const DEFINITIONS_PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How many objects a list shows.
const LISTED: usize = 100;
const NATIVE: &str = "/api/v1/namespaces/default/configmaps";
const CUSTOM: &str = "/apis/bench.example.com/v1/namespaces/default/claims";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let ours = Server::ours().await?;
    many(&ours).await?;
    operations(&ours).await?;
    drop(ours);
    if !std::env::args().any(|argument| argument == "--alone") {
        many(&Server::real().await?).await?;
    }
    Ok(())
}

/// Installs definitions, and looks at the server afterwards.
async fn many(server: &Server) -> Result<(), Failure> {
    let client = server.client().await?;
    let before = server.usage()?.resident;
    let (begun, cpu) = (Instant::now(), server.usage()?.processor);
    for number in 0..DEFINITIONS {
        let group = format!("g{number:03}.example.com");
        client.create(DEFINITIONS_PATH, &definition(&group, "things", "Thing")).await?;
    }
    let last = format!("/apis/g{:03}.example.com/v1/things", DEFINITIONS - 1);
    wait_served(&client, &last).await?;
    let (took, used) = (begun.elapsed(), server.usage()?.processor - cpu);
    say(server, &format!("{DEFINITIONS} definitions installed and served in {took:.2?}, {used:.2?} of processor time"));
    let resident = server.usage()?.resident;
    say(server, &format!("resident {resident:.0} MiB, {before:.0} MiB before"));
    let mut times = Vec::new();
    for _ in 0..20 {
        let begun = Instant::now();
        let length = client.get_as("/apis", AGGREGATED).await?.len();
        times.push((begun.elapsed(), length));
    }
    let first = times[0].0;
    times.sort();
    say(
        server,
        &format!("discovery of {} KiB in {:.2?}, the first time in {first:.2?}", times[0].1 >> 10, times[10].0),
    );
    let mut served = Vec::new();
    for number in 0..ROUNDS {
        let group = format!("n{number}.example.com");
        let begun = Instant::now();
        client.create(DEFINITIONS_PATH, &definition(&group, "things", "Thing")).await?;
        wait_served(&client, &format!("/apis/{group}/v1/things")).await?;
        served.push(begun.elapsed());
    }
    served.sort();
    say(server, &format!("a new kind is served {:.2?} after its definition was sent", served[ROUNDS / 2]));
    Ok(())
}

/// What is done to objects, in this order.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Create,
    Get,
    List,
    Update,
    Patch,
    Delete,
}

const ALL: [Operation; 6] =
    [Operation::Create, Operation::Get, Operation::List, Operation::Update, Operation::Patch, Operation::Delete];

/// Operations on a custom resource beside those on a native kind.
async fn operations(server: &Server) -> Result<(), Failure> {
    let client = server.client().await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    // It may be there already.
    drop(client.create("/api/v1/namespaces", &namespace).await);
    client.create(DEFINITIONS_PATH, &definition("bench.example.com", "claims", "Claim")).await?;
    let mut figures = ALL.map(|_| [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        for (at, path) in [NATIVE, CUSTOM].into_iter().enumerate() {
            for (operation, times) in ALL.into_iter().zip(&mut figures) {
                times[at].push(cost(server, &client, operation, path).await?);
            }
        }
    }
    for (operation, times) in ALL.into_iter().zip(figures) {
        let [native, custom] = times.map(|mut times| {
            times.sort();
            times[ROUNDS / 2].as_secs_f64() * 1e6
        });
        let (name, more) = (format!("{operation:?}").to_lowercase(), (custom / native - 1.0) * 100.0);
        say(server, &format!("{name}: native {native:.1} µs, custom {custom:.1} µs of processor time ({more:+.1} %)"));
    }
    Ok(())
}

/// The processor time that an operation takes the server.
async fn cost(server: &Server, client: &Client, operation: Operation, path: &str) -> Result<Duration, Failure> {
    let bodies = bodies(client, operation, path).await?;
    let begun = server.usage()?.processor;
    for (number, body) in bodies.iter().enumerate() {
        let one = format!("{path}/c-{}", number % OPERATIONS);
        match operation {
            Operation::Create => client.create(path, body).await?,
            Operation::Get => client.expect(Method::GET, &one, Bytes::new()).await?,
            Operation::List => client.expect(Method::GET, &format!("{path}?limit={LISTED}"), Bytes::new()).await?,
            Operation::Update => client.expect(Method::PUT, &one, body.to_string().into()).await?,
            Operation::Patch => client.merge(&one, body).await?,
            Operation::Delete => client.expect(Method::DELETE, &one, Bytes::new()).await?,
        }
    }
    Ok((server.usage()?.processor - begun) / u32::try_from(bodies.len())?)
}

/// What is sent, for each time that an operation is done. An update changes a label, and so does a patch.
async fn bodies(client: &Client, operation: Operation, path: &str) -> Result<Vec<Value>, Failure> {
    Ok(match operation {
        Operation::Create => (0..OPERATIONS).map(|number| object(path, &format!("c-{number}"))).collect(),
        Operation::Get => vec![Value::Null; OPERATIONS * 3],
        Operation::List => vec![Value::Null; OPERATIONS / 10],
        Operation::Update => {
            let mut bodies = Vec::with_capacity(OPERATIONS);
            for number in 0..OPERATIONS {
                let mut body = client.get(&format!("{path}/c-{number}")).await?;
                body["metadata"]["labels"] = json!({"by": "update"});
                bodies.push(body);
            }
            bodies
        }
        Operation::Patch => vec![json!({"metadata": {"labels": {"by": "patch"}}}); OPERATIONS],
        Operation::Delete => vec![Value::Null; OPERATIONS],
    })
}

async fn wait_served(client: &Client, path: &str) -> Result<(), Failure> {
    let begun = Instant::now();
    while !client.send(Method::GET, path, Bytes::new()).await?.0.is_success() {
        if begun.elapsed() > Duration::from_secs(120) {
            return Err(format!("{path} is not served").into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

fn say(server: &Server, what: &str) {
    println!("{}: {what}", server.name());
}

fn object(path: &str, name: &str) -> Value {
    let (api_version, kind, content) = match path {
        NATIVE => ("v1", "ConfigMap", "data"),
        _ => ("bench.example.com/v1", "Claim", "spec"),
    };
    json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name},
        content: {"description": "team-catalog", "version": "bench.example.com/v1", "kind": "Database", "name": "database"},
    })
}

/// A definition of a middling size: a few fields, a status, columns, and some fields that only take room.
fn definition(group: &str, plural: &str, kind: &str) -> Value {
    let text = |about: &str| json!({"type": "string", "description": format!("{about}, as it is known to everyone.")});
    let mut spec = json!({
        "description": text("What it provides"),
        "version": text("What it is provided by"),
        "kind": text("What it is"),
        "name": text("How it is called"),
    });
    for number in 0..30 {
        spec[format!("part{number}")] = json!({
            "type": "object", "description": "A part of it, which consists of others.",
            "properties": {"name": text("Its name"), "size": {"type": "integer", "minimum": 0}, "labels": {
                "type": "object", "additionalProperties": {"type": "string"},
            }},
        });
    }
    let condition = json!({"type": "object", "properties": {"type": text("What"), "status": text("Whether")}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Description", "type": "string", "jsonPath": ".spec.description"}],
                "schema": {"openAPIV3Schema": {
                    "type": "object", "description": "Something that can be claimed.",
                    "properties": {
                        "spec": {"type": "object", "properties": spec},
                        "status": {"type": "object", "properties": {"conditions": {"type": "array", "items": condition}}},
                    },
                }},
            }],
        },
    })
}
