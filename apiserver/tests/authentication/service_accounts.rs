//! Tokens of service accounts, and what becomes of them with what they speak of.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bailiwick_apiserver::{
    Audiences, KeySet, ServiceAccountKeys, ServiceAccountParts, ServiceAccountTokens, Token, TokenAuthenticator,
    TokenError, TokenSigner,
};
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::kinds::{self, TokenIssueError, TokenIssuer};
use bailiwick_registry::{Clock, Ctx, DeleteOptions, Registry, User, WriteOptions};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::issuer::SigningKey;

const ISSUER: &str = "https://here";
/// How long something that must happen may take.
const SOON: Duration = Duration::from_secs(20);
/// When tokens are issued, in seconds.
const ISSUED: u64 = 1_000_000;

/// The clock on the wall, as far as these tests are concerned.
#[derive(Default)]
struct Hands(AtomicU64);

/// Signs with one key.
struct Signer(Arc<SigningKey>);

struct World {
    tokens: ServiceAccountTokens,
    registry: Arc<Registry>,
    key: Arc<SigningKey>,
    hands: Arc<Hands>,
    _folder: TempDir,
}

impl Clock for Hands {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

impl TokenSigner for Signer {
    fn algorithm(&self) -> &str {
        "ES256"
    }

    fn key_id(&self) -> &str {
        self.0.id()
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, TokenIssueError> {
        let signature = jsonwebtoken::crypto::sign(message, self.0.key(), Algorithm::ES256).unwrap();
        Ok(URL_SAFE_NO_PAD.decode(signature).unwrap())
    }
}

/// One that signs, and those that tokens are verified with.
fn keys(signing: &Arc<SigningKey>, public: &[&SigningKey]) -> ServiceAccountKeys {
    let public: Vec<Value> = public.iter().map(|key| key.jwk()).collect();
    ServiceAccountKeys {
        signer: Box::new(Signer(signing.clone())),
        public: KeySet::from_json(json!({ "keys": public }).to_string().as_bytes()).unwrap(),
    }
}

// === impl World ===

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let taken = Folder::take(folder.path()).unwrap();
        let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(taken))).await.unwrap());
        let kinds = kinds::all().unwrap().into_iter().chain(kinds::host().unwrap()).collect();
        let registry = Arc::new(Registry::start(store, kinds, Default::default()).await.unwrap());
        let (key, hands) = (Arc::new(SigningKey::new("ours")), Arc::new(Hands(AtomicU64::new(ISSUED))));
        let tokens = ServiceAccountTokens::new(ServiceAccountParts {
            issuers: vec![ISSUER.to_owned(), "https://before".to_owned()],
            audiences: vec!["api".to_owned()],
            keys: keys(&key, &[&key]),
            clock: hands.clone(),
        });
        let world = Self { tokens, registry, key, hands, _folder: folder };
        world.make("namespaces", "", json!({ "metadata": { "name": "shop" } })).await;
        world
    }

    /// Makes an object, and tells its UID.
    async fn make(&self, plural: &str, namespace: &str, mut object: Value) -> String {
        let kind = self.registry.find(&GroupVersion::new("", "v1"), plural).unwrap();
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.into();
        }
        let mut object = Object::new(object.as_object().unwrap().clone());
        object.set_gvk(kind.gvk());
        let options = WriteOptions::default();
        let accepted = kind.accept(object, &options).unwrap();
        let (user, now) = (User::default(), self.hands.now());
        let ctx = Ctx { user: &user, now, annotations: None };
        let written = self.registry.create(&ctx, &kind, accepted, &options).await.unwrap();
        kind.read(&written.object).unwrap().metadata().uid().to_owned()
    }

    async fn remove(&self, plural: &str, name: &str) {
        let kind = self.registry.find(&GroupVersion::new("", "v1"), plural).unwrap();
        let user = User::default();
        let ctx = Ctx { user: &user, now: self.hands.now(), annotations: None };
        self.registry.delete(&ctx, &kind, "shop", name, &DeleteOptions::default()).await.unwrap();
    }

    /// A token for `bot` with this UID, bound to what is added.
    fn issue(&self, uid: &str, more: Value) -> Token {
        let mut about = json!({ "namespace": "shop", "serviceaccount": { "name": "bot", "uid": uid } });
        about.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let claims = json!({ "aud": ["api", "vault"], "exp": ISSUED + 600, "iat": ISSUED, "kubernetes.io": about });
        Token::new(self.tokens.issue(claims.as_object().unwrap().clone()).unwrap())
    }

    async fn name(&self, token: &Token) -> Result<Option<String>, String> {
        let found = self.tokens.authenticate(token).await;
        found.map(|user| user.map(|user| user.name)).map_err(|TokenError(why)| why)
    }

    async fn refusal(&self, token: &Token) -> String {
        self.name(token).await.unwrap_err()
    }

    /// Waits until a token is refused: what is looked at is what is in memory, which follows what is stored.
    async fn ends(&self, token: &Token, why: &str) {
        let began = Instant::now();
        while self.name(token).await != Err(why.to_owned()) {
            assert!(began.elapsed() < SOON, "not in time: {why}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn bot(finalizers: &[&str]) -> Value {
    json!({ "metadata": { "name": "bot", "finalizers": finalizers } })
}

const KNOWN: &str = "system:serviceaccount:shop:bot";

/// S-05: a token is worth what its account is: nothing before it is known where accounts are, nothing once it goes, and
/// another account of its name is another one.
#[tokio::test]
async fn a_token_is_worth_what_its_account_is() {
    let world = World::start().await;
    let uid = world.make("serviceaccounts", "shop", bot(&["example.com/stays"])).await;
    let token = world.issue(&uid, json!({}));
    assert_eq!(world.refusal(&token).await, "serviceaccounts \"bot\" not found");
    world.tokens.look_in(&world.registry);
    for _ in 0..2 {
        assert_eq!(world.name(&token).await, Ok(Some(KNOWN.to_owned())));
    }
    let user = world.tokens.authenticate(&token).await.unwrap().unwrap();
    assert_eq!((user.uid.as_str(), user.groups.len()), (uid.as_str(), 2));
    let another = world.issue("another", json!({}));
    let why = world.refusal(&another).await;
    assert_eq!(why, format!("service account UID ({uid}) does not match claim (another)"));
    world.remove("serviceaccounts", "bot").await;
    world.ends(&token, "service account shop/bot has been deleted").await;
}

/// S-05: what a token is bound to is there, is the same, and is to stay.
#[tokio::test]
async fn a_token_ends_with_what_it_is_bound_to() {
    let world = World::start().await;
    world.tokens.look_in(&world.registry);
    let uid = world.make("serviceaccounts", "shop", bot(&[])).await;
    let lease = json!({ "metadata": { "name": "lease", "finalizers": ["example.com/stays"] } });
    let secret = world.make("secrets", "shop", lease).await;
    let bound = |kind: &str, name: &str, uid: &str| json!({ kind: { "name": name, "uid": uid } });
    let token = world.issue(&uid, bound("secret", "lease", &secret));
    assert_eq!(world.name(&token).await, Ok(Some(KNOWN.to_owned())));
    let why = world.refusal(&world.issue(&uid, bound("secret", "lease", "another"))).await;
    assert_eq!(why, format!("secret UID ({secret}) does not match service account secret ref claim (another)"));
    const INVALIDATED: &str = "service account token has been invalidated";
    assert_eq!(world.refusal(&world.issue(&uid, bound("secret", "none", "1"))).await, INVALIDATED);
    // There are no pods here.
    assert_eq!(world.refusal(&world.issue(&uid, bound("pod", "web", "1"))).await, INVALIDATED);
    world.remove("secrets", "lease").await;
    world.ends(&token, INVALIDATED).await;
}

/// S-05: tokens of others are left to others, what only claims to be ours is refused, and so is what is for somebody else
/// or not for this time, however often it is shown.
#[tokio::test]
async fn only_what_we_signed_counts_for_whom_and_while_it_is_meant() {
    let world = World::start().await;
    world.tokens.look_in(&world.registry);
    let uid = world.make("serviceaccounts", "shop", bot(&[])).await;
    let about = json!({ "namespace": "shop", "serviceaccount": { "name": "bot", "uid": uid } });
    let sign = |key: &SigningKey, issuer: &str, audience: Value| {
        key.sign(&json!({ "iss": issuer, "aud": audience, "exp": ISSUED + 600, "kubernetes.io": about }))
    };
    let known = Ok(Some(KNOWN.to_owned()));
    assert_eq!(world.name(&sign(&world.key, "https://before", json!("api"))).await, known);
    assert_eq!(world.name(&sign(&world.key, "https://elsewhere", json!("api"))).await, Ok(None));
    assert_eq!(world.name(&Token::new("no token at all")).await, Ok(None));
    world.refusal(&sign(&SigningKey::new("ours"), ISSUER, json!("api"))).await;
    let why = world.refusal(&sign(&world.key, ISSUER, json!(["vault"]))).await;
    assert_eq!(why, "token audiences [\"vault\"] is invalid for the target audiences [\"api\"]");

    let (token, own) = (world.issue(&uid, json!({})), ["api".to_owned()]);
    let wanted = ["vault".to_owned(), "other".to_owned()];
    let owner =
        world.tokens.authenticate_for(&token, &Audiences { wanted: &wanted, own: &own }).await.unwrap().unwrap();
    assert_eq!((owner.user.name.as_str(), owner.audiences), (KNOWN, vec!["vault".to_owned()]));

    for (now, counts) in [(ISSUED - 61, false), (ISSUED - 60, true), (ISSUED + 660, true), (ISSUED + 661, false)] {
        world.hands.0.store(now, Ordering::SeqCst);
        assert_eq!(world.name(&token).await.is_ok(), counts, "{now}");
    }
    assert_eq!(TokenIssuer::audiences(&world.tokens), ["api"]);
}

/// S-05: with other keys, what the old ones signed is worth nothing, however often it was shown before; it is again if they come
/// back, which is how keys are replaced without anyone noticing.
#[tokio::test]
async fn keys_are_replaced_while_tokens_are_used() {
    let world = World::start().await;
    world.tokens.look_in(&world.registry);
    let uid = world.make("serviceaccounts", "shop", bot(&[])).await;
    let known = Ok(Some(KNOWN.to_owned()));
    let old = world.issue(&uid, json!({}));
    assert_eq!(world.name(&old).await, known);
    let next = Arc::new(SigningKey::new("next"));
    for (signing, public, old_counts) in [
        (&world.key, vec![&*world.key, &*next], true),
        (&next, vec![&*world.key, &*next], true),
        (&next, vec![&*next], false),
    ] {
        world.tokens.set_keys(keys(signing, &public));
        assert_eq!(world.name(&world.issue(&uid, json!({}))).await, known);
        assert_eq!(world.name(&old).await.is_ok(), old_counts);
    }
    assert_eq!(world.refusal(&old).await, "invalid signature, no keys found");
    world.tokens.set_keys(keys(&next, &[&world.key]));
    assert_eq!(world.name(&old).await, known);
}
