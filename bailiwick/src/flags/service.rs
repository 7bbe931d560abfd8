//! Services, as flags name them.

use std::str::FromStr;

/// A Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

// === impl ServiceName ===

impl ServiceName {
    /// The names by which it is called in the cluster.
    pub(crate) fn hosts(&self) -> [String; 3] {
        let Self { namespace, name } = self;
        ["", ".svc", ".svc.cluster.local"].map(|suffix| format!("{name}.{namespace}{suffix}"))
    }
}

impl FromStr for ServiceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err("it must be NAMESPACE/NAME".to_owned()),
        }
    }
}
