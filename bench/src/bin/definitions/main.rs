//! Measures what definitions of custom resources cost, ours beside a kube-apiserver: installing many, the memory and the
//! discovery afterwards, how soon a new kind is served, and an operation on a custom resource beside one on a native kind of the
//! same shape.
//!
//! ```sh
//! cargo build --release -p bailiwick && cargo run --release -p bailiwick-bench --bin definitions -- target/release/bailiwick
//! ```

#[allow(dead_code, reason = "shared with the program that measures serving, which uses all of it")]
#[path = "../serving/client.rs"]
mod client;
#[allow(dead_code, reason = "shared with the program that measures serving, which uses all of it")]
#[path = "../serving/error.rs"]
mod error;
mod server;

use std::error::Error as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::client::Client;
use crate::error::Error;
use crate::server::Server;

/// How many definitions are installed.
const DEFINITIONS: usize = 500;
/// How many operations a figure is the mean of.
const OPERATIONS: usize = 3_000;
/// How often a figure is taken; the median is told.
const ROUNDS: usize = 5;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const DEFINITIONS_PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NATIVE: &str = "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/resourcecatalogentries";
const CUSTOM: &str = "/apis/bench.example.com/v1/namespaces/default/claims";

#[tokio::main]
async fn main() -> ExitCode {
    let Some(program) = std::env::args().nth(1) else {
        eprintln!(
            "usage: definitions PROGRAM [--alone]   PROGRAM is a bailiwick; --alone leaves the kube-apiserver out"
        );
        return ExitCode::FAILURE;
    };
    let alone = std::env::args().any(|argument| argument == "--alone");
    match measure(program.as_ref(), alone).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn measure(program: &Path, alone: bool) -> Result<(), Error> {
    let ours = Server::ours(program).await?;
    many(&ours).await?;
    operations(&ours).await?;
    drop(ours);
    if !alone {
        many(&Server::real().await?).await?;
    }
    Ok(())
}

/// Installs definitions, and looks at the server afterwards.
async fn many(server: &Server) -> Result<(), Error> {
    let mut client = connect(server).await?;
    let before = server.resident()?;
    let (begun, cpu) = (Instant::now(), server.cpu()?);
    for number in 0..DEFINITIONS {
        let group = format!("g{number:03}.example.com");
        client.exchange(post(server, DEFINITIONS_PATH, &definition(&group, "things", "Thing"))).await?;
    }
    let last = format!("/apis/g{:03}.example.com/v1/things", DEFINITIONS - 1);
    wait_served(server, &mut client, &last).await?;
    let (took, used) = (begun.elapsed(), server.cpu()? - cpu);
    say(server, &format!("{DEFINITIONS} definitions installed and served in {took:.2?}, {used:.2?} of processor time"));
    let resident = server.resident()?;
    say(server, &format!("resident {} MiB, {} MiB before", resident >> 20, before >> 20));
    let mut times = Vec::new();
    for _ in 0..20 {
        let begun = Instant::now();
        let length = client.exchange(get(server, "/apis", AGGREGATED)).await?;
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
        client.exchange(post(server, DEFINITIONS_PATH, &definition(&group, "things", "Thing"))).await?;
        wait_served(server, &mut client, &format!("/apis/{group}/v1/things")).await?;
        served.push(begun.elapsed());
    }
    served.sort();
    say(server, &format!("a new kind is served {:.2?} after its definition was sent", served[ROUNDS / 2]));
    Ok(())
}

/// Operations on a custom resource beside those on a native kind that has the same fields; of those, the server tells more in
/// their status.
async fn operations(server: &Server) -> Result<(), Error> {
    let mut client = connect(server).await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    // It may be there already.
    drop(client.exchange(post(server, "/api/v1/namespaces", &namespace)).await);
    client.exchange(post(server, DEFINITIONS_PATH, &definition("bench.example.com", "claims", "Claim"))).await?;
    let (mut made, mut read) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..ROUNDS {
        for (at, path) in [NATIVE, CUSTOM].into_iter().enumerate() {
            let begun = server.cpu()?;
            for number in 0..OPERATIONS {
                client.exchange(post(server, path, &claim(path, &format!("c{round}-{number}")))).await?;
            }
            made[at].push(server.cpu()? - begun);
            let begun = server.cpu()?;
            for number in 0..OPERATIONS * 3 {
                let path = format!("{path}/c{round}-{}", number % OPERATIONS);
                client.exchange(get(server, &path, "application/json")).await?;
            }
            read[at].push((server.cpu()? - begun) / 3);
        }
    }
    for (name, figures) in [("create", made), ("get", read)] {
        let [native, custom] = figures.map(|mut times: Vec<Duration>| {
            times.sort();
            times[ROUNDS / 2].as_secs_f64() / OPERATIONS as f64 * 1e6
        });
        let more = (custom / native - 1.0) * 100.0;
        say(server, &format!("{name}: native {native:.1} µs, custom {custom:.1} µs of processor time ({more:+.1} %)"));
    }
    Ok(())
}

async fn connect(server: &Server) -> Result<Client, Error> {
    let clients = server.endpoint.connect(1).await?;
    clients.into_iter().next().ok_or_else(|| Error::Ended(server.name.to_owned()))
}

async fn wait_served(server: &Server, client: &mut Client, path: &str) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        match client.exchange(get(server, path, "application/json")).await {
            Ok(_) => return Ok(()),
            Err(error @ Error::Refused { .. }) if begun.elapsed() > Duration::from_secs(120) => return Err(error),
            Err(Error::Refused { .. }) => tokio::time::sleep(Duration::from_millis(2)).await,
            Err(error) => return Err(error),
        }
    }
}

fn say(server: &Server, what: &str) {
    println!("{}: {what}", server.name);
}

fn get(server: &Server, path: &str, accept: &str) -> Request<Full<Bytes>> {
    let request = Request::get(format!("https://{}{path}", server.endpoint.authority)).header(ACCEPT, accept);
    request.body(Full::default()).expect("paths and headers here are plain")
}

fn post(server: &Server, path: &str, object: &Value) -> Request<Full<Bytes>> {
    let request = Request::post(format!("https://{}{path}", server.endpoint.authority));
    let body = Full::from(object.to_string());
    request.header(CONTENT_TYPE, "application/json").body(body).expect("paths and headers here are plain")
}

fn claim(path: &str, name: &str) -> Value {
    let (api_version, kind) = match path {
        NATIVE => ("catalog.bailiwick.dev/v1alpha1", "ResourceCatalogEntry"),
        _ => ("bench.example.com/v1", "Claim"),
    };
    json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name},
        "spec": {
            "description": "team-catalog",
            "extension": {"apiVersion": "bench.example.com/v1", "kind": "Database", "name": "database"},
        },
    })
}

/// A definition of a middling size: the fields of an entry, a status, columns, and some fields that only take room.
fn definition(group: &str, plural: &str, kind: &str) -> Value {
    let text = |about: &str| json!({"type": "string", "description": format!("{about}, as it is known to everyone.")});
    let mut spec = json!({
        "description": text("What it provides"),
        "extension": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
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
