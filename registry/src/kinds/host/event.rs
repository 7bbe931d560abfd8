//! Event: something that happened to an object.
//!
//! Events have two forms, of `v1` and of `events.k8s.io/v1`, which name fields differently and are one storage. Whoever
//! writes in the newer form is held to more rules.

use std::time::SystemTime;

use async_trait::async_trait;
use bailiwick_machinery::name::{dns1123_subdomain, qualified_name};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, GroupKind, NameForm, NameRule, Object, Renamed, Scope};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::api::events::v1::Event as NewerEvent;
use serde_json::Value;

use super::{description, invalid, text_of};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError, SelectableField, Version};
use crate::strategy::Strategy;

const NEWER: &str = "events.k8s.io/v1";
/// What fields of the newer form are called in the one that is stored.
const RENAMED: Renamed = Renamed(&[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
]);
/// The fields of an object that something happened to.
const REFERENCE: [&str; 7] = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
const MAX_WORD_BYTES: usize = 128;
const MAX_NOTE_BYTES: usize = 1024;

pub(super) fn kind() -> Result<Kind, KindError> {
    let mut kind = Kind::host::<Event>(Scope::Namespaced, NameRule::PathSegment)?;
    for field in REFERENCE {
        kind = kind.selectable_as(&SelectableField::new(&format!("involvedObject.{field}")));
    }
    for field in ["reason", "reportingComponent", "type"] {
        kind = kind.selectable_as(&SelectableField::new(field));
    }
    let source = SelectableField::named("source", &["source.component", "reportingComponent"]);
    let kind = kind.selectable_as(&source).short_names(&["ev"]).with_unconditional_update().with_create_on_update();
    let kind = kind.also_served_renamed(newer()?, RENAMED);
    let described = |field: &str| description(&kind, field);
    let columns = columns(described);
    Ok(kind
        .columns(|| columns.iter().fold(Columns::none(), |columns, (column, cell)| columns.with(column.clone(), *cell)))
        .strategy(Rules))
}

fn newer() -> Result<Version, KindError> {
    let mut version = Version::host::<NewerEvent>()?;
    let named = |name: &str, stored: &str| SelectableField::named(name, &[stored]);
    version.selectable = REFERENCE
        .iter()
        .map(|field| named(&format!("regarding.{field}"), &format!("involvedObject.{field}")))
        .chain(
            [("reason", "reason"), ("reportingController", "reportingComponent"), ("type", "type")]
                .map(|(name, stored)| named(name, stored)),
        )
        .collect();
    Ok(version)
}

type Cell = fn(&Object, SystemTime) -> Value;

fn columns(described: impl Fn(&str) -> String) -> Vec<(Column, Cell)> {
    let text = |name: &'static str, field: &str| Column::new(name, ColumnType::String, described(field));
    let name = Column { format: "name".into(), ..text("Name", "metadata.name").wide() };
    vec![
        (text("Last Seen", "lastTimestamp"), |event, now| last_seen(View(event), now)),
        (text("Type", "type"), |event, _| View(event).text("type").into()),
        (text("Reason", "reason"), |event, _| View(event).text("reason").into()),
        (text("Object", "involvedObject"), |event, _| target(View(event)).into()),
        (text("Subobject", "involvedObject.fieldPath").wide(), |event, _| {
            View(event).inner("involvedObject", "fieldPath").into()
        }),
        (text("Source", "source").wide(), |event, _| source(View(event)).into()),
        (text("Message", "message"), |event, _| View(event).text("message").trim().into()),
        (text("First Seen", "firstTimestamp").wide(), |event, now| first_seen(View(event), now)),
        (text("Count", "count").wide(), |event, _| count(View(event)).into()),
        (name, |event, _| event.metadata().name().into()),
    ]
}

/// An event in either form, by the names of the stored one.
#[derive(Clone, Copy)]
struct View<'e>(&'e Object);

// === impl View ===

impl<'e> View<'e> {
    fn is_newer(self) -> bool {
        self.0.api_version() == NEWER
    }

    fn get(self, field: &str) -> Option<&'e Value> {
        let renamed = RENAMED.0.iter().find(|(_, stored)| self.is_newer() && *stored == field);
        let found = self.0.fields().get(renamed.map_or(field, |(here, _)| here));
        found.filter(|value| !value.is_null())
    }

    fn text(self, field: &str) -> &'e str {
        self.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn inner(self, field: &str, inner: &str) -> &'e str {
        self.get(field).map(|value| text_of(value, inner)).unwrap_or_default()
    }
}

fn age(value: Option<&Value>, now: SystemTime) -> Value {
    match value {
        Some(value) => ColumnType::Date.cell(Some(value), now),
        None => "<unknown>".into(),
    }
}

fn first_seen(event: View<'_>, now: SystemTime) -> Value {
    age(event.get("firstTimestamp").or_else(|| event.get("eventTime")), now)
}

fn last_seen(event: View<'_>, now: SystemTime) -> Value {
    match (event.get("series"), event.get("lastTimestamp")) {
        (Some(series), _) => age(series.get("lastObservedTime").filter(|time| !time.is_null()), now),
        (None, last @ Some(_)) => age(last, now),
        (None, None) => first_seen(event, now),
    }
}

/// An event that happened once says nothing of how often, in its newer form.
fn count(event: View<'_>) -> i64 {
    let of_series = event.get("series").map(|series| series.get("count").and_then(Value::as_i64).unwrap_or_default());
    let own = event.get("count").and_then(Value::as_i64).unwrap_or_default();
    of_series.unwrap_or(if own == 0 { 1 } else { own })
}

fn target(event: View<'_>) -> String {
    let kind = event.inner("involvedObject", "kind").to_lowercase();
    match event.inner("involvedObject", "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: View<'_>) -> String {
    let first = |one: &'_ str, other: &'_ str| if one.is_empty() { other.to_owned() } else { one.to_owned() };
    let component = first(event.inner("source", "component"), event.text("reportingComponent"));
    match first(event.inner("source", "host"), event.text("reportingInstance")) {
        host if host.is_empty() => component,
        host => format!("{component}, {host}"),
    }
}

struct Rules;

// === impl Rules ===

#[async_trait]
impl Strategy for Rules {
    async fn prepare_create(&self, _: &Ctx<'_>, object: &mut Object) -> Result<()> {
        let event = View(object);
        if !event.is_newer() {
            return Ok(());
        }
        let (mut errors, mut strict) = (FieldErrors::default(), FieldErrors::default());
        check(event, &mut errors);
        check_newer(event, &mut strict);
        if strict.is_empty() {
            return Ok(());
        }
        errors.extend(strict.as_slice().iter().cloned());
        let name = object.metadata().name().to_owned();
        Err(Error::Invalid { kind: GroupKind::new("", "Event"), name, errors })
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        check(View(object), errors);
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let (new, old) = (View(object), View(old));
        if !new.is_newer() {
            return;
        }
        if new.get("series") != old.get("series") {
            check_series(new, errors);
        }
        let fixed = [
            ("involvedObject", "involvedObject"),
            ("reason", "reason"),
            ("message", "message"),
            ("source", "source"),
            ("firstTimestamp", "firstTimestamp"),
            ("lastTimestamp", "lastTimestamp"),
            ("count", "count"),
            ("type", "type"),
            ("eventTime", "eventTime"),
            ("action", "action"),
            ("related", "related"),
            ("reportingComponent", "reportingController"),
            ("reportingInstance", "reportingInstance"),
        ];
        for (field, told) in fixed {
            if new.get(field) != old.get(field) {
                let found = new.get(field).cloned().unwrap_or_default();
                errors.push(FieldError::invalid(FieldPath::new(told), found, "field is immutable"));
            }
        }
    }
}

/// The rules for events in both forms.
fn check(event: View<'_>, errors: &mut FieldErrors) {
    let (own, other) = (event.0.metadata().namespace(), event.inner("involvedObject", "namespace"));
    let timed = event.get("eventTime").is_some();
    let fits = match (timed, other) {
        (false, "") => own == "default",
        (false, other) => own == other,
        (true, "") => matches!(own, "default" | "kube-system"),
        (true, _) => true,
    };
    if !fits {
        let path = FieldPath::new("involvedObject").child("namespace");
        errors.push(FieldError::invalid(path, other, "does not match event.namespace"));
    }
    if timed {
        check_words(event, errors);
    }
    invalid(&FieldPath::new("namespace"), own, dns1123_subdomain(own), errors);
}

/// Events that have a time of their own say what was done, why, and who says so.
fn check_words(event: View<'_>, errors: &mut FieldErrors) {
    let too_long = |field: &str, most: usize| {
        FieldError::invalid(FieldPath::new(field), "", format!("can have at most {most} characters"))
    };
    let path = FieldPath::new(if event.is_newer() { "reportingController" } else { "reportingComponent" });
    let controller = event.text("reportingComponent");
    if controller.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
    }
    invalid(&path, controller, qualified_name(controller), errors);
    for field in ["reportingInstance", "action", "reason"] {
        match event.text(field).len() {
            0 => errors.push(FieldError::required(FieldPath::new(field), "")),
            bytes if bytes > MAX_WORD_BYTES => errors.push(too_long(field, MAX_WORD_BYTES)),
            _ => {}
        }
    }
    if event.text("message").len() > MAX_NOTE_BYTES {
        errors.push(too_long("message", MAX_NOTE_BYTES));
    }
}

/// The rules for new events in the newer form.
fn check_newer(event: View<'_>, errors: &mut FieldErrors) {
    let name = event.0.metadata().name();
    invalid(
        &FieldPath::new("metadata").child("name"),
        name,
        NameRule::DnsSubdomain.check(name, NameForm::Whole),
        errors,
    );
    check_series(event, errors);
    if event.get("eventTime").is_none() {
        errors.push(FieldError::required(FieldPath::new("eventTime"), ""));
    }
    let event_type = event.text("type");
    if !matches!(event_type, "Normal" | "Warning") {
        let why = format!("has invalid value: {event_type}");
        errors.push(FieldError::invalid(FieldPath::new("type"), "", why));
    }
    let has_source = ["component", "host"].iter().any(|field| !event.inner("source", field).is_empty());
    let given = [
        ("firstTimestamp", event.get("firstTimestamp").is_some()),
        ("lastTimestamp", event.get("lastTimestamp").is_some()),
        ("count", event.get("count").and_then(Value::as_i64).unwrap_or_default() != 0),
        ("source", has_source),
    ];
    for (field, _) in given.into_iter().filter(|(_, given)| *given) {
        errors.push(FieldError::invalid(FieldPath::new(field), "", "needs to be unset"));
    }
}

fn check_series(event: View<'_>, errors: &mut FieldErrors) {
    let Some(series) = event.get("series") else { return };
    if series.get("count").and_then(Value::as_i64).unwrap_or_default() < 2 {
        errors.push(FieldError::invalid(FieldPath::new("series.count"), "", "should be at least 2"));
    }
    if series.get("lastObservedTime").is_none_or(Value::is_null) {
        errors.push(FieldError::required(FieldPath::new("series.lastObservedTime"), ""));
    }
}
