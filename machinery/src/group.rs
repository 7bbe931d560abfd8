//! The names of kinds and resources, and how they are written.

use std::borrow::Cow;
use std::fmt;

/// An API group and one of its versions. The core group is the empty text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// The group.
    pub group: Cow<'static, str>,
    /// The version.
    pub version: Cow<'static, str>,
}

/// A kind in one version, as `apiVersion` and `kind` of an object say it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The group.
    pub group: Cow<'static, str>,
    /// The version.
    pub version: Cow<'static, str>,
    /// The kind, such as `ConfigMap`.
    pub kind: Cow<'static, str>,
}

/// A kind in any version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The group.
    pub group: Cow<'static, str>,
    /// The kind.
    pub kind: Cow<'static, str>,
}

/// A resource in any version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// The group.
    pub group: Cow<'static, str>,
    /// The resource's plural name, such as `configmaps`.
    pub resource: Cow<'static, str>,
}

// === impl GroupVersion ===

impl GroupVersion {
    /// The group and the version.
    pub fn new(group: impl Into<Cow<'static, str>>, version: impl Into<Cow<'static, str>>) -> Self {
        Self { group: group.into(), version: version.into() }
    }

    /// Reads an `apiVersion`: `group/version`, or only a version for the core group. `None` if it has more parts.
    pub fn parse(api_version: &str) -> Option<Self> {
        match api_version.split_once('/') {
            None => Some(Self::new("", api_version.to_owned())),
            Some((_, version)) if version.contains('/') => None,
            Some((group, version)) => Some(Self::new(group.to_owned(), version.to_owned())),
        }
    }

    /// A kind of this group and version.
    pub fn kind(&self, kind: impl Into<Cow<'static, str>>) -> GroupVersionKind {
        GroupVersionKind { group: self.group.clone(), version: self.version.clone(), kind: kind.into() }
    }
}

/// As `apiVersion` writes it.
impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.group {
            "" => f.write_str(&self.version),
            group => write!(f, "{group}/{}", self.version),
        }
    }
}

// === impl GroupVersionKind ===

impl GroupVersionKind {
    /// Its group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion { group: self.group.clone(), version: self.version.clone() }
    }

    /// The kind without its version.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }
}

/// As error messages write it: `group/version, Kind=Kind`.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

// === impl GroupKind ===

impl GroupKind {
    /// The group and the kind.
    pub fn new(group: impl Into<Cow<'static, str>>, kind: impl Into<Cow<'static, str>>) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }
}

/// As error messages write it: `Kind.group`.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(f, &self.kind, &self.group)
    }
}

// === impl GroupResource ===

impl GroupResource {
    /// The group and the resource.
    pub fn new(group: impl Into<Cow<'static, str>>, resource: impl Into<Cow<'static, str>>) -> Self {
        Self { group: group.into(), resource: resource.into() }
    }
}

/// As error messages write it: `resource.group`.
impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(f, &self.resource, &self.group)
    }
}

fn write_qualified(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group {
        "" => f.write_str(name),
        group => write!(f, "{name}.{group}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions() {
        let parse = |text: &str| GroupVersion::parse(text).map(|gv| (gv.group.into_owned(), gv.version.into_owned()));
        assert_eq!(parse("v1"), Some((String::new(), "v1".to_owned())));
        assert_eq!(parse("apps/v1"), Some(("apps".to_owned(), "v1".to_owned())));
        assert_eq!(parse("a/b/c"), None);
        for text in ["v1", "apps/v1", ""] {
            assert_eq!(GroupVersion::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn names_in_messages() {
        assert_eq!(GroupResource::new("", "configmaps").to_string(), "configmaps");
        assert_eq!(GroupResource::new("apps", "deployments").to_string(), "deployments.apps");
        assert_eq!(GroupKind::new("apps", "Deployment").to_string(), "Deployment.apps");
        assert_eq!(GroupVersion::new("apps", "v1").kind("Deployment").to_string(), "apps/v1, Kind=Deployment");
        assert_eq!(GroupVersion::new("", "v1").kind("Secret").to_string(), "/v1, Kind=Secret");
    }
}
