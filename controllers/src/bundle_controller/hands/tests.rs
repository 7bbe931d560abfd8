use super::*;

fn refused(code: u16, message: &str) -> Trouble {
    let status = json!({ "status": "Failure", "code": code, "reason": "", "message": message });
    let error = kube::Error::Api(serde_json::from_value(status).unwrap());
    trouble(error, &ServiceAccountRef::new("shop", "builder").unwrap())
}

/// B-02: whatever the host says of an object that may have a value of a Secret in it, the value is not told; but what the account
/// may not do is.
#[test]
fn who_has_seen_a_secret_is_not_quoted() {
    let denied = "admission webhook \"policy.example.dev\" denied the request: canary-value is too short";
    for code in [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503] {
        let told = refused(code, denied);
        assert_eq!(told.to_string(), denied, "{code}");
        let told = told.unquoted("Secret").to_string();
        assert!(told.starts_with("the Secret ") && !told.contains("canary-value"), "{code}: {told}");
    }
    let lacking = "secrets \"s\" is forbidden: User \"system:serviceaccount:shop:builder\" cannot patch resource \"secrets\" in API \
                   group \"\" in the namespace \"shop\"";
    assert_eq!(refused(403, lacking), Trouble::Forbidden(lacking.to_owned()));
    assert_eq!(refused(403, lacking).unquoted("Secret").to_string(), lacking);
}

/// What is refused as it is, however often it is tried, is told to be wrong; what may go well another time is not.
#[test]
fn what_trying_again_does_not_mend() {
    for code in [400, 405, 413, 415, 422] {
        assert!(matches!(refused(code, "no"), Trouble::Invalid { .. }), "{code}");
    }
    for code in [408, 409, 429, 500, 503, 504] {
        assert!(matches!(refused(code, "no"), Trouble::Again(_)), "{code}");
    }
}
