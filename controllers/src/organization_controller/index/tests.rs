use bailiwick_api::ConditionStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::super::parts::role_binding;
use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn of_cluster(name: &str) -> Place {
    Place { namespace: String::new(), name: name.to_owned() }
}

fn at(namespace: &str, name: &str) -> Place {
    Place { namespace: namespace.to_owned(), name: name.to_owned() }
}

fn group(name: &str, users: &[&str]) -> Change {
    Change::Group(of_cluster(name), Some(Box::new(Group { users: names(users), ..Group::default() })))
}

fn organization(name: &str, users: &[&str], groups: &[&str]) -> Change {
    let organization =
        Organization { member_users: names(users), member_groups: names(groups), ..Organization::default() };
    Change::Organization(of_cluster(name), Some(Box::new(organization)))
}

fn org_group(name: &str, users: &[&str]) -> Change {
    Change::OrgGroup(of_cluster(name), Some(Box::new(OrgGroup { users: names(users), ..OrgGroup::default() })))
}

fn namespace(name: &str, owner: Option<&str>) -> Change {
    let labels = owner.map(|owner| BTreeMap::from([(OWNER_LABEL.to_owned(), Owner::value_of(owner))]));
    let metadata = ObjectMeta { labels, ..ObjectMeta::default() };
    let namespace = PartialObjectMeta { metadata, ..PartialObjectMeta::default() };
    Change::Namespace(of_cluster(name), Some(Box::new(namespace)))
}

fn binding(namespace: &str, name: &str, org_groups: &[&str], users: &[&str]) -> Change {
    let binding = OrgRoleBinding { org_groups: names(org_groups), users: names(users), ..OrgRoleBinding::default() };
    Change::Binding(at(namespace, name), Some(Box::new(binding)))
}

/// Acme with bob, and carol by a Group; Beta with bella. Each has a group, a project and a binding.
fn two_organizations() -> Index {
    let mut index = Index::default();
    for change in [
        group("engineers", &["carol"]),
        organization("Acme", &["bob"], &["engineers"]),
        organization("Beta", &["bella"], &[]),
        org_group("Acme:dev", &["bob", "carol"]),
        org_group("Acme:ops", &["bob"]),
        org_group("Beta:dev", &["bella"]),
        namespace("acme-web", Some("Acme")),
        namespace("beta-web", Some("Beta")),
        binding("acme-web", "dev", &["Acme:dev"], &["dave"]),
        binding("acme-web", "ops", &["Acme:ops"], &[]),
        binding("beta-web", "dev", &["Beta:dev"], &[]),
    ] {
        index.apply(change);
    }
    index
}

/// What a change touches, as text.
fn touched(index: &mut Index, change: Change) -> Vec<String> {
    let text = |work| match work {
        Work::Group(name) => name,
        Work::Binding(place) => format!("{}/{}", place.namespace, place.name),
    };
    index.apply(change).into_iter().map(text).collect()
}

fn subjects(index: &Index, namespace: &str, name: &str) -> Vec<String> {
    let state = index.binding_state(&at(namespace, name), true);
    state.subjects.into_iter().map(|subject| subject.name).collect()
}

#[test]
fn a_change_touches_what_it_concerns_and_nothing_else() {
    let mut index = two_organizations();
    let cases = [
        // Nobody whom any group names.
        (group("engineers", &["carol", "erin"]), vec![]),
        (group("strangers", &["bob", "bella"]), vec![]),
        (organization("Acme", &["bob", "erin"], &["engineers"]), vec![]),
        (group("engineers", &["erin"]), vec!["Acme:dev", "acme-web/dev"]),
        (organization("Acme", &["erin"], &["engineers"]), vec!["Acme:dev", "Acme:ops", "acme-web/dev", "acme-web/ops"]),
        (organization("Acme", &["bob"], &[]), vec!["Acme:dev", "Acme:ops", "acme-web/dev", "acme-web/ops"]),
        (org_group("Acme:ops", &["bob"]), vec!["Acme:ops"]),
        (org_group("Acme:ops", &[]), vec!["Acme:ops", "acme-web/ops"]),
        (Change::OrgGroup(of_cluster("Acme:ops"), None), vec!["Acme:ops", "acme-web/ops"]),
        (namespace("acme-web", Some("Acme")), vec![]),
        (namespace("acme-web", Some("Beta")), vec!["acme-web/dev", "acme-web/ops"]),
        (namespace("acme-web", None), vec!["acme-web/dev", "acme-web/ops"]),
        (Change::Namespace(of_cluster("beta-web"), None), vec!["beta-web/dev"]),
        (Change::Binding(at("acme-web", "dev"), None), vec!["acme-web/dev"]),
        (org_group("Acme:dev", &[]), vec!["Acme:dev"]),
    ];
    for (number, (change, expected)) in cases.into_iter().enumerate() {
        assert_eq!(touched(&mut index, change), expected, "case {number}");
    }
}

/// ORG-44
#[test]
fn subjects_are_members_in_groups_of_the_owner() {
    let mut index = two_organizations();
    assert_eq!(subjects(&index, "acme-web", "dev"), ["bob", "carol", "dave"]);
    index.apply(group("engineers", &[]));
    assert_eq!(subjects(&index, "acme-web", "dev"), ["bob", "dave"]);
    let state = index.group_state("Acme:dev").unwrap();
    assert_eq!((state.non_members, state.verdict.reason), (names(&["carol"]), "NonMembers"));
    index.apply(organization("Acme", &["carol"], &[]));
    assert_eq!(subjects(&index, "acme-web", "dev"), ["carol", "dave"]);
    index.apply(namespace("acme-web", Some("Beta")));
    assert_eq!(subjects(&index, "acme-web", "dev"), ["dave"]);
    index.apply(namespace("acme-web", None));
    assert!(subjects(&index, "acme-web", "dev").is_empty());
    index.apply(namespace("kube-web", Some("Acme")));
    index.apply(binding("kube-web", "dev", &["Acme:dev"], &["dave"]));
    assert!(subjects(&index, "kube-web", "dev").is_empty());
}

#[test]
fn a_binding_says_why_it_comes_to_nothing() {
    let mut index = two_organizations();
    let check = |index: &Index, status, reason| {
        for by_role_bindings in [true, false] {
            let verdict = index.binding_state(&at("acme-web", "ops"), by_role_bindings).verdict.unwrap();
            assert_eq!((verdict.status, verdict.reason), (status, reason), "{verdict:?}");
        }
    };
    check(&index, ConditionStatus::True, "InEffect");
    index.apply(namespace("acme-web", Some("Beta")));
    check(&index, ConditionStatus::False, "OtherOwner");
    index.apply(namespace("acme-web", None));
    check(&index, ConditionStatus::False, "NoOwner");
    index.apply(namespace("acme-web", Some("Acme")));
    index.apply(Change::OrgGroup(of_cluster("Acme:ops"), None));
    check(&index, ConditionStatus::True, "GroupsMissing");
}

/// S-22
#[test]
fn a_role_binding_stays_ours_whatever_becomes_of_its_marks() {
    let mut index = two_organizations();
    let owner = OrgRoleBinding {
        metadata: ObjectMeta {
            name: Some("dev".to_owned()),
            uid: Some("1".to_owned()),
            namespace: Some("acme-web".to_owned()),
            ..ObjectMeta::default()
        },
        ..OrgRoleBinding::default()
    };
    let place = at("acme-web", "org-role-binding:dev");
    let made = |uid: &str| {
        let mut made = role_binding(&owner, place.name.clone(), Vec::new());
        made.metadata.uid = Some(uid.to_owned());
        made
    };
    let told = |binding: RoleBinding| Change::RoleBinding(place.clone(), Some(Box::new(binding)));
    let bare = |uid: &str| {
        let mut bare = made(uid);
        (bare.metadata.labels, bare.metadata.owner_references) = (None, None);
        bare
    };
    let count = |index: &Index| index.binding_state(&at("acme-web", "dev"), true).derived.len();
    // One that was never seen to be ours is not.
    assert!(touched(&mut index, told(bare("a"))).is_empty());
    assert_eq!(count(&index), 0);
    assert_eq!(touched(&mut index, told(made("a"))), ["acme-web/dev"]);
    assert_eq!(touched(&mut index, told(bare("a"))), ["acme-web/dev"]);
    assert_eq!(touched(&mut index, told(bare("a"))), ["acme-web/dev"]);
    assert_eq!(count(&index), 1);
    // Another one in its place is someone else's.
    assert_eq!(touched(&mut index, told(bare("b"))), ["acme-web/dev"]);
    assert_eq!(count(&index), 0);
}
