//! Floating-point numbers as Go prints them, and what they are when that is read again.

use serde_json::Value;

/// Makes numbers what they are when they are read where they were written: a floating one without a fraction is written without
/// a point. A type that has whole numbers could not read it before; and `-0.0` not after either, as it is written with its sign.
pub fn make_whole(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(found) = number.as_f64().and_then(whole) {
                *number = found.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(fields) => fields.values_mut().for_each(make_whole),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The whole number that is written for a floating one; none for one with a fraction, or that is too large.
pub(crate) fn whole(float: f64) -> Option<i64> {
    /// From here on not every whole number is a floating one, and another one is written that has fewer digits.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if float.fract() != 0.0 {
        return None;
    }
    if float.abs() < EXACT { Some(float as i64) } else { json_float(float).parse().ok() }
}

/// As Go's JSON package prints it: no exponent from a millionth up to a one with 21 zeros.
pub(crate) fn json_float(float: f64) -> String {
    let magnitude = float.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !exponent.starts_with('-') => format!("{mantissa}e+{exponent}"),
        _ => text,
    }
}

/// As Go prints it with `%g`, given as Rust prints it with `{:e}`: an exponent of at least two digits if it is below -4 or
/// above 5.
pub(crate) fn general_float(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..=5).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let digits = mantissa.replace('.', "");
    let before = usize::try_from(exponent + 1).unwrap_or(0);
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    }
    match digits.split_at_checked(before) {
        Some((whole, "")) => format!("{sign}{whole}"),
        Some((whole, fraction)) => format!("{sign}{whole}.{fraction}"),
        None => format!("{sign}{digits:0<before$}"),
    }
}
