//! A store that answers, hangs, or is gone.

use tokio::time::{advance, sleep};

use super::*;

/// How a store behaves, and how often it was asked.
#[derive(Default)]
struct Store {
    hangs: AtomicBool,
    is_gone: AtomicBool,
    asked: AtomicUsize,
}

#[async_trait]
impl Stored for Store {
    async fn is_known(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        !self.is_gone.load(Ordering::Relaxed)
    }
}

fn currency() -> (Arc<Store>, Currency) {
    let (store, currency) = (Arc::<Store>::default(), Currency::default());
    currency.set_stored(store.clone());
    (store, currency)
}

/// However many ask, the store is asked now and then, and they do not wait.
#[tokio::test(start_paused = true)]
async fn many_who_ask_do_not_wait() {
    let (store, currency) = currency();
    let began = Instant::now();
    for _ in 0..10_000 {
        assert!(currency.is_current().await);
        advance(Duration::from_millis(1)).await;
    }
    let asked = store.asked.load(Ordering::Relaxed);
    assert!((10..=41).contains(&asked), "{asked} in {:?}", began.elapsed());
}

/// What is not known to be so is not so for longer than a moment, whether the store hangs or refuses; and is again with it.
#[tokio::test(start_paused = true)]
async fn without_a_store_nothing_is_current() {
    let (store, currency) = currency();
    assert!(currency.is_current().await);
    for fault in [&store.hangs, &store.is_gone] {
        fault.store(true, Ordering::Relaxed);
        let began = Instant::now();
        while currency.is_current().await {
            sleep(Duration::from_millis(20)).await;
        }
        let took = began.elapsed();
        assert!(took >= COUNTS.saturating_sub(ASK_AGAIN) && took < Duration::from_millis(1_200), "{took:?}");
        // Those who come next need not wait.
        let began = Instant::now();
        assert!(!currency.is_current().await);
        assert!(began.elapsed() < Duration::from_millis(10));
        fault.store(false, Ordering::Relaxed);
        sleep(ASK_AGAIN).await;
        assert!(currency.is_current().await);
    }
}

/// Nor is it for one that does not follow what is stored, though it answers.
#[tokio::test(start_paused = true)]
async fn who_has_lost_what_is_stored_is_not_current() {
    let (_, currency) = currency();
    assert!(!Currency::default().is_current().await, "nobody to ask");
    let mut standing = [Standing::default(), Standing::default()];
    for standing in &mut standing {
        currency.lose(standing);
        currency.lose(standing);
    }
    assert!(!currency.is_current().await);
    currency.find(&mut standing[0]);
    assert!(!currency.is_current().await);
    currency.find(&mut standing[1]);
    currency.find(&mut standing[1]);
    assert!(currency.is_current().await);
}
