//! Who may do what.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{AccessReviewOptions, AccessReviews};
use bailiwick_registry::{Attributes, AuthorizationTarget, Authorizer, Decision, User};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use crate::cluster::{Behaviour, Cluster};

fn reviews(behaviour: Behaviour, options: AccessReviewOptions) -> (Cluster, Arc<AccessReviews>) {
    let cluster = Cluster::new(behaviour);
    let reviews = AccessReviews::new(cluster.client(), options);
    (cluster, Arc::new(reviews))
}

fn usual(behaviour: Behaviour) -> (Cluster, Arc<AccessReviews>) {
    reviews(behaviour, AccessReviewOptions::default())
}

fn allowed() -> Behaviour {
    Behaviour::Status(json!({"allowed": true}))
}

fn refused() -> Behaviour {
    Behaviour::Status(json!({"allowed": false}))
}

async fn ask(reviews: &AccessReviews, path: &str) -> Result<Decision, String> {
    let user = User { name: "ann".to_owned(), ..User::default() };
    let question = Attributes { user: &user, verb: "get", target: AuthorizationTarget::Path(path) };
    reviews.authorize(&question).await.map_err(|error| error.0)
}

fn is_allowed(outcome: &Result<Decision, String>) -> bool {
    matches!(outcome, Ok(Decision::Allow(_)))
}

/// whatever goes wrong is no permission. What may pass is tried again, five times at most; the rest is not.
#[tokio::test(start_paused = true)]
async fn what_goes_wrong_is_never_permission() {
    let both: Value = json!({"allowed": true, "denied": true});
    for (behaviour, attempts, longest) in [
        (Behaviour::Code(500), 5, 6),
        (Behaviour::Code(503), 5, 6),
        (Behaviour::Code(429), 5, 6),
        (Behaviour::Reset, 5, 6),
        (Behaviour::Code(403), 1, 1),
        (Behaviour::Code(401), 1, 1),
        (Behaviour::Code(404), 1, 1),
        (Behaviour::Refusal, 1, 1),
        (Behaviour::Garbage, 1, 1),
        (Behaviour::Silence, 1, 11),
        (Behaviour::Status(both), 1, 1),
    ] {
        let (cluster, reviews) = usual(behaviour);
        let began = Instant::now();
        let outcome = ask(&reviews, "/x").await;
        assert!(outcome.is_err(), "{outcome:?}");
        assert_eq!(cluster.asked(), attempts, "{outcome:?}");
        assert!(began.elapsed() < Duration::from_secs(longest), "{outcome:?} after {:?}", began.elapsed());
    }
    let (_, reviews) = usual(Behaviour::Status(json!({"allowed": false, "denied": false})));
    assert!(matches!(ask(&reviews, "/x").await, Ok(Decision::NoOpinion(_))));
}

#[tokio::test(start_paused = true)]
async fn a_passing_trouble_is_not_noticed() {
    let (cluster, reviews) = usual(Behaviour::Later(3, json!({"allowed": true})));
    assert!(is_allowed(&ask(&reviews, "/x").await));
    assert_eq!(cluster.asked(), 4);
}

/// what was allowed is for ten seconds, and not a moment longer, whatever becomes of the cluster.
#[tokio::test(start_paused = true)]
async fn answers_are_remembered_for_ten_seconds_and_failures_are_not() {
    let (cluster, reviews) = usual(allowed());
    assert!(is_allowed(&ask(&reviews, "/x").await));
    cluster.behave(Behaviour::Refusal);
    advance(Duration::from_millis(9_900)).await;
    assert!(is_allowed(&ask(&reviews, "/x").await));
    assert!(ask(&reviews, "/y").await.is_err(), "another question");
    advance(Duration::from_millis(200)).await;
    assert!(ask(&reviews, "/x").await.is_err());
    assert!(ask(&reviews, "/x").await.is_err());
    assert_eq!(cluster.asked(), 4);

    cluster.behave(refused());
    assert!(matches!(ask(&reviews, "/x").await, Ok(Decision::NoOpinion(_))));
    cluster.behave(allowed());
    advance(Duration::from_millis(9_900)).await;
    assert!(!is_allowed(&ask(&reviews, "/x").await));
    advance(Duration::from_millis(200)).await;
    assert!(is_allowed(&ask(&reviews, "/x").await));
}

#[tokio::test(start_paused = true)]
async fn those_who_ask_the_same_together_ask_once() {
    let (cluster, reviews) = usual(Behaviour::Later(1, json!({"allowed": true})));
    let outcomes = join_all((0..1_000).map(|_| ask(&reviews, "/x"))).await;
    assert!(outcomes.iter().all(is_allowed));
    assert_eq!(cluster.asked(), 2, "once, and once again");
}

/// a cluster that does not answer is not asked by everyone at once.
#[tokio::test(start_paused = true)]
async fn questions_are_bounded_in_number() {
    let options = AccessReviewOptions { max_questions: 20, ..AccessReviewOptions::default() };
    let (cluster, reviews) = reviews(Behaviour::Silence, options);
    let paths: Vec<String> = (0..1_000).map(|number| format!("/{number}")).collect();
    let outcomes = join_all(paths.iter().map(|path| ask(&reviews, path))).await;
    assert!(outcomes.iter().all(Result::is_err));
    assert_eq!((cluster.asked(), cluster.most_under_way()), (20, 20));
    cluster.behave(allowed());
    assert!(is_allowed(&ask(&reviews, "/0").await), "there is room again");
}

#[tokio::test(start_paused = true)]
async fn long_questions_are_asked_each_time() {
    let (cluster, reviews) = usual(allowed());
    for (length, asked) in [(9_000, 1), (9_000, 1), (10_001, 2), (10_001, 3)] {
        assert!(is_allowed(&ask(&reviews, &format!("/{}", "x".repeat(length))).await));
        assert_eq!(cluster.asked(), asked, "{length}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_refusals_displaces_no_permission() {
    let options = AccessReviewOptions { max_answers: 64, ..AccessReviewOptions::default() };
    let (cluster, reviews) = reviews(allowed(), options);
    assert!(is_allowed(&ask(&reviews, "/x").await));
    cluster.behave(refused());
    for number in 0..1_000 {
        assert!(!is_allowed(&ask(&reviews, &format!("/{number}")).await));
    }
    assert!(is_allowed(&ask(&reviews, "/x").await));
    assert_eq!(cluster.asked(), 1_001);
}

/// Whoever begins to ask may leave; whoever waits for the answer gets it.
#[tokio::test(start_paused = true)]
async fn an_answer_does_not_depend_on_who_began_to_ask() {
    let (cluster, reviews) = usual(Behaviour::Later(1, json!({"allowed": true})));
    let first = tokio::spawn({
        let reviews = reviews.clone();
        async move { ask(&reviews, "/x").await }
    });
    while cluster.asked() == 0 {
        tokio::task::yield_now().await;
    }
    let second = ask(&reviews, "/x");
    first.abort();
    assert!(is_allowed(&second.await));
    assert_eq!(cluster.asked(), 2);
}
