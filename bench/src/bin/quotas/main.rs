//! What quotas cost those who make objects: processor time of a creation that is not stored (a dry run), without the rule,
//! in a namespace that has no quota among many that have one, and in one that has; and how soon 200 who create at once are
//! done.
//!
//! ```sh
//! cargo run --release -p bailiwick-bench --bin quotas
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_bench::Failure;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::kinds::{self, QuotaEnforcement};
use bailiwick_registry::{Clock, Ctx, Registry, SystemClock, User, WriteOptions};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const CREATIONS: u32 = 5_000;
const REPETITIONS: usize = 7;
const LIMITED_NAMESPACES: usize = 200;
const AT_ONCE: usize = 200;

/// A registry with or without the rule.
struct Site {
    registry: Arc<Registry>,
    _folder: tempfile::TempDir,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (without, with) = (Site::open(false).await?, Site::open(true).await?);
    for number in 0..LIMITED_NAMESPACES {
        let quota = json!({"metadata": {"namespace": format!("limited-{number}"), "name": "q"},
            "spec": {"hard": {"configmaps": "1M", "secrets": "5"}}});
        with.registry.make("resourcequotas", quota, false).await?;
    }
    let subjects =
        [("without the rule", &without, "free"), ("no quota", &with, "free"), ("a quota", &with, "limited-0")];
    let mut times = vec![Vec::new(); subjects.len()];
    // In turns, so that all of them meet the same disturbances.
    for _ in 0..REPETITIONS {
        for (times, (_, site, namespace)) in times.iter_mut().zip(&subjects) {
            times.push(site.cost(namespace).await?);
        }
    }
    for (times, (name, ..)) in times.iter_mut().zip(&subjects) {
        times.sort_unstable();
        let (median, least) = (times.get(REPETITIONS / 2), times.first());
        println!(
            "{name}: {:?} of processor time for a creation, {:?} at least",
            median.unwrap_or(&Duration::ZERO),
            least.unwrap_or(&Duration::ZERO)
        );
    }
    for (name, site, namespace) in &subjects {
        println!("{name}: {AT_ONCE} creations at once are durable after {:?}", site.at_once(namespace).await?);
    }
    Ok(())
}

// === impl Site ===

impl Site {
    async fn open(limited: bool) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let store = Embedded::open(EmbeddedOptions::new(Arc::new(Folder::take(folder.path().join("store"))?))).await?;
        let registry = Registry::start(Arc::new(store), kinds::host()?, Default::default()).await?;
        let registry = if limited { registry.with_admission(QuotaEnforcement::new()?) } else { registry };
        Ok(Self { registry: Arc::new(registry), _folder: folder })
    }

    async fn cost(&self, namespace: &str) -> Result<Duration, Failure> {
        let before = processor_time();
        for _ in 0..CREATIONS {
            self.registry.make("configmaps", config_map(namespace, 0), true).await?;
        }
        Ok((processor_time() - before) / CREATIONS)
    }

    async fn at_once(&self, namespace: &str) -> Result<Duration, Failure> {
        let start = Instant::now();
        let mut makers = JoinSet::new();
        for number in 0..AT_ONCE {
            let (registry, body) = (self.registry.clone(), config_map(namespace, number));
            makers.spawn(async move { registry.make("configmaps", body, false).await });
        }
        while let Some(made) = makers.join_next().await {
            made??;
        }
        Ok(start.elapsed())
    }
}

/// Makes objects of what people write.
trait Make {
    async fn make(&self, plural: &str, body: Value, dry_run: bool) -> Result<(), Failure>;
}

impl Make for Registry {
    async fn make(&self, plural: &str, body: Value, dry_run: bool) -> Result<(), Failure> {
        let kind = self.find(&GroupVersion::new("", "v1"), plural).ok_or("the kind is not served")?;
        let mut object = Object::try_from(body).map_err(|_| "no object")?;
        object.set_gvk(kind.gvk());
        let options = WriteOptions { dry_run, ..WriteOptions::default() };
        let user = User { name: "bench".to_owned(), ..User::default() };
        let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
        self.create(&ctx, &kind, kind.accept(object, &options)?, &options).await?;
        Ok(())
    }
}

fn config_map(namespace: &str, number: usize) -> Value {
    json!({"metadata": {"namespace": namespace, "name": format!("m{number}")}, "data": {"k": "v"}})
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
