use bailiwick_apiserver::{KeySet, TokenSigner};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use serde_json::json;

use super::key::{KeyError, PublicKey, Signer};

#[test]
fn keys_of_both_curves_sign_and_are_published() {
    for (algorithm, name, bytes) in [(&PKCS_ECDSA_P256_SHA256, "ES256", 64), (&PKCS_ECDSA_P384_SHA384, "ES384", 96)] {
        let key = KeyPair::generate_for(algorithm).expect("a key");
        let signer = Signer::read(&key.serialize_pem()).expect("a signer");
        assert_eq!(signer.algorithm(), name);
        // Numbers with leading zeros are rare: enough signatures have some.
        for message in 0..300u32 {
            assert_eq!(signer.sign(&message.to_be_bytes()).expect("a signature").len(), bytes);
        }
        let public = PublicKey::read_all(&key.public_key_pem()).expect("a public key");
        assert_eq!(public, [signer.public().clone()]);
        assert_eq!(public, PublicKey::read_all(&key.serialize_pem()).expect("a private key"));
        let set = json!({ "keys": [signer.public().to_json()] }).to_string();
        assert_eq!(KeySet::from_json(set.as_bytes()).expect("a set").len(), 1);
    }
}

#[test]
fn other_keys_are_refused() {
    let other = KeyPair::generate_for(&PKCS_ED25519).expect("a key");
    assert!(matches!(Signer::read(&other.serialize_pem()), Err(KeyError::Kind)));
    assert!(matches!(Signer::read("no key"), Err(KeyError::Private)));
    assert!(matches!(PublicKey::read_all("no key"), Err(KeyError::None)));
}
