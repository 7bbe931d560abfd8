use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use super::*;

/// As a kube-apiserver writes it.
fn data() -> BTreeMap<String, String> {
    [
        (CLIENT_CA, authority()),
        (PROXY_CA, authority() + &authority()),
        ("requestheader-allowed-names", r#"["front-proxy-client"]"#.to_owned()),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#.to_owned()),
        ("requestheader-uid-headers", r#"["X-Remote-Uid"]"#.to_owned()),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#.to_owned()),
        ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#.to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

fn authority() -> String {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

#[test]
fn what_a_cluster_says_is_read() {
    let trust = parse(&data(), true, true).unwrap();
    assert!(trust.client_ca.is_some());
    let headers = trust.proxy.unwrap().headers;
    assert_eq!(headers.allowed_names, ["front-proxy-client"]);
    assert_eq!(headers.username_headers, ["X-Remote-User"]);
    assert_eq!(headers.uid_headers, ["X-Remote-Uid"]);
    assert_eq!(headers.group_headers, ["X-Remote-Group"]);
    assert_eq!(headers.extra_header_prefixes, ["X-Remote-Extra-"]);
}

#[test]
fn only_what_is_wanted_is_taken() {
    let trust = parse(&data(), false, true).unwrap();
    assert!(trust.client_ca.is_none() && trust.proxy.is_some());
    let trust = parse(&data(), true, false).unwrap();
    assert!(trust.client_ca.is_some() && trust.proxy.is_none());
}

#[test]
fn clients_may_have_no_authority_but_proxies_must() {
    let mut without = data();
    without.remove(CLIENT_CA);
    without.remove("requestheader-uid-headers");
    let trust = parse(&without, true, true).unwrap();
    assert!(trust.client_ca.is_none() && trust.proxy.unwrap().headers.uid_headers.is_empty());
    without.insert(PROXY_CA.to_owned(), String::new());
    let error = parse(&without, true, true).unwrap_err().to_string();
    assert!(error.contains("--requestheader-client-ca-file"), "{error}");
}

#[test]
fn what_cannot_be_read_is_refused_as_a_whole() {
    for (key, value, expected) in [
        (CLIENT_CA, "no certificate", "client-ca-file in the ConfigMap"),
        (PROXY_CA, "no certificate", "requestheader-client-ca-file in the ConfigMap"),
        ("requestheader-allowed-names", "front-proxy-client", "no JSON list"),
        ("requestheader-group-headers", "[7]", "no JSON list"),
    ] {
        let mut data = data();
        data.insert(key.to_owned(), value.to_owned());
        let error = parse(&data, true, true).unwrap_err().to_string();
        assert!(error.contains(expected), "{key}: {error}");
    }
}
