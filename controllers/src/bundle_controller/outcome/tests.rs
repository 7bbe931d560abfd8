use super::*;

/// A chain of any length is told by its next link and its end, and however much is wrong with that, little of it is repeated.
#[test]
fn chains_are_told_by_their_ends() {
    let mut outcome = Outcome::error("Invalid", "x".repeat(100_000));
    let mut length = 0;
    for number in 0..200 {
        outcome = Outcome::waiting(vec![outcome.wait(&format!("r{number}"))]);
        length += outcome.message.len();
    }
    assert!(
        outcome.message.starts_with("waits for \"r199\", which waits for \"r0\" (Error: xxx"),
        "{}",
        outcome.message
    );
    assert!(length < 100_000, "{length}");
    assert_eq!((outcome.phase, outcome.reason), (Phase::Blocked, DEPENDENCY_NOT_READY));

    let waits = ["a", "b", "c", "d", "e"].map(|name| Outcome::new(Phase::InProgress, "NotReady", "").wait(name));
    let outcome = Outcome::waiting(waits.to_vec());
    assert_eq!(outcome.message, "waits for \"a\" (InProgress), \"b\" (InProgress), \"c\" (InProgress), and 2 more");
}
