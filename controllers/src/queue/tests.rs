//! Queues: what is asked for is done, once, in order, and counted.

use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;

use tokio::time::sleep;

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

/// D-14: whatever makes news by failing is not tried without end; and who mends it need not wait for long.
#[tokio::test(start_paused = true)]
async fn what_asks_for_itself_when_it_fails_is_tried_once_a_second() {
    let (queue, attempts) = (Queue::new("some-controller"), Arc::new(AtomicUsize::new(0)));
    queue.add("a");
    let shared = Arc::new((queue.clone(), attempts.clone()));
    let look_at = async |shared: Arc<(Queue<&'static str>, Arc<AtomicUsize>)>, item: &'static str| {
        let (queue, attempts) = &*shared;
        attempts.fetch_add(1, Ordering::Relaxed);
        queue.add(item);
        Err(NotYet)
    };
    let minute = tokio::time::timeout(Duration::from_secs(60), queue.work(4, async {}, &shared, look_at)).await;
    assert!(minute.is_err());
    let attempts = attempts.load(Ordering::Relaxed);
    assert!((60..75).contains(&attempts), "{attempts}");
}

#[tokio::test(start_paused = true)]
async fn news_shorten_a_pause() {
    let queue = Queue::new("some-controller");
    queue.add("a");
    for _ in 0..16 {
        let item = queue.next().await;
        queue.failed(item);
    }
    queue.extend(["a", "a"]);
    let began = Instant::now();
    assert_eq!(queue.next().await, "a");
    assert!(began.elapsed() <= Duration::from_millis(1_001), "{:?}", began.elapsed());
    queue.done(&"a");
    // It has failed no more.
    queue.add("a");
    let began = Instant::now();
    queue.next().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
}

/// D-14: work that panics is a failure: it is tried again later and later, and whoever did it goes on with what else there is.
#[tokio::test(start_paused = true)]
async fn a_panic_costs_nobody_a_worker() {
    let (queue, done) = (Queue::new("some-controller"), Arc::new(Mutex::new(Vec::new())));
    queue.extend(["bad", "worse", "good"]);
    let look_at = async |done: Arc<Mutex<Vec<&'static str>>>, item: &'static str| {
        done.lock().unwrap().push(item);
        match item {
            "bad" => panic!("in the middle of it"),
            "worse" => std::panic::panic_any(7),
            _ => Ok::<(), NotYet>(()),
        }
    };
    let work = queue.work(1, async {}, &done, look_at);
    assert!(tokio::time::timeout(Duration::from_secs(60), work).await.is_err(), "workers do not go home");
    let done = done.lock().unwrap();
    assert_eq!(done[..3], ["bad", "worse", "good"]);
    for item in ["bad", "worse"] {
        let times = done.iter().filter(|one| **one == item).count();
        assert!((5..20).contains(&times), "{item}: {times} times");
    }
}

/// Whatever asks for itself later, and is asked for by others meanwhile, is done once when it is due, and not once for each time.
#[tokio::test(start_paused = true)]
async fn what_is_wanted_later_is_wanted_once() {
    let (queue, attempts) = (Queue::new("some-controller"), Arc::new(AtomicUsize::new(0)));
    let shared = Arc::new((queue.clone(), attempts.clone()));
    let look_at = async |shared: Arc<(Queue<&'static str>, Arc<AtomicUsize>)>, item: &'static str| {
        let (queue, attempts) = &*shared;
        attempts.fetch_add(1, Ordering::Relaxed);
        queue.add_after(item, Duration::from_secs(5));
        Ok::<(), NotYet>(())
    };
    let news = async {
        for _ in 0..20 {
            queue.add("a");
            sleep(Duration::from_millis(10)).await;
        }
        sleep(Duration::from_secs(60)).await;
    };
    tokio::select! {
        () = queue.work(4, async {}, &shared, look_at) => panic!("workers do not go home"),
        () = news => {}
    }
    let attempts = attempts.load(Ordering::Relaxed);
    assert!((30..35).contains(&attempts), "20 by news and one each five seconds, and not {attempts}");
    assert_eq!(queue.state().due.len(), 1);
}

/// The same of what fails, and is tried because of news before its pause is over.
#[tokio::test(start_paused = true)]
async fn what_failed_comes_again_once() {
    let queue = Queue::new("some-controller");
    for _ in 0..16 {
        queue.add("a");
        let item = queue.next().await;
        queue.failed(item);
        sleep(Duration::from_secs(2)).await;
    }
    let mut times = 0;
    while tokio::time::timeout(LONGEST_PAUSE * 3, queue.next()).await.is_ok() {
        times += 1;
        queue.done(&"a");
    }
    assert_eq!(times, 1);
}

#[tokio::test(start_paused = true)]
async fn the_earliest_time_counts() {
    let queue = Queue::new("some-controller");
    let began = Instant::now();
    for seconds in [9, 5, 7] {
        queue.postpone("a", Duration::from_secs(seconds));
    }
    assert_eq!((queue.next().await, began.elapsed()), ("a", Duration::from_secs(5)));
    queue.done(&"a");
    // Those that waited for another time have gone, and what is wanted from now on counts.
    queue.postpone("a", Duration::from_secs(10));
    assert_eq!((queue.next().await, began.elapsed()), ("a", Duration::from_secs(15)));
}

/// What must not wait is tried again soon, however often it has failed.
#[tokio::test(start_paused = true)]
async fn a_pause_can_be_shortened() {
    let queue = Queue::new("some-controller");
    queue.add("a");
    for _ in 0..16 {
        let item = queue.next().await;
        queue.failed(item);
    }
    let item = queue.next().await;
    for _ in 0..3 {
        queue.shorten_pause(&item, Duration::from_secs(1));
        queue.failed(item);
        let began = Instant::now();
        queue.next().await;
        let took = began.elapsed();
        assert!(took > Duration::from_millis(500) && took <= Duration::from_millis(1_001), "{took:?}");
    }
    queue.failed(item);
    let began = Instant::now();
    queue.next().await;
    assert!(began.elapsed() > Duration::from_secs(1), "it grows from there");
}

/// Work of a namespace.
type Piece = (&'static str, usize);

fn fair() -> Queue<Piece> {
    Queue::fair("some-controller", |(namespace, _)| namespace)
}

#[tokio::test(start_paused = true)]
async fn namespaces_take_turns() {
    let queue = fair();
    queue.extend((0..3).map(|number| ("a", number)));
    queue.extend([("b", 0), ("b", 1), ("c", 0)]);
    let mut taken = Vec::new();
    for _ in 0..6 {
        let (namespace, number) = queue.next().await;
        taken.push(format!("{namespace}{number}"));
        queue.done(&(namespace, number));
    }
    assert_eq!(taken, ["a0", "b0", "c0", "a1", "b1", "a2"]);
}

/// D-14: one namespace has thousands of pieces of work, each of which takes long and then fails; what is asked for in another
/// is begun at once, at any time.
#[tokio::test(start_paused = true)]
async fn whatever_happens_in_a_namespace_delays_no_other() {
    for loud in [&["loud"][..], &["loud", "louder", "loudest"]] {
        for takes in [Duration::from_secs(300), Duration::from_millis(700), Duration::ZERO] {
            let queue = fair();
            queue.extend(loud.iter().flat_map(|namespace| (0..5_000).map(move |number| (*namespace, number))));
            let begun = Arc::new(Mutex::new((takes, HashMap::<Piece, Instant>::new())));
            let look_at = async |begun: Arc<Mutex<(Duration, HashMap<Piece, Instant>)>>, piece: Piece| {
                let takes = begun.lock().unwrap().0;
                if piece.0 == "quiet" {
                    begun.lock().unwrap().1.insert(piece, Instant::now());
                    return Ok(());
                }
                sleep(takes).await;
                // So that work which takes no time is not all there is.
                tokio::task::yield_now().await;
                Err(NotYet)
            };
            let claimant = async {
                for number in 0..100 {
                    sleep(Duration::from_millis(1_013)).await;
                    let asked = Instant::now();
                    queue.add(("quiet", number));
                    sleep(Duration::from_millis(10)).await;
                    let begun = begun.lock().unwrap().1.get(&("quiet", number)).copied();
                    let waited = begun.map(|begun| begun.duration_since(asked));
                    assert!(
                        waited.is_some_and(|waited| waited <= Duration::from_millis(1)),
                        "{waited:?} beside {loud:?}, each {takes:?}"
                    );
                }
            };
            tokio::select! {
                () = queue.work(16, async {}, &begun, look_at) => panic!("workers do not go home"),
                () = claimant => {}
            }
        }
    }
}

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
