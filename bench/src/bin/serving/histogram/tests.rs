use super::*;

fn of(nanos: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::default();
    nanos.into_iter().for_each(|value| histogram.record(Duration::from_nanos(value)));
    histogram
}

#[test]
fn buckets_are_in_order_and_have_no_gaps() {
    let mut next = 0_u64;
    for index in 0..Histogram::default().counts.len() {
        assert_eq!(bucket(next), index, "the first value of a bucket follows the last of the one before");
        let last = upper_bound(index);
        assert_eq!(bucket(last), index);
        assert!(last - next <= next / 32, "bucket {index} is narrow: {next} to {last}");
        if last == u64::MAX {
            assert_eq!(index + 1, Histogram::default().counts.len());
            return;
        }
        next = last + 1;
    }
    panic!("the buckets end before the values do, at {next}");
}

#[test]
fn quantiles_are_near_the_truth_and_not_below() {
    let histogram = of((1..=100_000).map(|nth| nth * 1_000));
    for (share, truth) in [(0.5, 50_000_000), (0.99, 99_000_000), (0.999, 99_900_000), (1.0, 100_000_000)] {
        let told = histogram.quantile(share).as_nanos() as f64 / f64::from(truth);
        assert!((1.0..1.0 + 1.0 / 32.0).contains(&told), "{share}: {told}");
    }
}

#[test]
fn the_last_quantile_is_the_longest() {
    assert_eq!(of([5, 1_000_003]).quantile(1.0), Duration::from_nanos(1_000_003));
    assert_eq!(of([5, 1_000_003]).quantile(0.5), Duration::from_nanos(5));
}

#[test]
fn nothing_counted_is_zero() {
    assert_eq!(of([]).quantile(0.99), Duration::ZERO);
    assert_eq!(of([]).count(), 0);
}

#[test]
fn merging_is_counting_in_one() {
    let mut merged = of(0..500);
    merged.merge(&of(500..1_000));
    let whole = of(0..1_000);
    assert_eq!((merged.counts, merged.total, merged.longest), (whole.counts, whole.total, whole.longest));
}

#[test]
fn centuries_do_not_overflow() {
    let mut histogram = of([1]);
    histogram.record(Duration::MAX);
    assert_eq!(histogram.quantile(1.0), Duration::from_nanos(u64::MAX));
}
