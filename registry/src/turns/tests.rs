use std::time::Duration;

use bailiwick_storage::Ledger;
use tokio::time::timeout;

use super::*;

const A_MOMENT: Duration = Duration::from_millis(20);

fn key(name: &str) -> Key {
    Ledger::new("turns").unwrap().row(&[], name).unwrap()
}

#[tokio::test]
async fn one_at_a_time_has_the_turn_for_a_key() {
    let (turns, a, b) = (Turns::default(), key("a"), key("b"));
    assert_eq!(turns.line_for([&a].into_iter()), None, "who has not lost does not wait");
    let first = turns.wait(a.clone()).await;
    assert!(first.is_for(&a) && !first.is_for(&b));
    assert_eq!(turns.line_for([&b, &a].into_iter()), Some(&a));
    assert!(timeout(A_MOMENT, turns.wait(a.clone())).await.is_err(), "the turn is taken");
    assert!(timeout(A_MOMENT, turns.wait(b.clone())).await.is_ok(), "another key has another line");
    let second = turns.wait(a.clone());
    drop(first);
    drop(timeout(A_MOMENT, second).await.unwrap());
    assert!(turns.lines().is_empty(), "what nobody waits for is forgotten");
}
