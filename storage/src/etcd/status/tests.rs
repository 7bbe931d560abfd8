use super::*;

fn of(code: Code, message: &str) -> Failure {
    Failure::from(ClientError::GRpcStatus(Status::new(code, message)))
}

#[test]
fn tells_what_was_certainly_not_done_from_what_may_have_been() {
    let certain = [
        (Code::Unavailable, "etcdserver: no leader"),
        (Code::ResourceExhausted, "etcdserver: too many requests"),
        (Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded"),
        (Code::PermissionDenied, "etcdserver: permission denied"),
        (Code::InvalidArgument, "etcdserver: request is too large"),
        (Code::InvalidArgument, "etcdserver: revision of auth store is old"),
        (Code::Unauthenticated, "etcdserver: invalid auth token"),
        (Code::FailedPrecondition, "etcdserver: rpc not supported for learner"),
    ];
    for (code, message) in certain {
        assert!(!of(code, message).is_ambiguous(), "{message}");
    }
    let ambiguous = [
        (Code::Unavailable, "etcdserver: leader changed"),
        (Code::Unavailable, "etcdserver: request timed out"),
        (Code::Unavailable, "etcdserver: server stopped"),
        (Code::Unavailable, "error reading a body from connection"),
        (Code::Cancelled, "etcdserver: request canceled"),
        (Code::DeadlineExceeded, "etcdserver: context deadline exceeded"),
        (Code::Unknown, "raft proposal dropped"),
        (Code::Internal, "h2 protocol error"),
    ];
    for (code, message) in ambiguous {
        assert!(of(code, message).is_ambiguous(), "{message}");
    }
}

#[test]
fn knows_what_a_revision_out_of_range_means() {
    assert_eq!(of(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted"), Failure::Compacted);
    assert_eq!(of(Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision"), Failure::Future);
    assert!(of(Code::OutOfRange, "decoded message length too large").is_ambiguous());
}

#[test]
fn describes_an_error_with_its_causes_once() {
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);
    assert_eq!(describe(&Outer(io::Error::other("inner"))), "outer: inner");
    assert_eq!(describe(&Outer(io::Error::other("outer"))), "outer");
}
