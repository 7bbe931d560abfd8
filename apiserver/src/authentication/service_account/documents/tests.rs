use super::*;

fn document(documents: &OpenIdDocuments, path: &str) -> (Value, String) {
    let answer = documents.answer(path).unwrap();
    assert_eq!(answer.headers()[CACHE_CONTROL], AN_HOUR);
    let media_type = answer.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
    (serde_json::from_slice(answer.body()).unwrap(), media_type)
}

#[test]
fn others_find_the_keys_and_how_they_are_used() {
    let keys =
        [json!({ "kid": "b", "alg": "RS256" }), json!({ "kid": "a", "alg": "ES256" }), json!({ "alg": "ES256" })];
    let documents = OpenIdDocuments::new("https://issuer", None, "https://here", &keys);
    let (configuration, media_type) = document(&documents, CONFIGURATION);
    assert_eq!(media_type, "application/json");
    assert_eq!(configuration["issuer"], "https://issuer");
    assert_eq!(configuration["jwks_uri"], "https://here/openid/v1/jwks");
    assert_eq!(configuration["id_token_signing_alg_values_supported"], json!(["ES256", "RS256"]));
    let (found, media_type) = document(&documents, KEYS);
    assert_eq!(media_type, "application/jwk-set+json");
    assert_eq!(found["keys"], json!(keys));
    assert!(documents.answer("/openid/v1").is_none());
    documents.set_keys(&keys[..1]);
    assert_eq!(document(&documents, KEYS).0["keys"], json!(keys[..1]));
    let (configuration, _) = document(&documents, CONFIGURATION);
    assert_eq!(configuration["id_token_signing_alg_values_supported"], json!(["RS256"]));
    assert_eq!(configuration["jwks_uri"], "https://here/openid/v1/jwks");

    let elsewhere = OpenIdDocuments::new("https://issuer", Some("https://cdn/keys"), "https://here", &keys);
    assert_eq!(document(&elsewhere, CONFIGURATION).0["jwks_uri"], "https://cdn/keys");
}
