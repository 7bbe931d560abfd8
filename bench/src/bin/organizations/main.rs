//! What organizations cost: finding a user's groups with each request, reading all of them at a start, following a change of one
//! organization among many, and answering a cluster that asks what they give.
//!
//! ```sh
//! cargo run --release -p bailiwick-bench --bin organizations              # in this process
//! cargo run --release -p bailiwick-bench --bin organizations -- PROGRAM   # and what a kube-apiserver would wait for
//! ```
//!
//! PROGRAM is a built `bailiwick`; it is started behind a cluster, and asked over HTTPS as that would.

mod access;
mod webhook;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_bench::Failure;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::{
    Clock, Ctx, Directory, GroupsCount, Memberships, Registry, SystemClock, User, WriteOptions, follow_organizations,
    kinds,
};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const ORGANIZATIONS: usize = 1_000;
const USERS_EACH: usize = 100;
const GROUPS_EACH: usize = 10;
const USERS_IN_GROUP: usize = 20;
const LOOKUPS: usize = 200_000;
const CHANGES: usize = 200;
const AT_ONCE: usize = 64;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let registry = open(&folder.path().join("store")).await?;
    fill(&registry).await?;
    let users = ORGANIZATIONS * USERS_EACH;
    println!("{users} users, {} groups, {ORGANIZATIONS} organizations", ORGANIZATIONS * GROUPS_EACH);

    let directory = Arc::new(Directory::new(GroupsCount::Yes));
    let start = Instant::now();
    follow_organizations(&registry, &directory).await?;
    println!("all are read after {:?} (goal: 1s)", start.elapsed());
    lookups(&directory);
    changes(&registry, &directory).await?;
    access::measure(&registry, &directory).await?;
    match std::env::args_os().nth(1) {
        Some(program) => webhook::measure(program.as_ref()).await,
        None => Ok(()),
    }
}

/// The time that so many thousandths of all are below.
fn part(times: &mut [Duration], thousandths: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len() * thousandths / 1_000).copied().unwrap_or_default()
}

async fn open(path: &std::path::Path) -> Result<Arc<Registry>, Failure> {
    let store = Embedded::open(EmbeddedOptions::new(Arc::new(Folder::take(path.to_owned())?))).await?;
    Ok(Arc::new(Registry::start(Arc::new(store), kinds::all()?, Default::default()).await?))
}

async fn fill(registry: &Arc<Registry>) -> Result<(), Failure> {
    let mut makers = JoinSet::new();
    for organization in 0..ORGANIZATIONS {
        let registry = registry.clone();
        makers.spawn(async move {
            for (plural, body) in objects_of(organization) {
                make(&registry, plural, body).await?;
            }
            Ok::<_, Failure>(())
        });
        if makers.len() == AT_ONCE {
            makers.join_next().await.transpose()?.transpose()?;
        }
    }
    while let Some(made) = makers.join_next().await {
        made??;
    }
    Ok(())
}

/// An organization and its groups.
fn objects_of(organization: usize) -> Vec<(&'static str, Value)> {
    let members: Vec<String> = (0..USERS_EACH).map(|number| user(organization, number)).collect();
    let mut objects =
        vec![("organizations", json!({"metadata": {"name": format!("Org{organization}")}, "memberUsers": members}))];
    for group in 0..GROUPS_EACH {
        let first = group * USERS_EACH / GROUPS_EACH;
        let users: Vec<&String> = members.iter().cycle().skip(first).take(USERS_IN_GROUP).collect();
        let name = format!("Org{organization}:group{group}");
        objects.push(("orggroups", json!({"metadata": {"name": name}, "users": users})));
    }
    objects
}

/// Each question by itself, as each request asks it.
fn lookups(directory: &Directory) {
    let mut times = Vec::with_capacity(LOOKUPS);
    let mut found = 0;
    for lookup in 0..LOOKUPS {
        // Far apart from one another, so that none helps the next.
        let organization = (lookup * 7_919) % ORGANIZATIONS;
        let name = user(organization, lookup % USERS_EACH);
        let user = User { name, groups: vec!["system:authenticated".to_owned()], ..User::default() };
        let start = Instant::now();
        found += directory.groups(&user).map_or(0, |groups| groups.len());
        times.push(start.elapsed());
    }
    let (median, p99) = (part(&mut times, 500), part(&mut times, 990));
    println!("groups of a user: {median:?} median, {p99:?} p99 (goal: 50µs), {} found each", found / LOOKUPS);
}

/// From a write of a group to the effect of it, which its writer waits for.
async fn changes(registry: &Arc<Registry>, directory: &Directory) -> Result<(), Failure> {
    let mut times: Vec<Duration> = Vec::new();
    for change in 0..CHANGES {
        let name = user(change, 99);
        let body = json!({"metadata": {"name": format!("Org{change}:late")}, "users": [name]});
        let start = Instant::now();
        make(registry, "orggroups", body).await?;
        times.push(start.elapsed());
        let groups = directory.groups(&User { name, ..User::default() }).unwrap_or_default();
        if !groups.iter().any(|group| group.ends_with(":late")) {
            return Err("a writer was answered before the write counted".into());
        }
    }
    let median = part(&mut times, 500);
    println!("a new group counts {median:?} after it was written (median; goal: 100ms)");
    Ok(())
}

async fn make(registry: &Registry, plural: &str, body: Value) -> Result<(), Failure> {
    let kind = registry.find(&GroupVersion::new("org.bailiwick.dev", "v1alpha1"), plural).ok_or("no such kind")?;
    let mut object = Object::try_from(body).map_err(|_| "no object")?;
    object.set_gvk(kind.gvk());
    let (options, user) = (WriteOptions::default(), User { name: "bench".to_owned(), ..User::default() });
    let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
    registry.create(&ctx, &kind, kind.accept(object, &options)?, &options).await?;
    Ok(())
}

fn user(organization: usize, number: usize) -> String {
    format!("user-{number}@org{organization}.example.com")
}
