//! Why something could not be done with one resource, in words for whoever claimed it.

use bailiwick_api::{ClaimError, ServiceAccountRef};

/// What kube-apiserver says to someone who may not act as someone else.
const MAY_NOT_IMPERSONATE: &str = "cannot impersonate resource";
/// What precedes the namespace and name of a service account among users.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) reason: String,
    pub(super) message: String,
}

// === impl Problem ===

impl Problem {
    pub(super) fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into() }
    }

    /// What the host said to this account.
    pub(super) fn of(error: &kube::Error, account: &ServiceAccountRef) -> Self {
        let kube::Error::Api(status) = error else {
            return Self::new("Unavailable", error.to_string());
        };
        if status.message.contains(MAY_NOT_IMPERSONATE) {
            return Self::new("NotActing", not_acting(&status.message, account));
        }
        let reason = if status.reason.is_empty() { "Unavailable" } else { status.reason.as_str() };
        Self::new(reason, status.message.clone())
    }

    /// The same, of a resource.
    pub(super) fn about(self, api_version: &str, kind: &str, name: &str) -> ClaimError {
        ClaimError {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: self.reason,
            message: self.message,
        }
    }
}

/// How whoever administers a namespace allows that its accounts are acted as.
fn not_acting(message: &str, account: &ServiceAccountRef) -> String {
    let user = message.split("User \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let who = match user.strip_prefix(SERVICE_ACCOUNT) {
        Some(name) => format!("--serviceaccount={name}"),
        None => format!("--user={user}"),
    };
    let namespace = account.namespace();
    format!(
        "Bailiwick may not act as the service accounts of the namespace \"{namespace}\". Whoever administers it allows that with: \
         kubectl create rolebinding bailiwick-act-as -n {namespace} --clusterrole=bailiwick:act-as {who}"
    )
}

#[cfg(test)]
mod tests {
    use super::not_acting;

    #[test]
    fn what_to_do_names_who_is_to_be_allowed() {
        let account = bailiwick_api::ServiceAccountRef::new("here", "maker").unwrap();
        let said = "serviceaccounts \"maker\" is forbidden: User \"system:serviceaccount:bailiwick-system:bailiwick\" cannot \
                    impersonate resource \"serviceaccounts\" in API group \"\" in the namespace \"here\"";
        let told = not_acting(said, &account);
        let command = "kubectl create rolebinding bailiwick-act-as -n here --clusterrole=bailiwick:act-as \
                       --serviceaccount=bailiwick-system:bailiwick";
        assert!(told.ends_with(command), "{told}");
    }
}
