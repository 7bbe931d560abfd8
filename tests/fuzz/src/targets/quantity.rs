//! A quantity.

use std::cmp::Ordering;

use bailiwick_machinery::Quantity;
use serde_json::Value;

use super::first_line;

/// Words of quantities.
pub const DICTIONARY: &[&[u8]] = &[
    b"n",
    b"u",
    b"m",
    b"k",
    b"M",
    b"G",
    b"T",
    b"P",
    b"E",
    b"Ki",
    b"Mi",
    b"Gi",
    b"Ti",
    b"Pi",
    b"Ei",
    b"e",
    b"E+",
    b"e-9",
    b"e10000",
    b"e10001",
    b"e-2147483648",
    b".",
    b"+",
    b"-",
    b"0.000000001",
    b"0.0000000001",
    b"99999999999999999999999999999999999999",
    b"1Ei",
    b"8Ei",
    b"7.999Ei",
];

/// A quantity that is read is the same number when it is read again from what is written of it, in the form it was
/// written in and in the canonical one. Adding and taking away again changes nothing.
pub fn target(data: &[u8]) {
    let (one, other) = first_line(data);
    let Some(one) = check(&String::from_utf8_lossy(one)) else { return };
    let Some(other) = check(&String::from_utf8_lossy(other)) else { return };
    assert_eq!(one.cmp(&other), other.cmp(&one).reverse());
    if let Ok(sum) = one.checked_add(&other) {
        assert_eq!(Ok(&sum), other.checked_add(&one).as_ref(), "the order matters");
        assert_eq!(sum.checked_sub(&other).as_ref(), Ok(&one), "taking away is not the opposite of adding");
        let growth = match (other.is_zero(), other.is_negative()) {
            (true, _) => Ordering::Equal,
            (_, true) => Ordering::Less,
            (_, false) => Ordering::Greater,
        };
        assert_eq!(sum.cmp(&one), growth, "the sum is on the wrong side");
    }
}

fn check(text: &str) -> Option<Quantity> {
    let quantity = Quantity::parse(text).ok()?;
    for written in [quantity.to_string(), quantity.canonical()] {
        let read = Quantity::parse(&written).expect("what was written can be read");
        assert_eq!(read, quantity, "{text} was written as {written}");
        assert_eq!(read.canonical(), quantity.canonical(), "{text} was written as {written}");
    }
    assert_eq!(Quantity::from_json(&quantity.to_json()).as_ref(), Ok(&quantity));
    assert_eq!(Quantity::from_json(&Value::from(text)).as_ref(), Ok(&quantity));
    let _ =
        (quantity.value(), quantity.milli_value(), quantity.scaled_value(i32::MAX), quantity.scaled_value(i32::MIN));
    Some(quantity)
}
