use super::*;

#[test]
fn every_set_of_labels_has_a_place_of_its_own() {
    for index in 0..Labels::PER_TARGET {
        assert_eq!(Labels::at(3, index).index_in_target(), index);
    }
    for (at, verb) in VerbLabel::ALL.into_iter().enumerate() {
        assert_eq!(verb as usize, at);
    }
    for (at, scope) in ScopeLabel::ALL.into_iter().enumerate() {
        assert_eq!(scope as usize, at);
    }
    for (at, dry_run) in DryRunLabel::ALL.into_iter().enumerate() {
        assert_eq!(dry_run as usize, at);
    }
}

#[test]
fn requests_are_labelled_as_kubernetes_labels_them() {
    let things = "/apis/g/v1/namespaces/a/things";
    for (method, target, content_type, expected) in [
        ("GET", "/apis/g/v1/things", "", "LIST cluster "),
        ("GET", things, "", "LIST namespace "),
        ("GET", "/apis/g/v1/namespaces/a/things/x", "", "GET resource "),
        ("HEAD", "/apis/g/v1/namespaces/a/things/x", "", "GET resource "),
        ("GET", "/apis/g/v1/namespaces/a/things?fieldSelector=metadata.name=x", "", "GET resource "),
        ("GET", "/apis/g/v1/things?watch=1", "", "WATCH cluster "),
        ("GET", "/apis/g/v1/watch/things", "", "WATCH cluster "),
        ("POST", "/apis/g/v1/watch/things", "", "POST cluster "),
        ("POST", things, "", "POST resource "),
        ("POST", "/apis/g/v1/namespaces/a/things?dryRun=All", "", "POST resource All"),
        ("POST", "/apis/g/v1/namespaces/a/things?dryRun=All&dryRun=All", "", "POST resource All"),
        ("POST", "/apis/g/v1/namespaces/a/things?dryRun=x", "", "POST resource invalid"),
        ("PUT", "/apis/g/v1/namespaces/a/things/x", "", "PUT resource "),
        ("PATCH", "/apis/g/v1/namespaces/a/things/x", "application/merge-patch+json", "PATCH resource "),
        ("PATCH", "/apis/g/v1/namespaces/a/things/x", "application/apply-patch+yaml", "APPLY resource "),
        ("DELETE", things, "", "DELETE namespace "),
        ("BREW", things, "", "other namespace "),
        ("GET", "/version", "", "GET  "),
        ("POST", "/version", "", "POST  "),
    ] {
        let request = Request::parse(&Method::from_bytes(method.as_bytes()).unwrap(), target).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
        let scope = ScopeLabel::of(request.info());
        let verb = VerbLabel::of(&request, &headers, scope);
        let found = format!("{} {} {}", verb.as_str(), scope.as_str(), DryRunLabel::of(&request).as_str());
        assert_eq!(found, expected, "{method} {target}");
    }
}
