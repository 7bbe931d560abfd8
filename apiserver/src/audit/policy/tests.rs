use http::Method;

use super::*;
use crate::request::Request;

/// User, groups, method, target.
type RecordedRequest = (Option<String>, Option<Vec<String>>, String, String);

#[derive(Deserialize)]
struct Record {
    requests: Vec<RecordedRequest>,
    policies: Vec<RecordedPolicy>,
}

#[derive(Deserialize)]
struct RecordedPolicy {
    text: String,
    error: Option<String>,
    verdicts: Option<String>,
}

/// Every policy and every request, as Kubernetes judges them.
#[test]
fn policies_mean_what_they_mean_to_kubernetes() {
    let record: Record = serde_json::from_str(include_str!("../../../../tests/data/go/auditpolicy.json")).unwrap();
    let requests: Vec<(Option<User>, Request)> = record.requests.iter().map(request).collect();
    let (mut refused, mut judged) = (0, 0);
    for RecordedPolicy { text, error, verdicts } in &record.policies {
        let policy = Policy::parse(text.as_bytes());
        if let Some(expected) = error {
            refused += 1;
            assert_eq!(policy.map(|_| ()).map_err(|error| error.to_string()).as_ref(), Err(expected), "{text}");
            continue;
        }
        let policy = policy.unwrap_or_else(|error| panic!("{error}: {text}"));
        let ours: String =
            requests.iter().map(|(user, request)| code(policy.judge(user.as_ref(), request.info()))).collect();
        let theirs = verdicts.as_ref().unwrap();
        let differs =
            ours.as_bytes().chunks(2).zip(theirs.as_bytes().chunks(2)).position(|(ours, theirs)| ours != theirs);
        assert_eq!(differs.map(|at| &record.requests[at]), None, "{text}: {ours} {theirs}");
        assert_eq!(ours.len(), theirs.len());
        judged += requests.len();
    }
    assert!(refused > 50 && judged > 100_000, "{refused} {judged}");
}

fn request((name, groups, method, target): &RecordedRequest) -> (Option<User>, Request) {
    let user = name.as_ref().map(|name| User {
        name: name.clone(),
        groups: groups.clone().unwrap_or_default(),
        ..User::default()
    });
    (user, Request::parse(&Method::from_bytes(method.as_bytes()).unwrap(), target).unwrap())
}

fn code(verdict: Verdict) -> String {
    let level = Level::ALL.iter().position(|level| *level == verdict.level).unwrap();
    let level = level + if verdict.omit_managed_fields { 4 } else { 0 };
    format!("{level:x}{:x}", verdict.omit_stages.0)
}

fn refusal(text: &str) -> String {
    Policy::parse(text.as_bytes()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn what_is_no_policy_is_refused() {
    assert_eq!(refusal("apiVersion: audit.k8s.io/v1\nkind: Policy\n"), "loaded illegal policy with 0 rules");
    for (text, expected) in [
        ("", "failed decoding"),
        ("[]", "failed decoding"),
        ("{a: 1", "failed decoding"),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: 1\n", "failed decoding"),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: [None]}]\n", "failed decoding"),
        ("kind: Policy\nrules: []\n", "unknown group version field"),
        (
            "apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n",
            "unknown group version field audit.k8s.io/v1beta1, Kind=Policy",
        ),
        ("apiVersion: audit.k8s.io/v1\nkind: Event\n", "Kind=Event"),
    ] {
        let error = refusal(text);
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

/// As in Go: null is nothing, and what is unknown is left out.
#[test]
fn what_means_nothing_is_left_out() {
    let text = "
apiVersion: audit.k8s.io/v1
kind: Policy
metadata: {name: x}
omitStages: null
surprise: 1
rules:
- {level: Metadata, users: null, resources: [{group: '', resources: null, extra: [1]}], mode: x}
";
    let policy = Policy::parse(text.as_bytes()).unwrap();
    let request = Request::parse(&Method::GET, "/api/v1/pods").unwrap();
    assert_eq!(policy.judge(None, request.info()).level, Level::Metadata);
}
