//! Labels that are old: nothing is given up on their ground.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bailiwick_registry::AllocationPace;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::super::{SOON, ledger_rows};
use super::{Estate, NEVER, refused, spec};

/// QUOTA-20, Q-02: an account is not given up on the ground of labels that are not the newest, also not when it is found out what
/// became of a reservation.
#[tokio::test(flavor = "multi_thread")]
async fn old_labels_give_nothing_up() {
    let soon = AllocationPace { release_after: Duration::from_secs(1), ..NEVER };
    let estate = Estate::open(soon).await;
    let old = estate.cluster.set("a", "4");
    estate.cluster.tell();
    estate.charge_becomes("4").await;
    estate.cluster.told.lock().unwrap().labels.remove("a");
    assert_eq!(estate.ask("a", Some(&old), "6").await, Ok(()));
    let released = async {
        while estate.allocations.metrics().released() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, released).await.expect("what came to nothing is released");
    assert_eq!(estate.total().await.2["charge"]["requests.cpu"], "4");
}

/// R-29, QUOTA-20: what was reserved in a project of which nobody has told yet is not given up by whoever looks at it meanwhile,
/// without knowing that something was reserved.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_reserved_in_a_new_project_stays() {
    let estate = Estate::open(NEVER).await;
    let cluster = &estate.cluster;
    cluster.label("new");
    estate.store.stops.store(true, Ordering::SeqCst);
    let looking = async {
        timeout(SOON, estate.store.stopped.notified()).await.unwrap();
        let tells = cluster.tells.load(Ordering::SeqCst);
        cluster.hint("new");
        let looked = async {
            while cluster.tells.load(Ordering::SeqCst) == tells {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(SOON, looked).await.expect("someone looks at the project");
        // Until whoever looks stands in line behind what is being reserved.
        sleep(Duration::from_millis(50)).await;
        estate.store.goes_on.add_permits(1);
    };
    let (asked, ()) = tokio::join!(estate.ask("new", None, "6"), looking);
    assert_eq!(asked, Ok(()));
    // When this is counted, the project has been looked at.
    cluster.set("z", "1");
    cluster.tell();
    estate.charge_becomes("7").await;
    assert_eq!(estate.ask("b", None, "4").await, refused("AllocationExceeded"));
    assert_eq!(estate.ask("b", None, "3").await, Ok(()));
}

/// R-29, QUOTA-20: labels that were asked for before something was reserved give nothing up either.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_reserved_since_is_not_given_up() {
    let estate = Estate::open(NEVER).await;
    let cluster = &estate.cluster;
    let old = cluster.set("a", "4");
    cluster.tell();
    estate.charge_becomes("4").await;
    cluster.is_slow.store(true, Ordering::SeqCst);
    cluster.has().labels.remove("a");
    cluster.tell();
    cluster.hint("a");
    timeout(SOON, cluster.knows_labels.notified()).await.expect("the labels are asked for");
    cluster.label("a");
    assert_eq!(estate.ask("a", Some(&old), "9").await, Ok(()));
    cluster.may_answer.notify_one();
    cluster.set("z", "1");
    cluster.tell();
    estate.charge_becomes("10").await;
    assert_eq!(estate.ask("b", None, "1").await, refused("AllocationExceeded"));
}

/// QUOTA-13, QUOTA-21: a project that leaves is given up once the labels were asked for, and counts again when it comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_project_leaves_and_comes_back() {
    let estate = Estate::open(NEVER).await;
    let cluster = &estate.cluster;
    cluster.set("a", "4");
    cluster.tell();
    estate.charge_becomes("4").await;
    cluster.has().labels.remove("a");
    cluster.tell();
    cluster.hint("a");
    estate.charge_becomes("0").await;
    cluster.label("a");
    cluster.tell();
    estate.charge_becomes("4").await;
}

/// QUOTA-13: of projects that an allocation does not select any more nothing is left, once their labels were asked for.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_whom_nobody_selects() {
    let estate = Estate::open(NEVER).await;
    estate.cluster.set("a", "4");
    estate.cluster.tell();
    estate.charge_becomes("4").await;
    let mut of_bob = spec("10");
    of_bob["selector"] = json!({ "matchLabels": { "owner": "bob" } });
    estate.allot(of_bob).await;
    let gone = async {
        let is_account = |key: &str| key.contains("/accounts/alice/");
        while ledger_rows(&*estate.store).await.iter().any(|(key, _)| is_account(key.as_str())) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, gone).await.expect("something stays of whom nobody selects");
    estate.charge_becomes("0").await;
}

/// QUOTA-20, Q-02: a question that is never answered delays no other project.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_without_an_answer_delays_nobody() {
    let estate = Estate::open(NEVER).await;
    estate.cluster.is_deaf.store(true, Ordering::SeqCst);
    estate.cluster.has().labels.remove("z");
    estate.cluster.changed.lock().unwrap().insert("z".to_owned());
    estate.cluster.tell();
    sleep(Duration::from_millis(200)).await;
    estate.cluster.set("b", "3");
    estate.cluster.tell();
    estate.charge_becomes("3").await;
    assert_eq!(estate.ask("a", None, "7").await, Ok(()));
}
