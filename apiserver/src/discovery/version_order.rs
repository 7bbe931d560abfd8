//! Which version of a group is the better one: v2, v1, v1beta2, v1beta1, v1alpha1, and then what does not look like a
//! version, by its letters.

use std::cmp::{Ordering, Reverse};

/// Orders versions, the best first.
pub(super) fn best_first(one: &str, other: &str) -> Ordering {
    match (Parsed::new(one), Parsed::new(other)) {
        (Some(one), Some(other)) => Reverse(one).cmp(&Reverse(other)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// A version that looks like one. What counts most stands first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Parsed {
    stability: Stability,
    major: i64,
    minor: i64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

// === impl Parsed ===

impl Parsed {
    fn new(version: &str) -> Option<Self> {
        let rest = version.strip_prefix('v')?;
        let (major, rest) = number(rest)?;
        let (stability, rest) = match rest {
            "" => return Some(Self { stability: Stability::Stable, major, minor: 0 }),
            rest => match rest.strip_prefix("alpha") {
                Some(rest) => (Stability::Alpha, rest),
                None => (Stability::Beta, rest.strip_prefix("beta")?),
            },
        };
        let (minor, rest) = number(rest)?;
        rest.is_empty().then_some(Self { stability, major, minor })
    }
}

fn number(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::best_first;

    #[test]
    fn in_the_order_of_the_kubernetes_documentation() {
        let ordered =
            ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10", "v1beta"];
        let mut versions = ordered;
        versions.reverse();
        versions.sort_by(|one, other| best_first(one, other));
        assert_eq!(versions, ordered);
    }
}
