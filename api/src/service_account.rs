//! Service accounts: as whom everything is done that follows from a user's object.

use std::fmt;

use crate::wording::shell_word;

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

/// A host's refusal to let this server act as a service account, and how whoever administers the namespace undoes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotActing {
    namespace: String,
    /// Whom the host takes this server for.
    server: String,
}

/// What kube-apiserver says to someone who may not act as someone else, after who that is.
const MAY_NOT_IMPERSONATE: &str = "\" cannot impersonate";
/// How that goes on. From 1.36 on it depends on what this server was allowed last, there or elsewhere, which is tried first.
const AS_WHOM: [&str; 3] = [" resource", ":serviceaccount resource", "-on:serviceaccount:"];
/// What precedes the namespace and name of a service account among users.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

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
        format!("{SERVICE_ACCOUNT}{}:{}", self.namespace, self.name)
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

// === impl NotActing ===

impl NotActing {
    /// That, if it is what the host said when this account was to be acted as.
    pub fn of(said: &str, account: &ServiceAccountRef) -> Option<Self> {
        let (before, after) = said.split_once(MAY_NOT_IMPERSONATE)?;
        let server = before.rsplit('"').next().unwrap_or_default().to_owned();
        let is_about_acting = AS_WHOM.iter().any(|begin| after.starts_with(begin));
        is_about_acting.then(|| Self { namespace: account.namespace.clone(), server })
    }

    /// The command that allows it.
    pub fn remedy(&self) -> String {
        let server = match self.server.strip_prefix(SERVICE_ACCOUNT) {
            Some(account) => format!("--serviceaccount={account}"),
            None => format!("--user={}", shell_word(&self.server)),
        };
        let namespace = &self.namespace;
        format!("kubectl create rolebinding bailiwick-act-as -n {namespace} --clusterrole=bailiwick:act-as {server}")
    }
}

impl fmt::Display for NotActing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Bailiwick may not act as the service accounts of the namespace \"{}\". Whoever administers it allows that with: {}",
            self.namespace,
            self.remedy()
        )
    }
}

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
    use super::{NotActing, ServiceAccountRef};

    #[test]
    fn what_to_do_names_who_is_to_be_allowed() {
        let account = ServiceAccountRef::new("here", "maker").unwrap();
        let refusal = |user: &str| {
            let tellings = [
                "impersonate resource \"serviceaccounts\"",
                "impersonate:serviceaccount resource \"serviceaccounts\"",
                "impersonate-on:serviceaccount:get resource \"configmaps\"",
            ];
            let told = tellings.map(|what| {
                let said = format!(
                    "configmaps \"first\" is forbidden: User \"{user}\" cannot {what} in API group \"\" in the namespace \"here\""
                );
                NotActing::of(&said, &account).unwrap().to_string()
            });
            assert!(told.iter().all(|each| *each == told[0]), "{told:?}");
            told[0].clone()
        };
        let command = "kubectl create rolebinding bailiwick-act-as -n here --clusterrole=bailiwick:act-as";
        let told = refusal("system:serviceaccount:bailiwick-system:bailiwick");
        assert!(told.ends_with(&format!("{command} --serviceaccount=bailiwick-system:bailiwick")), "{told}");
        assert!(refusal("bailiwick").ends_with(&format!("{command} --user=bailiwick")));
        let other = "secrets \"a\" is forbidden: User \"maker\" cannot get resource \"secrets\" in API group \"\"";
        assert_eq!(NotActing::of(other, &account), None);
    }

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
