use super::*;
use crate::results::TargetResults;

/// One test with everything, as the peers take seconds to start: a tiny run against the real ones.
#[tokio::test(flavor = "multi_thread")]
async fn the_peers_are_measured_by_the_same_work() {
    let options = Options {
        objects: 100,
        created: 30,
        page: 40,
        clients: 4,
        connections: 2,
        watchers: 6,
        events: 20,
        rounds: 1,
        span: Duration::from_millis(300),
        ..Options::full()
    };
    let mut stage = Stage::set(&options, None).await.unwrap();
    let results = stage.perform().await.unwrap();
    let names: Vec<&str> = results.targets().iter().map(|target| target.name).collect();
    assert_eq!(names, ["sample-apiserver", "CRD, kube-apiserver"]);
    assert!(results.raw_creates().unwrap() > 0.0);
    for target in results.targets() {
        check(target, &options);
    }
}

fn check(target: &TargetResults, options: &Options) {
    let count = |operation| target.median(operation, |found| found.operations as f64).unwrap();
    let bytes = |operation| target.median(operation, Measurement::bytes_each).unwrap();
    for operation in Operation::ALL {
        let what = format!("{} of {}", operation.id(), target.name);
        assert!(count(operation) > 0.0, "{what}");
        assert!(target.median(operation, Measurement::rate).unwrap() > 0.0, "{what}");
        assert!(target.latency(operation, 0.5).unwrap() > Duration::ZERO, "{what}");
        assert!(target.latency(operation, 0.99) >= target.latency(operation, 0.5), "{what}");
    }
    assert_eq!(count(Operation::Create), options.created as f64);
    assert_eq!(count(Operation::Delete), options.created as f64);
    let deliveries = (options.watchers * options.events) as f64;
    assert_eq!([count(Operation::Delivery), count(Operation::DeliveryAlone)], [deliveries; 2]);

    // A server adds metadata to an object, but does not double it; a list has its objects, a page nothing else.
    let object = bytes(Operation::Get);
    assert!((1_126.0..2_252.0).contains(&object), "{object}");
    let near = |measured: f64, objects: usize| (0.8..1.2).contains(&(measured / (object * objects as f64)));
    assert!(near(bytes(Operation::List), options.objects));
    assert!(near(bytes(Operation::PagedList), options.objects));
    assert!(near(bytes(Operation::LabelList), options.per_batch));
    assert!(near(bytes(Operation::Patch), 1));
    assert_eq!(count(Operation::ApplyNew), options.created as f64);
    // Two own the fields of an object that one has created and another one has applied.
    for operation in [Operation::ApplyChange, Operation::ApplySame] {
        assert!((1.0..1.6).contains(&(bytes(operation) / object)), "{}", operation.id());
    }
    assert!(near(bytes(Operation::Delivery), 1));

    let cpu = target.median(Operation::Get, Measurement::server_cpu_each).unwrap();
    assert!((10e-6..0.1).contains(&cpu), "the CPU of a get is that of the right process: {cpu}");
    let memory = target.memory.unwrap();
    assert!(memory.resident > 30 << 20, "so is the memory: {memory:?}");
}
