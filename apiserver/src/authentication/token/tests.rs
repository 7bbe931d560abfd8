use futures::FutureExt;

use super::*;

/// Knows one token, refuses another.
struct One {
    known: &'static str,
    refused: &'static str,
}

#[async_trait]
impl TokenAuthenticator for One {
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        match token.expose() {
            text if text == self.known => Ok(Some(User { name: text.to_owned(), ..User::default() })),
            text if text == self.refused => Err(TokenError(format!("{} refuses", self.known))),
            _ => Ok(None),
        }
    }
}

/// Says at once what the other says, but for the tokens of which it says nothing at once.
struct AtOnce(One, &'static str);

#[async_trait]
impl TokenAuthenticator for AtOnce {
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        self.0.authenticate(token).await
    }

    fn authenticate_at_once(&self, token: &Token) -> Option<Result<Option<User>, TokenError>> {
        (token.expose() != self.1).then(|| self.authenticate(token).now_or_never().unwrap())
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn chain() -> TokenAuthenticatorChain {
    let one = |known, refused| -> Arc<dyn TokenAuthenticator> { Arc::new(One { known, refused }) };
    TokenAuthenticatorChain::new(vec![one("a", "b"), one("b", "a"), one("c", "bad"), one("d", "bad")])
}

#[test]
fn audiences_are_those_that_are_wanted_or_else_our_own() {
    let own = texts(&["api", "alias"]);
    for (wanted, target, shared) in [
        (texts(&[]), &["api", "alias"][..], &["api", "alias"][..]),
        (texts(&["alias", "vault"]), &["alias", "vault"], &["alias"]),
        (texts(&["vault"]), &["vault"], &[]),
    ] {
        let audiences = Audiences { wanted: &wanted, own: &own };
        assert_eq!(audiences.target(), target);
        assert_eq!(audiences.shared(), shared);
    }
}

/// S-05: a token is never passed on as one for somebody else.
#[tokio::test]
async fn a_token_without_an_audience_is_for_this_server() {
    let (one, own) = (One { known: "a", refused: "b" }, texts(&["api"]));
    let ask = async |token: &str, wanted: &[&str]| {
        let wanted = texts(wanted);
        let found = one.authenticate_for(&Token::new(token), &Audiences { wanted: &wanted, own: &own }).await;
        found.map(|found| found.map(|owner| (owner.user.name, owner.audiences)))
    };
    assert_eq!(ask("a", &[]).await, Ok(Some(("a".to_owned(), texts(&["api"])))));
    assert_eq!(ask("a", &["vault", "api"]).await, Ok(Some(("a".to_owned(), texts(&["api"])))));
    assert_eq!(ask("a", &["vault"]).await, Ok(None));
    assert_eq!(ask("x", &[]).await, Ok(None));
    assert!(ask("b", &[]).await.is_err());

    // Where a server has no name of its own, a token can still be asked about.
    let nameless = Audiences { wanted: &[], own: &[] };
    let found = one.authenticate_for(&Token::new("a"), &nameless).await.unwrap().unwrap();
    assert_eq!((found.user.name.as_str(), found.audiences), ("a", Vec::new()));
}

#[tokio::test]
async fn who_knows_a_token_counts_also_behind_who_refuses_it() {
    let (chain, own) = (chain(), texts(&["api"]));
    let audiences = Audiences { wanted: &[], own: &own };
    for (token, known) in [("a", Ok(true)), ("b", Ok(true)), ("c", Ok(true)), ("x", Ok(false)), ("bad", Err(()))] {
        let token = Token::new(token);
        let simple = chain.authenticate(&token).await;
        assert_eq!(simple.as_ref().map(Option::is_some).map_err(drop), known, "{simple:?}");
        let passed_on = chain.authenticate_for(&token, &audiences).await;
        let name = |owner: &TokenOwner| owner.user.name.clone();
        assert_eq!(
            passed_on.as_ref().map(|owner| owner.as_ref().map(name)).map_err(Clone::clone),
            simple.map(|user| user.map(|user| user.name))
        );
    }
    let refused = chain.authenticate(&Token::new("bad")).await.unwrap_err();
    assert_eq!(refused.0, "c refuses, d refuses");
}

/// At once is said what would be said after waiting, or nothing.
#[tokio::test]
async fn a_chain_says_at_once_what_it_would_say_later() {
    let one = |known, refused, slow| -> Arc<dyn TokenAuthenticator> { Arc::new(AtOnce(One { known, refused }, slow)) };
    let chain = TokenAuthenticatorChain::new(vec![one("a", "b", "slow"), one("b", "bad", "c"), one("c", "bad", "")]);
    for (token, known) in [("a", Ok(true)), ("b", Ok(true)), ("x", Ok(false)), ("bad", Err(()))] {
        let token = Token::new(token);
        let at_once = chain.authenticate_at_once(&token).unwrap();
        assert_eq!(at_once.as_ref().map(Option::is_some).map_err(drop), known, "{at_once:?}");
        let later = chain.authenticate(&token).await;
        assert_eq!(at_once.map(|user| user.map(|user| user.name)), later.map(|user| user.map(|user| user.name)));
    }
    for slow in ["slow", "c"] {
        assert!(chain.authenticate_at_once(&Token::new(slow)).is_none(), "{slow}");
    }
}
