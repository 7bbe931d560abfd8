//! What every authenticator's findings have in common: which groups are taken from nobody, and which one all get.

use bailiwick_registry::User;

/// Every user who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Everyone else.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Who is nobody in particular.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// Where Kubernetes says by which credential a user is known.
pub(crate) const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
/// What it says of a certificate, before its fingerprint.
pub(super) const CERTIFICATE: &str = "X509SHA256=";
/// Groups that follow from membership in organizations. They are computed here and believed of nobody else.
const COMPUTED_GROUPS: &str = "org:";

/// The user that an authenticator found, as everything behind authentication sees it.
pub(super) fn known(mut user: User) -> User {
    user.groups.retain(|group| !group.starts_with(COMPUTED_GROUPS));
    let is_marked = user.groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
    if user.name != ANONYMOUS && !is_marked {
        user.groups.push(AUTHENTICATED.to_owned());
    }
    user
}

/// Nobody in particular.
pub(super) fn anonymous() -> User {
    User { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..User::default() }
}

/// Whether this is nobody in particular, by whatever way it came to be.
pub(crate) fn is_anonymous(user: &User) -> bool {
    user.name == ANONYMOUS || user.groups.iter().any(|group| group == UNAUTHENTICATED)
}

/// Whether a user is known by a certificate: their own, or one that a front proxy has seen.
pub(crate) fn is_by_certificate(user: &User) -> bool {
    user.extra.get(CREDENTIAL_ID).is_some_and(|ids| ids.iter().any(|id| id.starts_with(CERTIFICATE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_in_particular_is_known_by_name_and_by_group() {
        let user =
            |name: &str, group: &str| User { name: name.to_owned(), groups: vec![group.to_owned()], ..User::default() };
        assert!(is_anonymous(&anonymous()));
        assert!(is_anonymous(&user(ANONYMOUS, AUTHENTICATED)));
        assert!(is_anonymous(&user("jane", UNAUTHENTICATED)));
        assert!(!is_anonymous(&user("jane", AUTHENTICATED)));
    }
}
