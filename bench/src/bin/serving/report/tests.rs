use super::*;
use crate::histogram::Histogram;
use crate::process::Memory;

/// Our server, which misses the goal for gets by a factor of two and for memory by little, and a peer.
fn results() -> Results {
    let mut results = Results::new([ours::ON_ETCD, "peer"]);
    let mut latencies = Histogram::default();
    latencies.record(Duration::from_millis(2));
    for (name, cpu) in [(ours::ON_ETCD, 1), ("peer", 7)] {
        for (operation, operations) in [(Operation::Get, 10), (Operation::List, 1), (Operation::Patch, 10)] {
            let server_cpu = Duration::from_millis(cpu);
            let wall = Duration::from_millis(100);
            let latencies = latencies.clone();
            let found = Measurement { operations, wall, server_cpu, bytes: 12_345, latencies, ..Default::default() };
            results.add(name, operation, found);
        }
    }
    let wall = Duration::from_secs(1);
    results.add(ours::ON_ETCD, Operation::Create, Measurement { operations: 50, wall, ..Default::default() });
    results.add_raw_creates(100.0);
    results.set_memory(ours::ON_ETCD, Memory { resident: 61 << 20, peak: 80 << 20 });
    results
}

#[test]
fn what_falls_short_comes_first_and_the_worst_of_it_before_the_rest() {
    let report = Report::new(&results(), &Options::full(), vec!["a note".to_owned()]);
    let what: Vec<&str> = report.shortfalls.iter().map(|short| short.what.as_str()).collect();
    assert_eq!(
        what,
        ["get; Bailiwick, etcd", "creates over etcd's own; Bailiwick, etcd", "resident memory; Bailiwick, etcd"]
    );
    let reasons = Reasons::from([("get; Bailiwick, etcd".to_owned(), "TLS.".to_owned())]);
    let text = report.text(&reasons);
    assert!(text.starts_with("Short of its goal"), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("0.100 ms 0.0500 ms 2.0x TLS."), "{text}");
    assert!(text.contains(NO_REASON) && text.ends_with("a note\n"), "{text}");
    let markdown = report.markdown(&reasons, "plot.svg");
    let line = "- **get; Bailiwick, etcd**: 0.100 ms, the goal is 0.0500 ms. Why: TLS.\n";
    assert!(markdown.contains(line) && markdown.contains("(plot.svg)"), "{markdown}");
}

#[test]
fn peers_are_compared_with_ours() {
    let report = Report::new(&results(), &Options::full(), Vec::new());
    let mut text = String::new();
    report.tables.iter().for_each(|table| table.write_markdown(&mut text));
    assert!(text.contains("| get | ≤ 0.0500 ms | 0.100 ms | 0.700 ms (7.0x) |"), "{text}");
    assert!(text.contains("| get | 100 | 100 |"), "{text}");
    assert!(text.contains("| get | 2.00 ms / 2.00 ms |"), "{text}");
    assert!(text.contains("| create | ≤ 0.150 ms | 0 ms | – |"), "{text}");
    assert!(text.contains("| create | ≥ 60 % | 50 % | – |"), "{text}");
    assert!(text.contains("| after the load | ≤ 60.0 MiB | 61.0 MiB | – |"), "{text}");
}

#[test]
fn numbers_have_as_many_digits_as_mean_something() {
    let cases = [(0.0, "0"), (0.020_54, "0.0205"), (0.9996, "1.00"), (1.034, "1.03"), (68.04, "68.0"), (238.2, "238")];
    for (value, shown) in cases.into_iter().chain([(9_996.0, "10,000"), (1_234_567.0, "1,230,000")]) {
        assert_eq!(significant(value, 3), shown, "{value}");
    }
}
