use bailiwick_registry::SystemClock;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};

use super::*;

/// Signs nothing.
struct Mute;

impl TokenSigner for Mute {
    fn algorithm(&self) -> &str {
        "ES256"
    }

    fn key_id(&self) -> &str {
        "mute"
    }

    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, TokenIssueError> {
        Ok(Vec::new())
    }
}

fn keys(key: &EncodingKey) -> ServiceAccountKeys {
    let jwk = Jwk::from_encoding_key(key, Algorithm::ES256).unwrap();
    let public = KeySet::from_json(json!({ "keys": [jwk] }).to_string().as_bytes()).unwrap();
    ServiceAccountKeys { signer: Box::new(Mute), public }
}

/// A signature costs more to verify than all else that is asked about a token: it is verified once in ten minutes.
#[tokio::test(start_paused = true)]
async fn a_signature_is_verified_once_in_a_while() {
    let key = EncodingKey::from_ec_der(&KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap().serialize_der());
    let tokens = ServiceAccountTokens::new(ServiceAccountParts {
        issuers: vec!["https://here".to_owned()],
        audiences: vec!["api".to_owned()],
        keys: keys(&key),
        clock: Arc::new(SystemClock),
    });
    let claims = json!({
        "iss": "https://here", "aud": ["api"], "exp": 1_000, "nbf": 0, "iat": 0, "sub": "system:serviceaccount:shop:bot",
        "kubernetes.io": { "namespace": "shop", "serviceaccount": { "name": "bot", "uid": "1" } },
    });
    let token = jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &key).unwrap();
    let first = tokens.claims(&token).unwrap().unwrap();
    tokio::time::advance(VERIFIED_FOR - Duration::from_secs(1)).await;
    assert!(Arc::ptr_eq(&first, &tokens.claims(&token).unwrap().unwrap()));
    tokio::time::advance(Duration::from_secs(1)).await;
    let later = tokens.claims(&token).unwrap().unwrap();
    assert!(!Arc::ptr_eq(&first, &later));
    tokens.set_keys(keys(&key));
    assert!(!Arc::ptr_eq(&later, &tokens.claims(&token).unwrap().unwrap()));
}
