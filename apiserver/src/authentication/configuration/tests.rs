use super::*;

/// S-05: keys are shared by issuers that are reached in the very same way, and by no others.
#[test]
fn keys_are_shared_only_by_who_is_reached_alike() {
    let issuer = |url: &str, discovery: &str, authority: &str| Issuer {
        url: url.to_owned(),
        discovery_url: discovery.to_owned(),
        certificate_authority: authority.to_owned(),
        ..Issuer::default()
    };
    let one = issuer("https://a", "https://b", "ca");
    assert!(one.is_reached_like(&Issuer { audiences: vec!["x".to_owned()], ..one.clone() }));
    for (url, discovery, authority) in
        [("https://x", "https://b", "ca"), ("https://a", "https://x", "ca"), ("https://a", "https://b", "x")]
    {
        assert!(!one.is_reached_like(&issuer(url, discovery, authority)));
    }
}
