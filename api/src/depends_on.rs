//! What a resource says that it depends on.

/// The annotation: `secret/creds, deployments.v1.apps/web`, names as kubectl takes them.
pub const DEPENDS_ON: &str = "catalog.bailiwick.dev/depends-on";

/// A resource of the same namespace that another depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency<'t> {
    /// What kind of resource, as kubectl takes it: `secret`, `secrets`, `deployments.v1.apps`.
    pub resource: &'t str,
    /// Its name.
    pub name: &'t str,
}

/// Why a text names no dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadDependency(pub String);

/// The dependencies that an annotation's text names, in its order.
pub fn dependencies(text: &str) -> Result<Vec<Dependency<'_>>, BadDependency> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| match part.split_once('/') {
            Some((resource, name)) if !resource.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Dependency { resource, name })
            }
            _ => Err(BadDependency(part.to_owned())),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{BadDependency, Dependency, dependencies};

    /// CAT-32
    #[test]
    fn names_are_those_of_kubectl() {
        let found = dependencies("secret/creds, deployments.v1.apps/web,,").unwrap();
        let expected = [("secret", "creds"), ("deployments.v1.apps", "web")];
        assert_eq!(found, expected.map(|(resource, name)| Dependency { resource, name }));
        assert_eq!(dependencies(" ").unwrap(), []);
        for bad in ["creds", "secret/", "/creds", "secret/a/b"] {
            assert_eq!(dependencies(bad), Err(BadDependency(bad.to_owned())));
        }
    }
}
