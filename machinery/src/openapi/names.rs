//! How things are called in a document: operations, tags, components, and kinds in a sentence.

use crate::group::GroupVersion;
use crate::host::HostType;

/// What upstream leaves out of the names of its own groups.
const OWN_DOMAIN: &str = ".k8s.io";

/// The name of a kind's schema: the group from its end, as packages are named: `dev.bailiwick.org.v1alpha1.Organization`.
/// Those of Kubernetes' own kinds are named after their Go packages: `io.k8s.api.core.v1.ConfigMap`.
pub(super) fn component(group_version: &GroupVersion, kind: &str) -> String {
    if HostType::of(&group_version.kind(kind.to_owned())).is_some() {
        let package = go_group(&group_version.group).split('.').next().unwrap_or_default();
        return format!("io.k8s.api.{package}.{}.{kind}", group_version.version);
    }
    let group: Vec<&str> = group_version.group.rsplit('.').collect();
    format!("{}.{}.{kind}", group.join("."), group_version.version)
}

/// The name of an operation: `list`, the group and version, and what is listed.
pub(super) fn operation_id(verb: &str, group_version: &GroupVersion, what: &str) -> String {
    let group = camel_case(own_part(&group_version.group), First::Upper);
    let version = camel_case(&group_version.version, First::Upper);
    format!("{verb}{group}{version}{}", camel_case(what, First::Upper))
}

/// The tag of all operations of a group and version: `orgBailiwickDev_v1alpha1`.
pub(super) fn tag(group_version: &GroupVersion) -> String {
    let group = camel_case(own_part(&group_version.group), First::AsItIs);
    format!("{group}_{}", camel_case(&group_version.version, First::AsItIs))
}

/// Where a group and version begins, without a slash: `apis/<group>/<version>`, or `api/v1` for the group without a name.
pub fn root(group_version: &GroupVersion) -> String {
    let prefix = if group_version.group.is_empty() { "api" } else { "apis" };
    format!("{prefix}/{group_version}")
}

/// A noun with its article, if it has one: `an Organization`.
pub(super) fn with_article(noun: &str) -> String {
    let is_plural = noun.ends_with('s') && !noun.ends_with("ss");
    if is_plural {
        return noun.to_owned();
    }
    let begins_with_vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
    format!("{} {noun}", if begins_with_vowel { "an" } else { "a" })
}

/// A word with its first letter as a capital.
pub(super) fn title(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn own_part(group: &str) -> &str {
    let group = go_group(group);
    group.strip_suffix(OWN_DOMAIN).unwrap_or(group)
}

/// The group without a name has one in Go.
fn go_group(group: &str) -> &str {
    if group.is_empty() { "core" } else { group }
}

/// What becomes of the first letter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Upper,
    AsItIs,
}

/// Without marks; the letter after a mark is a capital.
fn camel_case(text: &str, first: First) -> String {
    let mut made = String::with_capacity(text.len());
    let mut capital = first == First::Upper;
    for (position, letter) in text.chars().enumerate() {
        let kept = letter.is_alphabetic() || letter == '_' || (position > 0 && letter.is_numeric());
        match kept {
            true if std::mem::take(&mut capital) => made.extend(letter.to_uppercase()),
            true => made.push(letter),
            false => capital = true,
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_tags() {
        let ours = GroupVersion::new("org.bailiwick.dev", "v1alpha1");
        assert_eq!(operation_id("list", &ours, "NamespacedThing"), "listOrgBailiwickDevV1alpha1NamespacedThing");
        assert_eq!(tag(&ours), "orgBailiwickDev_v1alpha1");
        // As kube-apiserver calls them.
        let theirs = GroupVersion::new("fruit.example.k8s.io", "v1");
        assert_eq!(operation_id("delete", &theirs, "collectionApple"), "deleteFruitExampleV1CollectionApple");
        assert_eq!(tag(&theirs), "fruitExample_v1");
        assert_eq!(component(&theirs, "Apple"), "io.k8s.example.fruit.v1.Apple");
        let core = GroupVersion::new("", "v1");
        assert_eq!(operation_id("list", &core, "NamespacedConfigMap"), "listCoreV1NamespacedConfigMap");
        assert_eq!(tag(&core), "core_v1");
        assert_eq!(component(&core, "ConfigMap"), "io.k8s.api.core.v1.ConfigMap");
        let rbac = GroupVersion::new("rbac.authorization.k8s.io", "v1");
        assert_eq!(tag(&rbac), "rbacAuthorization_v1");
        assert_eq!(component(&rbac, "RoleList"), "io.k8s.api.rbac.v1.RoleList");
        assert_eq!((root(&core), root(&rbac)), ("api/v1".to_owned(), "apis/rbac.authorization.k8s.io/v1".to_owned()));
    }

    #[test]
    fn nouns() {
        let cases = [("Organization", "an Organization"), ("Group", "a Group"), ("Class", "a Class"), ("Ins", "Ins")];
        for (noun, expected) in cases {
            assert_eq!(with_article(noun), expected);
        }
        assert_eq!(title("status"), "Status");
        assert_eq!(title(""), "");
    }
}
