use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Candidate, Choice, Entry, Offer, Pick, Wish, complete, schedule};
use crate::ResourceBindingDefinition;
use crate::claims::Rules;

/// Definitions with what there is for each of their resources.
#[derive(Default)]
struct World {
    definitions: Vec<(ResourceBindingDefinition, Vec<Rules>)>,
    /// For each definition and each of its resources.
    classes: Vec<Vec<Vec<Value>>>,
    existing: Vec<Vec<Vec<Value>>>,
    labels: BTreeMap<String, String>,
}

impl World {
    fn with(mut self, name: &str, resources: Value, classes: Vec<Vec<Value>>) -> Self {
        let definition: ResourceBindingDefinition = serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": { "claim": { "apiVersion": "x/v1", "kind": "DB" }, "resources": resources },
        }))
        .unwrap();
        let rules = definition.spec.resources.iter().map(|entry| Rules::read(entry.class.strategies.as_ref()).unwrap());
        let rules = rules.collect();
        self.existing.push(vec![Vec::new(); classes.len()]);
        self.definitions.push((definition, rules));
        self.classes.push(classes);
        self
    }

    fn offer(&self, number: usize) -> Offer<'_> {
        let (definition, rules) = &self.definitions[number];
        let entry = |index: usize| Entry {
            rules: &rules[index],
            classes: self.classes[number][index].iter().collect(),
            existing: self.existing[number][index].iter().collect(),
        };
        Offer { definition, entries: (0..rules.len()).map(entry).collect() }
    }

    fn ask(&self, claim: Value) -> (Option<Choice>, Vec<Candidate>) {
        let offers: Vec<Offer<'_>> = (0..self.definitions.len()).map(|number| self.offer(number)).collect();
        schedule(Wish { claim: &claim, namespace_labels: &self.labels }, &offers)
    }

    /// What a claim gets of the first definition, beside what it keeps.
    fn completed(&self, claim: Value, kept: &[Option<Pick>]) -> Option<Vec<String>> {
        let wish = Wish { claim: &claim, namespace_labels: &self.labels };
        complete(wish, &self.offer(0), kept).map(|picks| picks.iter().map(shown).collect())
    }

    /// The names of what is chosen, after the definition's number.
    fn chosen(&self, claim: Value) -> Option<(usize, Vec<String>)> {
        let (choice, _) = self.ask(claim);
        choice.map(|choice| (choice.offer, choice.picks.iter().map(shown).collect()))
    }
}

fn shown(pick: &Pick) -> String {
    match pick {
        Pick::Named(object) => format!("named {}", object.name),
        Pick::Existing(object) => format!("existing {}", object.name),
        Pick::Class(object) => object.name.clone(),
    }
}

/// A resource of a definition whose class is matched by a version, or by nothing.
fn entry(kind: &str, matched: bool) -> Value {
    let mut class = json!({ "apiVersion": "p/v1", "kind": format!("{kind}Class") });
    if matched {
        let rule = json!({ "fromClaimField": ".spec.version", "toClassField": ".version" });
        class["strategies"] = json!({ "selection": ["match"], "match": [rule] });
    }
    json!({ "resource": { "apiVersion": "p/v1", "kind": kind }, "class": class })
}

fn class(name: &str, created: u8, extra: Value) -> Value {
    let mut class = json!({
        "apiVersion": "p/v1", "kind": "ServerClass",
        "metadata": { "name": name, "creationTimestamp": format!("2026-01-{created:02}T00:00:00Z") },
    });
    merge(&mut class, &extra);
    class
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            from.iter().for_each(|(name, value)| merge(into.entry(name.clone()).or_insert(Value::Null), value));
        }
        (into, from) => *into = from.clone(),
    }
}

fn annotated(key: &str, value: &str) -> Value {
    json!({ "metadata": { "annotations": { format!("claim.bailiwick.dev/{key}"): value } } })
}

fn labelled(key: &str, value: &str) -> Value {
    json!({ "metadata": { "labels": { key: value } } })
}

fn default_class(name: &str, created: u8) -> Value {
    class(name, created, annotated("is-default-class", "true"))
}

fn picked(number: usize, names: &[&str]) -> Option<(usize, Vec<String>)> {
    Some((number, names.iter().map(|name| (*name).to_owned()).collect()))
}

/// RCD-48: who asks for nothing gets the default; the oldest, then the first by name.
#[test]
fn defaults() {
    let classes = vec![class("a", 1, json!({})), default_class("d", 4), default_class("c", 3), default_class("b", 3)];
    let world = World::default().with("gcp", json!([entry("Server", false)]), vec![classes]);
    assert_eq!(world.chosen(json!({})), picked(0, &["b"]));
    let none = World::default().with("gcp", json!([entry("Server", false)]), vec![vec![class("a", 1, json!({}))]]);
    let (choice, candidates) = none.ask(json!({}));
    assert_eq!(choice, None);
    assert_eq!((candidates[0].reason.as_str(), candidates[0].eligible), ("NotDefault", false));
}

/// D-RCD-5 as decided: a reference counts more than a selector, a selector or a match more than a default; never by chance.
#[test]
fn tiers() {
    let servers = vec![
        default_class("default", 1),
        class("fast", 3, labelled("speed", "fast")),
        class("faster", 2, labelled("speed", "fast")),
    ];
    let world = World::default().with("gcp", json!([entry("Server", false)]), vec![servers]);
    assert_eq!(world.chosen(json!({})), picked(0, &["default"]));
    let selector = json!({ "classSelector": { "matchLabels": { "speed": "fast" } } });
    assert_eq!(world.chosen(json!({ "spec": selector })), picked(0, &["faster"]));
    let mut both = selector.clone();
    both["classRef"] = json!({ "name": "fast" });
    assert_eq!(world.chosen(json!({ "spec": both })), picked(0, &["fast"]));
    assert_eq!(world.chosen(json!({ "spec": { "classRef": { "name": "nothing" } } })), None);
    let of_other_kind = json!({ "spec": { "classRef": { "apiVersion": "q/v1", "kind": "Other", "name": "fast" } } });
    assert_eq!(world.chosen(of_other_kind), None, "no definition has such a class");
    let broken = json!({ "spec": { "classSelector": { "matchExpressions": [{ "key": "a", "operator": "Is" }] } } });
    assert_eq!(world.ask(broken).1[0].reason, "SelectorInvalid");
}

/// RCD-27, RCD-34: only classes that match come into question, and those that do not are told with the reason, nearest first.
#[test]
fn matches_and_near_misses() {
    let servers = vec![
        class("old", 1, json!({ "version": "5.6" })),
        class("none", 1, json!({})),
        class("right", 9, json!({ "version": "5.7" })),
    ];
    let world = World::default().with("azure", json!([entry("Server", true)]), vec![servers]);
    assert_eq!(world.chosen(json!({ "spec": { "version": "5.7" } })), picked(0, &["right"]));
    let (choice, candidates) = world.ask(json!({ "spec": { "version": "8" } }));
    assert_eq!(choice, None);
    let told: Vec<(&str, &str, &str)> = candidates
        .iter()
        .map(|candidate| (candidate.name.as_str(), candidate.reason.as_str(), candidate.message.as_str()))
        .collect();
    let expected = [
        ("none", "FieldMissing", "it has no .version"),
        ("old", "NoMatch", ".version is \"5.6\", and the claim wants \"8\""),
        ("right", "NoMatch", ".version is \"5.7\", and the claim wants \"8\""),
    ];
    assert_eq!(told, expected);
}

/// RCD-34, B-RCD-1: what cannot be compared is told, and nobody is told of anything at length.
#[test]
fn misses_are_told_in_short() {
    let mut mapped = entry("Server", true);
    mapped["class"]["strategies"]["match"][0]["transforms"] = json!({ "map": { "5.7": "five" } });
    let servers = || vec![class("server", 1, json!({ "version": "five" }))];
    let world = World::default().with("azure", json!([mapped]), vec![servers()]);
    assert_eq!(world.chosen(json!({ "spec": { "version": "5.7" } })), picked(0, &["server"]));
    let (choice, candidates) = world.ask(json!({ "spec": { "version": "8" } }));
    assert_eq!((choice, candidates[0].eligible, candidates[0].reason.as_str()), (None, false, "TransformFailed"));
    assert_eq!(candidates[0].message, ".spec.version of the claim cannot be compared: map has no entry for \"8\"");

    let long = "x".repeat(100_000);
    let plain = World::default().with("gcp", json!([entry("Server", true)]), vec![servers()]);
    let cases = [
        (&world, "TransformFailed", json!({ "version": long })),
        (&plain, "NoMatch", json!({ "version": long })),
        (&plain, "NotNamed", json!({ "classRef": { "name": long } })),
        (&plain, "SelectorInvalid", json!({ "classSelector": { "matchLabels": { &long: "" } } })),
        (
            &plain,
            "NotSelected",
            json!({ "classSelector": { "matchExpressions": [
            { "key": "a", "operator": "In", "values": (0..10_000).map(|number| format!("v{number}")).collect::<Vec<_>>() },
        ] } }),
        ),
    ];
    for (world, reason, spec) in cases {
        let (_, candidates) = world.ask(json!({ "spec": spec }));
        let Candidate { reason: told, message, .. } = &candidates[0];
        assert!(told == reason && message.len() < 800, "{told} instead of {reason}, {} bytes", message.len());
    }
}

/// RCD-42: a class is chosen only with another whose labels it wants, or does not want.
#[test]
fn affinity() {
    let both = json!([entry("Server", true), entry("Rule", false)]);
    let servers = vec![
        class("east", 1, json!({ "version": "5.7", "metadata": { "labels": { "region": "east" } } })),
        class("west", 2, json!({ "version": "5.7", "metadata": { "labels": { "region": "west" } } })),
    ];
    let rule = |annotation: &str| {
        let mut rule = default_class("rule", 1);
        merge(&mut rule, &annotated(annotation, "region=west"));
        vec![rule]
    };
    let claim = || json!({ "spec": { "version": "5.7" } });
    let near = World::default().with("azure", both.clone(), vec![servers.clone(), rule("affinity")]);
    assert_eq!(
        near.chosen(claim()),
        picked(0, &["west", "rule"]),
        "the older server class has no rule that goes with it"
    );
    let far = World::default().with("azure", both.clone(), vec![servers[1..].to_vec(), rule("anti-affinity")]);
    let (choice, candidates) = far.ask(claim());
    assert_eq!(choice, None);
    assert_eq!((candidates[0].name.as_str(), candidates[0].reason.as_str()), ("west", "Selected"));
    assert_eq!((candidates[1].name.as_str(), candidates[1].reason.as_str()), ("rule", "AntiAffinity"));
    let far = World::default().with("azure", both, vec![servers, rule("anti-affinity")]);
    assert_eq!(far.chosen(claim()), picked(0, &["east", "rule"]));
}

/// RCD-44: several definitions compete; the better reason wins, then the older class, then the definition's name.
#[test]
fn definitions_compete() {
    let offers = |gcp: Vec<Value>, azure: Vec<Value>| {
        World::default().with("gcp", json!([entry("CloudSql", false)]), vec![gcp]).with(
            "azure",
            json!([entry("Server", true)]),
            vec![azure],
        )
    };
    let matching = || vec![class("m", 9, json!({ "version": "5.7" }))];
    let claim = || json!({ "spec": { "version": "5.7" } });
    assert_eq!(offers(vec![default_class("d", 1)], matching()).chosen(claim()), picked(1, &["m"]));
    assert_eq!(offers(vec![default_class("d", 1)], vec![]).chosen(claim()), picked(0, &["d"]));
    assert_eq!(offers(vec![], matching()).chosen(claim()), picked(1, &["m"]));
    let named = json!({ "spec": { "version": "5.7", "classRef": { "kind": "CloudSqlClass", "name": "n" } } });
    assert_eq!(offers(vec![class("n", 5, json!({}))], matching()).chosen(named), picked(0, &["n"]));
    let same = || vec![default_class("d", 1)];
    let twins = World::default().with("b", json!([entry("CloudSql", false)]), vec![same()]).with(
        "a",
        json!([entry("CloudSql", false)]),
        vec![same()],
    );
    assert_eq!(twins.chosen(json!({})), picked(1, &["d"]));
}

/// RCD-47, RCD-43: a resource that is named needs no class, once.
#[test]
fn a_named_resource_needs_no_class() {
    let twice = json!([entry("Server", false), entry("Server", false)]);
    let world = World::default().with("azure", twice, vec![vec![], vec![default_class("d", 1)]]);
    let claim = json!({ "spec": { "resourceRef": { "apiVersion": "p/v1", "kind": "Server", "name": "mine" } } });
    assert_eq!(world.chosen(claim), picked(0, &["named mine", "d"]));
    assert_eq!(world.chosen(json!({ "spec": { "resourceRef": { "kind": "Other", "name": "mine" } } })), None);
}

/// B-RCD-8: a resource that is there and is what the claim wants is preferred to one that has to be made.
#[test]
fn existing_resources_come_first() {
    let mut entry = entry("Server", false);
    entry["class"]["strategies"] = json!({
        "provisioning": ["translate"],
        "translate": [{ "fromClaimField": ".spec.version", "toResourceField": ".spec.version" }],
    });
    let mut world = World::default().with("azure", json!([entry, entry]), vec![vec![default_class("d", 1)]; 2]);
    let there = |name: &str, created, version: &str| class(name, created, json!({ "spec": { "version": version } }));
    let pool = vec![there("young", 9, "5.7"), there("other", 1, "5.6"), there("old", 2, "5.7")];
    world.existing = vec![vec![pool.clone(), pool]];
    let claim = |version: &str| json!({ "spec": { "version": version } });
    assert_eq!(world.chosen(claim("5.7")), picked(0, &["existing old", "existing young"]), "each once");
    assert_eq!(world.chosen(claim("5.6")), picked(0, &["existing other", "d"]));
    assert_eq!(world.chosen(claim("8")), picked(0, &["d", "d"]));
}

/// N-04, N-10: what is not for a namespace is not chosen there, and not told of either.
#[test]
fn what_is_for_others_is_not_told_of() {
    let for_gold = json!({ "claimableFrom": { "matchLabels": { "tier": "gold" } } });
    let mut by_field = default_class("field", 1);
    merge(&mut by_field, &for_gold);
    let mut by_annotation = default_class("annotation", 2);
    merge(&mut by_annotation, &annotated("claimable-from", "tier in (gold)"));
    let mut broken = default_class("broken", 1);
    merge(&mut broken, &annotated("claimable-from", "a b c"));
    let mut world =
        World::default().with("gcp", json!([entry("Server", false)]), vec![vec![by_field, by_annotation, broken]]);
    assert_eq!(world.ask(json!({})), (None, Vec::new()));
    world.labels.insert("tier".to_owned(), "gold".to_owned());
    assert_eq!(world.chosen(json!({})), picked(0, &["field"]));
    world.definitions[0].0.spec.claimable_from =
        serde_json::from_value(json!({ "matchLabels": { "tier": "silver" } })).ok();
    assert_eq!(world.ask(json!({})), (None, Vec::new()));
}

#[test]
fn what_is_going_is_not_chosen() {
    let mut going = default_class("going", 1);
    merge(&mut going, &json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }));
    let world =
        World::default().with("gcp", json!([entry("Server", false)]), vec![vec![going, default_class("stays", 2)]]);
    assert_eq!(world.chosen(json!({})), picked(0, &["stays"]));
}

/// However many classes there are that do not go together, an answer is found in time.
#[test]
fn the_search_ends() {
    let servers: Vec<Value> = (0..200).map(|number| default_class(&format!("c{number}"), 1)).collect();
    let mut repelled = default_class("last", 1);
    merge(&mut repelled, &annotated("affinity", "never=there"));
    let entries: Vec<Value> = (0..6).map(|_| entry("Server", false)).collect();
    let classes = vec![servers.clone(), servers.clone(), servers.clone(), servers.clone(), servers, vec![repelled]];
    assert_eq!(World::default().with("big", json!(entries), classes).chosen(json!({})), None);
}

/// D-RCD-5, B-RCD-8: a class that a claim names counts more than what is there; and what is there is not insisted on where it
/// does not go with the rest.
#[test]
fn what_is_there_is_only_preferred() {
    let there = || vec![class("pool", 1, json!({ "kind": "Server" }))];
    let servers = || vec![class("gold", 1, labelled("region", "west")), default_class("silver", 2)];
    let mut world = World::default().with("one", json!([entry("Server", false)]), vec![servers()]);
    world.existing = vec![vec![there()]];
    assert_eq!(world.chosen(json!({})), picked(0, &["existing pool"]));
    assert_eq!(world.chosen(json!({ "spec": { "classRef": { "name": "gold" } } })), picked(0, &["gold"]));

    let west = vec![class("western", 1, annotated("affinity", "region=west"))];
    let resources = json!([entry("Server", false), entry("Rule", false)]);
    let mut world = World::default().with("two", resources, vec![servers(), west]);
    world.existing = vec![vec![there(), Vec::new()]];
    let all =
        json!({ "spec": { "classSelector": { "matchExpressions": [{ "key": "none", "operator": "DoesNotExist" }] } } });
    assert_eq!(world.chosen(all), picked(0, &["gold", "western"]));
}

/// D-RCD-8: a class that is named without its kind is meant for the first of several resources; with its kind, for each of that kind.
#[test]
fn a_class_without_a_kind_is_the_first_ones() {
    let both = json!([entry("Server", false), entry("Rule", false)]);
    let servers = || vec![default_class("standard", 1), class("gold", 2, json!({}))];
    let rules = || vec![default_class("open", 1), class("gold", 2, json!({})), class("strict", 3, json!({}))];
    let world = World::default().with("azure", both, vec![servers(), rules()]);
    let named = |class: Value| json!({ "spec": { "classRef": class } });
    assert_eq!(world.chosen(named(json!({ "name": "gold" }))), picked(0, &["gold", "open"]));
    assert_eq!(world.chosen(named(json!({ "apiVersion": "p/v1", "name": "gold" }))), picked(0, &["gold", "open"]));
    assert_eq!(world.chosen(named(json!({ "name": "strict" }))), None, "it is no class of servers");
    let rule = json!({ "kind": "RuleClass", "name": "strict" });
    assert_eq!(world.chosen(named(rule)), picked(0, &["standard", "strict"]));
    let twice = json!([entry("Server", false), entry("Server", false)]);
    let world = World::default().with("azure", twice, vec![servers(), servers()]);
    assert_eq!(world.chosen(named(json!({ "name": "gold" }))), picked(0, &["gold", "standard"]));
    let server = json!({ "kind": "ServerClass", "name": "gold" });
    assert_eq!(world.chosen(named(server)), picked(0, &["gold", "gold"]));
}

/// RCD-43, B-RCD-8: a resource that the claim names is not taken for another of its resources as well.
#[test]
fn a_named_resource_is_one() {
    let twice = json!([entry("Server", false), entry("Server", false)]);
    let mut world = World::default().with("azure", twice, vec![vec![default_class("d", 1)]; 2]);
    world.existing = vec![vec![vec![class("mine", 1, json!({ "kind": "Server" }))]; 2]];
    let claim = json!({ "spec": { "resourceRef": { "kind": "Server", "name": "mine" } } });
    assert_eq!(world.chosen(claim), picked(0, &["named mine", "d"]));
}

/// RCD-42, RCD-43, B-RCD-8: what a claim lacks beside what it has is chosen to go with that, and is nothing that it has.
#[test]
fn the_rest_is_chosen_to_go_with_what_is_there() {
    let both = json!([entry("Server", false), entry("Rule", false)]);
    let server = class("west", 1, labelled("region", "west"));
    let mut eastern = default_class("eastern", 1);
    merge(&mut eastern, &annotated("affinity", "region=east"));
    let mut western = default_class("western", 2);
    merge(&mut western, &annotated("affinity", "region=west"));
    let kept = |class: &Value| Some(Pick::Class(crate::claims::ObjectRef::of(class)));
    let mut world = World::default().with("azure", both.clone(), vec![vec![server.clone()], vec![eastern, western]]);
    let picks = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(world.completed(json!({}), &[kept(&server), None]), picks(&["west", "western"]));
    world.existing = vec![vec![Vec::new(), vec![class("pool", 1, json!({ "kind": "Rule" }))]]];
    assert_eq!(world.completed(json!({}), &[kept(&server), None]), picks(&["west", "existing pool"]));
    // What comes after it may not go with it either.
    let mut apart = default_class("apart", 1);
    merge(&mut apart, &annotated("anti-affinity", "region=west"));
    let north = class("north", 2, json!({}));
    let selects = json!({ "spec": { "classSelector": {} } });
    let world = World::default().with("azure", both, vec![vec![server, north], vec![apart.clone()]]);
    assert_eq!(world.completed(selects, &[None, kept(&apart)]), picks(&["north", "apart"]));
    let twice = json!([entry("Server", false), entry("Server", false)]);
    let mut world = World::default().with("azure", twice, vec![Vec::new(), Vec::new()]);
    let pool = class("pool", 1, json!({ "kind": "Server" }));
    world.existing = vec![vec![vec![pool.clone()]; 2]];
    let has = Some(Pick::Existing(crate::claims::ObjectRef::of(&pool)));
    assert_eq!(world.completed(json!({}), &[None, has]), None);
}
