//! Files of the kind `AuthenticationConfiguration`, and what Kubernetes says about them (`tests/oracle/authnconfig`).

use bailiwick_apiserver::{Anonymous, AuthenticationConfiguration, ConfigurationError};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    #[serde(default)]
    decoding: String,
    #[serde(default)]
    error: String,
}

/// Files that Kubernetes takes and Bailiwick does not yet, or not at all, by what is said about them.
const STRICTER: [&str; 5] = [
    "CEL expressions are not supported by this server yet: use a claim instead",
    "egress selection is not supported by this server: leave it out",
    "URL must name a host that can be connected to",
    "no kind \"AuthenticationConfiguration\" is registered for version \"apiserver.config.k8s.io/v1alpha1\"",
    "invalid type: null, expected struct JwtConfiguration",
];

#[test]
fn files_are_read_as_in_kubernetes() {
    let recorded: Recorded = serde_json::from_str(include_str!("../../../tests/data/go/authnconfig.json")).unwrap();
    assert!(recorded.cases.len() > 100);
    let mut problems = Vec::new();
    let mut used = [false; STRICTER.len()];
    for Case { text, decoding, error } in &recorded.cases {
        let found = AuthenticationConfiguration::from_yaml(text.as_bytes());
        let said = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let is_right = match &found {
            Ok(_) => decoding.is_empty() && error.is_empty(),
            // How it is said that a file is unreadable is for each reader to choose.
            Err(ConfigurationError::Invalid(invalid)) => invalid.to_string() == *error,
            Err(_) => !decoding.is_empty(),
        };
        if is_right {
            continue;
        }
        match STRICTER.iter().position(|listed| said.contains(listed)) {
            Some(listed) => used[listed] = true,
            None => problems.push(format!("{text}\nours:   {said}\ntheirs: {decoding}{error}\n")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(used, [true; STRICTER.len()]);
}

#[test]
fn anonymous_requests_are_where_the_file_says() {
    let read = |text: &str| {
        let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";
        AuthenticationConfiguration::from_yaml(format!("{head}{text}").as_bytes()).unwrap().anonymous()
    };
    assert_eq!(read(""), None);
    assert_eq!(read("anonymous: {enabled: false}"), Some(Anonymous::Off));
    assert_eq!(read("anonymous: {enabled: true}"), Some(Anonymous::Everywhere));
    let paths = Anonymous::Paths(vec!["/livez".to_owned()]);
    assert_eq!(read("anonymous: {enabled: true, conditions: [{path: /livez}]}"), Some(paths));
}
