//! What quotas come to, by examples and by chance.

use std::collections::BTreeMap;

use bailiwick_machinery::Quantity;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Account, Allocation, Amounts, Change, QuotaFacts, Refusal, ScopeSet, canonical_resource, decide};

fn allocation(hard: &Value) -> Allocation {
    scoped(hard, &json!([]))
}

fn scoped(hard: &Value, scopes: &Value) -> Allocation {
    let spec = json!({ "selector": { "matchLabels": { "owner": "alice" } }, "allocation": { "hard": hard, "scopes": scopes } });
    Allocation::from_json("alice", &spec).unwrap()
}

fn quota(name: &str, version: u64, hard: &Value) -> QuotaFacts {
    full(name, version, hard, &json!({}), &json!([]))
}

fn full(name: &str, version: u64, hard: &Value, used: &Value, scopes: &Value) -> QuotaFacts {
    QuotaFacts::from_json(&json!({
        "metadata": { "name": name, "uid": name, "resourceVersion": version.to_string() },
        "spec": { "hard": hard, "scopes": scopes },
        "status": { "used": used },
    }))
}

fn change(old: Option<&QuotaFacts>, new: &QuotaFacts) -> Change {
    Change { old: old.cloned(), new: new.clone(), at: 0, may_uncover: false }
}

fn charge(account: &Account) -> BTreeMap<String, String> {
    account.charge.iter().map(|(name, amount)| (name.to_owned(), amount.to_string())).collect()
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

/// QUOTA-12, QUOTA-18, B-QUOTA-1, B-QUOTA-12: quotas with the same scopes overlap, those with others are beside them, and
/// what is used counts even if less is allowed.
#[test]
fn a_project_is_charged_the_most_of_each_set_of_scopes() {
    let allocation = allocation(&json!({ "cpu": "10", "memory": "1Gi", "pods": 5 }));
    let quotas = [
        full("a", 1, &json!({ "requests.cpu": "2" }), &json!({ "requests.cpu": "3" }), &json!([])),
        full("b", 1, &json!({ "cpu": "2500m", "memory": "1Ki" }), &json!({}), &json!([])),
        full("c", 1, &json!({ "pods": "2", "cpu": "1" }), &json!({}), &json!(["Terminating"])),
        full("d", 1, &json!({ "pods": "3" }), &json!({}), &json!(["NotTerminating"])),
    ];
    let account = Account::of(quotas, &allocation);
    assert_eq!(charge(&account), texts(&[("pods", "5"), ("requests.cpu", "4"), ("requests.memory", "1Ki")]));
    assert_eq!(allocation.shown(&account.charge).keys().collect::<Vec<_>>(), ["cpu", "memory", "pods"]);
    assert_eq!(account.uncovered(&allocation).count(), 0, "each pod is Terminating or not");
}

/// D-QUOTA-11
#[test]
fn scopes_are_compared_as_sets() {
    let allocation = scoped(&json!({ "pods": "5" }), &json!(["BestEffort"]));
    let selector = json!({
        "metadata": { "name": "b" },
        "spec": {
            "hard": { "pods": "2" },
            "scopeSelector": { "matchExpressions": [{ "scopeName": "BestEffort", "operator": "Exists" }] },
        },
    });
    let quotas = [
        full("a", 1, &json!({ "pods": "1" }), &json!({}), &json!(["BestEffort"])),
        QuotaFacts::from_json(&selector),
        full("c", 1, &json!({ "pods": "4" }), &json!({}), &json!(["BestEffort", "Terminating"])),
        full("d", 1, &json!({ "pods": "4" }), &json!({}), &json!([])),
    ];
    let account = Account::of(quotas, &allocation);
    assert_eq!(charge(&account), texts(&[("pods", "2")]));
    let priorities = |values: Value| {
        let expression = json!({ "scopeName": "PriorityClass", "operator": "In", "values": values });
        ScopeSet::from_json(&json!({ "scopeSelector": { "matchExpressions": [expression] } }))
    };
    assert_eq!(priorities(json!(["a", "b"])), priorities(json!(["b", "a", "b"])));
    assert_ne!(priorities(json!(["a"])), priorities(json!(["b"])));
}

/// M-QUOTA-8: names and amounts that mean the same are the same; what is absurd is bounded.
#[test]
fn amounts_are_what_kubernetes_takes_them_for() {
    for (name, canonical) in [
        ("cpu", "requests.cpu"),
        ("limits.cpu", "limits.cpu"),
        ("count/secrets", "secrets"),
        ("count/pods", "count/pods"),
        ("count/deployments.apps", "count/deployments.apps"),
    ] {
        assert_eq!(canonical_resource(name), canonical);
    }
    let amounts = |value: Value| Amounts::from_json(Some(&value));
    assert_eq!(amounts(json!({ "memory": "1Ki" })), amounts(json!({ "requests.memory": 1024 })));
    assert_eq!(amounts(json!({ "cpu": "0.1" })), amounts(json!({ "cpu": "100m" })));
    assert_eq!(amounts(json!({ "cpu": "-5" })).of("requests.cpu"), Quantity::default());
    let mut huge = amounts(json!({ "cpu": "1e30" }));
    assert_eq!(huge, amounts(json!({ "cpu": "9223372036854775807" })));
    let one = huge.clone();
    (0..10_000).for_each(|_| huge.add(&amounts(json!({ "cpu": "1n" }))));
    (0..10_000).for_each(|_| huge.subtract(&amounts(json!({ "cpu": "1n" }))));
    assert_eq!(huge, one, "sums are exact");
    let same = |a: Value, b: Value| quota("q", 1, &a).spec_hash == quota("q", 7, &b).spec_hash;
    assert!(same(json!({ "cpu": "1000m", "memory": "1Mi" }), json!({ "memory": "1024Ki", "requests.cpu": 1 })));
    assert!(!same(json!({ "cpu": "1" }), json!({ "cpu": "1001m" })));
}

/// QUOTA-1, QUOTA-19, D-QUOTA-6, D-QUOTA-7: what rises must fit, up to the limit; what falls always does.
#[test]
fn each_resource_is_judged_by_itself() {
    let allocation = allocation(&json!({ "cpu": "10", "pods": "10" }));
    let now = quota("default", 1, &json!({ "cpu": "6", "pods": "6" }));
    let account = Account::of([now.clone()], &allocation);
    let total = Amounts::from_json(Some(&json!({ "cpu": "8", "pods": "13" })));
    let judge = |hard: Value| {
        let new = quota("default", 0, &hard);
        decide(&allocation, &total, &account.charge, &account, &change(Some(&now), &new))
    };
    assert!(judge(json!({ "cpu": "8", "pods": "5" })).is_ok(), "pods fall, though there are too many");
    let Err(Refusal::Exceeds(excesses)) = judge(json!({ "cpu": "9", "pods": "7" })) else { panic!() };
    let told: Vec<_> = excesses.iter().map(|excess| (excess.resource.as_str(), excess.room().to_string())).collect();
    assert_eq!(told, [("pods", "3".to_owned()), ("requests.cpu", "8".to_owned())]);
}

/// B-QUOTA-2: what is reserved counts until it is known what became of it, and only once.
#[test]
fn a_reservation_ends_when_its_write_is_seen() {
    let allocation = allocation(&json!({ "cpu": "10" }));
    let old = quota("default", 5, &json!({ "cpu": "2" }));
    let new = quota("default", 0, &json!({ "cpu": "7" }));
    let mut account = Account::of([old.clone()], &allocation);
    account.reserve(Some(&old), &new, 100, &allocation);
    account.reserve(Some(&old), &new, 101, &allocation);
    assert_eq!((charge(&account), account.reserved.len()), (texts(&[("requests.cpu", "7")]), 1));
    account.settle([old.clone()], &allocation);
    assert_eq!(charge(&account), texts(&[("requests.cpu", "7")]), "an old state is no answer");
    let mut lowered = account.clone();
    account.settle([quota("default", 6, &json!({ "cpu": "7" }))], &allocation);
    assert!(account.reserved.is_empty());
    account.settle([old.clone()], &allocation);
    assert_eq!(charge(&account), texts(&[("requests.cpu", "7")]), "what is known does not get older");
    lowered.release(|reserved| reserved.since < 102, &allocation);
    assert_eq!(charge(&lowered), texts(&[("requests.cpu", "2")]));
    // The same spec as before was written again: only a later state of the quota says that it happened.
    let again = quota("default", 0, &json!({ "cpu": "2" }));
    let high = quota("default", 6, &json!({ "cpu": "7" }));
    let mut account = Account::of([high.clone()], &allocation);
    account.reserve(Some(&high), &again, 100, &allocation);
    account.settle([old], &allocation);
    assert_eq!(account.reserved.len(), 1);
}

/// D-QUOTA-2: what is left out is unlimited, so leaving it out is refused.
#[test]
fn a_project_stays_limited() {
    let allocation = allocation(&json!({ "cpu": "10", "memory": "1Gi" }));
    let now = quota("default", 1, &json!({ "cpu": "6", "memory": "1Mi" }));
    let account = Account::of([now.clone()], &allocation);
    let judge = |hard: Value, may_uncover| {
        let change = Change { may_uncover, ..change(Some(&now), &quota("default", 0, &hard)) };
        decide(&allocation, &account.charge, &account.charge, &account, &change)
    };
    assert_eq!(judge(json!({}), false), Err(Refusal::Uncovers(vec!["requests.cpu".into(), "requests.memory".into()])));
    assert!(judge(json!({}), true).is_ok());
    assert!(judge(json!({ "requests.cpu": "1", "memory": 0 }), false).is_ok(), "the same by another name");
    let second = quota("second", 0, &json!({ "pods": "1" }));
    assert!(decide(&allocation, &account.charge, &account.charge, &account, &change(None, &second)).is_ok());
    let nothing = Account::default();
    let none = Amounts::default();
    let some = change(None, &quota("default", 0, &json!({ "cpu": "1" })));
    assert!(decide(&allocation, &none, &none, &nothing, &some).is_ok(), "what was not limited before is not lost");
}

/// A step of a project's life.
#[derive(Clone, Debug)]
struct Step {
    project: usize,
    quota: usize,
    cpu: u32,
    pods: u32,
    /// Whether a write that was allowed happens.
    lands: bool,
    used: u32,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..4_usize, 0..3_usize, 0..60_u32, 0..8_u32, any::<bool>(), 0..20_u32);
    let step =
        step.prop_map(|(project, quota, cpu, pods, lands, used)| Step { project, quota, cpu, pods, lands, used });
    proptest::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// QUOTA-14, QUOTA-32, B-QUOTA-2: whatever is asked for, all that exists and all that was promised never come to more
    /// than the limit, and what a project is told beforehand is what is decided.
    #[test]
    fn nothing_is_ever_exceeded(steps in steps()) {
        let allocation = allocation(&json!({ "cpu": "10", "pods": "12" }));
        let scopes = [json!([]), json!([]), json!(["Terminating"])];
        let mut accounts = vec![Account::of([], &allocation); 4];
        let mut objects: Vec<BTreeMap<usize, QuotaFacts>> = vec![BTreeMap::new(); 4];
        for (version, step) in (1..).zip(&steps) {
            let mut total = Amounts::default();
            accounts.iter().for_each(|account| total.add(&account.charge));
            let (account, objects) = (&mut accounts[step.project], &mut objects[step.project]);
            let old = objects.get(&step.quota).cloned();
            let hard = json!({ "cpu": format!("{}00m", step.cpu), "pods": step.pods });
            let used = old.as_ref().map_or_else(|| json!({}), |_| json!({ "pods": step.used.min(step.pods) }));
            let new = full(&step.quota.to_string(), version, &hard, &used, &scopes[step.quota]);
            // As a client would predict it.
            let remaining = allocation.remaining(&total, &account.charge);
            let mut then = account.clone();
            then.reserve(old.as_ref(), &new, 0, &allocation);
            let fits = then.charge.iter().all(|(resource, amount)| {
                *amount <= remaining.of(resource) || *amount <= account.charge.of(resource)
            });
            let decided = decide(&allocation, &total, &account.charge, account, &change(old.as_ref(), &new));
            prop_assert_eq!(fits, decided.is_ok());
            if let Ok(reserved) = decided {
                *account = reserved;
                if step.lands {
                    objects.insert(step.quota, new);
                } else {
                    account.release(|_| true, &allocation);
                }
                account.settle(objects.values().cloned(), &allocation);
            }
            let expected = Account::of(objects.values().cloned(), &allocation);
            prop_assert_eq!(&account.charge, &expected.charge, "nothing is left behind");
            let mut total = Amounts::default();
            accounts.iter().for_each(|account| total.add(&account.charge));
            prop_assert!(allocation.exceeded(&total).next().is_none());
        }
    }
}
