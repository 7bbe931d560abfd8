//! Who is taken to be in which group.

use std::sync::Arc;

use bailiwick_machinery::Object;
use serde_json::{Value, json};

use super::{Directory, GroupsCount, Part};
use crate::User;
use crate::follow::{Change, Picture, Place};
use crate::organizations::Memberships;

fn set(directory: &Arc<Directory>, part: Part, name: &str, mut fields: Value) {
    fields["metadata"] = json!({ "name": name });
    let Value::Object(fields) = fields else { panic!("an object") };
    directory.follower(part).apply(vec![Change::Set(Object::new(fields))]);
}

fn remove(directory: &Arc<Directory>, part: Part, name: &str) {
    let place = Place { namespace: String::new(), name: name.to_owned() };
    directory.follower(part).apply(vec![Change::Removed(place)]);
}

fn directory(count: GroupsCount) -> Arc<Directory> {
    let directory = Arc::new(Directory::new(count));
    set(&directory, Part::Groups, "engineers", json!({ "users": ["carol"] }));
    set(&directory, Part::Organizations, "Acme", json!({ "memberUsers": ["bob"], "memberGroups": ["engineers"] }));
    set(&directory, Part::OrgGroups, "Acme:dev", json!({ "users": ["bob", "carol", "mallory"] }));
    directory
}

fn user(name: &str, groups: &[&str]) -> User {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    User { name: name.to_owned(), groups, ..User::default() }
}

fn groups(directory: &Directory, name: &str, groups: &[&str]) -> Option<Vec<String>> {
    directory.groups(&user(name, groups))
}

fn some(groups: &[&str]) -> Option<Vec<String>> {
    Some(groups.iter().map(|group| (*group).to_owned()).collect())
}

#[test]
fn members_are_in_the_groups_that_name_them() {
    let directory = directory(GroupsCount::Yes);
    assert_eq!(groups(&directory, "bob", &["a"]), some(&["a", "org:Acme:dev"]));
    assert_eq!(groups(&directory, "carol", &[]), some(&["engineers", "org:Acme:dev"]));
    assert_eq!(groups(&directory, "carol", &["engineers"]), some(&["engineers", "org:Acme:dev"]));
    assert_eq!(groups(&directory, "mallory", &["a"]), None, "no member");
    assert_eq!(groups(&directory, "mallory", &["engineers"]), None, "nor by what they come with");
    assert_eq!(groups(&directory, "dave", &["a"]), None);
}

#[test]
fn what_others_say_of_organizations_is_not_believed() {
    let directory = directory(GroupsCount::Yes);
    assert_eq!(groups(&directory, "mallory", &["org:Acme:dev", "a"]), some(&["a"]));
    assert_eq!(groups(&directory, "bob", &["org:Beta:dev"]), some(&["org:Acme:dev"]));
    assert_eq!(groups(&directory, "", &["org:"]), some(&[]));
}

#[test]
fn behind_a_cluster_groups_only_make_members() {
    let directory = directory(GroupsCount::ForOrganizations);
    assert_eq!(groups(&directory, "carol", &[]), some(&["org:Acme:dev"]));
}

/// ORG-20, ORG-24
#[test]
fn whatever_made_a_member_ends_it() {
    let directory = directory(GroupsCount::Yes);
    set(&directory, Part::Organizations, "Acme", json!({ "memberGroups": ["engineers"] }));
    assert_eq!(groups(&directory, "bob", &[]), None);
    set(&directory, Part::Groups, "engineers", json!({ "users": ["bob"] }));
    assert_eq!(groups(&directory, "carol", &[]), None);
    assert_eq!(groups(&directory, "bob", &[]), some(&["engineers", "org:Acme:dev"]));
    remove(&directory, Part::Groups, "engineers");
    assert_eq!(groups(&directory, "bob", &[]), None);
    set(&directory, Part::Organizations, "Acme", json!({ "memberUsers": ["bob"] }));
    assert_eq!(groups(&directory, "bob", &[]), some(&["org:Acme:dev"]));
    remove(&directory, Part::Organizations, "Acme");
    assert_eq!(groups(&directory, "bob", &[]), None);
    set(&directory, Part::Organizations, "Acme", json!({ "memberUsers": ["bob"] }));
    remove(&directory, Part::OrgGroups, "Acme:dev");
    assert_eq!(groups(&directory, "bob", &[]), None);
}

/// ORG-19, ORG-20
#[test]
fn administrators_are_named_or_in_a_group() {
    let directory = directory(GroupsCount::ForOrganizations);
    let people =
        json!({ "adminUsers": ["alice"], "adminGroups": ["engineers", "oidc:admins"], "memberUsers": ["bob"] });
    set(&directory, Part::Organizations, "Acme", people);
    let administers = |name: &str, groups: &[&str]| directory.is_administrator(&user(name, groups), "Acme");
    assert!(administers("alice", &[]) && administers("carol", &[]) && administers("x", &["oidc:admins"]));
    assert!(!administers("bob", &[]) && !administers("x", &["admins"]) && !administers("Alice", &[]));
    assert!(!directory.is_administrator(&user("alice", &[]), "acme"));
}

/// What cannot be read gives nobody anything, and keeps no other from counting.
#[test]
fn what_is_no_group_counts_as_gone() {
    let directory = directory(GroupsCount::Yes);
    let object = |name: &str, fields: Value| {
        let mut fields = fields;
        fields["metadata"] = json!({ "name": name });
        Change::Set(Object::try_from(fields).unwrap())
    };
    let changes = vec![object("engineers", json!({ "users": 5 })), object("more", json!({ "users": ["bob"] }))];
    directory.follower(Part::Groups).apply(changes);
    assert_eq!(groups(&directory, "carol", &[]), None, "no engineer, and so no member");
    assert_eq!(groups(&directory, "bob", &[]), some(&["more", "org:Acme:dev"]));
    set(&directory, Part::OrgGroups, "Acme:dev", json!({ "users": { "bob": true } }));
    assert_eq!(groups(&directory, "bob", &[]), some(&["more"]));
    set(&directory, Part::OrgGroups, "Acme:dev", json!({ "users": ["bob"] }));
    assert_eq!(groups(&directory, "bob", &[]), some(&["more", "org:Acme:dev"]));
    set(&directory, Part::Organizations, "Acme", json!({ "memberUsers": "bob" }));
    assert_eq!(groups(&directory, "bob", &[]), some(&["more"]));
}
