//! Service accounts: as whom everything is done that follows from a user's object.

use std::fmt;

/// How long a namespace's name may be.
const MAX_LABEL: usize = 63;
/// How long a service account's name may be.
const MAX_SUBDOMAIN: usize = 253;

/// A service account. Neither part can be empty, nor reach beyond itself where it becomes part of a user's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceAccountRef {
    namespace: String,
    name: String,
}

/// Why something names no service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotServiceAccount {
    namespace: String,
    name: String,
}

// === impl ServiceAccountRef ===

impl ServiceAccountRef {
    /// The account of a namespace that is meant where none is named.
    pub const DEFAULT: &'static str = "default";

    /// The account of this name in this namespace.
    pub fn new(namespace: &str, name: &str) -> Result<Self, NotServiceAccount> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let is_good = !namespace.contains('.') && is_name(&namespace, MAX_LABEL) && is_name(&name, MAX_SUBDOMAIN);
        if is_good { Ok(Self { namespace, name }) } else { Err(NotServiceAccount { namespace, name }) }
    }

    /// The namespace it is in.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its name in that namespace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user that it is to the host.
    pub fn username(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The groups that this user is in.
    pub fn groups(&self) -> [String; 3] {
        let of_namespace = format!("system:serviceaccounts:{}", self.namespace);
        ["system:serviceaccounts".to_owned(), of_namespace, "system:authenticated".to_owned()]
    }
}

impl fmt::Display for ServiceAccountRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl NotServiceAccount ===

impl fmt::Display for NotServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no service account \"{}\" in a namespace \"{}\"", self.name, self.namespace)
    }
}

impl std::error::Error for NotServiceAccount {}

/// Whether it is a DNS-1123 subdomain of at most this length.
fn is_name(text: &str, most: usize) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.into_iter().all(|end| end.is_some_and(|end| is_inner(*end)))
            && bytes.iter().all(|byte| is_inner(*byte) || *byte == b'-')
    };
    text.len() <= most && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::ServiceAccountRef;

    #[test]
    fn an_account_cannot_be_another_user() {
        let account = ServiceAccountRef::new("shop", "deployer.v2").unwrap();
        assert_eq!(account.username(), "system:serviceaccount:shop:deployer.v2");
        assert_eq!(account.groups()[1], "system:serviceaccounts:shop");
        for (namespace, name) in [
            ("", "default"),
            ("shop", ""),
            ("shop", "a:b"),
            ("shop:x", "default"),
            ("sh.op", "default"),
            ("shop", "Upper"),
            ("shop", "-a"),
            ("shop", "a..b"),
            ("shop", "a\nb"),
            (&"s".repeat(64), "default"),
            ("shop", &"s".repeat(254)),
        ] {
            assert!(ServiceAccountRef::new(namespace, name).is_err(), "{namespace:?} {name:?}");
        }
    }
}
