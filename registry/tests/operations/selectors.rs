//! Selectors beside what they mean, said in another way; and random changes to the objects that they look at.

use bailiwick_machinery::Object;
use bailiwick_registry::{DeleteOptions, Selection};
use bailiwick_storage::testing::Random;
use serde_json::{Value, json};

use super::support::{World, version, widget};

/// A selection, and what it takes.
pub(super) struct Case {
    pub(super) namespace: Option<&'static str>,
    pub(super) labels: &'static str,
    pub(super) fields: &'static str,
    takes: fn(&Object) -> bool,
}

const fn case(labels: &'static str, fields: &'static str, takes: fn(&Object) -> bool) -> Case {
    Case { namespace: None, labels, fields, takes }
}

const fn within(
    namespace: &'static str,
    labels: &'static str,
    fields: &'static str,
    takes: fn(&Object) -> bool,
) -> Case {
    Case { namespace: Some(namespace), labels, fields, takes }
}

pub(super) const CASES: [Case; 28] = [
    case("", "", |_| true),
    case("color=red", "", |w| color(w) == Some("red")),
    case("color!=red", "", |w| color(w) != Some("red")),
    case("color in (red,blue)", "", |w| matches!(color(w), Some("red" | "blue"))),
    case("color in (green)", "", |w| color(w) == Some("green")),
    case("color notin (red,blue)", "", |w| !matches!(color(w), Some("red" | "blue"))),
    case("color", "", |w| color(w).is_some()),
    case("!color", "", |w| color(w).is_none()),
    case("tier>1", "", |w| tier(w).is_some_and(|tier| tier > 1)),
    case("tier<3", "", |w| tier(w).is_some_and(|tier| tier < 3)),
    case("color=red,tier=2", "", |w| color(w) == Some("red") && tier(w) == Some(2)),
    case("color==green,!tier", "", |w| color(w) == Some("green") && tier(w).is_none()),
    case("color=red,color=blue", "", |_| false),
    case("", "spec.size=2", |w| size(w) == 2),
    case("", "spec.size!=2", |w| size(w) != 2),
    case("", "spec.color=grey", |w| w.as_value()["spec"]["color"] == "grey"),
    case("", "spec.fixed=true", |w| w.as_value()["spec"]["fixed"] == true),
    case("", "spec.fixed=", |w| w.as_value()["spec"].get("fixed").is_none()),
    case("color=blue", "spec.size=1", |w| color(w) == Some("blue") && size(w) == 1),
    case("", "metadata.name=w3", |w| w.metadata().name() == "w3"),
    case("", "metadata.name!=w3", |w| w.metadata().name() != "w3"),
    case("", "metadata.namespace=b", |w| w.metadata().namespace() == "b"),
    case("color=red", "metadata.namespace=a,metadata.name=w4", |w| {
        color(w) == Some("red") && w.metadata().namespace() == "a" && w.metadata().name() == "w4"
    }),
    within("a", "", "", |_| true),
    within("a", "color=red", "", |w| color(w) == Some("red")),
    within("a", "", "metadata.namespace=b", |_| false),
    within("b", "!tier", "", |w| tier(w).is_none()),
    within("b", "", "metadata.name=w5", |w| w.metadata().name() == "w5"),
];

// === impl Case ===

impl Case {
    pub(super) fn selection(&self, world: &World) -> Selection {
        Selection::parse(&world.widgets, self.labels, self.fields).unwrap()
    }

    pub(super) fn takes(&self, object: &Object) -> bool {
        self.namespace.is_none_or(|namespace| namespace == object.metadata().namespace()) && (self.takes)(object)
    }

    /// Whether it takes nothing, whatever there is.
    pub(super) fn is_empty(&self) -> bool {
        matches!(
            (self.labels, self.namespace, self.fields),
            ("color=red,color=blue", ..) | (_, Some("a"), "metadata.namespace=b")
        )
    }

    pub(super) fn name(&self) -> String {
        format!("{:?} \"{}\" \"{}\"", self.namespace, self.labels, self.fields)
    }
}

fn color(object: &Object) -> Option<&str> {
    object.metadata().label("color")
}

fn tier(object: &Object) -> Option<u64> {
    object.metadata().label("tier").map(|tier| tier.parse().unwrap())
}

fn size(object: &Object) -> u64 {
    object.as_value()["spec"]["size"].as_u64().unwrap()
}

/// One of the objects, by number: its namespace and its name. Names are there in two namespaces.
fn place(number: usize) -> (&'static str, String) {
    (["a", "b", "c"][number % 3], format!("w{}", number / 2))
}

fn random_labels(random: &mut Random) -> Value {
    let mut labels = json!({});
    if let Some(color) = random.one_of(&[None, Some("red"), Some("green"), Some("blue")]) {
        labels["color"] = color.into();
    }
    if let Some(tier) = random.one_of(&[None, Some("1"), Some("2"), Some("3")]) {
        labels["tier"] = tier.into();
    }
    labels
}

fn random_spec(random: &mut Random) -> Value {
    let mut spec = json!({"size": random.below(4), "color": random.one_of(&["grey", "pink"])});
    if random.below(2) == 0 {
        spec["fixed"] = (random.below(2) == 0).into();
    }
    spec
}

/// Does something to an object that nobody else writes: makes, changes or removes it. Its version afterwards, if it is
/// there.
pub(super) async fn meddle(world: &World, random: &mut Random, number: usize, exists: bool) -> Option<u64> {
    let (namespace, name) = place(number);
    if !exists {
        let mut sent = widget(namespace, &name, 0);
        sent["metadata"]["labels"] = random_labels(random);
        sent["spec"] = random_spec(random);
        return Some(version(&world.create(sent).await));
    }
    let patched = match random.below(10) {
        0 => {
            world.delete(namespace, &name, &DeleteOptions::default()).await.unwrap();
            return None;
        }
        1 | 2 => {
            let spec = random_spec(random);
            world.patch(namespace, &name, |w| drop(w.fields_mut().insert("spec".to_owned(), spec.clone()))).await
        }
        _ => {
            let labels = random_labels(random);
            world.patch(namespace, &name, |w| drop(w.metadata_mut().insert("labels".to_owned(), labels.clone()))).await
        }
    };
    Some(version(&patched.unwrap()))
}
