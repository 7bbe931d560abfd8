//! Cases that are made of one good object: everything in it wrong in all the ways its type can be, one at a time, and what is
//! written down beside it.
//!
//! `mutations/FOLDER/NAME.yaml` is the object. Each line of `mutations/FOLDER/NAME.txt`, if there is one, changes it: `place = JSON`
//! sets something, `!place` takes it out, ` ;; ` stands between several; places are in the part that is wrong. Nobody says what
//! the right answer is.

use std::fs;
use std::path::Path;

use bailiwick_machinery::decode::from_yaml;
use serde_json::Value;

use crate::error::{CaseProblem, Error};
use crate::scenario::{Action, Scenario, Step};
use crate::suite::files;

/// Templates of pods.
pub(crate) const TEMPLATES: Folder =
    Folder { name: "mutations/templates", part: "template", path: |_| Some("${core}/podtemplates".to_owned()) };

/// Custom resources of the kinds that every server is taught.
pub(crate) const RESOURCES: Folder = Folder {
    name: "mutations/resources",
    part: "spec",
    path: |object| {
        let kind = object.get("kind")?.as_str()?;
        let (_, plural, is_namespaced) = PLURALS.into_iter().find(|(named, ..)| *named == kind)?;
        let namespace = if is_namespaced { "/namespaces/${ns}" } else { "" };
        Some(format!("/apis/{}{namespace}/{plural}", object.get("apiVersion")?.as_str()?))
    },
};

/// The kinds that custom resources have, their plurals, and whether they are in namespaces.
const PLURALS: [(&str, &str, bool); 4] = [
    ("Certificate", "certificates", true),
    ("Database", "databases", false),
    ("HTTPRoute", "httproutes", true),
    ("Monitor", "monitors", true),
];

/// Where definitions of custom resources are sent.
pub(crate) const DEFINITIONS_PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// What is meant to differ stands beside the objects.
const DIFFERENCES: &str = "differences";
const BETWEEN: &str = " ;; ";
/// How many cases share a namespace and a connection.
const IN_A_SCENARIO: usize = 50;
/// Texts that few fields can have: no name, and too long for one.
const WRONG_TEXTS: [&str; 2] = ["", "No_Name <&> at all"];
const LONG: usize = 300;
/// Numbers that few fields can have.
const WRONG_NUMBERS: [i64; 3] = [-1, 0, 70_000];

/// Objects of one sort.
pub(crate) struct Folder {
    /// Where they are.
    name: &'static str,
    /// What of them is made wrong.
    part: &'static str,
    /// Where they are sent.
    path: fn(&Value) -> Option<String>,
}

/// One change of an object.
struct Mutation {
    name: String,
    object: Value,
}

/// The scenarios of all objects in a folder.
pub(crate) fn load(folder: &Folder) -> Result<Vec<Scenario>, Error> {
    let mut scenarios = Vec::new();
    for file in files(folder.name, "yaml")? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == DIFFERENCES {
            continue;
        }
        let fail = |line, problem| Error::Case { file: name.clone(), line, problem };
        let bytes = fs::read(&file).map_err(Error::file(&file))?;
        let object = from_yaml(&bytes).map_err(|_| fail(0, CaseProblem::Unreadable))?.value;
        let path = (folder.path)(&object).ok_or_else(|| fail(0, CaseProblem::Unreadable))?;
        let mut mutations = everywhere(&object, folder.part);
        let lines = file.with_extension("txt");
        if lines.exists() {
            for (number, line) in written(&lines)?.lines().enumerate() {
                if !line.is_empty() && !line.starts_with('#') {
                    let mutation = changed(&object, folder.part, line);
                    mutations.push(mutation.ok_or_else(|| fail(number + 1, CaseProblem::Unreadable))?);
                }
            }
        }
        scenarios.extend(in_scenarios(&name, &path, &mutations));
    }
    Ok(scenarios)
}

/// The scenarios of definitions of custom resources: those that servers are taught, in a group that nobody has.
pub(crate) fn definitions(taught: &[&str]) -> Result<Vec<Scenario>, Error> {
    let mut scenarios = Vec::new();
    for text in taught {
        let text = text.replace(".example.com", ".wrong.example.com");
        let fail = || Error::Case { file: "definitions".to_owned(), line: 0, problem: CaseProblem::Unreadable };
        let object = from_yaml(text.as_bytes()).map_err(|_| fail())?.value;
        let name = object.pointer("/spec/names/plural").and_then(Value::as_str).ok_or_else(fail)?.to_owned();
        scenarios.extend(in_scenarios(&name, DEFINITIONS_PATH, &everywhere(&object, "spec")));
    }
    Ok(scenarios)
}

fn in_scenarios(name: &str, path: &str, mutations: &[Mutation]) -> Vec<Scenario> {
    let scenario = |(index, some): (usize, &[Mutation])| {
        let steps = some.iter().map(|mutation| step(path, mutation)).collect();
        Scenario { file: name.to_owned(), name: (index + 1).to_string(), steps }
    };
    mutations.chunks(IN_A_SCENARIO).enumerate().map(scenario).collect()
}

fn written(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file).map_err(Error::file(file))
}

/// What was changed stands in the query, where a report shows it and no server looks.
fn step(path: &str, mutation: &Mutation) -> Step {
    let shown: String =
        mutation.name.chars().map(|c| if matches!(c, '#' | '&' | '%' | '$' | ';') { '_' } else { c }).collect();
    let path = format!("{path}?dryRun=All&changed={shown}");
    let action = Action::Send { method: "POST".to_owned(), path };
    // What a case file writes for what is replaced does not occur in an object.
    Step::new(0, action, None).with_body(mutation.object.to_string())
}

/// A line of changes.
fn changed(object: &Value, part: &str, line: &str) -> Option<Mutation> {
    let mut object = object.clone();
    for change in line.split(BETWEEN) {
        let (place, value) = match change.strip_prefix('!') {
            Some(place) => (place, None),
            None => change.split_once(" = ").map(|(place, json)| (place, serde_json::from_str(json).ok()))?,
        };
        set(object.get_mut(part)?, place, value)?;
    }
    Some(Mutation { name: line.to_owned(), object })
}

/// Sets the value at `a.b[0].c`, or takes it out. A dot in a key stays in it if there is a slash behind it.
fn set(mut value: &mut Value, place: &str, new: Option<Value>) -> Option<()> {
    let keys = keys(place);
    let (last, way) = keys.split_last()?;
    for key in way {
        value = match key.parse::<usize>() {
            Ok(index) => value.get_mut(index)?,
            Err(_) => value.as_object_mut()?.entry(key.as_str()).or_insert_with(|| Value::Object(Default::default())),
        };
    }
    match (value, last.parse::<usize>(), new) {
        (Value::Array(items), Ok(index), Some(new)) => *items.get_mut(index)? = new,
        (Value::Array(items), Ok(index), None) => drop(items.remove(index)),
        (Value::Object(fields), _, Some(new)) => drop(fields.insert(last.clone(), new)),
        (Value::Object(fields), _, None) => drop(fields.remove(last)),
        _ => return None,
    }
    Some(())
}

fn keys(place: &str) -> Vec<String> {
    let flat = place.replace('[', ".").replace(']', "");
    let (way, domain) = match flat.split_once("example.dev/") {
        Some((way, rest)) => (way.trim_end_matches('.'), Some(format!("example.dev/{rest}"))),
        None => (flat.as_str(), None),
    };
    way.split('.').map(str::to_owned).chain(domain).collect()
}

/// An object as it is, and everything in a part of it wrong in all the ways its type can be.
fn everywhere(object: &Value, part: &str) -> Vec<Mutation> {
    let mut pointers = Vec::new();
    collect(object.get(part).unwrap_or(&Value::Null), format!("/{part}"), &mut pointers);
    let mut mutations = vec![Mutation { name: "as it is".to_owned(), object: object.clone() }];
    for pointer in pointers {
        let Some(old) = object.pointer(&pointer) else { continue };
        let mut change = |what: &str, new: Option<Value>| {
            let mut object = object.clone();
            match new {
                Some(new) => object.pointer_mut(&pointer).into_iter().for_each(|place| *place = new.clone()),
                None => remove(&mut object, &pointer),
            }
            mutations.push(Mutation { name: format!("{pointer} {what}"), object });
        };
        change("absent", None);
        match old {
            Value::String(_) => {
                WRONG_TEXTS.iter().for_each(|text| change(&format!("'{text}'"), Some((*text).into())));
                change("too long", Some("a".repeat(LONG).into()));
            }
            Value::Number(_) => {
                WRONG_NUMBERS.iter().for_each(|number| change(&number.to_string(), Some((*number).into())));
            }
            Value::Bool(flag) => change("otherwise", Some((!flag).into())),
            Value::Array(items) => {
                change("empty", Some(Value::Array(Vec::new())));
                let twice = items.iter().chain(items.first()).cloned().collect();
                change("with the first item twice", Some(Value::Array(twice)));
            }
            Value::Object(_) => change("empty", Some(Value::Object(Default::default()))),
            Value::Null => {}
        }
    }
    mutations
}

fn collect(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(value, format!("{pointer}/{key}"), pointers);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{pointer}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(pointer);
}

fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(&key.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(items)) => {
            if let Ok(index) = key.parse::<usize>() {
                items.remove(index);
            }
        }
        _ => {}
    }
}
