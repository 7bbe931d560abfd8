//! Which questions are narrowed.

use bailiwick_api::OrgGroupName;

use super::organization;
use crate::User;
use crate::authorization::{Attributes, Resource, Target};

fn asked(verb: &str, resource: &str, subresource: &str, name: &str) -> Option<String> {
    let user = User::default();
    let target = Resource { group: super::GROUP, resource, subresource, name, ..Resource::default() };
    let question = Attributes { user: &user, verb, target: Target::Resource(target) };
    organization(&question).map(str::to_owned)
}

#[test]
fn what_names_an_organization_is_narrowed_to_it() {
    let acme = Some("Acme".to_owned());
    for below in ["groups", "members", "projects"] {
        assert_eq!(asked("get", "organizations", below, "Acme"), acme);
    }
    for verb in ["get", "update", "patch", "delete", "create", "anything"] {
        assert_eq!(asked(verb, "orggroups", "", "Acme:dev"), acme, "{verb}");
        assert_eq!(asked(verb, "orggroups", "status", "Acme:dev"), acme, "{verb}");
    }
    // Nobody administers an organization without a name.
    assert_eq!(asked("get", "orggroups", "", "dev"), Some(String::new()));
    assert!(OrgGroupName::parse("dev").is_none());
    for verb in ["list", "watch", "deletecollection"] {
        assert_eq!(asked(verb, "orggroups", "", "Acme:dev"), None, "needs the right itself");
    }
    assert_eq!(asked("get", "organizations", "", "Acme"), None);
    assert_eq!(asked("own", "organizations", "", "Acme"), None);
    assert_eq!(asked("create", "orggroups", "", ""), None);
    assert_eq!(asked("get", "groups", "", "Acme:dev"), None);
}
