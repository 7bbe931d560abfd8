//! S-06: hundreds of tokens, and whom Kubernetes' OIDC authenticator took their bearers for (`tests/oracle/jwt`). Bailiwick
//! is stricter in some; each is named here with the reason, and none is laxer.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_apiserver::{
    Algorithms, ClaimMapping, ClaimMappings, ClaimValidationRule, Issuer, JwtAuthenticator, JwtConfiguration,
    JwtOptions, KeySet, PrefixedClaim, Token, TokenAuthenticator,
};
use bailiwick_registry::{SystemClock, User};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Recorded {
    keys: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    group: String,
    case: String,
    config: usize,
    token: String,
    #[serde(default)]
    ok: bool,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

/// Tokens that Kubernetes accepts and Bailiwick does not: the beginning of the case's name, and the reason.
const STRICTER: &[(&str, &str)] = &[
    ("good: ES512", "the crate that verifies signatures has no P-521"),
    ("algorithm: bound key, other algorithm", "a key that names its algorithm is for that one"),
    ("algorithm: key for encryption", "a key for encryption signs nothing"),
    ("algorithm: key of 1024 bits", "RSA keys have at least 2048 bits"),
    ("header: b64 is", "extensions of the form are not supported"),
    ("header: crit is", "extensions of the form are not supported"),
    ("header: with \"zip\"", "nothing in a signed token is compressed"),
    ("header: with \"enc\"", "that would be an encrypted token"),
    ("header: jwk beside our signature", "no token brings its own key"),
    ("header: typ is", "logout tokens, events and proofs are no credentials; a type is a text"),
    ("header: header no UTF-8", "JSON is UTF-8"),
    ("header: header deep", "nobody needs depth"),
    ("header: kid is null", "the name of a key is a text"),
    ("form: newline", "there is one way to write a token"),
    ("form: space", "there is one way to write a token"),
    ("form: unused bits", "there is one way to write a token"),
    ("form: payload deep", "nobody needs depth"),
    ("form: payload no UTF-8", "JSON is UTF-8"),
    ("form: payload sub twice", "a claim that occurs twice means two things"),
    ("form: payload iss twice", "a claim that occurs twice means two things"),
    ("form: payload exp twice", "a claim that occurs twice means two things"),
    ("form: payload aud twice", "a claim that occurs twice means two things"),
    ("form: payload unknown twice", "a claim that occurs twice means two things"),
    ("form: payload twice further down", "a claim that occurs twice means two things"),
    ("form: payload sub by escape twice", "a claim that occurs twice means two things"),
    ("form: payload iss in capitals", "claims are case-sensitive"),
    ("form: payload exp in capitals", "claims are case-sensitive"),
    ("form: payload aud in capitals", "claims are case-sensitive"),
    ("time: exp is", "a time is a number in a calendar's reach"),
    ("time: nbf is", "a time is a number in a calendar's reach"),
    ("time: iat is", "a time is a number in a calendar's reach, and no token is from the future"),
    ("audience: aud is [\"bailiwick\",null]", "audiences are texts"),
    ("name: sub is \"\"", "nobody has an empty name"),
    ("name: sub is null", "a name is a text"),
    ("name: prefixed sub is \"\"", "a prefix alone is nobody's name"),
    ("name: prefixed sub is null", "a name is a text"),
    ("name: sub is \"system:", "an issuer does not give Kubernetes' own names"),
    ("name: email is empty", "nobody has an empty name"),
    ("groups: groups is [\"a\",null]", "groups are texts"),
    ("groups: prefixed groups is [\"a\",null]", "groups are texts"),
    ("uid: uid is null", "a UID is a text"),
    ("required: empty is null", "a required claim is a text"),
];

/// Users that differ: the case, and how their groups do.
const FEWER_GROUPS: &[(&str, &str)] = &[
    ("groups: groups is \"\"", "a group has a name"),
    ("groups: groups is [\"\"]", "a group has a name"),
    ("groups: groups is [\"system:", "an issuer does not give Kubernetes' own groups"),
];

#[tokio::test]
async fn tokens_are_taken_as_kubernetes_takes_them_or_refused() {
    let recorded: Recorded = serde_json::from_str(include_str!("../../../tests/data/go/jwt.json")).unwrap();
    assert!(recorded.cases.len() >= 400, "{}", recorded.cases.len());
    let keys = KeySet::from_json(recorded.keys.to_string().as_bytes()).unwrap();
    assert_eq!(keys.len(), 6, "two RSA keys for anything, one bound, a small one, and two on curves");
    let mut problems = Vec::new();
    let mut used = vec![false; STRICTER.len() + FEWER_GROUPS.len()];
    for case in &recorded.cases {
        let name = format!("{}: {}", case.group, case.case);
        let found = authenticator(case.config, &keys).authenticate(&Token::new(case.token.clone())).await;
        let stricter = STRICTER.iter().position(|(prefix, _)| name.starts_with(prefix));
        let fewer = FEWER_GROUPS.iter().position(|(prefix, _)| name.starts_with(prefix));
        match (case.ok, found) {
            (true, Ok(Some(user))) if user == case.user() => {}
            (true, Ok(Some(user))) if fewer.is_some() && is_less(&user, &case.user()) => {
                used[STRICTER.len() + fewer.unwrap()] = true;
            }
            (true, Ok(Some(user))) => problems.push(format!("{name}: {user:?}, not {:?}", case.user())),
            (true, _) if stricter.is_some() => used[stricter.unwrap()] = true,
            (true, refused) => problems.push(format!("{name}: {refused:?}, and Kubernetes accepts it")),
            (false, Ok(Some(user))) => problems.push(format!("{name}: {user:?}, and Kubernetes refuses it")),
            (false, _) => {}
        }
    }
    let listed = STRICTER.iter().chain(FEWER_GROUPS);
    problems.extend(listed.zip(used).filter(|(_, used)| !used).map(|(listed, _)| format!("no difference: {listed:?}")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// There is one way to write a token: whatever is changed about a good one, it is good no longer.
#[tokio::test]
async fn no_letter_of_a_token_can_be_changed() {
    let recorded: Recorded = serde_json::from_str(include_str!("../../../tests/data/go/jwt.json")).unwrap();
    let keys = KeySet::from_json(recorded.keys.to_string().as_bytes()).unwrap();
    let authenticator = authenticator(0, &keys);
    let is_known = async |token: &str| matches!(authenticator.authenticate(&Token::new(token)).await, Ok(Some(_)));
    for name in ["RS256", "PS384", "ES256", "ES384", "no kid, second key"] {
        let case = recorded.cases.iter().find(|case| case.group == "good" && case.case == name).unwrap();
        let token = &case.token;
        assert!(is_known(token).await, "{name}");
        for at in 0..=token.len() {
            let (before, after) = token.split_at(at);
            let mut changed =
                vec![format!("{before}A{after}"), format!("{before}.{after}"), format!("{before}={after}")];
            if let Some(letter) = after.chars().next() {
                let (rest, other) = (&after[1..], if letter == 'B' { 'C' } else { 'B' });
                changed.extend([format!("{before}{rest}"), format!("{before}{other}{rest}"), before.to_owned()]);
            }
            for changed in changed.iter().filter(|changed| *changed != token) {
                assert!(!is_known(changed).await, "{name}: {changed}");
            }
        }
    }
}

fn is_less(ours: &User, theirs: &User) -> bool {
    let same = User { groups: theirs.groups.clone(), ..ours.clone() } == *theirs;
    same && ours.groups.len() < theirs.groups.len() && ours.groups.iter().all(|group| theirs.groups.contains(group))
}

fn authenticator(config: usize, keys: &KeySet) -> JwtAuthenticator {
    let authenticator = JwtAuthenticator::new(JwtOptions::default(), Arc::new(SystemClock));
    let algorithms = if config == 5 { Algorithms::named(["RS256"]).unwrap() } else { Algorithms::all() };
    authenticator.set_fixed(&configuration(config), &algorithms, keys.clone());
    authenticator
}

/// As `tests/oracle/jwt` has them.
fn configuration(number: usize) -> JwtConfiguration {
    let prefixed = |claim: &str, prefix: &str| PrefixedClaim {
        claim: claim.to_owned(),
        prefix: Some(prefix.to_owned()),
        ..PrefixedClaim::default()
    };
    let none = PrefixedClaim::default();
    let rule = |claim: &str, value: &str| ClaimValidationRule {
        claim: claim.to_owned(),
        required_value: value.to_owned(),
        ..ClaimValidationRule::default()
    };
    let (username, groups, uid, rules) = match number {
        0 => (prefixed("sub", "oidc:"), prefixed("groups", "oidc:"), "", vec![]),
        1 => (prefixed("sub", ""), prefixed("groups", ""), "", vec![]),
        2 => (prefixed("email", ""), none, "", vec![]),
        3 => (prefixed("sub", ""), none, "uid", vec![]),
        4 => (prefixed("sub", ""), none, "", vec![rule("hd", "example.dev"), rule("empty", "")]),
        5 => (prefixed("sub", "system:x:"), prefixed("groups", "system:"), "", vec![]),
        other => panic!("no configuration {other}"),
    };
    let audiences: &[&str] = if number == 5 { &["bailiwick"] } else { &["bailiwick", "second"] };
    JwtConfiguration {
        issuer: Issuer {
            url: "https://issuer.example".to_owned(),
            audiences: audiences.iter().map(ToString::to_string).collect(),
            ..Issuer::default()
        },
        claim_validation_rules: rules,
        claim_mappings: ClaimMappings {
            username,
            groups,
            uid: ClaimMapping { claim: uid.to_owned(), ..ClaimMapping::default() },
            ..ClaimMappings::default()
        },
        ..JwtConfiguration::default()
    }
}

// === impl Case ===

impl Case {
    fn user(&self) -> User {
        let (name, uid) = (self.name.clone(), self.uid.clone());
        User { name, uid, groups: self.groups.clone(), extra: self.extra.clone(), ..User::default() }
    }
}
