use tokio::time::{Instant, timeout};

use super::*;

/// Much longer than it takes to notice.
const LONG: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn whoever_leads_ends_when_a_controller_does() {
    for fails in [true, false] {
        let mut running = JoinSet::new();
        running.spawn(std::future::pending());
        running.spawn(async move { assert!(!fails, "as a mistake would") });
        let began = Instant::now();
        timeout(LONG, one_ends(running)).await.expect("an end");
        assert_eq!(began.elapsed().as_secs(), START_AGAIN.as_secs());
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_leads_goes_on_otherwise() {
    timeout(LONG, one_ends(JoinSet::new())).await.expect_err("nothing to run is no reason to end");
    let mut running = JoinSet::new();
    running.spawn(std::future::pending());
    timeout(LONG, one_ends(running)).await.expect_err("they all run");
}
