//! What is said of kinds: by the annotations of their definitions, and by ReadinessRules.

use std::collections::{BTreeMap, HashMap};

use bailiwick_api::{KindSelector, ReadinessRule, ReadinessRuleSpec};

use super::type_rules::{Binding, TypeError, TypeRules, Wanted};
use crate::host_kinds::HostKind;

/// What is said of kinds.
#[derive(Default)]
pub(super) struct Types {
    /// By the names of definitions.
    definitions: HashMap<String, Result<TypeRules, TypeError>>,
    /// By their names, of which the first counts.
    rules: BTreeMap<String, ReadinessRuleSpec>,
}

// === impl Types ===

impl Types {
    /// What is said of a kind. Of when its objects are ready a rule says more than annotations; of what they put out it says nothing.
    pub(super) fn rules_of(&self, kind: &HostKind) -> Result<TypeRules, TypeError> {
        let wanted = KindSelector { group: kind.resource.group.clone(), kind: kind.resource.kind.clone() };
        let annotated = self.definitions.get(&kind.definition());
        if let Some(rule) = self.rules.values().find(|rule| rule.selector == wanted) {
            let exists = annotated.and_then(|annotated| annotated.as_ref().ok()?.exists.clone());
            let exists = exists.map(|binding| Binding { wanted: Wanted::WhenUsed, ..binding });
            return Ok(TypeRules { exists, ..TypeRules::of_rule(rule) });
        }
        annotated.cloned().unwrap_or_else(|| Ok(TypeRules::default()))
    }

    /// A definition is there, or gone.
    pub(super) fn set_definition(&mut self, name: &str, annotations: Option<&BTreeMap<String, String>>) {
        match annotations.map(TypeRules::of_annotations) {
            Some(Ok(rules)) if rules.is_empty() => drop(self.definitions.remove(name)),
            Some(rules) => drop(self.definitions.insert(name.to_owned(), rules)),
            None => drop(self.definitions.remove(name)),
        }
    }

    /// A rule is there, or gone. Gives the kinds that it concerns.
    pub(super) fn set_rule(&mut self, name: &str, rule: Option<ReadinessRule>) -> Vec<KindSelector> {
        let (new, old) = match rule {
            Some(rule) => (Some(rule.spec.selector.clone()), self.rules.insert(name.to_owned(), rule.spec)),
            None => (None, self.rules.remove(name)),
        };
        old.map(|old| old.selector).into_iter().chain(new).collect()
    }
}

#[cfg(test)]
mod tests;
