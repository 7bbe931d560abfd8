use super::*;

/// Says always the same.
struct Says(Result<Decision, AuthorizationError>);

#[async_trait]
impl Authorizer for Says {
    async fn authorize(&self, _: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        self.0.clone()
    }
}

fn allow(reason: &str) -> Result<Decision, AuthorizationError> {
    Ok(Decision::Allow(reason.to_owned()))
}

fn deny(reason: &str) -> Result<Decision, AuthorizationError> {
    Ok(Decision::Deny(reason.to_owned()))
}

fn pass(reason: &str) -> Result<Decision, AuthorizationError> {
    Ok(Decision::NoOpinion(reason.to_owned()))
}

fn fail(reason: &str) -> Result<Decision, AuthorizationError> {
    Err(AuthorizationError(reason.to_owned()))
}

async fn chain(answers: Vec<Result<Decision, AuthorizationError>>) -> Result<Decision, AuthorizationError> {
    let chain = answers.into_iter().map(|answer| Box::new(Says(answer)) as Box<dyn Authorizer>).collect();
    let user = User::default();
    let question = Attributes { user: &user, verb: "get", target: Target::Path("/") };
    AuthorizerChain::new(chain).authorize(&question).await
}

/// Only who is allowed may; that it cannot be known is no answer.
#[tokio::test]
async fn who_may_is_who_is_allowed() {
    let user = User::default();
    for (answer, expected) in
        [(allow("a"), Some(true)), (deny("b"), Some(false)), (pass("c"), Some(false)), (fail("d"), None)]
    {
        let authorizer: Box<dyn Authorizer> = Box::new(Says(answer.clone()));
        assert_eq!(authorizer.may(&user, "get", Resource::default()).await.ok(), expected, "{answer:?}");
    }
}

#[tokio::test]
async fn the_first_decision_counts() {
    assert_eq!(chain(vec![]).await, pass(""));
    assert_eq!(chain(vec![pass("a"), pass(""), pass("b")]).await, pass("a\nb"));
    assert_eq!(chain(vec![pass("a"), allow("b"), deny("c")]).await, allow("b"));
    assert_eq!(chain(vec![pass("a"), deny("c"), allow("b")]).await, deny("c"));
}

#[tokio::test]
async fn a_failure_is_no_permission() {
    assert_eq!(chain(vec![fail("x")]).await, fail("x"));
    assert_eq!(chain(vec![fail("x"), pass("a"), fail("y")]).await, fail("x, y"));
    assert_eq!(chain(vec![fail("x"), allow("a")]).await, allow("a"));
    assert_eq!(chain(vec![fail("x"), deny("a")]).await, deny("a"));
}

#[tokio::test]
async fn masters_may_do_everything() {
    let asked = |groups: &[&str]| {
        let user = User { groups: groups.iter().map(|&group| group.to_owned()).collect(), ..User::default() };
        async move {
            AllowGroup::MASTERS.authorize(&Attributes { user: &user, verb: "get", target: Target::Path("/") }).await
        }
    };
    assert_eq!(asked(&["a", "system:masters"]).await, allow(""));
    assert_eq!(asked(&["system:master", "system:masters:x", "system:Masters"]).await, pass(""));
    assert_eq!(asked(&[]).await, pass(""));
}

#[tokio::test]
async fn some_paths_are_open() {
    let paths = AllowPaths::new(["/healthz", "livez/*", "/"]).unwrap();
    for (path, open) in [
        ("/healthz", true),
        ("healthz", true),
        ("/healthz/", false),
        ("/healthz/etcd", false),
        ("//healthz", false),
        ("/livez", false),
        ("/livez/", true),
        ("/livez/etcd/x", true),
        ("/", true),
        ("/a", false),
    ] {
        assert_eq!(paths.covers(path), open, "{path}");
        let user = User::default();
        let question = Attributes { user: &user, verb: "delete", target: Target::Path(path) };
        assert_eq!(paths.authorize(&question).await, if open { allow("") } else { pass("") }, "{path}");
    }
    let resource = Resource { resource: "healthz", ..Resource::default() };
    let user = User::default();
    let question = Attributes { user: &user, verb: "get", target: Target::Resource(resource) };
    assert_eq!(AllowPaths::new(["*"]).unwrap().authorize(&question).await, pass(""));
    assert!(AllowPaths::new(["*"]).unwrap().covers("/anything"));
    assert!(!AllowPaths::default().covers("/"));
}

#[test]
fn a_star_stands_at_the_end() {
    for path in ["/a*b", "/**", "/*/a"] {
        assert_eq!(
            AllowPaths::new([path]).unwrap_err().to_string(),
            format!("only trailing * allowed in \"{path}\": end the path before it, or allow more")
        );
    }
}

#[test]
fn a_resource_is_named_with_what_is_below_it() {
    let named = |subresource| Resource { resource: "organizations", subresource, ..Resource::default() }.path();
    assert_eq!(named(""), "organizations");
    assert_eq!(named("groups"), "organizations/groups");
}
