use bailiwick_api::{ConditionStatus, OrgRoleBindingStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::super::parts::role_binding;
use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn account() -> Account {
    Account::new("system:serviceaccount:bailiwick-system:bailiwick".to_owned())
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
    let state = index.binding_state(&at(namespace, name), Some(&account()));
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
        for bound_by in [Some(&account()), None] {
            let verdict = index.binding_state(&at("acme-web", "ops"), bound_by).verdict.unwrap();
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
    let count = |index: &Index| index.binding_state(&at("acme-web", "dev"), Some(&account())).derived.len();
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

/// S-22: all marks were taken off while nobody looked. The status of the binding says what was made for it, whichever of the
/// two is seen first.
#[test]
fn a_role_binding_without_marks_is_known_by_the_status_of_what_it_was_made_for() {
    let mut owner = OrgRoleBinding {
        metadata: ObjectMeta {
            name: Some("dev".to_owned()),
            namespace: Some("acme-web".to_owned()),
            ..ObjectMeta::default()
        },
        ..OrgRoleBinding::default()
    };
    owner.role_ref.name = "edit".to_owned();
    let bare = |role: &str| {
        let mut bare = role_binding(&owner, "org-role-binding:dev".to_owned(), Vec::new());
        (bare.metadata.labels, bare.metadata.owner_references) = (None, None);
        bare.role_ref.name = role.to_owned();
        Change::RoleBinding(at("acme-web", "org-role-binding:dev"), Some(Box::new(bare)))
    };
    let binding = |names: &[&str]| {
        let status = OrgRoleBindingStatus { role_bindings: self::names(names), ..OrgRoleBindingStatus::default() };
        let binding = OrgRoleBinding { status: Some(status), ..owner.clone() };
        Change::Binding(at("acme-web", "dev"), Some(Box::new(binding)))
    };
    let count = |changes: [Change; 2]| {
        let mut index = two_organizations();
        changes.into_iter().for_each(|change| drop(index.apply(change)));
        index.binding_state(&at("acme-web", "dev"), Some(&account())).derived.len()
    };
    let ours = ["org-role-binding:dev"];
    assert_eq!(count([bare("edit"), binding(&ours)]), 1);
    assert_eq!(count([binding(&ours), bare("edit")]), 1);
    for (role, names) in [("view", &ours[..]), ("edit", &[])] {
        assert_eq!(count([bare(role), binding(names)]), 0, "{role} {names:?}");
        assert_eq!(count([binding(names), bare(role)]), 0, "{role} {names:?}");
    }
    // It stays so when the binding goes.
    let mut index = two_organizations();
    for change in [bare("edit"), binding(&ours), Change::Binding(at("acme-web", "dev"), None)] {
        index.apply(change);
    }
    assert_eq!(index.binding_state(&at("acme-web", "dev"), Some(&account())).derived.len(), 1);
}

/// S-22: one subject that a policy of the cluster refuses does not keep the others from what they are to have, and is named.
#[test]
fn who_cannot_be_bound_is_left_out_and_named() {
    let mut index = two_organizations();
    let ours = "system:serviceaccount:bailiwick-system:provisioner";
    let robot = "system:serviceaccount:acme-web:robot";
    let bound = OrgRoleBinding {
        org_groups: names(&["Acme:dev"]),
        users: names(&[ours, robot]),
        groups: names(&["painters", "system:authenticated"]),
        ..OrgRoleBinding::default()
    };
    index.apply(Change::Binding(at("acme-web", "dev"), Some(Box::new(bound))));
    assert_eq!(subjects(&index, "acme-web", "dev"), ["bob", "carol", robot, "painters"]);
    let verdict = index.binding_state(&at("acme-web", "dev"), Some(&account())).verdict.unwrap();
    assert_eq!((verdict.status, verdict.reason), (ConditionStatus::False, "NotBound"));
    assert!(verdict.message.contains(ours) && verdict.message.contains("system:authenticated"), "{verdict:?}");
    // Alone, nobody keeps anyone from it.
    assert_eq!(index.binding_state(&at("acme-web", "dev"), None).verdict.unwrap().reason, "InEffect");
}

/// Nothing is bound where Bailiwick itself is, and the binding says so.
#[test]
fn nothing_is_bound_where_we_are() {
    let mut index = two_organizations();
    index.apply(namespace("bailiwick-system", Some("Acme")));
    index.apply(binding("bailiwick-system", "dev", &["Acme:dev"], &["dave"]));
    assert!(subjects(&index, "bailiwick-system", "dev").is_empty());
    let verdict = index.binding_state(&at("bailiwick-system", "dev"), Some(&account())).verdict.unwrap();
    assert_eq!((verdict.status, verdict.reason), (ConditionStatus::False, "OwnNamespace"));
}

/// However many are in a group who are no members, its status does not grow with them: the others are counted.
#[test]
fn non_members_are_named_up_to_a_bound() {
    let mut index = two_organizations();
    let many: Vec<String> = (0..1_000).map(|number| format!("user-{number:04}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    index.apply(org_group("Acme:dev", &many));
    let state = index.group_state("Acme:dev").unwrap();
    assert_eq!(state.non_members, names(&many[..MAX_NON_MEMBERS]));
    assert!(state.verdict.message.contains(" more; remove them"), "{:?}", state.verdict);
}
