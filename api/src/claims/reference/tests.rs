use super::ObjectRef;

/// RCD-47: what someone names is of the kind and the group that they say, in whichever version; what they do not say may be any.
#[test]
fn what_may_be_meant() {
    let means = |api_version: &str, kind: &str| {
        let named = ObjectRef { api_version: api_version.to_owned(), kind: kind.to_owned(), ..ObjectRef::default() };
        named.means("p.example/v1", "Server")
    };
    for (api_version, kind) in [("", ""), ("", "Server"), ("p.example/v1", "Server"), ("p.example/v2", "Server")] {
        assert!(means(api_version, kind), "{kind} of {api_version}");
    }
    for (api_version, kind) in [("", "Rule"), ("p.example/v1", "Rule"), ("q.example/v1", "Server"), ("v1", "Server")] {
        assert!(!means(api_version, kind), "{kind} of {api_version}");
    }
}
