//! Numbers: their range, and the bounds that a schema sets.
//!
//! Upstream compares a whole number with a bound that was cut down to a whole number, and reports a bound that does not
//! fit the type along with each value. Both are kept.

use super::{Found, Outcome, Walk};
use crate::go::GoNumber;
use crate::schema::path::Path;
use crate::schema::{Check, Node, Rules, Type};

/// The largest whole number up to which floating ones have no gaps.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

impl Walk<'_> {
    pub(super) fn number(&self, node: &Node, rules: &Rules, value: GoNumber, path: &Path<'_>, outcome: &mut Outcome) {
        let range = Range { kind: node.kind.filter(|_| !node.int_or_string), check: rules.check };
        self.in_range(range, value, "Checked", path, outcome);
        if let Some(factor) = rules.multiple_of {
            let native = self.in_range(range, GoNumber::Float(factor), "MultipleOf", path, outcome);
            outcome.errors_of(self.multiple(native_pair(native, value, factor), path));
        }
        if let Some(bound) = rules.minimum {
            let native = self.in_range(range, GoNumber::Float(bound), "Minimum boundary", path, outcome);
            let (value, bound) = native_pair(native, value, bound);
            let wrong = match (value, bound) {
                (GoNumber::Int(value), GoNumber::Int(bound)) => {
                    value < bound || rules.exclusive_minimum && value == bound
                }
                (value, bound) => {
                    let (value, bound) = (value.as_f64(), bound.as_f64());
                    value < bound || rules.exclusive_minimum && value == bound
                }
            };
            if wrong {
                let relation = if rules.exclusive_minimum { "greater than" } else { "greater than or equal to" };
                outcome.add(self.bound(value, bound, relation, path));
            }
        }
        if let Some(bound) = rules.maximum {
            let native = self.in_range(range, GoNumber::Float(bound), "Maximum boundary", path, outcome);
            let (value, bound) = native_pair(native, value, bound);
            let wrong = match (value, bound) {
                (GoNumber::Int(value), GoNumber::Int(bound)) => {
                    value > bound || rules.exclusive_maximum && value == bound
                }
                (value, bound) => {
                    let (value, bound) = (value.as_f64(), bound.as_f64());
                    value > bound || rules.exclusive_maximum && value == bound
                }
            };
            if wrong {
                let relation = if rules.exclusive_maximum { "less than" } else { "less than or equal to" };
                outcome.add(self.bound(value, bound, relation, path));
            }
        }
    }

    fn in_range(&self, range: Range, value: GoNumber, what: &str, path: &Path<'_>, outcome: &mut Outcome) -> bool {
        let holds = range.holds(value);
        if !holds {
            let kind = range.kind.map_or("", Type::name);
            let form = match range.check {
                Check::Int32 => "with format int32",
                Check::Int64 => "with format int64",
                Check::Float => "with format float",
                Check::Double => "with format double",
                Check::Text(_) | Check::Nothing => "(default format)",
            };
            outcome.add(self.general(format!("{what} value must be of type {kind} {form} in {}", path.dotted())));
        }
        holds
    }

    fn multiple(&self, pair: (GoNumber, GoNumber), path: &Path<'_>) -> Option<Found> {
        let (value, factor) = pair;
        let holds = match pair {
            (_, GoNumber::Int(factor)) if factor <= 0 => None,
            (_, GoNumber::Float(factor)) if factor <= 0.0 => None,
            (GoNumber::Int(value), GoNumber::Int(factor)) => Some(value % factor == 0),
            (value, factor) => {
                let (value, factor) = (value.as_f64(), factor.as_f64());
                Some(is_whole(if factor < 1.0 { 1.0 / factor * value } else { value / factor }))
            }
        };
        match holds {
            Some(true) => None,
            Some(false) => {
                Some(self.invalid(path, to_value(value), &format!("should be a multiple of {}", factor.text())))
            }
            None => {
                let text =
                    format!("factor MultipleOf declared for {} must be positive: {}", path.dotted(), factor.text());
                Some(self.found(path, to_value(factor), text))
            }
        }
    }

    fn bound(&self, value: GoNumber, bound: GoNumber, relation: &str, path: &Path<'_>) -> Found {
        self.invalid(path, to_value(value), &format!("should be {relation} {}", bound.text()))
    }
}

impl Outcome {
    fn errors_of(&mut self, found: Option<Found>) {
        if let Some(found) = found {
            self.add(found);
        }
    }
}

/// What numbers a type and its format can hold.
#[derive(Clone, Copy)]
struct Range {
    kind: Option<Type>,
    check: Check,
}

impl Range {
    #[expect(clippy::cast_possible_truncation, reason = "whether it fits is the question")]
    fn holds(self, value: GoNumber) -> bool {
        match (self.kind, self.check, value) {
            (Some(Type::Integer), Check::Int32, GoNumber::Int(value)) => i32::try_from(value).is_ok(),
            (Some(Type::Integer), Check::Int32, GoNumber::Float(value)) => {
                value.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value)
            }
            (Some(Type::Integer), _, GoNumber::Float(value)) => {
                // Two to the power of 63, which is the first that does not fit.
                let end = 9_223_372_036_854_775_808.0;
                value.fract() == 0.0 && (-end..end).contains(&value)
            }
            (Some(Type::Number), Check::Float, value) => (value.as_f64() as f32).is_finite(),
            _ => true,
        }
    }
}

/// The two as whole numbers, if the value is one and the bound fits the type; else both as floating ones.
#[expect(clippy::cast_possible_truncation, reason = "what upstream does with a bound")]
fn native_pair(native: bool, value: GoNumber, bound: f64) -> (GoNumber, GoNumber) {
    match value {
        GoNumber::Int(value) if native => (GoNumber::Int(value), GoNumber::Int(bound as i64)),
        value => (GoNumber::Float(value.as_f64()), GoNumber::Float(bound)),
    }
}

fn to_value(number: GoNumber) -> serde_json::Value {
    match number {
        GoNumber::Int(whole) => whole.into(),
        GoNumber::Float(float) => float.into(),
    }
}

/// Whether a floating number counts as a whole one: up to 2^53, and one part in a billion above a whole number.
pub(super) fn is_whole(float: f64) -> bool {
    if !float.is_finite() || float.abs() > MAX_SAFE {
        return false;
    }
    let whole = float.trunc();
    float == whole || float > 0.0 && whole != 0.0 && (float - whole) / (float + whole) < 1e-9
}
