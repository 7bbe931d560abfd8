//! How others verify tokens of service accounts: where the keys are, and the keys.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use serde_json::{Value, json};

const CONFIGURATION: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/openid/v1/jwks";
/// Where the documents are.
pub(crate) const PATHS: [&str; 2] = [CONFIGURATION, KEYS];
const AN_HOUR: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// The documents by which others verify tokens that this server issues.
pub struct OpenIdDocuments {
    issuer: String,
    keys_url: String,
    told: ArcSwap<Told>,
}

/// The documents, as of one moment.
struct Told {
    configuration: Bytes,
    keys: Bytes,
}

// === impl OpenIdDocuments ===

impl OpenIdDocuments {
    /// Of an issuer, with its keys as JSON Web Keys, which are to be found at `keys_url`, or else at this server.
    pub fn new(issuer: &str, keys_url: Option<&str>, server_url: &str, keys: &[Value]) -> Self {
        let keys_url = keys_url.map_or_else(|| format!("{server_url}{KEYS}"), str::to_owned);
        let told = ArcSwap::from_pointee(Told::new(issuer, &keys_url, keys));
        Self { issuer: issuer.to_owned(), keys_url, told }
    }

    /// From now on tells these keys, and no others.
    pub fn set_keys(&self, keys: &[Value]) {
        self.told.store(Arc::new(Told::new(&self.issuer, &self.keys_url, keys)));
    }

    /// The answer to a GET; `None` if there is no document at the path.
    pub(crate) fn answer(&self, path: &str) -> Option<Response<Bytes>> {
        let told = self.told.load();
        let (document, media_type) = match path {
            CONFIGURATION => (&told.configuration, "application/json"),
            KEYS => (&told.keys, "application/jwk-set+json"),
            _ => return None,
        };
        let mut response = Response::new(document.clone());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        response.headers_mut().insert(CACHE_CONTROL, AN_HOUR);
        Some(response)
    }
}

// === impl Told ===

impl Told {
    fn new(issuer: &str, keys_url: &str, keys: &[Value]) -> Self {
        let mut algorithms: Vec<&str> = keys.iter().filter_map(|key| key.get("alg")?.as_str()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let configuration = json!({
            "issuer": issuer,
            "jwks_uri": keys_url,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
        });
        Self { configuration: configuration.to_string().into(), keys: json!({ "keys": keys }).to_string().into() }
    }
}

#[cfg(test)]
mod tests;
