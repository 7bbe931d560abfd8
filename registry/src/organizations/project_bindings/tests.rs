//! What a binding comes to, whoever owns its namespace.

use bailiwick_api::{OrgRoleBinding, OrgRoleRef};

use super::equivalent;

fn subjects(owner: Option<&str>) -> Vec<(String, String)> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    let binding = OrgRoleBinding {
        role_ref: OrgRoleRef { name: "edit".to_owned(), ..OrgRoleRef::default() },
        org_groups: texts(&["Acme:dev", "Beta:dev", "acme:dev", "nonsense"]),
        users: texts(&["dave"]),
        groups: texts(&["viewers", "org:Beta:dev"]),
        ..OrgRoleBinding::default()
    };
    let found = equivalent("shop", owner, &binding).subjects.unwrap_or_default();
    found.into_iter().map(|subject| (subject.kind, subject.name)).collect()
}

/// ORG-44
#[test]
fn only_groups_of_the_owner_count() {
    let named = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
    let others = [named("User", "dave"), named("Group", "viewers")];
    assert_eq!(subjects(None), others);
    assert_eq!(subjects(Some("Gamma")), others);
    let [dave, viewers] = others;
    assert_eq!(subjects(Some("Acme")), [named("Group", "org:Acme:dev"), dave, viewers]);
}
