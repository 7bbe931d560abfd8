//! The connection: kept while nothing happens, cut, and worse, silent.

use std::time::Duration;

use bailiwick_storage::etcd::Etcd;
use bailiwick_storage::{At, Error, Store, Txn};
use bailiwick_test_host as host;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{PATIENCE, Recorder, Writer, Written, all, check_history, key, options, store};

/// A request is bounded by this; the rest is for a busy machine.
const ANSWER_LIMIT: Duration = Duration::from_millis(4500);

/// with the connection cut or silent, reads fail in time, a write tells what is known of it, and a watch waits;
/// when it is back all go on, and the watch has missed nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_survived() {
    let etcd = host::Etcd::start().await.unwrap();
    let link = etcd.link(0).await.unwrap();
    let near = store(&etcd).await;
    let far = Etcd::connect(options([link.endpoint()])).await.unwrap();
    let start = near.revision().await.unwrap();
    let mut watch = Recorder::start(far.watch(&all(), start).await.unwrap());
    let writer = Writer::start(near.clone(), "a");
    let mut far_writes = Written::default();
    let (mut slowest, mut recovery) = (Duration::ZERO, Duration::ZERO);
    for round in 0..6 {
        far.revision().await.unwrap();
        sleep(Duration::from_millis(300)).await;
        let silent = round % 2 == 0;
        if silent {
            link.blackhole().await.unwrap();
        } else {
            link.cut().await.unwrap();
        }
        let lost = Instant::now();
        let read = far.get(&key("a"), At::Latest).await;
        assert!(matches!(read, Err(Error::Unavailable { .. })), "{read:?}");
        assert!(lost.elapsed() < ANSWER_LIMIT, "{:?}", lost.elapsed());
        slowest = slowest.max(lost.elapsed());

        let name = key(&format!("far-{round}"));
        let writing = Instant::now();
        let write = far.commit(Txn::new().create(name.clone(), "v")).await;
        assert!(writing.elapsed() < ANSWER_LIMIT, "{:?}", writing.elapsed());
        match write {
            // What is said not to have been made must never show up; the history is checked for it below.
            Err(Error::Unavailable { .. }) => {}
            Err(Error::OutcomeUnknown { .. }) if silent => {
                far_writes.unknown.push((name, Some("v".to_owned())));
            }
            other => panic!("{other:?}"),
        }
        link.restore().await.unwrap();
        let back = Instant::now();
        while far.revision().await.is_err() {}
        assert!(back.elapsed() < Duration::from_secs(5), "{:?}", back.elapsed());
        recovery = recovery.max(back.elapsed());
    }
    let written = writer.stop().await;
    println!("6 lost connections: reads failed within {slowest:?}; all went on within {recovery:?}");
    assert_eq!((written.unknown.len(), written.unavailable), (0, 0), "the near one has nothing to suffer from");
    let events = watch.until(near.revision().await.unwrap()).await;
    check_history(&near, &events, &[written, far_writes]).await;
}

/// a write whose answer is lost was perhaps made, and is called that.
#[tokio::test]
async fn a_write_whose_answer_is_lost_is_of_unknown_outcome() {
    let etcd = host::Etcd::start().await.unwrap();
    let link = etcd.link(0).await.unwrap();
    let far = std::sync::Arc::new(Etcd::connect(options([link.endpoint()])).await.unwrap());
    link.delay(Duration::from_millis(400)).await.unwrap();
    far.revision().await.unwrap();
    let writer = far.clone();
    let write = tokio::spawn(async move { writer.commit(Txn::new().create(key("a"), "v")).await });
    sleep(Duration::from_millis(600)).await;
    link.cut().await.unwrap();
    let outcome = write.await.unwrap();
    assert!(matches!(outcome, Err(Error::OutcomeUnknown { .. })), "{outcome:?}");
    link.restore().await.unwrap();
    assert!(store(&etcd).await.get(&key("a"), At::Latest).await.unwrap().record.is_some(), "this one was made");
}

/// R-11, in part: etcd closes connections that are pinged too often; ours is not, however long nothing happens.
#[tokio::test]
async fn an_idle_watch_keeps_its_stream() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let start = store.revision().await.unwrap();
    let mut recorders = Vec::new();
    for _ in 0..3 {
        recorders.push(Recorder::start(store.watch(&all(), start).await.unwrap()));
    }
    assert_eq!(streams_opened(&etcd).await, 3);
    sleep(Duration::from_secs(25)).await;
    let newest = store.commit(Txn::new().create(key("a"), "v")).await.unwrap();
    for recorder in &mut recorders {
        assert_eq!(recorder.until(newest).await.len(), 1);
    }
    assert_eq!(streams_opened(&etcd).await, 3);
}

/// How many watch streams etcd has ever seen.
async fn streams_opened(etcd: &host::Etcd) -> u64 {
    let mut connection = TcpStream::connect(etcd.member(0).metrics_address()).await.unwrap();
    connection.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await.unwrap();
    let mut metrics = String::new();
    connection.read_to_string(&mut metrics).await.unwrap();
    let started = |line: &&str| line.starts_with("grpc_server_started_total{grpc_method=\"Watch\"");
    let line = metrics.lines().find(started).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// R-10, in part: a watch that nobody reads does not stop the others on its connection.
#[tokio::test]
async fn a_watch_that_stands_still_stops_no_other() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let start = store.revision().await.unwrap();
    let mut still = Vec::new();
    for _ in 0..8 {
        still.push(store.watch(&all(), start).await.unwrap());
    }
    let mut moving = Recorder::start(store.watch(&all(), start).await.unwrap());
    let mut newest = start;
    for number in 0..24 {
        newest = store.commit(Txn::new().create(key(&format!("k{number}")), vec![7; 1_000_000])).await.unwrap();
    }
    assert_eq!(moving.until(newest).await.len(), 24);
    for watch in still {
        assert_eq!(Recorder::start(watch).until(newest).await.len(), 24);
    }
}

/// R-06, for this engine: a call of `next` may be dropped at any time without losing anything, also while the watch is
/// being resumed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_call_loses_nothing() {
    let etcd = host::Etcd::start().await.unwrap();
    let link = etcd.link(0).await.unwrap();
    let near = store(&etcd).await;
    let far = Etcd::connect(options([link.endpoint()])).await.unwrap();
    let start = near.revision().await.unwrap();
    let mut watch = far.watch(&all(), start).await.unwrap();
    link.delay(Duration::from_millis(5)).await.unwrap();
    let writer = Writer::start(near.clone(), "a");
    let cutting = tokio::spawn(async move {
        for _ in 0..5 {
            sleep(Duration::from_millis(700)).await;
            link.cut().await.unwrap();
            sleep(Duration::from_millis(100)).await;
            link.delay(Duration::from_millis(5)).await.unwrap();
        }
        link
    });
    let (mut events, mut dropped, mut through) = (Vec::new(), 0, start);
    let mut step = async |watch: &mut Box<dyn bailiwick_storage::Watch>| {
        if let Ok(batch) = timeout(Duration::from_millis(1), watch.next()).await {
            let batch = batch.unwrap();
            assert!(batch.events.iter().all(|event| event.revision > through), "{batch:?} after {through}");
            through = batch.through;
            events.extend(batch.events);
        } else {
            dropped += 1;
        }
        through
    };
    while !cutting.is_finished() {
        step(&mut watch).await;
    }
    let written = writer.stop().await;
    let newest = near.revision().await.unwrap();
    let end = Instant::now() + PATIENCE;
    while step(&mut watch).await < newest {
        watch.request_progress();
        assert!(Instant::now() < end, "no news of {newest}");
    }
    check_history(&near, &events, &[written]).await;
    assert!(dropped > 500, "{dropped}");
}
