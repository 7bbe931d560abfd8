//! A clock that jumps.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use bailiwick_apiserver::Body;
use bailiwick_registry::{Clock, SystemClock};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::site::{CLAIMS, Site, Wiring};

const DAY: i64 = 24 * 60 * 60;
const WATCHES: usize = 40;
const SOON: Duration = Duration::from_secs(10);
/// By how many tasks there may be more or fewer than before.
const TASKS: usize = 5;

/// The machine's clock, put forward or back by so many seconds.
#[derive(Default)]
struct Jumping(AtomicI64);

impl Clock for Jumping {
    fn now(&self) -> SystemTime {
        let ahead = self.0.load(Ordering::Relaxed);
        let by = Duration::from_secs(ahead.unsigned_abs());
        if ahead < 0 { SystemClock.now() - by } else { SystemClock.now() + by }
    }
}

async fn watch(site: &Site) -> Body {
    let target = format!("{CLAIMS}?watch=true&resourceVersion=0");
    let response = site.send(Request::get(target).body(Full::default()).unwrap()).await;
    assert_eq!(response.status(), 200);
    response.into_body()
}

/// The next event, in which `wanted` occurs.
async fn told(watch: &mut Body, wanted: &str) {
    loop {
        let frame = timeout(SOON, watch.frame()).await.expect("an event soon").expect("the watch goes on").unwrap();
        let event = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
        if event.contains(wanted) {
            return;
        }
    }
}

/// Open watches, as requests and in the cache.
async fn open(site: &Site) -> (f64, f64) {
    let text = site.metrics("").await;
    let sum = |family: &str| {
        let samples = text.lines().filter(|line| line.starts_with(family));
        samples.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    (sum("apiserver_longrunning_requests"), sum("bailiwick_storage_cache_watchers"))
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// R-11, for the clock: a day ahead and back, while watches come and go. None ends by it, none is left behind.
#[tokio::test]
async fn a_clock_that_jumps_ends_no_watch_and_keeps_none() {
    let clock = Arc::new(Jumping::default());
    let site = Site::wired(Wiring { clock: clock.clone(), ..Wiring::default() }).await;
    site.claim("a", json!({})).await;
    let ((_, own), before) = (open(&site).await, tasks());
    let mut lasting = watch(&site).await;
    for (turn, jump) in [0, DAY, 0, -DAY, 0].into_iter().enumerate() {
        let mut watches = Vec::new();
        for _ in 0..WATCHES {
            watches.push(watch(&site).await);
        }
        clock.0.store(jump, Ordering::Relaxed);
        let change = json!({"metadata": {"annotations": {"turn": format!("turn-{turn}")}}});
        assert_eq!(site.merge(&format!("{CLAIMS}/a"), &change).await.code, 200);
        // Half of them go before they have seen anything.
        for watch in watches.iter_mut().skip(WATCHES / 2) {
            told(watch, &format!("turn-{turn}")).await;
        }
        assert_eq!(open(&site).await.0, 1.0 + WATCHES as f64, "after a jump to {jump}");
        drop(watches);
        told(&mut lasting, &format!("turn-{turn}")).await;
    }
    drop(lasting);
    let settled = timeout(SOON, async {
        while open(&site).await != (0.0, own) || tasks().abs_diff(before) > TASKS {
            sleep(Duration::from_millis(20)).await;
        }
    });
    let is_settled = settled.await.is_ok();
    let open = open(&site).await;
    assert!(is_settled, "{open:?} are open, {own} of them the server's own; {} tasks, {before} before", tasks());
}
