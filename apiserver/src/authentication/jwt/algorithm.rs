//! The algorithms that tokens may be signed with: asymmetric ones only.

use jsonwebtoken::Algorithm;

/// The name and the algorithm of everything that can be verified.
const KNOWN: [(&str, Algorithm); 8] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
];

/// The algorithms that an issuer's tokens may be signed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithms(Vec<Algorithm>);

/// An algorithm that tokens cannot be signed with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "oidc: unsupported signing alg: {0:?}; choose among RS256, RS384, RS512, PS256, PS384, PS512, ES256 and ES384 (ES512 is not available)"
)]
pub struct UnsupportedAlgorithm(pub String);

// === impl Algorithms ===

impl Algorithms {
    /// All there are.
    pub fn all() -> Self {
        Self(KNOWN.map(|(_, algorithm)| algorithm).to_vec())
    }

    /// Those with these names.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, UnsupportedAlgorithm> {
        names
            .into_iter()
            .map(|name| find(name).ok_or_else(|| UnsupportedAlgorithm(name.to_owned())))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The one with this name, if it is among these.
    pub(super) fn get(&self, name: &str) -> Option<Algorithm> {
        find(name).filter(|algorithm| self.0.contains(algorithm))
    }
}

/// The algorithm with this name, which is case-sensitive.
pub(super) fn find(name: &str) -> Option<Algorithm> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
}
