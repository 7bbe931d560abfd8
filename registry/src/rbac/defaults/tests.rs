use super::*;

/// Kubernetes' own server, and whoever compares roles, knows by it which ones are kept up to date.
#[test]
fn all_say_that_they_are_kept_up_to_date() {
    let roles = cluster_roles().into_iter().map(|role| role.metadata);
    let bindings = cluster_role_bindings().into_iter().map(|binding| binding.metadata);
    for metadata in roles.chain(bindings) {
        let annotations = metadata.annotations.unwrap_or_default();
        assert_eq!(annotations.get(AUTOUPDATE).map(String::as_str), Some("true"), "{:?}", metadata.name);
    }
}
