use super::*;

fn took(operations: u64, cpu_ms: u64) -> Measurement {
    Measurement { operations, server_cpu: Duration::from_millis(cpu_ms), ..Measurement::default() }
}

#[test]
fn medians_are_in_the_middle() {
    assert_eq!(median(vec![]), None);
    assert_eq!(median(vec![3.0]), Some(3.0));
    assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
    assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(vec![9.0, 1.0, 2.0, 4.0]), Some(3.0));
}

#[test]
fn ratios_are_taken_round_by_round() {
    let mut results = Results::new(["a", "b"]);
    for (a, b) in [(10, 20), (100, 300), (1_000, 9_000)] {
        results.add("a", Operation::Get, took(100, a));
        results.add("b", Operation::Get, took(100, b));
    }
    let [a, b] = results.targets() else { panic!("two targets") };
    assert_eq!(a.median(Operation::Get, Measurement::server_cpu_each), Some(0.001));
    assert_eq!(a.range(Operation::Get, Measurement::server_cpu_each), Some((0.0001, 0.01)));
    let ratio = b.cpu_ratio(a, Operation::Get).unwrap();
    assert!((ratio - 3.0).abs() < 1e-9, "{ratio}");
    assert_eq!(b.cpu_ratio(a, Operation::List), None);
}

#[test]
fn the_share_of_etcds_own_speed_is_taken_round_by_round() {
    let mut results = Results::new(["a"]);
    for (operations, raw) in [(100, 1_000.0), (200, 400.0), (300, 3_000.0)] {
        let wall = Duration::from_secs(1);
        results.add("a", Operation::Create, Measurement { operations, wall, ..Measurement::default() });
        results.add_raw_creates(raw);
    }
    let share = results.share_of_raw(results.target("a").unwrap()).unwrap();
    assert!((share - 0.1).abs() < 1e-9, "{share}");
    assert_eq!(results.raw_creates(), Some(1_000.0));
}

#[test]
fn a_ratio_to_nothing_is_none() {
    let mut results = Results::new(["a", "b"]);
    results.add("a", Operation::Get, took(100, 0));
    results.add("b", Operation::Get, took(100, 5));
    let [a, b] = results.targets() else { panic!("two targets") };
    assert_eq!(b.cpu_ratio(a, Operation::Get), None);
}
