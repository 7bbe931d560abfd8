//! An issuer.
