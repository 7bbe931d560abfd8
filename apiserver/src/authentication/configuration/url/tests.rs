use super::*;

#[test]
fn what_is_wrong_with_a_url_is_told() {
    for (url, expected) in [
        ("https://issuer.example/realm", None),
        ("HTTPS://issuer.example", None),
        ("http://issuer.example", Some("URL scheme must be https")),
        ("ht_tps://ann@issuer.example", Some("URL scheme must be https")),
        ("https://ann@issuer.example", Some("URL must not contain a username or password")),
        ("https://issuer.example/?a", Some("URL must not contain a query")),
        ("https://issuer.example/#a", Some("URL must not contain a fragment")),
        ("https://", Some("URL must name a host that can be connected to")),
        ("https://the issuer", Some("URL must name a host that can be connected to")),
        ("://issuer.example", Some("parse \"://issuer.example\": missing protocol scheme")),
        ("https://a\u{1f}b", Some("parse \"https://a\\x1fb\": net/url: invalid control character in URL")),
        ("https://a\u{7f}b", Some("parse \"https://a\\x7fb\": net/url: invalid control character in URL")),
    ] {
        assert_eq!(problems(url), Vec::from_iter(expected), "{url:?}");
    }
}
