use super::*;

fn flags(arguments: &[(&str, &str)]) -> OidcFlags {
    let mut flags = OidcFlags {
        oidc_issuer_url: Some("https://a.example".to_owned()),
        oidc_client_id: Some("x".to_owned()),
        ..OidcFlags::default()
    };
    for (name, value) in arguments {
        let value = Some((*value).to_owned());
        match *name {
            "url" => flags.oidc_issuer_url = value,
            "id" => flags.oidc_client_id = value,
            "username" => flags.oidc_username_claim = value,
            "username-prefix" => flags.oidc_username_prefix = value,
            "groups" => flags.oidc_groups_claim = value,
            "groups-prefix" => flags.oidc_groups_prefix = value,
            "required" => flags.oidc_required_claim.extend(value),
            "alg" => flags.oidc_signing_algs.extend(value),
            "ca" => flags.oidc_ca_file = value.map(PathBuf::from),
            other => panic!("{other}"),
        }
    }
    flags
}

fn refusal(arguments: &[(&str, &str)]) -> String {
    issuer(&flags(arguments)).unwrap_err().to_string()
}

/// The prefixes are those of kube-apiserver's flags, which differ from the file's.
#[test]
fn names_get_the_prefix_that_the_flags_say() {
    let prefix = |arguments: &[_]| issuer(&flags(arguments)).unwrap().claim_mappings.username.prefix.unwrap();
    assert_eq!(prefix(&[]), "https://a.example#");
    assert_eq!(prefix(&[("username", "name")]), "https://a.example#");
    assert_eq!(prefix(&[("username", "email")]), "");
    assert_eq!(prefix(&[("username-prefix", "")]), "https://a.example#");
    assert_eq!(prefix(&[("username-prefix", "-")]), "");
    assert_eq!(prefix(&[("username-prefix", "o:"), ("username", "email")]), "o:");
}

#[test]
fn flags_make_the_issuer_that_a_file_would() {
    let made = issuer(&flags(&[("groups", "roles"), ("groups-prefix", "g:"), ("required", "hd=a=b")])).unwrap();
    assert_eq!(made.issuer.audiences, ["x"]);
    assert_eq!(made.claim_mappings.username.claim, "sub");
    assert_eq!(made.claim_mappings.groups.claim, "roles");
    assert_eq!(made.claim_mappings.groups.prefix.as_deref(), Some("g:"));
    assert_eq!(
        (&*made.claim_validation_rules[0].claim, &*made.claim_validation_rules[0].required_value),
        ("hd", "a=b")
    );
    let configuration = AuthenticationConfiguration { jwt: vec![made], ..Default::default() };
    configuration.check(&[]).unwrap();
    assert_eq!(issuer(&flags(&[("groups-prefix", "g:")])).unwrap().claim_mappings.groups, PrefixedClaim::default());
}

#[test]
fn what_does_not_fit_together_is_refused() {
    assert!(refusal(&[("url", "")]).contains("must be specified together"));
    assert!(refusal(&[("id", "")]).contains("must be specified together"));
    assert!(refusal(&[("required", "hd")]).contains("write it like claim=value"));
    assert!(refusal(&[("ca", "/does/not/exist")]).contains("does not exist"));
    assert!(algorithms(&flags(&[("alg", "HS256")])).unwrap_err().to_string().contains("unsupported signing alg"));
    assert!(algorithms(&flags(&[("alg", "ES512")])).unwrap_err().to_string().contains("ES512 is not available"));
    assert_eq!(algorithms(&flags(&[])), Algorithms::named(["RS256"]));
}

#[test]
fn any_flag_counts_as_set() {
    assert!(!OidcFlags::default().is_set());
    for name in ["url", "id", "username", "username-prefix", "groups", "groups-prefix", "required", "alg", "ca"] {
        let mut flags = flags(&[(name, "x")]);
        if !matches!(name, "url" | "id") {
            (flags.oidc_issuer_url, flags.oidc_client_id) = (None, None);
        }
        assert!(flags.is_set(), "{name}");
    }
}
