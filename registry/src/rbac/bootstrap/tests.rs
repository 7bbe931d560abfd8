use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bailiwick_storage::Txn;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use serde_json::json;

use super::*;
use crate::admission::{Admission, Proposal};
use crate::context::Ctx;

/// A role with a rule of its own name, or one that is made of those with a label.
fn role(name: &str, labels: &[&str], made_of: Option<&str>) -> ClusterRole {
    let labels: Map<String, Value> = labels.iter().map(|label| ((*label).to_owned(), json!("true"))).collect();
    let mut role = json!({"metadata": {"name": name, "labels": labels}});
    match made_of {
        None => role["rules"] = json!([{"verbs": ["get"], "apiGroups": [""], "resources": [name]}]),
        Some(label) => {
            role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]});
        }
    }
    serde_json::from_value(role).unwrap()
}

fn resources(role: &ClusterRole) -> Vec<String> {
    list(&role.rules).iter().flat_map(|rule| list(&rule.resources).to_vec()).collect()
}

/// Refuses to write one role for ever, and another one once.
#[derive(Clone, Default)]
struct Refusing {
    refused: Arc<AtomicUsize>,
}

#[async_trait]
impl Admission for Refusing {
    async fn admit(&self, _: &Ctx<'_>, _: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let refused = match proposal.name() {
            _ if proposal.old.is_none() => false,
            "a-stubborn" => true,
            "b-slow" => self.refused.fetch_add(1, Ordering::Relaxed) == 0,
            _ => false,
        };
        match refused {
            true => Err(Error::Failed { what: "a role", why: "a test".to_owned() }),
            false => Ok(txn),
        }
    }
}

async fn start(admission: Refusing) -> (Arc<Registry>, Arc<ServedKind>) {
    let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap());
    let registry = Registry::start(store, kinds::host().unwrap(), Default::default()).await.unwrap();
    let registry = Arc::new(registry.with_admission(admission));
    let kind = find(&registry, "clusterroles").unwrap();
    (registry, kind)
}

async fn make(registry: &Registry, kind: &ServedKind, role: &ClusterRole) {
    let Value::Object(fields) = serde_json::to_value(role).unwrap() else { panic!() };
    create(registry, kind, Object::new(fields)).await.unwrap();
}

async fn get(registry: &Registry, kind: &ServedKind, name: &str) -> ClusterRole {
    typed(&kind.read(&registry.get(kind, "", name, At::Latest).await.unwrap()).unwrap()).unwrap()
}

#[test]
fn roles_that_are_made_of_made_ones_have_all_rules_at_once() {
    let all = [
        role("a", &[], Some("to-a")),
        role("b", &["to-a"], Some("to-b")),
        role("c", &["to-b"], None),
        role("d", &[], None),
    ];
    let summed = sum(&all);
    assert_eq!(summed.iter().map(resources).collect::<Vec<_>>(), [vec!["c"], vec!["c"], vec!["c"], vec!["d"]]);
}

/// However they were left by others, and however often they are put together.
#[test]
fn roles_that_are_made_of_each_other_come_to_rest() {
    let mut all = vec![
        role("a", &["to-c"], Some("to-a")),
        role("b", &["to-a"], Some("to-b")),
        role("c", &["to-b"], Some("to-c")),
        role("one", &["to-a"], None),
        role("two", &["to-b"], None),
    ];
    let first = sum(&all);
    for role in &first[..3] {
        let mut names = resources(role);
        names.sort_unstable();
        assert_eq!(names, ["one", "two"]);
    }
    assert_eq!(sum(&first), first, "what was written does not count");
    for (at, left) in ["x", "y", "z"].iter().enumerate() {
        all[at].rules = role(left, &[], None).rules;
    }
    assert_eq!(sum(&all), first, "nor does what others wrote");
}

#[test]
fn a_role_whose_selectors_cannot_be_read_stays_as_it_is() {
    let mut unreadable = role("a", &[], Some("to-a"));
    unreadable.rules = role("left", &[], None).rules;
    let expression = json!([{"matchExpressions": [{"key": "x", "operator": "Unknown"}]}]);
    unreadable.aggregation_rule.as_mut().unwrap().cluster_role_selectors = serde_json::from_value(expression).unwrap();
    let all = [unreadable, role("b", &["to-a"], None)];
    assert_eq!(sum(&all), all);
}

/// Rules are for the role that they were put together for.
#[tokio::test]
async fn a_role_that_is_another_by_now_keeps_its_rules() {
    let (registry, kind) = start(Refusing::default()).await;
    let rules = list(&role("given", &[], None).rules).to_vec();
    make(&registry, &kind, &role("changed", &[], Some("to-it"))).await;
    make(&registry, &kind, &role("replaced", &[], Some("to-it"))).await;
    make(&registry, &kind, &role("same", &[], Some("to-it"))).await;
    let mut seen = Vec::new();
    for name in ["changed", "replaced", "same"] {
        seen.push(get(&registry, &kind, name).await);
    }
    write(&registry, &kind, "changed", &|found| drop(found.fields_mut().remove("aggregationRule"))).await.unwrap();
    let replaced = kind.read(&registry.get(&kind, "", "replaced", At::Latest).await.unwrap()).unwrap();
    remove(&registry, &kind, &replaced).await.unwrap();
    make(&registry, &kind, &role("replaced", &[], Some("to-it"))).await;
    for role in &seen {
        set_rules(&registry, &kind, role, &rules).await.unwrap();
    }
    for (name, expected) in [("changed", vec![]), ("replaced", vec![]), ("same", vec!["given"])] {
        assert_eq!(resources(&get(&registry, &kind, name).await), expected, "{name}");
    }
}

/// One that fails does not keep the others, and what failed is tried again though nothing else happens.
#[tokio::test]
async fn what_failed_is_put_together_later() {
    let (registry, kind) = start(Refusing::default()).await;
    make(&registry, &kind, &role("base", &["to-it"], None)).await;
    for name in ["a-stubborn", "b-slow", "c-willing"] {
        make(&registry, &kind, &role(name, &[], Some("to-it"))).await;
    }
    let (_changed_tx, changed_rx) = watch::channel(0);
    let keeping = tokio::spawn(keep_aggregated(registry.clone(), changed_rx));
    for name in ["c-willing", "b-slow"] {
        let given = async {
            while resources(&get(&registry, &kind, name).await).is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(10), given).await.unwrap_or_else(|_| panic!("{name} has no rules"));
    }
    assert!(resources(&get(&registry, &kind, "a-stubborn").await).is_empty());
    keeping.abort();
}
