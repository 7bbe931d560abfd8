use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::compare::compare;
use super::element::{ElementError, PathElement};
use super::fields_v1::{from_json, to_json};
use super::merge::merge;
use super::remove::remove;
use super::set::FieldSet;
use super::to_set::to_set;
use super::types::Type;
use super::validate::{Duplicates, validate};
use super::*;
use crate::object::Object;
use crate::schema::Schema;
use crate::{GroupVersion, go};

mod generated;
mod properties;
mod rules;
mod script;

use script::{START, Script};

/// What `tests/oracle/apply` has recorded from upstream.
static RECORDED: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../tests/data/go/apply.json")).unwrap());

fn recorded<T: for<'de> Deserialize<'de>>(section: &str) -> Vec<T> {
    Vec::deserialize(&RECORDED[section]).unwrap()
}

fn schema(json: &Value) -> Schema {
    Schema::from_json(json).unwrap_or_else(|errors| panic!("{errors}: {json}"))
}

fn object(json: &Value) -> Object {
    Object::try_from(json.clone()).unwrap()
}

fn set(text: &str) -> FieldSet {
    from_json(&serde_json::from_str(text).unwrap()).unwrap()
}

fn paths(set: &FieldSet) -> Vec<String> {
    let mut paths = Vec::new();
    let _ = set.show_paths(&mut |path| {
        paths.push(path.to_owned());
        ControlFlow::Continue(())
    });
    assert_eq!(paths.len(), set.len());
    paths
}

/// Notes what differs, and fails at the end with the first of it.
#[derive(Default)]
struct Differences {
    count: usize,
    notes: Vec<String>,
}

impl Differences {
    fn compare(&mut self, what: &str, about: &dyn Display, ours: &str, theirs: &str) {
        self.count += 1;
        if ours != theirs {
            self.notes.push(format!("{what}\n  about  {about}\n  ours   {ours}\n  theirs {theirs}"));
        }
    }

    /// Values as Go tells them apart.
    fn compare_values(&mut self, what: &str, about: &dyn Display, ours: &Value, theirs: &Value) {
        if ours == theirs {
            self.count += 1;
        } else {
            self.compare(what, about, &go::identity(ours), &go::identity(theirs));
        }
    }

    fn finish(self, at_least: usize) {
        assert!(self.count >= at_least, "{} comparisons", self.count);
        let first = self.notes.iter().take(6).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.notes.is_empty(), "{} of {}:\n{first}", self.notes.len(), self.count);
    }
}

#[test]
fn path_elements_are_read_and_written_as_upstream_does() {
    let cases: Vec<(String, Option<String>, Option<String>, bool)> = recorded("elements");
    assert!(cases.len() > 60);
    for (text, again, shown, unknown) in cases {
        match PathElement::parse(&text) {
            Ok(element) => {
                assert_eq!(Some(element.to_text()), again, "{text}");
                assert_eq!(Some(element.to_string()), shown, "{text}");
            }
            Err(error) => {
                assert_eq!(None, again, "{text}");
                assert_eq!(error == ElementError::UnknownType, unknown, "{text}");
            }
        }
    }
}

#[test]
fn sets_are_combined_as_upstream_combines_them() {
    let mut differences = Differences::default();
    for case in recorded::<Vec<Value>>("sets") {
        let text = |i: usize| case[i].as_str().unwrap();
        if let [not_a_set] = case.as_slice() {
            let json = serde_json::from_str(not_a_set.as_str().unwrap()).unwrap();
            assert!(from_json(&json).is_err(), "{json}");
            continue;
        }
        let (left, right) = (set(text(0)), set(text(1)));
        let about = json!([text(0), text(1)]);
        let mut note = |what: &str, ours: &FieldSet, theirs: &str| {
            let theirs: Value = serde_json::from_str(theirs).unwrap();
            differences.compare_values(what, &about, &to_json(ours), &theirs);
            assert_eq!(from_json(&theirs).unwrap(), *ours, "{what} {about}");
        };
        note("again", &left, text(2));
        note("union", &left.clone().union(right.clone()), text(4));
        note("intersection", &left.intersection(&right), text(5));
        note("difference", &left.clone().difference(&right), text(6));
        note("recursive difference", &left.clone().recursive_difference(&right), text(7));
        differences.compare_values("paths", &about, &json!(paths(&left)), &case[3]);
        assert_eq!(FieldSet::union_of(&[&left, &right, &left]), left.clone().union(right.clone()));
    }
    differences.finish(1500);
}

#[derive(Deserialize)]
struct Walked {
    schema: Value,
    cases: Vec<WalkedCase>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct WalkedCase {
    a: Value,
    b: Value,
    strict: String,
    lenient: String,
    set: String,
    merged: Value,
    added: String,
    modified: String,
    removed: String,
    fields: String,
    without: Value,
}

/// `*` where upstream says one thing or another.
fn same_error(ours: Result<(), TypeErrors>, theirs: &str) -> (String, String) {
    let ours = ours.err().map(|errors| errors.to_string()).unwrap_or_default();
    if theirs == "*" && !ours.is_empty() { (String::new(), String::new()) } else { (ours, theirs.to_owned()) }
}

#[test]
fn values_are_walked_as_upstream_walks_them() {
    let mut differences = Differences::default();
    for group in recorded::<Walked>("values") {
        let kind = Type::of_kind(&schema(&group.schema));
        for case in &group.cases {
            let about = json!([group.schema, case.a, case.b, case.fields]);
            for (duplicates, theirs) in [(Duplicates::Refused, &case.strict), (Duplicates::Allowed, &case.lenient)] {
                let (ours, theirs) = same_error(validate(&kind, &case.b, duplicates), theirs);
                differences.compare("errors", &about, &ours, &theirs);
            }
            if !case.lenient.is_empty() {
                continue;
            }
            let mut note = |what: &str, ours: &FieldSet, theirs: &str| {
                let theirs = serde_json::from_str(theirs).unwrap();
                differences.compare_values(what, &about, &to_json(ours), &theirs);
            };
            note("set", &to_set(&kind, &case.b), &case.set);
            let comparison = compare(&kind, &case.a, &case.b);
            note("added", &comparison.added, &case.added);
            note("modified", &comparison.modified, &case.modified);
            note("removed", &comparison.removed, &case.removed);
            if case.strict.is_empty() {
                let merged = merge(&kind, &case.a, &case.b).unwrap_or_default();
                differences.compare_values("merged", &about, &merged, &case.merged);
            }
            let without = remove(&kind, &case.a, &set(&case.fields));
            differences.compare_values("without", &about, &without, &case.without);
        }
    }
    differences.finish(2000);
}

#[test]
fn scripts_end_as_they_do_upstream() {
    let mut differences = Differences::default();
    for script in recorded::<Script>("scripts") {
        script.replay(&mut differences);
    }
    differences.finish(3500);
}

#[test]
fn times_alone_are_no_change() {
    let cases: Vec<(Value, Value, Value)> = recorded("times");
    assert_eq!(cases.len(), 15);
    for (old, new, kept) in cases {
        let mut new = object(&new);
        keep_timestamps(&object(&old), &mut new);
        assert_eq!(*new.as_value(), kept, "{old}");
    }
}
