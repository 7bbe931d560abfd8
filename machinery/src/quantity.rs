//! Quantities: exact numbers with a unit, such as `100m`, `1.5Gi` and `1e3`.
//!
//! Reading and writing follow `k8s.io/apimachinery/pkg/api/resource`. Nothing here is a floating-point number, nothing
//! wraps, and every operation takes constant time, whatever the exponent: upstream works on numbers of any length, and
//! `1e-2147483648` keeps it busy for good.
//!
//! Where it differs from upstream:
//! - more than 38 significant digits, or an exponent above [`MAX_EXPONENT`], are an error instead of a longer number (or,
//!   from 2^31 on, instead of an exponent that wrapped);
//! - a number whose unit has no letter, such as `1000E`, is written with an exponent; upstream loses the unit and writes
//!   `1`. For the same reason no factor of 1024 is taken out beyond `Ei`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use schemars::{JsonSchema, Schema as JsonSchemaObject, SchemaGenerator};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The largest exponent of ten.
pub const MAX_EXPONENT: i32 = 10_000;

/// The smallest part that is kept; what is smaller is rounded up to it, away from zero.
const NANO: i32 = -9;
const MILLI: i32 = -3;
/// What units of 1024 are capped at, in either direction.
const MAX_BINARY: i128 = i64::MAX as i128;
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// An exact number that remembers how it was written.
///
/// Equality and order are those of the number: `1Ki`, `1024` and `1.024k` are equal.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The number is `mantissa` times ten to the power of `scale`. The mantissa does not end in a zero, so that there is
    /// one form for each number; zero has scale 0. The scale is at least [`NANO`].
    mantissa: i128,
    scale: i32,
    format: QuantityFormat,
    /// The text it was read from, where upstream writes that back even if it is not quite canonical (`+5`, `1.500`).
    text: Option<Box<str>>,
}

/// How a quantity is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QuantityFormat {
    /// `12e6`.
    DecimalExponent,
    /// `12Mi`: units of 1024. Numbers below 1024 and fractions are written like `DecimalSi`.
    BinarySi,
    /// `12M`: units of 1000.
    #[default]
    DecimalSi,
}

/// Why something is not a quantity, or cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It is not written as one.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// It has no number.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// It has a unit that does not exist.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// It has more digits, or a larger exponent, than are kept.
    #[error("quantity is out of range")]
    OutOfRange,
    /// It is neither a text nor a number in JSON.
    #[error("quantity must be a string or a number")]
    Type,
}

// === impl Quantity ===

impl Quantity {
    /// An integer.
    pub fn new(value: i64, format: QuantityFormat) -> Self {
        Self::from_parts(value.into(), 0, format)
    }

    /// So many thousandths.
    pub fn from_milli(value: i64, format: QuantityFormat) -> Self {
        Self::from_parts(value.into(), MILLI, format)
    }

    /// Reads a quantity. Units of 1024 are capped at 2^63-1; what is smaller than a billionth is rounded up to one.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = Parts::split(text)?;
        let (unit, format) = Unit::parse(parts.suffix)?;
        let is_short = parts.is_short(unit);
        // Upstream takes no digits for zero as long as it can do without arbitrary precision.
        if !is_short && !parts.has_digits {
            return Err(QuantityError::Numeric);
        }
        let (mut mantissa, scale) = match unit {
            Unit::Ten(exponent) => parts.times_ten_to(exponent)?,
            Unit::Two(exponent) => parts.times_two_to(exponent),
        };
        let below_one = mantissa < 10_i128.pow(NANO.unsigned_abs());
        let format = match format {
            QuantityFormat::BinarySi if mantissa != 0 && scale == NANO && below_one => QuantityFormat::DecimalSi,
            format => format,
        };
        if parts.negative {
            mantissa = -mantissa;
        }
        let mut quantity = Self::from_parts(mantissa, scale, format).in_range()?;
        if is_short && parts.looks_canonical(unit) {
            quantity.text = Some(text.into());
        }
        Ok(quantity)
    }

    /// From JSON: a text, perhaps with spaces around it, or a number. Nothing is zero. A number with a fraction or an
    /// exponent has been through a floating-point number before it gets here, and is the shortest that reads as that.
    pub fn from_json(value: &Value) -> Result<Self, QuantityError> {
        match value {
            Value::Null => Ok(Self::default()),
            Value::String(text) => Self::parse(text.trim()),
            Value::Number(number) => Self::parse(&number.to_string()),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(QuantityError::Type),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        Value::String(self.to_string())
    }

    /// How it is written.
    pub fn format(&self) -> QuantityFormat {
        self.format
    }

    /// The same number, written otherwise.
    #[must_use]
    pub fn in_format(&self, format: QuantityFormat) -> Self {
        Self { format, text: None, ..*self }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        self.mantissa < 0
    }

    /// The sum, if it can be kept exactly. It is written like `self`, or like `other` if `self` is zero.
    pub fn checked_add(&self, other: &Self) -> Result<Self, QuantityError> {
        let format = if self.is_zero() { other.format } else { self.format };
        let (mantissa, scale) = match (self.is_zero(), other.is_zero()) {
            (true, _) => (other.mantissa, other.scale),
            (_, true) => (self.mantissa, self.scale),
            _ => {
                let scale = self.scale.min(other.scale);
                let sum = match (self.mantissa_at(scale), other.mantissa_at(scale)) {
                    (Some(a), Some(b)) => a.checked_add(b),
                    _ => None,
                };
                (sum.ok_or(QuantityError::OutOfRange)?, scale)
            }
        };
        Self::from_parts(mantissa, scale, format).in_range()
    }

    /// The difference, if it can be kept exactly. It is written like `self`, or like `other` if `self` is zero.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, QuantityError> {
        let mantissa = other.mantissa.checked_neg().ok_or(QuantityError::OutOfRange)?;
        self.checked_add(&Self { mantissa, text: None, ..*other })
    }

    /// The number as an integer, rounded away from zero; `None` if it does not fit.
    pub fn value(&self) -> Option<i64> {
        self.scaled_value(0)
    }

    /// How many thousandths it is, rounded away from zero; `None` if that does not fit.
    pub fn milli_value(&self) -> Option<i64> {
        self.scaled_value(MILLI)
    }

    /// How many tens to the power of `scale` it is, rounded away from zero; `None` if that does not fit.
    pub fn scaled_value(&self, scale: i32) -> Option<i64> {
        if scale <= self.scale {
            return self.mantissa_at(scale)?.try_into().ok();
        }
        let divisor = power_of_ten(i64::from(scale) - i64::from(self.scale));
        let rounded = match divisor {
            // So small a part that only the sign is left.
            None => self.mantissa.signum(),
            Some(divisor) => {
                let rest = self.mantissa % divisor;
                self.mantissa / divisor + rest.signum()
            }
        };
        rounded.try_into().ok()
    }

    /// The same, rounded away from zero to thousandths, as Kubernetes rounds amounts of resources. What was written with
    /// more digits than that is written canonically from then on, even if they are zeros.
    #[must_use]
    pub fn rounded_to_milli(&self) -> Self {
        let digits = self.text.as_deref().and_then(|text| text.split_once('.')).map_or("", |(_, fraction)| fraction);
        if digits.len() > 3 && digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Self { text: None, ..*self }.rounded_to_milli();
        }
        match power_of_ten(i64::from(MILLI) - i64::from(self.scale)) {
            Some(divisor) if self.scale < MILLI => {
                let rest = self.mantissa % divisor;
                Self::from_parts(self.mantissa / divisor + rest.signum(), MILLI, self.format)
            }
            _ => self.clone(),
        }
    }

    /// The canonical form: no fraction, and the largest unit that allows it.
    pub fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        match self.format {
            QuantityFormat::BinarySi => self.binary().unwrap_or_else(|| self.decimal(decimal_suffix)),
            QuantityFormat::DecimalSi => self.decimal(decimal_suffix),
            QuantityFormat::DecimalExponent => self.decimal(exponent_suffix),
        }
    }

    fn from_parts(mut mantissa: i128, mut scale: i32, format: QuantityFormat) -> Self {
        while mantissa != 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale = scale.saturating_add(1);
        }
        let scale = if mantissa == 0 { 0 } else { scale };
        Self { mantissa, scale, format, text: None }
    }

    fn in_range(self) -> Result<Self, QuantityError> {
        if self.scale > MAX_EXPONENT { Err(QuantityError::OutOfRange) } else { Ok(self) }
    }

    /// The mantissa for a smaller scale.
    fn mantissa_at(&self, scale: i32) -> Option<i128> {
        if self.is_zero() {
            return Some(0);
        }
        self.mantissa.checked_mul(power_of_ten(i64::from(self.scale) - i64::from(scale))?)
    }

    fn decimal(&self, suffix: impl Fn(i32) -> String) -> String {
        let zeros = self.scale.rem_euclid(3);
        let zeros_text = ["", "0", "00"][usize::try_from(zeros).unwrap_or_default()];
        format!("{}{zeros_text}{}", self.mantissa, suffix(self.scale - zeros))
    }

    /// `None` if it is below 1024 or no integer.
    fn binary(&self) -> Option<String> {
        if self.scale < 0 {
            return None;
        }
        let mut number = self.mantissa_at(0).filter(|number| number.unsigned_abs() >= 1024)?;
        let mut unit = 0;
        while number % 1024 == 0 && unit + 1 < BINARY_SUFFIXES.len() {
            number /= 1024;
            unit += 1;
        }
        Some(format!("{number}{}", BINARY_SUFFIXES[unit]))
    }
}

/// Zero.
impl Default for Quantity {
    fn default() -> Self {
        Self::new(0, QuantityFormat::DecimalSi)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        (self.mantissa, self.scale) == (other.mantissa, other.scale)
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.mantissa.signum().cmp(&other.mantissa.signum());
        if by_sign != Ordering::Equal || self.is_zero() {
            return by_sign;
        }
        let by_size = compare_sizes(self, other);
        if self.is_negative() { by_size.reverse() } else { by_size }
    }
}

/// The text it was read from where that is canonical enough for upstream, and else the canonical form.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.canonical()),
        }
    }
}

impl std::str::FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> JsonSchemaObject {
        schemars::json_schema!({
            "description": "An exact number with a unit, such as 100m, 2, 1.5Gi or 1e3.",
            "x-kubernetes-int-or-string": true,
        })
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;

        impl Visitor<'_> for QuantityVisitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                Quantity::parse(text.trim()).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity::new(number, QuantityFormat::DecimalSi))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
                Quantity::parse(&number.to_string()).map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
                Quantity::from_json(&number.into()).map_err(E::custom)
            }

            fn visit_unit<E: de::Error>(self) -> Result<Quantity, E> {
                Ok(Quantity::default())
            }
        }

        deserializer.deserialize_any(QuantityVisitor)
    }
}

// === Reading ===

/// A quantity's text in pieces.
struct Parts<'t> {
    negative: bool,
    /// The digits before the point, without zeros in front.
    whole: &'t str,
    /// The digits after the point.
    fraction: &'t str,
    /// Whether there is any digit at all.
    has_digits: bool,
    suffix: &'t str,
}

/// What the digits are multiplied with.
#[derive(Clone, Copy)]
enum Unit {
    /// Ten to this power.
    Ten(i64),
    /// Two to this power.
    Two(u32),
}

impl Unit {
    fn parse(suffix: &str) -> Result<(Self, QuantityFormat), QuantityError> {
        let decimal = |exponent| Ok((Self::Ten(exponent), QuantityFormat::DecimalSi));
        let binary = |exponent| Ok((Self::Two(exponent), QuantityFormat::BinarySi));
        match suffix {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            other => {
                let exponent = other.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
                let exponent = exponent.parse().map_err(|_| QuantityError::Suffix)?;
                Ok((Self::Ten(exponent), QuantityFormat::DecimalExponent))
            }
        }
    }
}

impl<'t> Parts<'t> {
    fn split(text: &'t str) -> Result<Self, QuantityError> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (zeros, rest) = split_at_end_of(unsigned, |byte| byte == b'0');
        let (whole, rest) = split_at_end_of(rest, |byte| byte.is_ascii_digit());
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_at_end_of(rest, |byte| byte.is_ascii_digit()),
            None => ("", rest),
        };
        let (_, exponent) = split_at_end_of(suffix, |byte| b"eEinumkKMGTP".contains(&byte));
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(QuantityError::Format);
        }
        let has_digits = !(zeros.is_empty() && whole.is_empty() && fraction.is_empty());
        Ok(Self { negative: text.starts_with('-'), whole, fraction, has_digits, suffix })
    }

    fn whole_digits(&self) -> usize {
        self.whole.len().max(1)
    }

    /// Whether upstream gets by with 64 bits.
    fn is_short(&self, unit: Unit) -> bool {
        match unit {
            Unit::Ten(exponent) => {
                self.whole_digits() + self.fraction.len() <= 18 && self.scale(exponent) >= i64::from(NANO)
            }
            Unit::Two(exponent) => {
                let digits = usize::try_from(exponent * 3 / 10).unwrap_or(usize::MAX);
                self.fraction.is_empty() && self.whole_digits().saturating_add(digits) <= 14
            }
        }
    }

    /// Whether upstream takes the text for canonical, if it is short.
    fn looks_canonical(&self, unit: Unit) -> bool {
        match unit {
            Unit::Ten(exponent) => {
                let zeros = self.whole.bytes().chain(self.fraction.bytes()).rev().take_while(|&byte| byte == b'0');
                !self.whole.is_empty() && self.scale(exponent) % 3 == 0 && zeros.count() < 3
            }
            Unit::Two(_) => self.whole.parse::<i64>().is_ok_and(|number| number & 7 != 0),
        }
    }

    /// The power of ten that the last digit counts.
    fn scale(&self, exponent: i64) -> i64 {
        exponent.saturating_sub_unsigned(self.fraction.len() as u64)
    }

    /// Mantissa and scale, rounded up.
    fn times_ten_to(&self, exponent: i64) -> Result<(i128, i32), QuantityError> {
        let digits = || self.whole.bytes().chain(self.fraction.bytes());
        let leading = digits().take_while(|&digit| digit == b'0').count();
        let count = self.whole.len() + self.fraction.len();
        if leading == count {
            return Ok((0, 0));
        }
        let trailing = digits().rev().take_while(|&digit| digit == b'0').count();
        let scale = self.scale(exponent).saturating_add_unsigned(trailing as u64);
        let count = count - leading - trailing;

        // The last digit is not zero: if it is dropped, something is rounded up.
        let dropped = usize::try_from(i64::from(NANO).saturating_sub(scale)).unwrap_or(0).min(count);
        let mut mantissa = 0_i128;
        for digit in digits().skip(leading).take(count - dropped) {
            mantissa = append(mantissa, digit).ok_or(QuantityError::OutOfRange)?;
        }
        if dropped > 0 {
            return Ok((mantissa.checked_add(1).ok_or(QuantityError::OutOfRange)?, NANO));
        }
        Ok((mantissa, scale.try_into().map_err(|_| QuantityError::OutOfRange)?))
    }

    /// Mantissa and scale, rounded up and capped.
    fn times_two_to(&self, exponent: u32) -> (i128, i32) {
        const CAP: (i128, i32) = (MAX_BINARY, 0);
        let factor = 1_i128 << exponent;
        let whole = self
            .whole
            .bytes()
            .try_fold(0, |number, digit| append(number, digit).filter(|&number| number <= MAX_BINARY));
        let Some(whole) = whole.map(|whole| whole * factor).filter(|&whole| whole <= MAX_BINARY) else {
            return CAP;
        };
        // The fraction in billionths, from the last digit on: what falls off below one is remembered, not added up.
        let billion = 10_i128.pow(NANO.unsigned_abs());
        let (mut billionths, mut is_inexact) = (0, false);
        for digit in self.fraction.bytes().rev() {
            let number = i128::from(digit - b'0') * factor * billion + billionths;
            is_inexact |= number % 10 != 0;
            billionths = number / 10;
        }
        let number = whole * billion + billionths + i128::from(is_inexact);
        if number > MAX_BINARY * billion { CAP } else { (number, NANO) }
    }
}

fn split_at_end_of(text: &str, of: impl Fn(u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !of(byte)).unwrap_or(text.len()))
}

fn append(number: i128, digit: u8) -> Option<i128> {
    number.checked_mul(10)?.checked_add(i128::from(digit.checked_sub(b'0')?))
}

fn power_of_ten(exponent: i64) -> Option<i128> {
    10_i128.checked_pow(exponent.try_into().ok()?)
}

/// Compares how far two numbers other than zero are from it.
fn compare_sizes(a: &Quantity, b: &Quantity) -> Ordering {
    let (left, right) = (a.mantissa.unsigned_abs(), b.mantissa.unsigned_abs());
    let digits = |number: u128, scale: i32| i64::from(number.ilog10()) + i64::from(scale);
    let by_digits = digits(left, a.scale).cmp(&digits(right, b.scale));
    if by_digits != Ordering::Equal {
        return by_digits;
    }
    // Equally many digits: the one with the larger scale has the shorter mantissa. If that does not fit once it is as long
    // as the other one, which does, it is the larger.
    let widened =
        |number: u128, by: i32| 10_u128.checked_pow(by.unsigned_abs()).and_then(|power| number.checked_mul(power));
    match a.scale.cmp(&b.scale) {
        Ordering::Equal => left.cmp(&right),
        Ordering::Greater => widened(left, a.scale - b.scale).map_or(Ordering::Greater, |left| left.cmp(&right)),
        Ordering::Less => widened(right, b.scale - a.scale).map_or(Ordering::Less, |right| left.cmp(&right)),
    }
}

fn decimal_suffix(exponent: i32) -> String {
    let suffix = match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        0 => "",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        other => return exponent_suffix(other),
    };
    suffix.to_owned()
}

fn exponent_suffix(exponent: i32) -> String {
    match exponent {
        0 => String::new(),
        exponent => format!("e{exponent}"),
    }
}

#[cfg(test)]
mod tests;
