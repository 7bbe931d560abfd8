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
    ask_as(reviews, "ann", path).await
}

async fn ask_as(reviews: &AccessReviews, user: &str, path: &str) -> Result<Decision, String> {
    let user = User { name: user.to_owned(), ..User::default() };
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
        // Half a second, and each pause half as long again as the one before, or a little more.
        let pauses = if attempts > 1 { Duration::from_millis(4_062) } else { Duration::ZERO };
        assert!(began.elapsed() >= pauses, "{outcome:?} after {:?}", began.elapsed());
    }
    let (_, reviews) = usual(Behaviour::Status(json!({"allowed": false, "denied": false})));
    assert!(matches!(ask(&reviews, "/x").await, Ok(Decision::NoOpinion(_))));
}

/// S-10: whoever the cluster points to is not asked, and learns nothing.
#[tokio::test(start_paused = true)]
async fn a_redirect_is_not_followed() {
    for code in [301, 302, 303, 307, 308] {
        let (cluster, reviews) = usual(Behaviour::Redirect(code, json!({"allowed": true})));
        let outcome = ask(&reviews, "/x").await;
        assert!(outcome.is_err(), "{code}: {outcome:?}");
        assert_eq!(cluster.asked(), 1, "{code}");
    }
}

/// Who asks for what is what the cluster is asked; and what went wrong is told to who looks for it.
#[tokio::test(start_paused = true)]
async fn the_cluster_is_asked_what_is_to_be_known() {
    let (cluster, reviews) = usual(allowed());
    assert!(is_allowed(&ask(&reviews, "/x").await));
    assert_eq!(cluster.question(), json!({"user": "ann", "nonResourceAttributes": {"path": "/x", "verb": "get"}}));
    cluster.behave(Behaviour::Reset);
    let why = ask(&reviews, "/y").await.unwrap_err();
    assert!(why.contains("connection reset"), "{why}");
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
    let users: Vec<String> = (0..1_000).map(|number| format!("user-{number}")).collect();
    let outcomes = join_all(users.iter().map(|user| ask_as(&reviews, user, "/x"))).await;
    assert!(outcomes.iter().all(Result::is_err));
    assert_eq!((cluster.asked(), cluster.most_under_way()), (20, 20));
    cluster.behave(allowed());
    assert!(is_allowed(&ask(&reviews, "/0").await), "there is room again");
}

/// S-20: a user with questions without end has three quarters of those that may be under way, and others have the rest.
#[tokio::test(start_paused = true)]
async fn one_user_does_not_keep_others_from_asking() {
    let options = AccessReviewOptions { max_questions: 20, ..AccessReviewOptions::default() };
    let (cluster, reviews) = reviews(Behaviour::Silence, options);
    let asking: Vec<_> = (0..1_000)
        .map(|number| {
            let reviews = reviews.clone();
            tokio::spawn(async move { ask_as(&reviews, "mallory", &format!("/{number}")).await })
        })
        .collect();
    while cluster.asked() < 15 {
        tokio::task::yield_now().await;
    }
    cluster.behave(allowed());
    let began = Instant::now();
    assert!(is_allowed(&ask(&reviews, "/x").await), "others are answered");
    assert_eq!(began.elapsed(), Duration::ZERO, "at once");
    assert_eq!(cluster.asked(), 16);
    cluster.behave(Behaviour::Silence);
    let outcomes = join_all(asking).await;
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap().is_err()));
    assert_eq!((cluster.asked(), cluster.most_under_way()), (16, 16));
}

/// A question waits a moment for others to be answered, before it is given up.
#[tokio::test(start_paused = true)]
async fn a_question_waits_for_a_seat() {
    let options = AccessReviewOptions { max_questions: 1, ..AccessReviewOptions::default() };
    let (cluster, reviews) = reviews(Behaviour::Slow(Duration::from_millis(400), json!({"allowed": true})), options);
    let outcomes = join_all(["/a", "/b", "/c"].map(|path| ask(&reviews, path))).await;
    let allowed = outcomes.iter().filter(|outcome| is_allowed(outcome)).count();
    assert_eq!((allowed, cluster.asked()), (2, 2), "{outcomes:?}");
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
