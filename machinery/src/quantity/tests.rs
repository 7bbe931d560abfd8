//! What Kubernetes makes of the same quantities was recorded by `tests/oracle/quantities`.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[derive(Deserialize)]
struct Record {
    cases: Vec<Case>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Case {
    /// Read this…
    i: String,
    e: String,
    s: String,
    c: String,
    d: String,
    f: String,
    /// … or work with these.
    a: String,
    b: String,
    cmp: Option<i8>,
    add: String,
    sub: String,
}

fn parse(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// In full, without a unit.
fn in_full(quantity: &Quantity) -> String {
    let digits = quantity.mantissa.unsigned_abs().to_string();
    let sign = if quantity.is_negative() { "-" } else { "" };
    match usize::try_from(quantity.scale) {
        Ok(zeros) => format!("{sign}{digits}{}", "0".repeat(zeros)),
        Err(_) => {
            let places = usize::try_from(-quantity.scale).unwrap();
            let digits = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            format!("{sign}{whole}.{fraction}")
        }
    }
}

/// Upstream leaves out a unit that has no letter, so that it writes another number.
fn lost_its_unit(ours: &str, upstream: &str) -> bool {
    let unit = ours.strip_prefix(upstream).and_then(|unit| unit.strip_prefix('e'));
    unit.is_some_and(|exponent| exponent.parse::<i32>().is_ok_and(|exponent| exponent > 18))
}

#[test]
fn quantities_are_those_of_kubernetes() {
    let record: Record = serde_json::from_str(include_str!("../../../tests/data/go/quantities.json")).unwrap();
    let (mut out_of_range, mut lost) = (0, 0);
    let mut check_text = |ours: &str, upstream: &str, case: &Case| {
        if ours != upstream {
            assert!(lost_its_unit(ours, upstream), "{ours} for {case:?}");
            lost += 1;
        }
    };
    for case in record.cases.iter().filter(|case| case.cmp.is_none()) {
        match Quantity::parse(&case.i) {
            Err(QuantityError::OutOfRange) => {
                let exponent = case.i.split(['e', 'E']).nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
                assert!(case.e.is_empty() && (case.i.len() > 38 || exponent > MAX_EXPONENT - 38), "{case:?}");
                out_of_range += 1;
            }
            Err(error) => assert_eq!(error.to_string(), case.e, "{case:?}"),
            Ok(quantity) => {
                assert_eq!(case.e, "", "{case:?}");
                check_text(&quantity.to_string(), &case.s, case);
                check_text(&quantity.canonical(), &case.c, case);
                let format = match quantity.format() {
                    QuantityFormat::DecimalExponent => "DecimalExponent",
                    QuantityFormat::BinarySi => "BinarySI",
                    QuantityFormat::DecimalSi => "DecimalSI",
                };
                assert_eq!(format, case.f, "{case:?}");
                if !case.d.is_empty() {
                    assert_eq!(in_full(&quantity), case.d, "{case:?}");
                }
            }
        }
    }
    for case in &record.cases {
        let Some(order) = case.cmp else { continue };
        let (Ok(a), Ok(b)) = (Quantity::parse(&case.a), Quantity::parse(&case.b)) else { continue };
        assert_eq!(a.cmp(&b) as i8, order, "{case:?}");
        assert_eq!(b.cmp(&a) as i8, -order, "{case:?}");
        for (ours, upstream) in [(a.checked_add(&b), &case.add), (a.checked_sub(&b), &case.sub)] {
            match ours {
                Ok(ours) => check_text(&ours.to_string(), upstream, case),
                Err(error) => {
                    assert_eq!(error, QuantityError::OutOfRange, "{case:?}");
                    assert!(upstream.len() > 36, "{case:?}");
                    out_of_range += 1;
                }
            }
        }
    }
    // The differences are known by number, so that a new one shows.
    assert!(record.cases.len() > 3_000, "{}", record.cases.len());
    assert_eq!((out_of_range, lost), (11, 12));
}

#[test]
fn units_without_a_letter_are_written_as_exponents() {
    assert_eq!(parse("1000E").to_string(), "1e21");
    assert_eq!(parse("1e21").checked_add(&parse("1E")).unwrap().to_string(), "1001e18");
    let large = (0..128).fold(Quantity::default(), |sum, _| sum.checked_add(&parse("7.5Ei")).unwrap());
    assert_eq!(large.to_string(), "960Ei");
    let more = (0..256).fold(Quantity::default(), |sum, _| sum.checked_add(&parse("4Ei")).unwrap());
    assert_eq!(more.to_string(), "1024Ei");
}

#[test]
fn numbers_have_a_limit() {
    assert_eq!(parse("1e10000").to_string(), "10e9999");
    assert_eq!(Quantity::parse("1e10001"), Err(QuantityError::OutOfRange));
    assert_eq!(Quantity::parse("10e10000"), Err(QuantityError::OutOfRange));
    for far in ["1e999999", "1e2147483648", "1e4294967296", "1e9223372036854775807"] {
        assert_eq!(Quantity::parse(far), Err(QuantityError::OutOfRange), "{far}");
    }
    for near in ["1e-999999", "-1e-2147483648", "1e-4294967296", "1.5e-9223372036854775808"] {
        assert_eq!(parse(near).canonical().trim_start_matches('-'), "1e-9", "{near}");
    }
    assert_eq!(Quantity::parse("1e9223372036854775808"), Err(QuantityError::Suffix));
    assert!(parse("0e999999").is_zero());

    let max = i128::MAX.to_string();
    assert_eq!(parse(&max).to_string(), max);
    assert_eq!(Quantity::parse("170141183460469231731687303715884105728"), Err(QuantityError::OutOfRange));
    assert_eq!(parse(&max).checked_add(&parse("1")), Err(QuantityError::OutOfRange));
    assert_eq!(parse(&max).checked_sub(&parse("-1")), Err(QuantityError::OutOfRange));
    assert_eq!(Quantity::parse("170141183460469231731687303715.8841057271"), Err(QuantityError::OutOfRange));
    assert_eq!(parse("5e10000").checked_add(&parse("4e10000")), Ok(parse("9e10000")));
    assert_eq!(parse("5e10000").checked_add(&parse("5e10000")), Err(QuantityError::OutOfRange));
    assert_eq!(parse("1e40").checked_add(&parse("1")), Err(QuantityError::OutOfRange));
    assert!(parse(&max) < parse("2e38") && parse(&max) > parse("1e38") && parse("9e38") > parse(&max));
    // Digits that make no difference are not counted.
    assert_eq!(parse(&format!("1{}e-100", "0".repeat(100))).to_string(), "1");
    assert_eq!(parse(&format!("1.{}1", "0".repeat(1_000_000))).to_string(), "1000000001n");
    assert_eq!(parse(&format!("{}7", "0".repeat(1_000_000))), parse("7"));
    assert_eq!(parse(&format!("{}Ki", "9".repeat(1_000_000))).to_string(), "9223372036854775807");
}

#[test]
fn integers_are_rounded_away_from_zero() {
    let values = |text: &str| (parse(text).value(), parse(text).milli_value());
    assert_eq!(values("0"), (Some(0), Some(0)));
    assert_eq!(values("1500m"), (Some(2), Some(1500)));
    assert_eq!(values("-1500m"), (Some(-2), Some(-1500)));
    assert_eq!(values("1n"), (Some(1), Some(1)));
    assert_eq!(values("-1n"), (Some(-1), Some(-1)));
    assert_eq!(values("9223372036854775807"), (Some(i64::MAX), None));
    assert_eq!(values("9223372036854775808"), (None, None));
    assert_eq!(values("1e10000"), (None, None));
    assert_eq!(parse("1n").scaled_value(i32::MAX), Some(1));
    assert_eq!(parse("1").scaled_value(i32::MIN), None);
    assert_eq!(Quantity::from_milli(1500, QuantityFormat::DecimalSi), parse("1.5"));
}

#[test]
fn thousandths_are_the_least_there_is_of_a_resource() {
    let rounded = |text: &str| parse(text).rounded_to_milli().to_string();
    for (text, expected) in [
        ("1n", "1m"),
        ("-1n", "-1m"),
        ("0", "0"),
        ("1500m", "1500m"),
        ("1.500", "1.500"),
        ("1.5000", "1500m"),
        ("0.0009", "1m"),
        ("10.0000000001", "10001m"),
        ("1024.1024Ki", "1048680858m"),
        ("12e-4", "2e-3"),
        ("1e30", "1e30"),
        ("170141183460469231731687303.000000001", "170141183460469231731687303001m"),
    ] {
        assert_eq!(rounded(text), expected, "{text}");
    }
}

#[test]
fn json() {
    let read = |value: Value| {
        let quantity = Quantity::from_json(&value);
        let typed = serde_json::from_value::<Quantity>(value);
        assert_eq!(quantity.clone().ok(), typed.ok());
        quantity.map(|quantity| quantity.to_json())
    };
    assert_eq!(read(json!(" 1.5Gi ")), Ok(json!("1536Mi")));
    assert_eq!(read(json!(7)), Ok(json!("7")));
    assert_eq!(read(json!(-7)), Ok(json!("-7")));
    assert_eq!(read(json!(u64::MAX)), Ok(json!("18446744073709551615")));
    assert_eq!(read(json!(0.1)), Ok(json!("100m")));
    assert_eq!(Quantity::from_json(&json!(1e21)), Ok(parse("1e21")));
    assert_eq!(serde_json::from_str::<Quantity>("1e20").unwrap().canonical(), "100e18");
    assert_eq!(read(json!(null)), Ok(json!("0")));
    assert_eq!(read(json!(true)), Err(QuantityError::Type));
    assert_eq!(read(json!([])), Err(QuantityError::Type));
    assert_eq!(read(json!("x")), Err(QuantityError::Format));
    assert_eq!(serde_json::to_string(&parse("1Ki")).unwrap(), "\"1Ki\"");
}

fn any_quantity() -> impl Strategy<Value = Quantity> {
    let suffix = "(|n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][-+]?[0-9]{1,2})";
    ("[-+]?[0-9]{1,12}(\\.[0-9]{0,12})?", suffix).prop_map(|(number, suffix)| parse(&(number + &suffix)))
}

proptest! {
    #[test]
    fn no_text_is_a_surprise(text in any::<String>()) {
        let _ = Quantity::parse(&text);
    }

    #[test]
    fn nearly_quantities_are_no_surprise(text in "[-+]?[0-9.]{0,60}[eEinumkKMGTP]{0,3}[-+]?[0-9]{0,24}") {
        if let Ok(quantity) = Quantity::parse(&text) {
            let _ = (quantity.value(), quantity.milli_value(), quantity.checked_add(&quantity), quantity.cmp(&Quantity::default()));
            prop_assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity.clone()));
            prop_assert_eq!(Quantity::parse(&quantity.canonical()), Ok(quantity));
        }
    }

    #[test]
    fn what_was_written_is_read_back(quantity in any_quantity()) {
        let again = parse(&quantity.canonical());
        prop_assert_eq!(again.to_string(), quantity.canonical());
        prop_assert_eq!(again, quantity);
    }

    #[test]
    fn sums_and_differences_agree(a in any_quantity(), b in any_quantity()) {
        if let Ok(sum) = a.checked_add(&b) {
            prop_assert_eq!(sum.cmp(&b), a.cmp(&Quantity::default()));
            prop_assert_eq!(sum.checked_sub(&b), Ok(a.clone()));
            prop_assert_eq!(b.checked_add(&a), Ok(sum));
        }
        if let Ok(difference) = a.checked_sub(&b) {
            prop_assert_eq!(difference.cmp(&Quantity::default()), a.cmp(&b));
        }
    }
}
