//! A Bundle as it can be carried out: its graph and its templates; or all that is wrong with it, as far as the Bundle itself
//! tells.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::apply_set::PART_OF_LABEL;
use super::graph::Graph;
use super::path::ObjectPath;
use super::reference::{Part, Reference};
use super::secrets::{is_secret, is_secret_kind, may_hold_secrets};
use super::template::{Template, Use};
use super::{BundleObject, BundleResource, BundleSpec, Lifecycle};
use crate::path_name::{is_api_version, is_kind, is_object_name};

/// The most resources of a Bundle.
pub const MAX_RESOURCES: usize = 200;
/// The most references of a Bundle.
pub const MAX_REFERENCES: usize = 1_000;
/// The most that is told to be wrong with a Bundle. What it is about ends there.
pub const MAX_PROBLEMS: usize = 1_000;
/// The longest name of a resource.
const MAX_NAME: usize = 63;
/// What the name of an object must be like.
pub const OBJECT_NAME_FORM: &str = "must have at most 253 bytes and be one part of a path: neither \".\" nor \"..\", without \
                                    \"/\", \"%\", \"?\", \"#\", \"\\\\\" and spaces";
/// Metadata of an object that is not the Bundle's to say.
const NOT_YOURS: [(&str, &str); 3] = [
    ("generateName", "must have a name, so that it is found again"),
    ("ownerReferences", "the Bundle is its owner"),
    ("managedFields", "is written by the server"),
];

/// A Bundle that can be carried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    resources: Vec<PlannedResource>,
    graph: Graph,
}

/// A resource that can be made.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedResource {
    /// What the Bundle calls it.
    pub name: String,
    /// Where its object stands in the Bundle: `spec.resources[1].spec`.
    pub place: String,
    /// The object's apiVersion.
    pub api_version: String,
    /// The object's kind.
    pub kind: String,
    /// The object, with references in it.
    pub template: Template,
    /// Whether values of Secrets may be seen in it.
    pub allow_secret_values: bool,
    /// What becomes of the object when it is not wanted any more.
    pub lifecycle: Lifecycle,
}

/// Something that is wrong with a Bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `spec.resources[1].dependsOn[0]`.
    pub field: String,
    /// In which way.
    pub kind: ProblemKind,
    /// What was found there, where that helps. Never a value of an object.
    pub found: String,
    /// What would be right.
    pub why: String,
}

/// The ways in which a Bundle can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// Something must be there.
    Required,
    /// Something is there twice.
    Duplicate,
    /// Something is malformed.
    Invalid,
    /// Something is named that is not there.
    NotFound,
    /// Something is well-formed, and not allowed here.
    Forbidden,
    /// There are too many of something.
    TooMany,
}

/// Problems as they are found.
struct Check<'s> {
    spec: &'s BundleSpec,
    namespace: &'s str,
    problems: Vec<Problem>,
}

// === impl Plan ===

impl Plan {
    /// The plan of a Bundle in this namespace.
    pub fn of(spec: &BundleSpec, namespace: &str) -> Result<Self, Vec<Problem>> {
        let mut check = Check { spec, namespace, problems: Vec::new() };
        let plan = check.plan();
        if check.problems.is_empty() { Ok(plan) } else { Err(check.problems) }
    }

    /// Its resources, in the order of the spec.
    pub fn resources(&self) -> &[PlannedResource] {
        &self.resources
    }

    /// Which waits for which, by their places.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The names of what a resource depends on.
    pub fn dependencies(&self, resource: usize) -> impl Iterator<Item = &str> {
        let name = |place: &usize| self.resources.get(*place).map(|found| found.name.as_str());
        self.graph.dependencies(resource).iter().filter_map(name)
    }
}

// === impl PlannedResource ===

impl PlannedResource {
    /// The object's name, if it is known without looking at dependencies.
    pub fn object_name(&self) -> Option<&str> {
        let is_name = |used: &Use| used.at.begins_with(&["metadata", "name"]);
        if self.template.uses().iter().any(is_name) {
            return None;
        }
        self.template.object().pointer("/metadata/name")?.as_str()
    }

    /// The object, if its name is known.
    pub fn object(&self) -> Option<BundleObject> {
        Some(BundleObject {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            name: self.object_name()?.to_owned(),
            uid: String::new(),
        })
    }

    /// Whether a value from a Secret may take the place of this reference.
    pub fn may_hold_secret(&self, used: &Use) -> bool {
        self.allow_secret_values || may_hold_secrets(&self.api_version, &self.kind, &used.at)
    }
}

// === impl Check ===

impl Check<'_> {
    fn plan(&mut self) -> Plan {
        let spec = self.spec;
        let count = spec.resources.len();
        if count > MAX_RESOURCES {
            self.note(
                "spec.resources",
                ProblemKind::TooMany,
                count,
                format!("must have at most {MAX_RESOURCES} items"),
            );
            return Plan::default();
        }
        self.check_names();
        let (mut planned, mut references): (Vec<Option<PlannedResource>>, usize) = (Vec::new(), 0);
        for (index, resource) in spec.resources.iter().enumerate() {
            let resource = self.resource(index, resource);
            references += resource.as_ref().map_or(0, |resource| resource.template.uses().len());
            planned.push(resource);
            if references > MAX_REFERENCES {
                let why = format!("must have at most {MAX_REFERENCES} references");
                self.note("spec.resources", ProblemKind::TooMany, "more", why);
                return Plan::default();
            }
            if self.problems.len() >= MAX_PROBLEMS {
                return Plan::default();
            }
        }
        let edges = self.edges(&planned);
        let graph =
            Graph::new(edges.iter().map(|(name, wanted)| (name.as_str(), wanted.iter().map(String::as_str).collect())));
        let graph = graph.unwrap_or_else(|cycle| {
            let why = "resources must not wait for each other";
            let first = cycle.0.first().cloned().unwrap_or_default();
            let place = spec.resources.iter().position(|resource| resource.name == first).unwrap_or_default();
            self.note(&format!("spec.resources[{place}].dependsOn"), ProblemKind::Invalid, cycle, why);
            Graph::default()
        });
        self.check_objects(&planned);
        self.check_secrets(&planned, &graph);
        Plan { resources: planned.into_iter().flatten().collect(), graph }
    }

    fn check_names(&mut self) {
        let mut seen = HashSet::new();
        for (index, resource) in self.spec.resources.iter().enumerate() {
            let (field, name) = (format!("spec.resources[{index}].name"), &resource.name);
            if name.is_empty() {
                self.note(&field, ProblemKind::Required, "", "");
            } else if !is_name(name) {
                let why = format!(
                    "must be at most {MAX_NAME} letters, digits, \"-\" and \"_\", and begin and end with a letter or digit"
                );
                self.note(&field, ProblemKind::Invalid, name, why);
            } else if !seen.insert(name) {
                self.note(&field, ProblemKind::Duplicate, name, "");
            }
        }
    }

    fn resource(&mut self, index: usize, resource: &BundleResource) -> Option<PlannedResource> {
        let object = resource.object();
        let base = self.place(index);
        let template = match Template::read(object) {
            Ok(template) => template,
            Err(errors) => {
                for (at, error) in errors {
                    self.note(&at.below(&base), ProblemKind::Invalid, error.found(), error);
                }
                return None;
            }
        };
        if !object.is_object() {
            self.note(&base, ProblemKind::Invalid, "", "must be an object");
            return None;
        }
        if object.get("plugin").is_some() && object.get("apiVersion").is_none() {
            let why = "no plugins are run; write the object itself here";
            self.note(&format!("{base}.plugin"), ProblemKind::Forbidden, "plugin", why);
            return None;
        }
        let before = self.problems.len();
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let api_version_form = "must be a version, or a group and a version, such as \"v1\" or \"apps/v1\"";
        let kind_form = "must be letters, digits and \"-\", and begin with a letter";
        for (field, found, is_form, why) in [
            ("apiVersion", &api_version, is_api_version(&api_version), api_version_form),
            ("kind", &kind, is_kind(&kind), kind_form),
        ] {
            let has_reference = || template.uses().iter().any(|used| used.at.begins_with(&[field]));
            if found.is_empty() {
                self.note(&format!("{base}.{field}"), ProblemKind::Required, "", "");
            } else if !is_form && !has_reference() {
                self.note(&format!("{base}.{field}"), ProblemKind::Invalid, found, why);
            }
        }
        for used in template.uses() {
            self.check_place(&base, used);
        }
        match object.get("metadata").and_then(Value::as_object) {
            Some(metadata) => {
                self.check_metadata(&base, metadata);
                if !template.uses().iter().any(|used| used.at.begins_with(&["metadata", "name"])) {
                    self.check_object_name(&base, metadata);
                }
                if !template.uses().iter().any(|used| used.at.begins_with(&["metadata", "namespace"])) {
                    self.check_namespace(&base, metadata);
                }
            }
            None => {
                self.note(&format!("{base}.metadata"), ProblemKind::Required, "", "must be an object that has a name");
            }
        }
        (self.problems.len() == before).then(|| PlannedResource {
            name: resource.name.clone(),
            place: base,
            api_version,
            kind,
            template,
            allow_secret_values: resource.allow_secret_values,
            lifecycle: resource.lifecycle,
        })
    }

    /// What an object is called must be known, but for its name, which may come from a dependency.
    fn check_place(&mut self, base: &str, used: &Use) {
        let fixed: [&[&str]; 3] = [&["apiVersion"], &["kind"], &["metadata", "namespace"]];
        if fixed.iter().any(|fixed| used.at.begins_with(fixed)) {
            self.note(&used.at.below(base), ProblemKind::Forbidden, &used.reference, "references cannot stand here");
        }
    }

    fn check_metadata(&mut self, base: &str, metadata: &Map<String, Value>) {
        let field = |name: &str| format!("{base}.metadata.{name}");
        if metadata.get("name").and_then(Value::as_str).unwrap_or_default().is_empty() {
            self.note(&field("name"), ProblemKind::Required, "", "");
        }
        for (name, why) in NOT_YOURS {
            if metadata.get(name).is_some_and(|found| !found.is_null() && found != "") {
                self.note(&field(name), ProblemKind::Forbidden, name, why);
            }
        }
        if metadata.get("labels").and_then(|labels| labels.get(PART_OF_LABEL)).is_some() {
            let why = "is written by the server, and says that the object is part of this Bundle";
            self.note(&format!("{}['{PART_OF_LABEL}']", field("labels")), ProblemKind::Forbidden, PART_OF_LABEL, why);
        }
    }

    /// The name stands in paths, and names one object there. One that comes from a dependency is looked at when it is known.
    fn check_object_name(&mut self, base: &str, metadata: &Map<String, Value>) {
        let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() && !is_object_name(name) {
            self.note(&format!("{base}.metadata.name"), ProblemKind::Invalid, name, OBJECT_NAME_FORM);
        }
    }

    fn check_namespace(&mut self, base: &str, metadata: &Map<String, Value>) {
        let namespace = metadata.get("namespace").unwrap_or(&Value::Null);
        let is_own =
            namespace.is_null() || namespace.as_str().is_some_and(|found| found.is_empty() || found == self.namespace);
        if !is_own && !self.namespace.is_empty() {
            let why = format!("must be absent or \"{}\", the Bundle's own namespace", self.namespace);
            let found = namespace.as_str().unwrap_or_default().to_owned();
            self.note(&format!("{base}.metadata.namespace"), ProblemKind::Invalid, found, why);
        }
    }

    /// What each resource depends on: what it says, and what it refers to if that may be inferred.
    fn edges(&mut self, planned: &[Option<PlannedResource>]) -> Vec<(String, Vec<String>)> {
        let names: HashSet<&str> = self.spec.resources.iter().map(|resource| resource.name.as_str()).collect();
        let mut edges = Vec::new();
        for (index, (resource, planned)) in self.spec.resources.iter().zip(planned).enumerate() {
            let mut wanted = resource.depends_on.clone();
            for (place, dependency) in resource.depends_on.iter().enumerate() {
                if !names.contains(dependency.as_str()) {
                    let field = format!("spec.resources[{index}].dependsOn[{place}]");
                    self.note(&field, ProblemKind::NotFound, dependency, "");
                }
            }
            for used in planned.iter().flat_map(|planned| planned.template.uses()) {
                let name = &used.reference.resource;
                if wanted.contains(name) {
                    continue;
                }
                if self.spec.infer_dependencies && names.contains(name.as_str()) {
                    wanted.push(name.clone());
                    continue;
                }
                let why = match names.contains(name.as_str()) {
                    true => format!(
                        "\"{name}\" is not in dependsOn of \"{}\"; only direct dependencies can be referred to",
                        resource.name
                    ),
                    false => format!("there is no resource \"{name}\"; write \"$$(\" for the characters themselves"),
                };
                self.note(&used.at.below(&self.place(index)), ProblemKind::Invalid, &used.reference, why);
            }
            edges.push((resource.name.clone(), wanted));
        }
        edges
    }

    /// No two resources are the same object.
    fn check_objects(&mut self, planned: &[Option<PlannedResource>]) {
        let mut seen: HashMap<(String, String, String), String> = HashMap::new();
        for (index, resource) in planned.iter().enumerate() {
            let Some((resource, object)) = resource.as_ref().and_then(|found| Some((found, found.object()?))) else {
                continue;
            };
            let key = (object.group().to_owned(), object.kind.clone(), object.name.clone());
            if let Some(other) = seen.insert(key, resource.name.clone()) {
                let why = format!("is the same object as that of \"{other}\"");
                self.note(&format!("{}.metadata.name", self.place(index)), ProblemKind::Invalid, object, why);
            }
        }
    }

    /// What was in a Secret becomes data of a Secret, or it is said that it need not. So does what was put in another object by
    /// such a permission: that was given for this one object.
    fn check_secrets(&mut self, planned: &[Option<PlannedResource>], graph: &Graph) {
        let secrets: HashSet<&str> = planned
            .iter()
            .flatten()
            .filter(|resource| is_secret_kind(&resource.api_version, &resource.kind))
            .map(|resource| resource.name.as_str())
            .collect();
        // Where values of Secrets stand in objects. Each is looked at after those that it refers to.
        let mut tainted: HashMap<&str, Vec<&ObjectPath>> = HashMap::new();
        let is_from_secret = |used: &Use, tainted: &HashMap<&str, Vec<&ObjectPath>>| {
            let Reference { resource, part, path } = &used.reference;
            match part {
                Part::Object => {
                    // What everyone may know of a Secret may itself be made of another one's values.
                    (secrets.contains(resource.as_str()) && is_secret(path))
                        || tainted.get(resource.as_str()).into_iter().flatten().any(|at| at.overlaps(path))
                }
                // It may be a ConfigMap. Whoever knows that says so.
                Part::Output => is_secret(path),
                // It is seldom a Secret. Whether it is, is seen when the Bundle is carried out.
                Part::Binding => false,
            }
        };
        for resource in graph.order().iter().filter_map(|place| planned.get(*place)?.as_ref()) {
            let uses = resource.template.uses().iter().filter(|used| is_from_secret(used, &tainted));
            let places: Vec<&ObjectPath> = uses.map(|used| &used.at).collect();
            tainted.insert(&resource.name, places);
        }
        for (index, resource) in planned.iter().enumerate() {
            let Some(resource) = resource else { continue };
            for used in resource.template.uses().iter().filter(|used| !resource.may_hold_secret(used)) {
                if is_from_secret(used, &tainted) {
                    let why = "a value of a Secret may only become data of a Secret; \
                               set allowSecretValues if everyone who can read this object may know it";
                    self.note(&used.at.below(&self.place(index)), ProblemKind::Forbidden, &used.reference, why);
                }
            }
        }
    }

    /// Where an object stands.
    fn place(&self, index: usize) -> String {
        let resource = self.spec.resources.get(index);
        let below =
            resource.filter(|resource| !std::ptr::eq(resource.object(), &resource.spec)).map_or("", |_| ".object");
        format!("spec.resources[{index}].spec{below}")
    }

    fn note(&mut self, field: &str, kind: ProblemKind, found: impl ToString, why: impl ToString) {
        if self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        self.problems.push(Problem { field: field.to_owned(), kind, found: found.to_string(), why: why.to_string() });
    }
}

fn is_name(name: &str) -> bool {
    let is_end = |found: Option<char>| found.is_some_and(|found| found.is_ascii_alphanumeric());
    name.len() <= MAX_NAME
        && name.chars().all(|found| found.is_ascii_alphanumeric() || matches!(found, '-' | '_'))
        && is_end(name.chars().next())
        && is_end(name.chars().last())
}

#[cfg(test)]
mod tests;
