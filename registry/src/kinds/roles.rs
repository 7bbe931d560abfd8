//! The roles that go with our kinds, wherever they are served. They follow from the kinds.
//!
//! Kinds of the cluster as a whole are in none of Kubernetes' roles `admin`, `edit` and `view`, which are for whoever works in a
//! namespace; but for those that are there to be looked at by whoever has such a role everywhere. Verbs beyond the usual ones, such as `claim` and `publish`, are nobody's until they are given.

use std::collections::BTreeMap;

use bailiwick_api::quota::PROJECT_OWNER_QUOTAS;
use bailiwick_machinery::Scope;
use k8s_openapi::api::rbac::v1::{AggregationRule, ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use crate::allocations;
use crate::kind::Kind;
use crate::organizations;
use crate::subresource::SubresourceVerb;
use crate::virtual_kind::VirtualVerb;

const READ: [&str; 3] = ["get", "list", "watch"];
/// The label of roles that the role of project owners consists of.
const TO_PROJECT_OWNER: &str = "bailiwick.dev/aggregate-to-project-owner";
const ALL: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// A role that goes with our kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct KindRole {
    /// What it is for.
    pub why: &'static str,
    /// The role.
    pub role: ClusterRole,
    /// The group that has it from the beginning, if any.
    pub bound_to: Option<&'static str>,
}

/// The roles that go with these kinds.
pub fn roles<'k>(kinds: impl IntoIterator<Item = &'k Kind>) -> Vec<KindRole> {
    let kinds: Vec<&Kind> = kinds.into_iter().filter(|kind| !kind.is_typed() && !kind.is_defined()).collect();
    let ours = kinds.iter().copied().filter(|kind| kind.scope() == Scope::Namespaced);
    let (giving, other): (Vec<_>, Vec<_>) = ours.partition(|kind| kind.hands_out_rights());
    // What may hold secrets is shown to those only who may read secrets.
    let shown: Vec<_> = other.iter().copied().filter(|kind| !kind.is_secret_bearing()).collect();
    let (edited, of_cluster) = (rules(&other, &ALL), kinds.iter().copied().filter(|kind| kind.is_shown_to_viewers()));
    let of_cluster = rules(&of_cluster.collect::<Vec<_>>(), &READ);
    let part = |name, into: &[&str], why, rules: Vec<PolicyRule>| KindRole {
        why,
        role: role(name, into, rules),
        bound_to: None,
    };
    let mut roles = vec![
        part(
            "bailiwick:admin",
            &["admin"],
            "What those who administer a namespace may do there with our kinds that hand out rights.",
            rules(&giving, &ALL),
        ),
        part(
            "bailiwick:edit",
            &["admin", "edit"],
            "What those who may administer or edit a namespace may do there with our kinds.",
            [edited, of_cluster.clone()].concat(),
        ),
        part(
            "bailiwick:view",
            &["view"],
            "What those who may view a namespace may do there with our kinds.",
            [rules(&shown, &READ), of_cluster].concat(),
        ),
    ];
    roles.retain(|role| role.role.rules.as_ref().is_some_and(|rules| !rules.is_empty()));
    if kinds.iter().any(|kind| kind.names().plural == "organizations") {
        roles.push(organization_administrators());
    }
    if kinds.iter().any(|kind| kind.names().plural == allocations::PLURAL) {
        roles.extend([project_owner(), project_owner_quotas()]);
    }
    roles
}

/// What those may do in a namespace who own the project: what its administrators may, and divide what was allotted to them.
fn project_owner() -> KindRole {
    let selects = |label: &str| LabelSelector {
        match_labels: Some(BTreeMap::from([(label.to_owned(), "true".to_owned())])),
        ..LabelSelector::default()
    };
    let selectors = vec![selects("rbac.authorization.k8s.io/aggregate-to-admin"), selects(TO_PROJECT_OWNER)];
    let aggregation_rule = Some(AggregationRule { cluster_role_selectors: Some(selectors) });
    KindRole {
        why: "What those may do in a namespace who own the project: all that its administrators may, and change some of its ResourceQuotas.",
        role: ClusterRole { aggregation_rule, ..role("project-owner", &[], Vec::new()) },
        bound_to: None,
    }
}

/// The ResourceQuotas that owners of a project may change. They can neither make nor remove any, nor change others: by those a
/// cluster administrator can hold a project down.
fn project_owner_quotas() -> KindRole {
    let rule = |group: &str, resource: &str, names: Option<Vec<String>>, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(&[resource])),
        resource_names: names,
        verbs: owned(verbs),
        ..PolicyRule::default()
    };
    let rules = vec![
        rule("", "resourcequotas", Some(owned(&PROJECT_OWNER_QUOTAS)), &["get", "patch", "update"]),
        rule(allocations::GROUP, "localresourcequotaallocations", None, &READ),
    ];
    let mut role = role("bailiwick:project-owner-quotas", &[], rules);
    role.metadata.labels = Some(BTreeMap::from([(TO_PROJECT_OWNER.to_owned(), "true".to_owned())]));
    KindRole {
        why: "The ResourceQuotas that owners of a project may change, by their names. They can make and remove none.",
        role,
        bound_to: None,
    }
}

/// What everyone who is known may do with the organizations that they administer: the server narrows it to these, so that
/// no organization needs roles of its own.
fn organization_administrators() -> KindRole {
    let rule = |resources: &[&str], verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![organizations::GROUP.to_owned()]),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    };
    let rules = vec![
        rule(&["organizations/groups"], &["create", "delete", "get", "update"]),
        rule(&["organizations/members", "organizations/projects"], &["get"]),
        rule(&["orggroups"], &["create", "delete", "get", "patch", "update"]),
    ];
    KindRole {
        why: "What everyone who is known may do with the organizations that they administer, and with no other: the servers see to that.",
        role: role("bailiwick:organization-administrators", &[], rules),
        bound_to: Some("system:authenticated"),
    }
}

fn role(name: &str, into: &[&str], rules: Vec<PolicyRule>) -> ClusterRole {
    let label = |role: &&str| (format!("rbac.authorization.k8s.io/aggregate-to-{role}"), "true".to_owned());
    let labels: BTreeMap<String, String> = into.iter().map(label).collect();
    ClusterRole {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels).filter(|labels| !labels.is_empty()),
            ..ObjectMeta::default()
        },
        rules: Some(rules),
        aggregation_rule: None,
    }
}

/// One rule for each kind that has any of the verbs, in all its groups.
fn rules(kinds: &[&Kind], verbs: &[&str]) -> Vec<PolicyRule> {
    let mut rules = Vec::new();
    for kind in kinds {
        let mut groups: Vec<String> =
            kind.versions().iter().map(|version| version.group_version.group.to_string()).collect();
        groups.sort();
        groups.dedup();
        let rule = |resource: String, verbs: Vec<String>| PolicyRule {
            api_groups: Some(groups.clone()),
            resources: Some(vec![resource]),
            verbs,
            ..PolicyRule::default()
        };
        let plural = &kind.names().plural;
        let offered: Vec<&str> = verbs.iter().copied().filter(|verb| offers(kind, verb)).collect();
        if !offered.is_empty() {
            rules.push(rule(plural.to_string(), owned(&offered)));
        }
        if kind.has_status() {
            rules.push(rule(format!("{plural}/status"), owned(&["get"])));
        }
        // What can only be read below an object is more of what the object itself shows.
        let views = kind.subresources().iter().filter(|below| *below.verbs() == [SubresourceVerb::Get]);
        rules.extend(views.map(|view| rule(format!("{plural}/{}", view.name()), owned(&["get"]))));
    }
    rules
}

fn offers(kind: &Kind, verb: &str) -> bool {
    let Some(maker) = kind.maker() else {
        return verb != "deletecollection" || kind.allows_delete_collection();
    };
    maker.verbs().iter().any(|offered| match offered {
        VirtualVerb::Create => verb == "create",
        VirtualVerb::Get => verb == "get",
        VirtualVerb::List => verb == "list",
        VirtualVerb::Watch => verb == "watch",
    })
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::roles;

    #[test]
    fn each_has_what_it_is_for() {
        let roles = roles(&super::super::all().unwrap());
        let rules = |name: &str| {
            let found = roles.iter().find(|role| role.role.metadata.name.as_deref() == Some(name)).unwrap();
            let rules = found.role.rules.iter().flatten();
            rules.flat_map(|rule| rule.resources.iter().flatten().cloned()).collect::<Vec<_>>()
        };
        let has = |name: &str, resource: &str| rules(name).iter().any(|other| other == resource);
        assert!(has("bailiwick:admin", "orgrolebindings") && !has("bailiwick:edit", "orgrolebindings"));
        for shown in
            ["localresourcecatalogs", "localresourcecatalogs/entries", "resourcecatalogclaims", "resourcecatalogs"]
        {
            assert!(has("bailiwick:edit", shown) && has("bailiwick:view", shown), "{shown}");
        }
        // They may hold Secrets.
        assert!(has("bailiwick:edit", "resourcecatalogentries") && !has("bailiwick:view", "resourcecatalogentries"));
        assert!(!has("bailiwick:view", "resourcecatalogentries/status"));
        for role in &roles {
            let everywhere = role.role.rules.iter().flatten().flat_map(|rule| rule.verbs.iter());
            assert!(everywhere.into_iter().all(|verb| verb != "*" && verb != "claim" && verb != "publish"), "{role:?}");
        }
        assert!(!has("bailiwick:organization-administrators", "organizations"));
    }
}
