//! The strategies of a definition, read once: by which fields a class is matched, and how a resource is formed.

use serde_json::{Map, Value};

use super::shown::Shown;
use super::transform::{Transform, TransformError};
use crate::field_path::{FieldPath, FieldPathError, SetError, Step};
use crate::resource_binding_definition::{ProvisioningStrategy, SelectionStrategy, Strategies};

/// What a resource is formed of if nothing is said.
const SPEC_TEMPLATE: &str = "specTemplate";
const SPEC: &str = "spec";

/// The strategies of one resource of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    matches: Vec<MatchRule>,
    /// In the order in which they are carried out.
    provisioning: Vec<Provision>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct MatchRule {
    from: FieldPath,
    to: FieldPath,
    transforms: Vec<Transform>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Provision {
    Overlay { from: FieldPath, to: FieldPath },
    Translate { from: FieldPath, to: FieldPath, transforms: Vec<Transform> },
}

/// Why strategies make no sense, and where: a path below `strategies`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The list, or what is in it.
    pub field: &'static str,
    /// Which item of the list.
    pub index: Option<usize>,
    /// Which field of the item.
    pub child: Option<&'static str>,
    /// What stands there.
    pub value: Value,
    /// Why not.
    pub why: String,
}

/// Whether a class has what a claim wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassMatch {
    /// It has.
    Yes,
    /// The class has no such field.
    Missing {
        /// The field of the class.
        field: String,
        /// How many of the rules before this one are fulfilled.
        fulfilled: usize,
    },
    /// It has something else.
    Differs {
        /// The field of the class.
        field: String,
        /// What is there.
        found: Value,
        /// What is wanted.
        wanted: Value,
        /// How many of the rules before this one are fulfilled.
        fulfilled: usize,
    },
    /// What the claim wants cannot be told.
    Untransformed {
        /// The field of the claim.
        field: String,
        /// Why.
        error: TransformError,
    },
}

/// Why a resource cannot be formed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// A transform cannot be applied to what the claim holds.
    #[error("{field} of the claim cannot be translated: {error}")]
    Transform {
        /// The field of the claim.
        field: FieldPath,
        /// Why.
        error: TransformError,
    },
    /// The field cannot be set.
    #[error("{field} of the resource cannot be set: {error}")]
    Set {
        /// The field of the resource.
        field: FieldPath,
        /// Why.
        error: SetError,
    },
    /// A label or an annotation is something else than text.
    #[error("{field} of the resource cannot be set: labels and annotations are texts, and it would be {value}")]
    NotText {
        /// The field of the resource.
        field: FieldPath,
        /// What it would be.
        value: Shown,
    },
}

// === impl Rules ===

impl Rules {
    /// Reads strategies, and tells all that is wrong with them.
    pub fn read(strategies: Option<&Strategies>) -> Result<Self, Vec<RuleError>> {
        let Some(strategies) = strategies else { return Ok(Self::default()) };
        let mut errors = Vec::new();
        let matches = read_matches(strategies, &mut errors);
        let provisioning = read_provisioning(strategies, &mut errors);
        let matches = if strategies.selection.contains(&SelectionStrategy::Match) { matches } else { Vec::new() };
        if errors.is_empty() { Ok(Self { matches, provisioning }) } else { Err(errors) }
    }

    /// Whether classes are constrained by fields of the claim.
    pub fn has_matches(&self) -> bool {
        !self.matches.is_empty()
    }

    /// Whether a class has what a claim wants. A claim that says nothing of a field wants nothing in particular.
    pub fn matches_class(&self, claim: &Value, class: &Value) -> ClassMatch {
        self.judge(claim, |rule| Some((rule.to.clone(), rule.to.get(class).cloned())))
    }

    /// Whether a resource that is there already is what a claim wants: all that would be translated is as it would be, and
    /// what would be asked of its class is so in what a class would have given it.
    pub fn matches_resource(&self, claim: &Value, resource: &Value) -> bool {
        let at_resource = |rule: &MatchRule| {
            let to = self.provisioning.iter().find_map(|step| match step {
                Provision::Overlay { from, to } => Some(to.join(rule.to.below(from)?)),
                Provision::Translate { .. } => None,
            })?;
            let found = to.get(resource).cloned();
            Some((to, found))
        };
        self.judge(claim, at_resource) == ClassMatch::Yes
            && self.provisioning.iter().all(|step| match step {
                Provision::Overlay { .. } => true,
                Provision::Translate { from, to, transforms } => match wanted(claim, from, transforms) {
                    Ok(None) => true,
                    Ok(Some(wanted)) => to.get(resource) == Some(&wanted),
                    Err(_) => false,
                },
            })
    }

    /// What a claim and a class make: fields of a resource, without its head and metadata of its own.
    pub fn form(&self, claim: &Value, class: &Value) -> Result<Value, FormError> {
        let mut resource = Value::Object(Map::new());
        for step in &self.provisioning {
            match step {
                Provision::Overlay { from, to } => {
                    let Some(template) = from.get(class).filter(|template| !template.is_null()) else { continue };
                    let mut merged = to.get(&resource).cloned().unwrap_or_default();
                    merge(&mut merged, template);
                    set(to, &mut resource, merged)?;
                }
                Provision::Translate { from, to, transforms } => {
                    if let Some(value) = translated(claim, from, transforms)? {
                        set(to, &mut resource, value)?;
                    }
                }
            }
        }
        check_form(&resource)?;
        Ok(resource)
    }

    /// The fields of a resource that come from the claim, with the values that they have by now. What a later strategy sets
    /// otherwise comes from there. A class that is not known may have said anything.
    pub fn translated(&self, claim: &Value, class: Option<&Value>) -> Result<Vec<(FieldPath, Value)>, FormError> {
        let mut fields: Vec<(FieldPath, Value)> = Vec::new();
        for step in &self.provisioning {
            match step {
                Provision::Translate { from, to, transforms } => {
                    if let Some(value) = translated(claim, from, transforms)? {
                        fields.retain(|(field, _)| field.below(to).is_none());
                        fields.push((to.clone(), value));
                    }
                }
                Provision::Overlay { from, to } => {
                    let template = class.map(|class| from.get(class).unwrap_or(&Value::Null));
                    fields.retain(|(field, _)| match (field.below(to), template) {
                        (Some(_), None) => false,
                        (Some(_), Some(Value::Null)) | (None, _) => true,
                        (Some(steps), Some(template)) => !sets(template, steps),
                    });
                }
            }
        }
        Ok(fields)
    }

    /// Judges by each rule the field that `at` finds. A rule for which there is none is not fulfilled.
    fn judge(&self, claim: &Value, at: impl Fn(&MatchRule) -> Option<(FieldPath, Option<Value>)>) -> ClassMatch {
        for (fulfilled, rule) in self.matches.iter().enumerate() {
            let wanted = match wanted(claim, &rule.from, &rule.transforms) {
                Ok(Some(wanted)) => wanted,
                Ok(None) => continue,
                Err(error) => return ClassMatch::Untransformed { field: rule.from.to_string(), error },
            };
            let (field, found) = at(rule).unwrap_or_else(|| (rule.to.clone(), None));
            let field = field.to_string();
            match found.filter(|found| !found.is_null()) {
                None => return ClassMatch::Missing { field, fulfilled },
                Some(found) if found != wanted => return ClassMatch::Differs { field, found, wanted, fulfilled },
                Some(_) => {}
            }
        }
        ClassMatch::Yes
    }
}

impl Default for Rules {
    /// The class's template becomes the resource's spec.
    fn default() -> Self {
        let path = |name: &str| FieldPath::new(vec![Step::Field(name.to_owned())]);
        let overlay = path(SPEC_TEMPLATE).zip(path(SPEC)).map(|(from, to)| Provision::Overlay { from, to });
        Self { matches: Vec::new(), provisioning: overlay.into_iter().collect() }
    }
}

/// What the claim has in a field, transformed; none if it has nothing there.
fn wanted(claim: &Value, from: &FieldPath, transforms: &[Transform]) -> Result<Option<Value>, TransformError> {
    let found = from.get(claim).filter(|value| !value.is_null());
    found.map(|value| Transform::apply_all(transforms, value)).transpose()
}

/// What a field of the claim becomes; none if there is nothing in it.
fn translated(claim: &Value, from: &FieldPath, transforms: &[Transform]) -> Result<Option<Value>, FormError> {
    wanted(claim, from, transforms).map_err(|error| FormError::Transform { field: from.clone(), error })
}

/// Whether a template, merged into an object, decides about the field behind these steps: it has a value there, or something
/// without fields on the way.
fn sets(template: &Value, steps: &[Step]) -> bool {
    match (template, steps) {
        (Value::Object(fields), [Step::Field(name), rest @ ..]) => {
            fields.get(name).is_some_and(|inner| sets(inner, rest))
        }
        _ => true,
    }
}

/// What everything else in a resource is put into must be objects, whatever was put there; and labels and annotations are texts.
fn check_form(resource: &Value) -> Result<(), FormError> {
    for names in [&["spec"][..], &["metadata", "labels"], &["metadata", "annotations"]] {
        let steps = names.iter().map(|name| Step::Field((*name).to_owned())).collect();
        let Some(path) = FieldPath::new(steps) else { continue };
        let fields = match path.get(resource) {
            None => continue,
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                let error = SetError::NotAnObject { path: path.clone() };
                return Err(FormError::Set { field: path, error });
            }
        };
        let is_metadata = names.len() > 1;
        if let Some((name, value)) = fields.iter().find(|(_, value)| is_metadata && !value.is_string()) {
            let field = path.join(&[Step::Field(name.clone())]);
            return Err(FormError::NotText { field, value: Shown::of(value) });
        }
    }
    Ok(())
}

fn set(to: &FieldPath, resource: &mut Value, value: Value) -> Result<(), FormError> {
    to.set(resource, value).map_err(|error| FormError::Set { field: to.clone(), error })
}

/// Objects are merged, everything else is replaced.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn read_matches(strategies: &Strategies, errors: &mut Vec<RuleError>) -> Vec<MatchRule> {
    if strategies.selection.contains(&SelectionStrategy::Match) && strategies.matches.is_empty() {
        errors.push(RuleError::unconfigured("selection", "match"));
    }
    let mut rules = Vec::new();
    for (index, rule) in strategies.matches.iter().enumerate() {
        let mut at = At { field: "match", index, errors };
        let from = at.path("fromClaimField", &rule.from_claim_field);
        let to = at.path("toClassField", &rule.to_class_field);
        let transforms = at.transforms(rule.transforms.as_ref());
        if let (Some(from), Some(to), Some(transforms)) = (from, to, transforms) {
            rules.push(MatchRule { from, to, transforms });
        }
    }
    rules
}

fn read_provisioning(strategies: &Strategies, errors: &mut Vec<RuleError>) -> Vec<Provision> {
    let mut overlays = Vec::new();
    for (index, rule) in strategies.overlay.iter().enumerate() {
        let mut at = At { field: "overlay", index, errors };
        let from = at.path("fromClassField", &rule.from_class_field);
        let to = at.resource_path(&rule.to_resource_field);
        overlays.extend(from.zip(to).map(|(from, to)| Provision::Overlay { from, to }));
    }
    let mut translations = Vec::new();
    for (index, rule) in strategies.translate.iter().enumerate() {
        let mut at = At { field: "translate", index, errors };
        let from = at.path("fromClaimField", &rule.from_claim_field);
        let to = at.resource_path(&rule.to_resource_field);
        if let (Some(from), Some(to), Some(transforms)) = (from, to, at.transforms(rule.transforms.as_ref())) {
            translations.push(Provision::Translate { from, to, transforms });
        }
    }
    if strategies.provisioning.is_empty() {
        return Rules::default().provisioning;
    }
    let mut provisioning = Vec::new();
    for strategy in &strategies.provisioning {
        let (name, steps, written) = match strategy {
            ProvisioningStrategy::Overlay => ("overlay", &mut overlays, strategies.overlay.len()),
            ProvisioningStrategy::Translate => ("translate", &mut translations, strategies.translate.len()),
        };
        if written == 0 {
            errors.push(RuleError::unconfigured("provisioning", name));
        }
        provisioning.append(steps);
    }
    provisioning
}

/// Where in the strategies something is read.
struct At<'e> {
    field: &'static str,
    index: usize,
    errors: &'e mut Vec<RuleError>,
}

// === impl At ===

impl At<'_> {
    fn path(&mut self, child: &'static str, text: &str) -> Option<FieldPath> {
        let read = FieldPath::parse(text);
        read.map_err(|error: FieldPathError| self.error(child, text.into(), error.to_string())).ok()
    }

    /// A field that a resource can get from a claim or a class. Who it is, whose it is and what became of it is for others to
    /// say.
    fn resource_path(&mut self, text: &str) -> Option<FieldPath> {
        let path = self.path("toResourceField", text)?;
        let names: Vec<Option<&str>> = path
            .steps()
            .iter()
            .take(2)
            .map(|step| match step {
                Step::Field(name) => Some(name.as_str()),
                Step::Index(_) => None,
            })
            .collect();
        let is_open = match names.as_slice() {
            [Some("metadata"), Some("labels" | "annotations")] => true,
            [Some("spec"), Some("claimRef")] => false,
            [Some("apiVersion" | "kind" | "metadata" | "status"), ..] | [None, ..] => false,
            _ => true,
        };
        if !is_open {
            let why = "must be a field that a resource is given: not its kind, its status or its spec.claimRef, and of its \
                       metadata only labels and annotations";
            self.error("toResourceField", text.into(), why.to_owned());
        }
        is_open.then_some(path)
    }

    fn transforms(&mut self, transforms: Option<&super::Transforms>) -> Option<Vec<Transform>> {
        let Some(transforms) = transforms else { return Some(Vec::new()) };
        let steps = transforms.steps();
        steps.map_err(|error| self.error("transforms", transforms.0.clone(), error.to_string())).ok()
    }

    fn error(&mut self, child: &'static str, value: Value, why: String) {
        let (field, index) = (self.field, Some(self.index));
        self.errors.push(RuleError { field, index, child: Some(child), value, why });
    }
}

// === impl RuleError ===

impl RuleError {
    fn unconfigured(field: &'static str, strategy: &'static str) -> Self {
        let why = format!("the strategy is named here and says nothing: {strategy} must have at least one item");
        Self { field, index: None, child: None, value: strategy.into(), why }
    }
}

#[cfg(test)]
mod tests;
