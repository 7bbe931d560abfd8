//! Whether some rules give everything that others give, and what of it they do not.
//!
//! Rules are broken into pieces of one group, one resource, one verb and at most one name, or one path and one verb. Each
//! piece is either given by one rule as a whole or by none.

use std::collections::BTreeMap;
use std::fmt;

use bailiwick_machinery::go;
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::list;
use super::rule::{has_or_all, path_matches};

/// The smallest piece of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'r> {
    Resource { group: &'r str, resource: &'r str, name: Option<&'r str>, verb: &'r str },
    Path { path: &'r str, verb: &'r str },
}

/// Pieces that differ in their verbs only.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Compact<'r> {
    piece: Piece<'r>,
    verbs: Vec<&'r str>,
}

/// What `wanted` gives and `held` does not: one text for each group, resource and name with all verbs, and one for each
/// path and verb, in order and each once. Empty if everything is covered.
pub fn uncovered(held: &[&PolicyRule], wanted: &[PolicyRule]) -> Vec<String> {
    let missing = wanted.iter().flat_map(pieces).filter(|piece| !held.iter().any(|rule| covers(rule, piece)));
    let mut texts: Vec<String> = compact(missing).iter().map(Compact::to_string).collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

fn pieces(rule: &PolicyRule) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for group in list(&rule.api_groups) {
        for resource in list(&rule.resources) {
            for verb in &rule.verbs {
                let piece = |name| Piece::Resource { group, resource, name, verb };
                match list(&rule.resource_names) {
                    [] => pieces.push(piece(None)),
                    names => pieces.extend(names.iter().map(|name| piece(Some(name)))),
                }
            }
        }
    }
    for path in list(&rule.non_resource_urls) {
        pieces.extend(rule.verbs.iter().map(|verb| Piece::Path { path, verb }));
    }
    pieces
}

/// Whether a rule gives a piece. A piece that names no object is not given by a rule that names some.
fn covers(rule: &PolicyRule, piece: &Piece<'_>) -> bool {
    let names = list(&rule.resource_names);
    match *piece {
        Piece::Resource { group, resource, name, verb } => {
            has_or_all(&rule.verbs, verb)
                && has_or_all(list(&rule.api_groups), group)
                && covers_resource(list(&rule.resources), resource)
                && (names.is_empty() || name.is_some_and(|name| names.iter().any(|one| one == name)))
        }
        Piece::Path { path, verb } => {
            has_or_all(&rule.verbs, verb)
                && names.is_empty()
                && list(&rule.non_resource_urls).iter().any(|pattern| path_matches(pattern, path))
        }
    }
}

fn covers_resource(held: &[String], wanted: &str) -> bool {
    let below = wanted.split_once('/').map(|(_, subresource)| subresource);
    has_or_all(held, wanted)
        || below.is_some_and(|below| held.iter().any(|one| one.strip_prefix("*/").is_some_and(|rest| rest == below)))
}

/// Puts the verbs of one resource together. Paths stay as they are, as Kubernetes leaves them.
fn compact<'r>(pieces: impl Iterator<Item = Piece<'r>>) -> Vec<Compact<'r>> {
    let mut compacted: Vec<Compact<'r>> = Vec::new();
    let mut known = BTreeMap::new();
    for piece in pieces {
        match piece {
            Piece::Path { verb, .. } => compacted.push(Compact { piece, verbs: vec![verb] }),
            Piece::Resource { group, resource, name, verb } => {
                let at = *known.entry((group, resource, name)).or_insert(compacted.len());
                match compacted.get_mut(at) {
                    Some(same) => same.verbs.push(verb),
                    None => compacted.push(Compact { piece, verbs: vec![verb] }),
                }
            }
        }
    }
    compacted
}

// === impl Compact ===

/// `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`.
impl fmt::Display for Compact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        match self.piece {
            Piece::Resource { group, resource, name, .. } => {
                write!(f, "APIGroups:[{}], Resources:[{}]", go::quote(group), go::quote(resource))?;
                if let Some(name) = name {
                    write!(f, ", ResourceNames:[{}]", go::quote(name))?;
                }
            }
            Piece::Path { path, .. } => write!(f, "NonResourceURLs:[{}]", go::quote(path))?,
        }
        write!(f, ", Verbs:{}}}", quoted(&self.verbs))
    }
}

/// A list of texts as Go's `%q` prints it.
pub(super) fn quoted<T: AsRef<str>>(texts: &[T]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| go::quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

#[cfg(test)]
mod tests;
