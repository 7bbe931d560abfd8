use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::*;

fn binding(uid: &str, role: &str) -> OrgRoleBinding {
    let metadata = ObjectMeta { name: Some("dev".to_owned()), uid: Some(uid.to_owned()), ..ObjectMeta::default() };
    let role_ref =
        OrgRoleRef { api_group: OrgRoleRef::GROUP.to_owned(), kind: "ClusterRole".to_owned(), name: role.to_owned() };
    OrgRoleBinding { metadata, role_ref, ..OrgRoleBinding::default() }
}

fn users(range: impl Iterator<Item = usize>) -> Vec<Subject> {
    range.map(|number| subject("User", &format!("user-{number:05}"))).collect()
}

/// What there is afterwards; on the way nobody is given something before everyone has lost what they lose.
fn after(
    binding: Option<&OrgRoleBinding>,
    wanted: &[Subject],
    mut derived: BTreeMap<String, RoleBinding>,
) -> (BTreeMap<String, RoleBinding>, usize) {
    let steps = steps(binding, wanted, &derived);
    let gives = |step: &Step| matches!(step, Step::Extend(..) | Step::Make(..));
    assert!(steps.is_sorted_by_key(gives), "{steps:?}");
    let count = steps.len();
    for step in steps {
        match step {
            Step::Remove(name) => assert!(derived.remove(&name).is_some()),
            Step::Empty(name) => derived.get_mut(&name).unwrap().subjects = None,
            Step::Keep(name, subjects) | Step::Extend(name, subjects) => {
                derived.get_mut(&name).unwrap().subjects = Some(subjects);
            }
            Step::Make(name, subjects) => {
                let made = role_binding(binding.unwrap(), name.clone(), subjects);
                assert!(derived.insert(name, made).is_none(), "nothing is overwritten");
            }
        }
    }
    (derived, count)
}

fn holders(derived: &BTreeMap<String, RoleBinding>) -> Vec<Subject> {
    let mut all: Vec<Subject> = derived.values().flat_map(|part| part.subjects.clone().unwrap_or_default()).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[test]
fn many_are_split_and_a_change_of_one_changes_one() {
    let binding = binding("1", "edit");
    for (number, parts) in [(0, 0), (1, 1), (MAX_SUBJECTS, 1), (MAX_SUBJECTS + 1, 2), (2 * MAX_SUBJECTS + 1, 3)] {
        let wanted = users(0..number);
        let (derived, _) = after(Some(&binding), &wanted, BTreeMap::new());
        assert_eq!((derived.len(), holders(&derived)), (parts, wanted.clone()));
        assert_eq!(after(Some(&binding), &wanted, derived).1, 0, "nothing is done twice");
    }
    let (derived, _) = after(Some(&binding), &users(0..2_500), BTreeMap::new());
    assert_eq!(
        derived.keys().collect::<Vec<_>>(),
        ["org-role-binding:dev", "org-role-binding:dev:1", "org-role-binding:dev:2"]
    );
    let (derived, steps) = after(Some(&binding), &users((0..2_500).filter(|user| *user != 5)), derived);
    assert_eq!(steps, 1);
    let (derived, steps) = after(Some(&binding), &users((0..2_501).filter(|user| *user != 5)), derived);
    assert_eq!(steps, 1);
    let (derived, _) = after(Some(&binding), &users((3..7).chain(2_000..4_000)), derived);
    assert_eq!(holders(&derived), users((3..7).chain(2_000..4_000)));
    assert!(derived.values().all(|part| part.subjects.as_ref().unwrap().len() <= MAX_SUBJECTS));
    assert!(after(Some(&binding), &[], derived.clone()).0.is_empty());
    assert!(after(None, &[], derived).0.is_empty());
}

#[test]
fn another_binding_of_the_same_name_begins_anew() {
    let (derived, _) = after(Some(&binding("1", "edit")), &users(0..2), BTreeMap::new());
    for other in [binding("2", "edit"), binding("1", "view")] {
        let (now, steps) = after(Some(&other), &users(0..2), derived.clone());
        assert_eq!((steps, holders(&now)), (2, users(0..2)));
        let part = &now["org-role-binding:dev"];
        assert!(is_of(part, &other), "{part:?}");
    }
}

#[test]
fn what_others_add_is_taken_away() {
    let binding = binding("1", "edit");
    let (mut derived, _) = after(Some(&binding), &users(0..2), BTreeMap::new());
    derived.get_mut("org-role-binding:dev").unwrap().subjects.as_mut().unwrap().push(subject("Group", "everyone"));
    assert_eq!(holders(&after(Some(&binding), &users(0..2), derived).0), users(0..2));
}

/// S-22: a RoleBinding that a finalizer keeps after it was deleted gives nothing, and is in nobody's way.
#[test]
fn what_is_kept_after_its_deletion_is_emptied() {
    let binding = binding("1", "edit");
    let (mut derived, _) = after(Some(&binding), &users(0..2), BTreeMap::new());
    let dev = "org-role-binding:dev".to_owned();
    derived.get_mut(&dev).unwrap().metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(steps(None, &[], &derived), [Step::Empty(dev.clone())]);
    let (derived, steps) = after(Some(&binding), &users(0..2), derived);
    assert_eq!((steps, derived[&dev].subjects.as_ref(), holders(&derived)), (2, None, users(0..2)));
    assert_eq!(derived.keys().collect::<Vec<_>>(), ["org-role-binding:dev", "org-role-binding:dev:1"]);
    assert_eq!(after(Some(&binding), &users(0..2), derived).1, 0, "nothing is done twice");
}

/// S-22, S-23: whoever takes a mark away does not take the RoleBinding away; one that has none is someone else's.
#[test]
fn only_what_was_made_here_is_ours() {
    let binding = binding("1", "edit");
    let ours = role_binding(&binding, "org-role-binding:dev:1".to_owned(), users(0..2));
    let changed = |change: &dyn Fn(&mut ObjectMeta)| {
        let mut changed = ours.clone();
        change(&mut changed.metadata);
        changed
    };
    let other_label = || Some(BTreeMap::from([(DERIVED_LABEL.to_owned(), "quotas".to_owned())]));
    let edited = [
        changed(&|metadata| metadata.labels = None),
        changed(&|metadata| metadata.labels = other_label()),
        changed(&|metadata| metadata.owner_references = None),
    ];
    assert_eq!(binding_of(&ours), Some("dev"));
    for edited in edited {
        assert_eq!(binding_of(&edited), Some("dev"), "{edited:?}");
        // Nobody is added to it. It goes, and another comes.
        let name = ours.metadata.name.clone().unwrap();
        let steps = steps(Some(&binding), &users(0..2), &BTreeMap::from([(name.clone(), edited)]));
        assert_eq!(steps, [Step::Remove(name), Step::Make("org-role-binding:dev".to_owned(), users(0..2))]);
    }
    for other in [
        changed(&|metadata| (metadata.labels, metadata.owner_references) = (None, None)),
        changed(&|metadata| (metadata.labels, metadata.name) = (None, Some("dev".to_owned()))),
        changed(&|metadata| (metadata.owner_references, metadata.name) = (None, Some("dev".to_owned()))),
    ] {
        assert_eq!(binding_of(&other), None, "{other:?}");
    }
}
