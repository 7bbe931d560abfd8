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

/// D-QUOTA-11, Q-01: a quota that counts now counts also where an older state of it is heard of, in which it did not: what it
/// selects can be changed.
#[test]
fn what_counts_of_a_quota_is_its_latest_state() {
    let allocation = scoped(&json!({ "pods": "5" }), &json!(["BestEffort"]));
    let before = full("a", 5, &json!({ "pods": "2" }), &json!({}), &json!(["Terminating"]));
    let now = full("a", 6, &json!({ "pods": "2" }), &json!({}), &json!(["BestEffort"]));
    let mut account = Account::of([now.clone()], &allocation);
    account.settle([before.clone()], 5, &allocation);
    assert_eq!(charge(&account), texts(&[("pods", "2")]));
    account.settle([QuotaFacts { version: 7, ..before }], 7, &allocation);
    assert_eq!((charge(&account), account.quotas.len()), (texts(&[("pods", "0")]), 0));
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
        ("hugepages-2Mi", "requests.hugepages-2Mi"),
        ("requests.hugepages-2Mi", "requests.hugepages-2Mi"),
    ] {
        assert_eq!(canonical_resource(name), canonical);
    }
    let amounts = |value: Value| Amounts::from_json(Some(&value));
    assert_eq!(amounts(json!({ "memory": "1Ki" })), amounts(json!({ "requests.memory": 1024 })));
    assert_eq!(amounts(json!({ "cpu": "0.1" })), amounts(json!({ "cpu": "100m" })));
    assert_eq!(amounts(json!({ "cpu": "-5" })).of("requests.cpu"), Quantity::default());
    let mut huge = amounts(json!({ "cpu": "1e30" }));
    assert_eq!(huge, amounts(json!({ "cpu": "9223372036854775807" })));
    let digits = "9".repeat(60);
    assert_eq!(huge, amounts(json!({ "cpu": digits })), "more digits than are kept");
    assert!(amounts(json!({ "cpu": "nonsense" })).is_empty());
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
    account.settle([old.clone()], u64::MAX, &allocation);
    assert_eq!(charge(&account), texts(&[("requests.cpu", "7")]), "an old state is no answer");
    let mut lowered = account.clone();
    account.settle([quota("default", 6, &json!({ "cpu": "7" }))], u64::MAX, &allocation);
    assert!(account.reserved.is_empty());
    account.settle([old.clone()], u64::MAX, &allocation);
    assert_eq!(charge(&account), texts(&[("requests.cpu", "7")]), "what is known does not get older");
    lowered.release(|reserved| reserved.since < 102, &allocation);
    assert_eq!(charge(&lowered), texts(&[("requests.cpu", "2")]));
    // The same spec as before was written again: only a later state of the quota says that it happened.
    let again = quota("default", 0, &json!({ "cpu": "2" }));
    let high = quota("default", 6, &json!({ "cpu": "7" }));
    let mut account = Account::of([high.clone()], &allocation);
    account.reserve(Some(&high), &again, 100, &allocation);
    account.settle([old], u64::MAX, &allocation);
    assert_eq!(account.reserved.len(), 1);
}

/// QUOTA-10, B-QUOTA-2: nobody need have seen the very state that was reserved for: a later one says as much, also one that
/// whoever asks next shows.
#[test]
fn a_reservation_ends_when_its_write_was_written_over() {
    let allocation = allocation(&json!({ "cpu": "3" }));
    let hard = |cpu: &str| json!({ "cpu": cpu });
    let mut reserved = Account::default();
    reserved.reserve(None, &quota("default", 0, &hard("6")), 100, &allocation);
    let mut seen = reserved.clone();
    seen.settle([quota("default", 8, &hard("5"))], u64::MAX, &allocation);
    assert_eq!((charge(&seen), seen.reserved.len()), (texts(&[("requests.cpu", "5")]), 0));
    let other = QuotaFacts { uid: "another".to_owned(), ..quota("default", 8, &hard("6")) };
    let mut beside = reserved.clone();
    beside.settle([other], u64::MAX, &allocation);
    assert_eq!(beside.reserved.len(), 1, "once that one is gone, this one can still be made");

    let (made, lowered) = (quota("default", 7, &hard("6")), quota("default", 8, &hard("5")));
    reserved.reserve(Some(&made), &lowered, 101, &allocation);
    let (total, raised) = (reserved.charge.clone(), quota("default", 8, &hard("6")));
    let decided = decide(&allocation, &total, &total, &reserved, &change(Some(&lowered), &raised));
    assert!(matches!(decided, Err(Refusal::Exceeds(_))), "{decided:?}");
    // Two changes of one state: one of them has happened, and the other one cannot.
    let mut account = Account::of([made.clone()], &allocation);
    account.reserve(Some(&made), &quota("default", 7, &hard("9")), 100, &allocation);
    account.reserve(Some(&made), &quota("default", 7, &hard("4")), 100, &allocation);
    account.settle([quota("default", 8, &hard("4"))], u64::MAX, &allocation);
    assert_eq!((charge(&account), account.reserved.len()), (texts(&[("requests.cpu", "4")]), 0));
}

/// B-QUOTA-2, Q-01: whoever asks for the same of an older state, or to make the same, does not take away what was reserved for
/// others: their writes can still happen.
#[test]
fn a_reservation_is_kept_for_all_who_ask_for_the_same() {
    let allocation = allocation(&json!({ "cpu": "10" }));
    let hard = |cpu: &str| json!({ "cpu": cpu });
    let (older, newer) = (quota("default", 5, &hard("2")), quota("default", 6, &hard("2")));
    let mut account = Account::of([newer.clone()], &allocation);
    account.reserve(Some(&newer), &quota("default", 6, &hard("7")), 100, &allocation);
    // A question that was asked before, and comes late.
    account.reserve(Some(&older), &quota("default", 5, &hard("7")), 100, &allocation);
    account.settle([newer.clone()], u64::MAX, &allocation);
    assert_eq!((charge(&account), account.reserved.len()), (texts(&[("requests.cpu", "7")]), 1));
    let made = |uid: &str| QuotaFacts { uid: uid.to_owned(), ..quota("default", 0, &hard("8")) };
    account.reserve(None, &made("b"), 100, &allocation);
    account.reserve(Some(&newer), &quota("default", 6, &hard("8")), 100, &allocation);
    account.settle([quota("default", 7, &hard("2"))], u64::MAX, &allocation);
    assert_eq!(charge(&account), texts(&[("requests.cpu", "8")]), "once that one is gone, it can still be made");
    account.reserve(None, &made("c"), 100, &allocation);
    account.settle([QuotaFacts { version: 8, ..made("c") }], u64::MAX, &allocation);
    account.settle([], u64::MAX, &allocation);
    assert_eq!(charge(&account), texts(&[("requests.cpu", "8")]), "once it is gone, the other one can still be made");
    let change = |uid: &str| change(None, &made(uid));
    assert!(!account.has_reserved(&Change { at: 100, ..change("b") }), "which of them it was is not known");
}

/// QUOTA-14, Q-01: whoever makes a quota needs room for it, also if one of that name is still known: it is gone, and what it had
/// may be given away before this one is made.
#[test]
fn a_quota_that_is_to_be_made_holds_nothing() {
    let allocation = allocation(&json!({ "cpu": "10" }));
    let gone = quota("default", 5, &json!({ "cpu": "6" }));
    let account = Account::of([gone.clone()], &allocation);
    let made = QuotaFacts { uid: "another".to_owned(), ..quota("default", 0, &json!({ "cpu": "6" })) };
    assert!(!account.holds(&change(None, &made), &allocation));
    assert!(account.holds(&change(Some(&gone), &quota("default", 5, &json!({ "cpu": "5" }))), &allocation));
    let mut account = decide(&allocation, &account.charge, &account.charge, &account, &change(None, &made)).unwrap();
    account.settle([], 6, &allocation);
    assert_eq!(charge(&account), texts(&[("requests.cpu", "6")]), "it can still be made");
}

/// D-QUOTA-8, QUOTA-19, Q-01: what was promised under a larger limit is not promised again under a smaller one, to whoever
/// asks again nor to another quota in the shadow of it.
#[test]
fn what_was_promised_is_judged_by_the_limit_there_is() {
    let limited = |cpu: &str| allocation(&json!({ "cpu": cpu }));
    let now = quota("default", 5, &json!({ "cpu": "4" }));
    let more = change(Some(&now), &quota("default", 5, &json!({ "cpu": "9" })));
    let account = Account::of([now.clone()], &limited("10"));
    let account = decide(&limited("10"), &account.charge, &account.charge, &account, &more).unwrap();
    let judge =
        |limit: &str, change: &Change| decide(&limited(limit), &account.charge, &account.charge, &account, change);
    assert!(judge("10", &more).is_ok(), "whoever asks again is told the same");
    for asked in [more, change(None, &quota("second", 0, &json!({ "cpu": "8" })))] {
        let Err(Refusal::Exceeds(excesses)) = judge("5", &asked) else { panic!("{asked:?}") };
        assert_eq!((excesses[0].requested.to_string(), excesses[0].room().to_string()), ("9".into(), "5".into()));
    }
    assert!(judge("5", &change(Some(&now), &quota("default", 5, &json!({ "cpu": "3" })))).is_ok(), "less is less");
}

/// QUOTA-24, B-QUOTA-2: what was reserved for a change ends with the quota, as soon as it is known that it is gone, but not on
/// the ground of a state in which it may not have been there yet.
#[test]
fn a_reservation_for_a_change_ends_with_its_quota() {
    let allocation = allocation(&json!({ "cpu": "10" }));
    let now = quota("default", 5, &json!({ "cpu": "2" }));
    let mut account = Account::of([now.clone()], &allocation);
    account.reserve(Some(&now), &quota("default", 5, &json!({ "cpu": "7" })), 100, &allocation);
    account.reserve(None, &quota("second", 0, &json!({ "cpu": "3" })), 100, &allocation);
    account.settle([], 4, &allocation);
    assert_eq!((charge(&account), account.quotas.len()), (texts(&[("requests.cpu", "7")]), 1), "it is too new");
    account.settle([], 6, &allocation);
    assert_eq!((charge(&account), account.quotas.len()), (texts(&[("requests.cpu", "3")]), 0));
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

/// D-QUOTA-2: what another quota limits is no ground to leave it out while that one may be about to leave it out, too.
#[test]
fn two_changes_together_uncover_nothing() {
    let allocation = allocation(&json!({ "cpu": "10" }));
    let [a, b] = ["a", "b"].map(|name| quota(name, 1, &json!({ "cpu": "4" })));
    let account = Account::of([a.clone(), b.clone()], &allocation);
    let leaving_out = |old: &QuotaFacts| change(Some(old), &quota(&old.name, 1, &json!({ "pods": "4" })));
    let judge =
        |account: &Account, change: &Change| decide(&allocation, &account.charge, &account.charge, account, change);
    assert!(!account.holds(&leaving_out(&a), &allocation), "others must hear of it");
    let after = judge(&account, &leaving_out(&a)).unwrap();
    assert!(!after.holds(&leaving_out(&a), &allocation));
    assert_eq!(judge(&after, &leaving_out(&b)), Err(Refusal::Uncovers(vec!["requests.cpu".into()])));
    let lowered = change(Some(&b), &quota("b", 1, &json!({ "cpu": "3" })));
    assert!(judge(&after, &lowered).is_ok(), "what stays limited may change");
    let third = change(None, &quota("c", 0, &json!({ "pods": "1" })));
    assert!(judge(&after, &third).is_ok(), "what limits nothing anyway uncovers nothing");
}

/// Q-01, QUOTA-23: what was promised counts also if the allocation has begun to count something else.
#[test]
fn what_was_promised_is_carried_over() {
    let (before, now) = (allocation(&json!({ "cpu": "10" })), allocation(&json!({ "cpu": "10", "pods": "9" })));
    let mut account = Account::of([], &before);
    account.reserve(None, &quota("default", 0, &json!({ "cpu": "6", "pods": "5" })), 100, &before);
    let learnt = quota("second", 9, &json!({ "cpu": "7" }));
    account.reserve(Some(&learnt), &quota("second", 9, &json!({ "cpu": "8" })), 100, &before);
    let mut account = account.carried_over(&now);
    assert_eq!(charge(&account), texts(&[("pods", "5"), ("requests.cpu", "8")]));
    account.settle([], 8, &now);
    assert_eq!(charge(&account), texts(&[("pods", "5"), ("requests.cpu", "8")]), "that is not too new to be known of");
    let scoped = scoped(&json!({ "cpu": "10" }), &json!(["Terminating"]));
    assert_eq!(account.carried_over(&scoped).reserved.len(), 0);
}

/// a quota that names a hundred thousand resources takes no more room than what is allotted of them, and nothing more is
/// promised where too much was.
#[test]
fn accounts_stay_small() {
    let allocation = allocation(&json!({ "cpu": "10" }));
    let hard = |count: usize| {
        let mut hard: serde_json::Map<String, Value> =
            (0..count).map(|number| (format!("count/k{number}.example.com"), json!("1"))).collect();
        hard.insert("cpu".to_owned(), json!("2"));
        Value::Object(hard)
    };
    let many = hard(100_000);
    let large = full("large", 1, &many, &many, &json!([]));
    let mut account = Account::of([large.clone(), quota("small", 1, &json!({ "cpu": "1" }))], &allocation);
    assert!(serde_json::to_vec(&account).unwrap().len() < 2_000);
    assert_eq!(charge(&account), texts(&[("requests.cpu", "2")]));
    assert!(account.holds(&change(Some(&large), &quota("large", 1, &json!({ "cpu": "1" }))), &allocation));
    let mut promises = 0;
    while !account.is_too_large() {
        promises += 1;
        let new = quota("small", 1, &hard(500 + promises));
        account.reserve(Some(&quota("small", 1, &json!({ "cpu": "1" }))), &new, 100, &allocation);
    }
    assert!((2..100).contains(&promises), "{promises}");
    assert!(serde_json::to_vec(&account).unwrap().len() < 256 << 10);
}

/// M-QUOTA-8: what is stored is what was added up, also where units of 1024 end.
#[test]
fn sums_are_stored_as_they_are() {
    let allocation = allocation(&json!({ "memory": "7Ei" }));
    let seven = Account::of([quota("default", 1, &json!({ "memory": "7Ei" }))], &allocation).charge;
    let stored =
        |amounts: &Amounts| -> Amounts { serde_json::from_str(&serde_json::to_string(amounts).unwrap()).unwrap() };
    let mut total = Amounts::default();
    (0..3).for_each(|_| {
        total.add(&seven);
        total = stored(&total);
    });
    (0..2).for_each(|_| {
        total.subtract(&seven);
        total = stored(&total);
    });
    assert_eq!(total, seven);
    assert_eq!(allocation.shown(&total)["memory"].to_string(), "7Ei", "as its limit is written");
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
                account.settle(objects.values().cloned(), u64::MAX, &allocation);
            }
            let expected = Account::of(objects.values().cloned(), &allocation);
            prop_assert_eq!(&account.charge, &expected.charge, "nothing is left behind");
            let mut total = Amounts::default();
            accounts.iter().for_each(|account| total.add(&account.charge));
            prop_assert!(allocation.exceeded(&total).next().is_none());
        }
    }
}
