//! Controllers, on a server in the same process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod brittle;
mod bundles;
mod catalog_claims;
mod catalogs;
mod claim_site;
mod claims;
mod claims_as_asked;
mod claims_in_use;
mod claims_in_versions;
mod claims_of_several;
mod claims_unlisted;
mod claims_with_secrets;
mod garbage_collector;
mod in_each_namespace;
mod namespaces;
mod organizations;
mod outputs;
mod site;
