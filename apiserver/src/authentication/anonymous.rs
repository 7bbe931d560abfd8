//! Requests without credentials: who they come from is nobody in particular, where that is allowed.

/// Where requests need no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anonymous {
    /// Nowhere.
    Off,
    /// At exactly these paths.
    Paths(Vec<String>),
    /// Everywhere. What anonymous users may do is for authorization to say.
    Everywhere,
}

// === impl Anonymous ===

impl Anonymous {
    /// Whoever starts and stops servers asks for their health, and has no identity.
    pub fn health() -> Self {
        Self::Paths(["/healthz", "/livez", "/readyz"].map(str::to_owned).to_vec())
    }
}
