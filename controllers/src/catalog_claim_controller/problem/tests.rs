use kube::core::Status;

use super::*;

fn account() -> ServiceAccountRef {
    ServiceAccountRef::new("a", "maker").unwrap()
}

fn told(reason: &str, message: &str) -> Problem {
    let status = Status { code: 422, reason: reason.to_owned(), message: message.to_owned(), ..Status::default() };
    Problem::of(&kube::Error::Api(Box::new(status)), &account())
}

/// What a host says becomes the reason of a condition only if it can be one.
#[test]
fn a_reason_is_one_word() {
    for reason in ["Invalid", "A", "Over:quota,or_so"] {
        assert_eq!(told(reason, "no").reason, reason);
    }
    for reason in ["no good", "1st", "trailing:", "späte", "a\nb", &"a".repeat(129)] {
        assert_eq!(told(reason, "no").reason, "Refused", "{reason}");
    }
    assert_eq!(told("", "no").reason, "Unavailable");
}

/// What a host repeats of what it refuses is not told at length, and what can be done about it is.
#[test]
fn a_message_is_short() {
    let problem = told("Invalid", &"ü".repeat(40_000));
    assert!(problem.message.len() <= 1_024 && problem.message.ends_with('…'));
    let kind = ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
    let long = format!("\"maker\" cannot create resource {}", "x".repeat(40_000));
    let problem = told("Forbidden", &long).with_remedy(&account(), &kind);
    assert!(problem.message.len() < 2_048 && problem.message.contains("kubectl create role"), "{}", problem.message);
}
