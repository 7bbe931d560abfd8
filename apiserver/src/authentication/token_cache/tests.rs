use std::sync::atomic::{AtomicUsize, Ordering};

use std::net::Ipv4Addr;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::*;

/// Where tokens come from, unless it is said.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Knows tokens that begin with `good`, refuses those that begin with `bad`, never answers about those that begin with
/// `stuck`, and counts how often it is asked.
#[derive(Default)]
struct Counting {
    asked: AtomicUsize,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    /// Where it waits, if it is to wait.
    gate: Option<Semaphore>,
}

#[async_trait]
impl TokenAuthenticator for Counting {
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_under_way.fetch_max(under_way, Ordering::SeqCst);
        if token.expose().starts_with("stuck") {
            std::future::pending::<()>().await;
        }
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        worth(token.expose())
    }

    /// It can say at once what tokens are worth that end with `known-key`.
    fn authenticate_at_once(&self, token: &Token) -> Option<Result<Option<User>, TokenError>> {
        token.expose().ends_with("known-key").then(|| {
            self.asked.fetch_add(1, Ordering::SeqCst);
            worth(token.expose())
        })
    }
}

fn worth(token: &str) -> Result<Option<User>, TokenError> {
    match token {
        good if good.starts_with("good") => Ok(Some(User {
            name: good.to_owned(),
            groups: vec!["org:acme:admins".to_owned(), "devs".to_owned()],
            ..User::default()
        })),
        bad if bad.starts_with("bad") => Err(TokenError("bad".to_owned())),
        panicking if panicking.starts_with("panic") => panic!("asked for"),
        _ => Ok(None),
    }
}

fn cache(options: TokenCacheOptions) -> (Arc<TokenCache>, Arc<Counting>) {
    gated(options, None)
}

fn gated(options: TokenCacheOptions, gate: Option<Semaphore>) -> (Arc<TokenCache>, Arc<Counting>) {
    let counting = Arc::new(Counting { gate, ..Counting::default() });
    (Arc::new(TokenCache::new(counting.clone(), options)), counting)
}

async fn ask(cache: &TokenCache, token: &str) -> Result<Option<String>, String> {
    ask_from(HERE, cache, token).await
}

async fn ask_from(from: IpAddr, cache: &TokenCache, token: &str) -> Result<Option<String>, String> {
    let outcome = cache.authenticate(&Token::new(token), from).await;
    outcome.map(|user| user.map(|user| user.name.clone())).map_err(|error| error.to_string())
}

/// Tokens that are looked up, each from an address of its own.
async fn flood(
    (cache, counting): &(Arc<TokenCache>, Arc<Counting>),
    tokens: impl Iterator<Item = (IpAddr, String)>,
) -> Vec<JoinHandle<Result<Option<String>, String>>> {
    let asking: Vec<_> = tokens
        .map(|(from, token)| {
            let cache = cache.clone();
            tokio::spawn(async move { ask_from(from, &cache, &token).await })
        })
        .collect();
    while counting.under_way.load(Ordering::SeqCst) < asking.len() {
        tokio::task::yield_now().await;
    }
    asking
}

fn elsewhere(number: u8) -> IpAddr {
    IpAddr::from([203, 0, 113, number])
}

#[tokio::test(start_paused = true)]
async fn both_answers_are_remembered_for_a_while_and_refusals_are_not() {
    let (cache, counting) = cache(TokenCacheOptions::default());
    for (token, expected, asked) in [
        ("good", Ok(Some("good".to_owned())), 1),
        ("other", Ok(None), 2),
        ("good", Ok(Some("good".to_owned())), 2),
        ("other", Ok(None), 2),
    ] {
        assert_eq!(ask(&cache, token).await, expected);
        assert_eq!(counting.asked.load(Ordering::SeqCst), asked);
    }
    for asked in 3..6 {
        assert_eq!(ask(&cache, "bad").await, Err("bad".to_owned()));
        assert_eq!(counting.asked.load(Ordering::SeqCst), asked);
    }
    assert_eq!(cache.remembered(), 2);
    tokio::time::advance(Duration::from_millis(9_999)).await;
    ask(&cache, "good").await.unwrap();
    ask(&cache, "other").await.unwrap();
    assert_eq!(counting.asked.load(Ordering::SeqCst), 5);
    tokio::time::advance(Duration::from_millis(1)).await;
    ask(&cache, "good").await.unwrap();
    ask(&cache, "other").await.unwrap();
    assert_eq!(counting.asked.load(Ordering::SeqCst), 7);
}

#[tokio::test]
async fn users_have_their_groups_when_they_are_remembered() {
    let (cache, _) = cache(TokenCacheOptions::default());
    for _ in 0..2 {
        let user = cache.authenticate(&Token::new("good"), HERE).await.unwrap().unwrap();
        assert_eq!(user.groups, ["devs", "system:authenticated"]);
    }
}

#[tokio::test]
async fn those_who_ask_together_are_answered_together() {
    let (cache, counting) = gated(TokenCacheOptions::default(), Some(Semaphore::new(0)));
    let asking: Vec<_> = (0..50)
        .map(|_| {
            let cache = cache.clone();
            tokio::spawn(async move { ask(&cache, "bad").await })
        })
        .collect();
    tokio::task::yield_now().await;
    // The one who began it goes away, and the others still get their answer.
    asking[0].abort();
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    counting.gate.as_ref().unwrap().add_permits(1);
    for asking in asking.into_iter().skip(1) {
        assert_eq!(asking.await.unwrap(), Err("bad".to_owned()));
    }
    assert_eq!(counting.asked.load(Ordering::SeqCst), 1);
    assert!(cache.state.lock().unwrap().under_way.is_empty());
}

/// S-20: a flood of invented tokens costs bounded memory and displaces no known one.
#[tokio::test]
async fn a_flood_of_invented_tokens_displaces_no_known_one() {
    let options = TokenCacheOptions { max_tokens: 100, ..TokenCacheOptions::default() };
    let (cache, counting) = cache(options);
    for number in 0..50 {
        ask(&cache, &format!("good-{number}")).await.unwrap();
    }
    for number in 0..20_000 {
        let kind = if number % 2 == 0 { "bad" } else { "invented" };
        let _ = ask(&cache, &format!("{kind}-{number}")).await;
        assert!(cache.remembered() <= 200, "{}", cache.remembered());
    }
    let asked = counting.asked.load(Ordering::SeqCst);
    for number in 0..50 {
        ask(&cache, &format!("good-{number}")).await.unwrap();
    }
    assert_eq!(counting.asked.load(Ordering::SeqCst), asked);
}

/// S-20: so does a flood of look-ups that never end.
#[tokio::test(start_paused = true)]
async fn look_ups_are_bounded_in_number_and_time() {
    let options = TokenCacheOptions { max_lookups: 10, ..TokenCacheOptions::default() };
    let world = gated(options, Some(Semaphore::new(0)));
    let asking = flood(&world, (0..10).map(|number| (elsewhere(number), format!("good-{number}")))).await;
    let (cache, counting) = world;
    assert_eq!(ask(&cache, "good-10").await, Err("too many tokens are being looked up".to_owned()));
    for asking in asking {
        let outcome = asking.await.unwrap();
        assert_eq!(outcome, Err("looking up a token took over 30s".to_owned()));
    }
    assert_eq!(counting.most_under_way.load(Ordering::SeqCst), 10);
    counting.gate.as_ref().unwrap().add_permits(1);
    assert_eq!(ask(&cache, "good-10").await, Ok(Some("good-10".to_owned())));
}

/// S-20: one address that shows invented tokens, of which it takes long to find out that nobody knows them, keeps nobody out.
#[tokio::test(start_paused = true)]
async fn one_address_leaves_places_for_others() {
    let options = TokenCacheOptions { max_lookups: 8, ..TokenCacheOptions::default() };
    let network = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]);
    for attacker in [|_: u16| elsewhere(1), network] {
        let world = gated(options, Some(Semaphore::new(0)));
        let held = flood(&world, (0..6).map(|number| (attacker(number), format!("invented-{number}")))).await;
        let (cache, counting) = world;
        let too_many = Err("too many tokens are being looked up".to_owned());
        assert_eq!(ask_from(attacker(6), &cache, "invented-6").await, too_many);
        let jane = tokio::spawn({
            let cache = cache.clone();
            async move { ask(&cache, "good-jane").await }
        });
        while counting.under_way.load(Ordering::SeqCst) < 7 {
            tokio::task::yield_now().await;
        }
        // What is being looked up already is nobody's account.
        let joined = tokio::spawn({
            let (cache, from) = (cache.clone(), attacker(7));
            async move { ask_from(from, &cache, "good-jane").await }
        });
        tokio::task::yield_now().await;
        counting.gate.as_ref().unwrap().add_permits(7);
        assert_eq!(jane.await.unwrap(), Ok(Some("good-jane".to_owned())));
        assert_eq!(joined.await.unwrap(), Ok(Some("good-jane".to_owned())));
        for held in held {
            assert_eq!(held.await.unwrap(), Ok(None));
        }
        // Seats come back with the answers.
        counting.gate.as_ref().unwrap().add_permits(1);
        assert_eq!(ask_from(attacker(8), &cache, "invented-8").await, Ok(None));
    }
}

/// Two who wait for a place, each from an address of its own, to ask about the same token.
async fn queue(cache: &Arc<TokenCache>) -> [JoinHandle<Result<Option<String>, String>>; 2] {
    let waiting = [elsewhere(1), elsewhere(2)].map(|from| {
        let cache = cache.clone();
        tokio::spawn(async move { ask_from(from, &cache, "other").await })
    });
    while cache.room.waiting() < 2 {
        tokio::task::yield_now().await;
    }
    waiting
}

/// Who has waited for a place takes what was found out meanwhile.
#[tokio::test(start_paused = true)]
async fn what_was_remembered_meanwhile_is_not_asked_again() {
    let options = TokenCacheOptions { max_lookups: 2, ..TokenCacheOptions::default() };
    let world = gated(options, Some(Semaphore::new(0)));
    // One place never gets free: the second who waits has that of the first, once it was found out what both want to know.
    let held = flood(&world, ["good", "stuck"].map(|token| (HERE, token.to_owned())).into_iter()).await;
    let (cache, counting) = world;
    let waiting = queue(&cache).await;
    counting.gate.as_ref().unwrap().add_permits(2);
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap(), Ok(None));
    }
    assert_eq!(held.into_iter().next().unwrap().await.unwrap(), Ok(Some("good".to_owned())));
    assert_eq!(counting.asked.load(Ordering::SeqCst), 3, "once for each token");
}

/// Who has waited for a place, and finds that somebody else asks already, needs none.
#[tokio::test(start_paused = true)]
async fn who_waits_for_the_look_up_of_another_leaves_the_place() {
    let options = TokenCacheOptions { max_lookups: 2, ..TokenCacheOptions::default() };
    let world = gated(options, Some(Semaphore::new(0)));
    let held = flood(&world, ["good-1", "good-2"].map(|token| (HERE, token.to_owned())).into_iter()).await;
    let (cache, counting) = world;
    let waiting = queue(&cache).await;
    counting.gate.as_ref().unwrap().add_permits(2);
    for held in held {
        assert!(held.await.unwrap().is_ok());
    }
    let mut next = tokio::spawn({
        let cache = cache.clone();
        async move { ask_from(elsewhere(3), &cache, "good-next").await }
    });
    let refused = timeout(2 * options.patience, &mut next).await;
    assert!(refused.is_err(), "it is being looked up: {refused:?}");
    assert_eq!(counting.asked.load(Ordering::SeqCst), 4, "once for each token");
    counting.gate.as_ref().unwrap().add_permits(2);
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap(), Ok(None));
    }
    assert_eq!(next.await.unwrap(), Ok(Some("good-next".to_owned())));
}

/// S-20: while an issuer cannot be reached, whoever waits for it keeps nobody out whose key is known.
#[tokio::test(start_paused = true)]
async fn what_can_be_said_at_once_needs_no_place_among_those_who_wait() {
    let options = TokenCacheOptions { max_lookups: 10, ..TokenCacheOptions::default() };
    let world = gated(options, Some(Semaphore::new(0)));
    let asking = flood(&world, (0..10).map(|number| (elsewhere(number), format!("bad-{number}")))).await;
    let (cache, counting) = world;
    assert_eq!(ask(&cache, "bad-10").await, Err("too many tokens are being looked up".to_owned()));
    for _ in 0..2 {
        assert_eq!(ask(&cache, "good-known-key").await, Ok(Some("good-known-key".to_owned())));
        assert_eq!(ask(&cache, "unknown-known-key").await, Ok(None));
    }
    assert_eq!(ask(&cache, "bad-known-key").await, Err("bad".to_owned()));
    assert_eq!(counting.asked.load(Ordering::SeqCst), 10 + 3, "both answers are remembered as ever");
    counting.gate.as_ref().unwrap().add_permits(10);
    for asking in asking {
        assert_eq!(asking.await.unwrap(), Err("bad".to_owned()));
    }
}

#[tokio::test]
async fn a_panic_costs_one_request() {
    let (cache, _) = cache(TokenCacheOptions::default());
    for _ in 0..2 {
        for token in ["panic", "panic-known-key"] {
            assert_eq!(ask(&cache, token).await, Err("looking up a token panicked".to_owned()));
        }
    }
    assert!(ask(&cache, "good").await.is_ok());
}

#[tokio::test]
async fn long_tokens_are_not_looked_at() {
    let (cache, counting) = cache(TokenCacheOptions::default());
    let token = |length: usize| format!("good{}", "x".repeat(length - 4));
    assert!(ask(&cache, &token(MAX_TOKEN_BYTES)).await.is_ok());
    assert!(ask(&cache, &token(MAX_TOKEN_BYTES + 1)).await.unwrap_err().contains("longer than"));
    assert_eq!(counting.asked.load(Ordering::SeqCst), 1);
}

/// No log, error or dump holds a token.
#[tokio::test]
async fn tokens_cannot_be_printed() {
    let token = Token::new("good-secret");
    assert_eq!(format!("{token:?}"), "Token(…)");
    let (cache, _) = cache(TokenCacheOptions::default());
    cache.authenticate(&token, HERE).await.unwrap();
    let (key, other) = (cache.key(&token), TokenCache::new(Arc::new(Counting::default()), cache.options).key(&token));
    assert_ne!(key, other, "each cache has its own secret");
    let plain: [u8; 32] = Sha256::digest("good-secret").into();
    assert_ne!(key, plain);
}

#[test]
fn what_is_asked_for_is_kept() {
    let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(10));
    let key = |number: u8| [number; 32];
    let mut kept = Generations::new(4);
    for number in [1, 2, 3] {
        kept.insert(key(number), number, later);
    }
    assert_eq!(kept.get(&key(1), now), Some(1));
    kept.insert(key(4), 4, later);
    assert_eq!((kept.get(&key(2), now), kept.get(&key(1), now), kept.get(&key(4), now)), (None, Some(1), Some(4)));
    assert_eq!(kept.len(), 3);
    assert_eq!(kept.get(&key(4), later), None, "an entry ends when it says");
    kept.insert(key(4), 5, later);
    assert_eq!(kept.get(&key(4), now), Some(5));
}
