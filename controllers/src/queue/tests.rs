//! Queues: what is asked for is done, once, in order, and counted.

use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;

use super::*;

#[tokio::test(start_paused = true)]
async fn each_piece_of_work_is_done_once_and_again_if_asked_for_meanwhile() {
    let queue = Queue::new("some-controller");
    queue.extend(["a", "b", "a"]);
    assert_eq!((queue.next().await, queue.next().await), ("a", "b"));
    queue.add("a");
    let nobody = tokio::time::timeout(Duration::from_secs(1), queue.next()).await;
    assert!(nobody.is_err(), "it is under way");
    queue.done(&"a");
    assert_eq!(queue.next().await, "a");
}

#[tokio::test(start_paused = true)]
async fn what_failed_comes_again_later_and_later() {
    let queue = Queue::new("some-controller");
    queue.add("a");
    let mut pauses = Vec::new();
    for _ in 0..16 {
        let began = tokio::time::Instant::now();
        let item = queue.next().await;
        pauses.push(began.elapsed());
        queue.failed(item);
    }
    assert!(pauses[1..].is_sorted(), "{pauses:?}");
    assert!(pauses[15] >= LONGEST_PAUSE && pauses[15] < LONGEST_PAUSE * 2, "{pauses:?}");
}

#[derive(Debug, thiserror::Error)]
#[error("not yet")]
struct NotYet;

/// A worker's whole day: one piece is done at once, one at the third attempt.
#[tokio::test(start_paused = true)]
async fn what_is_done_and_what_fails_is_counted_by_controller() {
    let (queue, attempts) = (Queue::new("tested-controller"), Arc::new(AtomicUsize::new(0)));
    queue.extend(["easy", "hard"]);
    assert_eq!(sample("workqueue_depth"), "2");
    let look_at = async |attempts: Arc<AtomicUsize>, item: &'static str| {
        sleep(Duration::from_millis(500)).await;
        if item == "easy" || attempts.fetch_add(1, Ordering::Relaxed) == 2 { Ok(()) } else { Err(NotYet) }
    };
    let day = queue.work(1, async {}, &attempts, look_at);
    assert!(tokio::time::timeout(Duration::from_secs(60), day).await.is_err(), "workers do not go home");
    assert_eq!(attempts.load(Ordering::Relaxed), 3);
    let counted =
        ["depth", "adds_total", "retries_total", "work_duration_seconds_count", "queue_duration_seconds_count"]
            .map(|name| sample(&format!("workqueue_{name}")));
    assert_eq!(counted, ["0", "4", "2", "4", "4"]);
    assert_eq!(sample("workqueue_work_duration_seconds_sum"), "2.0");
    queue.add("left");
    drop(queue);
    // The workers' tasks end when they are next looked at.
    sleep(Duration::from_millis(1)).await;
    assert_eq!(sample("workqueue_depth"), "0", "what is left waits for nobody");
}

/// What is told of the controller of the test.
fn sample(name: &str) -> String {
    let (mut registry, mut text) = (Registry::default(), String::new());
    register_metrics(&mut registry);
    encode_registry(&mut text, &registry).unwrap();
    let start = format!("{name}{{name=\"tested-controller\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_default().to_owned()
}
