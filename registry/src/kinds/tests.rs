use bailiwick_machinery::{NameForm, NameRule};

use super::{all, host, name};
use crate::virtual_kind::VirtualVerb;

#[test]
fn every_kind_has_a_schema_in_which_every_field_is_described() {
    fn check(kind: &str, path: &str, schema: &bailiwick_machinery::schema::Schema) {
        for (field, inner) in schema.properties() {
            let path = format!("{path}.{field}");
            assert!(!inner.description().is_empty(), "{kind}{path} has no description for `kubectl explain`");
            check(kind, &path, inner);
        }
        if let Some(items) = schema.items() {
            check(kind, &format!("{path}[]"), items);
        }
    }
    let kinds = all().expect("the native kinds");
    assert!(kinds.len() >= 4);
    for kind in kinds.into_iter().chain(host().expect("Kubernetes' own kinds")) {
        for version in kind.versions() {
            check(&kind.names().kind, "", &version.schema);
            // Questions are answered, and never listed.
            let is_listed = kind.maker().is_none_or(|maker| maker.verbs().contains(&VirtualVerb::List));
            let columns = version.columns.definitions().len();
            assert!(!is_listed || columns >= 2, "{} has no columns", kind.names().kind);
        }
    }
}

#[test]
fn kinds_of_kubernetes_own_are_kinds_and_none_of_them_is_ours() {
    let (ours, host) = (all().expect("our kinds"), host().expect("Kubernetes' own kinds"));
    assert_eq!(host.len(), 13);
    for kind in host {
        for version in kind.versions() {
            assert!(version.columns.definitions().len() >= 2, "{} has no columns", kind.names().kind);
            let group = &version.group_version.group;
            let is_ours = ours.iter().any(|kind| kind.versions().iter().any(|own| own.group_version.group == *group));
            assert!(!is_ours, "{group}");
        }
    }
}

#[test]
fn names_of_organizations_and_groups() {
    fn check(rule: NameRule, good: &[&str], bad: &[&str]) {
        for name in good {
            assert_eq!(rule.check(name, NameForm::Whole), Vec::<String>::new(), "{name}");
        }
        for name in bad {
            assert_ne!(rule.check(name, NameForm::Whole).len(), 0, "{name}");
        }
    }
    let long = "a".repeat(48);
    let too_long = "a".repeat(49);
    check(
        NameRule::Custom(name::organization),
        &["a", "Acme", "acme.research", "A-1_b", &long],
        &["", "-a", "a-", "a:b", "a/b", "ä", &too_long],
    );
    check(NameRule::Custom(name::org_group), &["Acme:dev", "a:b"], &["", "Acme", "Acme:", ":dev", "a:b:c", "a:-"]);
    check(NameRule::Custom(name::group), &["dev", "Dev Team"], &["..", "a/b", "Acme:dev"]);
    assert_eq!(name::org_group("Acme:dev-", NameForm::Prefix).len(), 0);
}
