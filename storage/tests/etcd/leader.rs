//! Losing the leader, and with it often the member that was being asked.

use std::time::Duration;

use bailiwick_storage::etcd::Etcd;
use bailiwick_storage::{At, Store};
use bailiwick_test_host as host;
use tokio::time::{Instant, sleep};

use crate::support::{Recorder, Writer, Written, all, check_history, key, options, store};

/// How the leader goes.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Killed,
    Paused,
}

/// `kill -9` of the leader loses nothing that was acknowledged, and no watch misses or repeats anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_leader_loses_nothing() {
    lose_leaders(Loss::Killed).await;
}

/// the same for a leader that stands still and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_leader_loses_nothing() {
    lose_leaders(Loss::Paused).await;
}

async fn lose_leaders(loss: Loss) {
    let etcd = host::Etcd::options().members(3).start().await.unwrap();
    let store = store(&etcd).await;
    let start = store.revision().await.unwrap();
    // Each watch may be on another member.
    let mut watches = Vec::new();
    let mut watching = Vec::new();
    for _ in 0..4 {
        let replica = Etcd::connect(options(etcd.endpoints())).await.unwrap();
        watches.push(Recorder::start(replica.watch(&all(), start).await.unwrap()));
        watching.push(replica);
    }
    let writers = ["a", "b"].map(|name| Writer::start(store.clone(), name));
    for _ in 0..4 {
        sleep(Duration::from_millis(1500)).await;
        let leader = etcd.leader().await.unwrap();
        match loss {
            Loss::Killed => etcd.member(leader).kill().await.unwrap(),
            Loss::Paused => etcd.member(leader).pause().unwrap(),
        }
        let lost = Instant::now();
        while store.get(&key("a"), At::Latest).await.is_err() {
            assert!(lost.elapsed() < Duration::from_secs(10), "no reads after {:?}", lost.elapsed());
        }
        sleep(Duration::from_secs(3)).await;
        match loss {
            Loss::Killed => etcd.member(leader).start().await.unwrap(),
            Loss::Paused => etcd.member(leader).resume().unwrap(),
        }
        etcd.wait_ready().await.unwrap();
    }
    let mut written = Vec::new();
    for writer in writers {
        written.push(writer.stop().await);
    }
    let newest = store.revision().await.unwrap();
    for watch in &mut watches {
        let events = watch.until(newest).await;
        check_history(&store, &events, &written).await;
    }
    for Written { acknowledged, unknown, late, unavailable, longest_gap } in &written {
        let (made, unknown) = (acknowledged.len(), unknown.len());
        println!(
            "{loss:?}: {made} writes, {unknown} unknown ({late} late), {unavailable} not done, gap {longest_gap:?}"
        );
        assert!(made > 300, "{made}");
        assert!(*longest_gap < Duration::from_secs(8), "{longest_gap:?}");
        // At most one failure for each loss, and a few where the next member was lost with the election.
        assert!(unknown + unavailable <= 12, "{unknown} unknown, {unavailable} not done");
    }
}
