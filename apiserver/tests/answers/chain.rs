//! What happens around a request: limits, the audit log, metrics.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_apiserver::{
    Audit, AuditLog, AuditLogOptions, AuditMode, FromWithin, LimitOptions, LogTarget, Metrics, Policy, ServerOptions,
    Source,
};
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{GroupVersion, NameRule, Scope};
use bailiwick_registry::{
    Attributes, AuthorizationError, Authorizer, Decision, Kind, Names, SystemClock, User, Version, kinds,
};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::site::{CLAIMS, Site, Wiring, claim};

const EVERYTHING: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse, omitStages: [RequestReceived]}]\n";
const SECRETS: &str = "/apis/example.dev/v1/secrets";
const CANARY: &str = "canary-dGhlIHNlY3JldA";

/// Lets everyone do everything, says no to `nobody`, and knows nothing of `unlucky`. Whoever is `panicking` finds out.
struct Opinionated;

#[async_trait]
impl Authorizer for Opinionated {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        match question.user.name.as_str() {
            "nobody" => Ok(Decision::Deny("nobody may".to_owned())),
            "unlucky" => Err(AuthorizationError("the authorizer is away".to_owned())),
            "panicking" => panic!("as it was asked to"),
            _ => Ok(Decision::Allow("everyone may".to_owned())),
        }
    }
}

/// A server whose audit log can be read.
struct Audited {
    site: Site,
    folder: TempDir,
}

// === impl Audited ===

impl Audited {
    async fn open(policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let target = LogTarget::File(folder.path().join("audit.log"));
        Self::with(policy, folder, target, AuditMode::Blocking).await
    }

    async fn with(policy: &str, folder: TempDir, target: LogTarget, mode: AuditMode) -> Self {
        let metrics = Arc::new(Metrics::default());
        let options =
            AuditLogOptions { target, mode, max_bytes: None, max_backups: None, max_age: None, compress: false };
        let log = AuditLog::open(options, metrics.clone(), Arc::new(SystemClock)).unwrap();
        let audit = Some(Audit { policy: Policy::parse(policy.as_bytes()).unwrap(), log });
        let mut all = kinds::all().unwrap();
        all.push(secrets());
        let authorizer: Arc<dyn Authorizer> = Arc::new(Opinionated);
        let wiring = Wiring { kinds: all, authorizer, audit, metrics, ..Wiring::default() };
        Self { site: Site::wired(wiring).await, folder }
    }

    async fn ask(&self, user: Option<&str>, method: &str, target: &str, body: &str) -> u16 {
        ask(&self.site, user, method, target, body).await
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("audit.log")).unwrap()
    }

    fn events(&self) -> Vec<Value> {
        self.log().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn last(&self) -> Value {
        self.events().pop().unwrap()
    }
}

fn secrets() -> Kind {
    let schema = json!({"type": "object", "properties": {"data": {"type": "string", "maxLength": 30}}});
    let version = Version {
        group_version: GroupVersion::new("example.dev", "v1"),
        schema: Schema::from_json(&schema).unwrap(),
        columns: Columns::named(),
        selectable: Vec::new(),
    };
    let names = Names {
        kind: "Secret".into(),
        list_kind: "SecretList".into(),
        plural: "secrets".into(),
        singular: "secret".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
    };
    Kind::new(names, Scope::Cluster, NameRule::DnsSubdomain, version).unwrap().secret_bearing()
}

fn user(name: &str) -> User {
    User { name: name.to_owned(), groups: vec!["system:authenticated".to_owned()], ..User::default() }
}

async fn ask(site: &Site, name: Option<&str>, method: &str, target: &str, body: &str) -> u16 {
    let source = Source { address: "10.1.2.3".parse().unwrap(), is_front_proxy: false };
    let request = Request::builder().method(method).uri(target).header("content-type", "application/json");
    let request = request.header("x-forwarded-for", "6.6.6.6").extension(source);
    let request = request.body(Full::<Bytes>::from(body.to_owned())).unwrap();
    let response = site.server.answer(request, name.map(user).as_ref()).await;
    let code = response.status().as_u16();
    response.into_body().collect().await.unwrap();
    code
}

#[tokio::test]
async fn what_carries_secrets_is_not_written_down() {
    let audited = Audited::open(EVERYTHING).await;
    let secret = |name: &str, data: &str| json!({"metadata": {"name": name}, "data": data}).to_string();
    let too_long = format!("{CANARY}{CANARY}");
    for (method, target, body, code) in [
        ("POST", SECRETS.to_owned(), secret("a", CANARY), 201),
        ("POST", SECRETS.to_owned(), secret("b", &too_long), 422),
        ("GET", format!("{SECRETS}/a"), String::new(), 200),
        ("GET", SECRETS.to_owned(), String::new(), 200),
        ("PATCH", format!("{SECRETS}/a"), "{".to_owned() + CANARY, 415),
        ("PUT", format!("{SECRETS}/a"), CANARY.to_owned(), 400),
        ("DELETE", format!("{SECRETS}/a"), String::new(), 200),
    ] {
        assert_eq!(audited.ask(Some("a"), method, &target, &body).await, code, "{method} {target}");
    }
    let events = audited.events();
    assert_eq!(events.len(), 7);
    assert!(events.iter().all(|event| event["level"] == "Metadata"), "{events:#?}");
    assert!(!audited.log().contains(CANARY), "{}", audited.log());
    assert_eq!(
        events[1]["responseStatus"],
        json!({"metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422})
    );

    // Others are written down as the policy says.
    assert_eq!(audited.ask(Some("a"), "POST", CLAIMS, &claim("c", json!({})).to_string()).await, 201);
    let event = audited.last();
    assert_eq!(event["requestObject"]["spec"]["catalogName"], "gold");
    assert_eq!(event["responseObject"]["metadata"]["name"], "c");
}

#[tokio::test]
async fn an_entry_says_who_and_where_from_and_why_they_might() {
    let audited = Audited::open(EVERYTHING).await;
    let check = |event: &Value, stage: &str, code: u16, annotations: Value| {
        assert_eq!((&event["stage"], &event["responseStatus"]["code"]), (&json!(stage), &json!(code)), "{event:#}");
        assert_eq!(event["annotations"], annotations, "{event:#}");
        assert_eq!(event["sourceIPs"], json!(["10.1.2.3"]));
    };
    let reason = |decision: &str, reason: &str| json!({"authorization.k8s.io/decision": decision, "authorization.k8s.io/reason": reason});
    assert_eq!(audited.ask(Some("alice"), "GET", CLAIMS, "").await, 200);
    check(&audited.last(), "ResponseComplete", 200, reason("allow", "everyone may"));
    assert_eq!(audited.last()["user"], json!({"username": "alice", "groups": ["system:authenticated"]}));
    assert_eq!(audited.ask(Some("nobody"), "GET", CLAIMS, "").await, 403);
    check(&audited.last(), "ResponseComplete", 403, reason("forbid", "nobody may"));
    assert_eq!(audited.ask(Some("unlucky"), "GET", CLAIMS, "").await, 500);
    check(&audited.last(), "ResponseComplete", 500, json!({"authorization.k8s.io/reason": "internal error"}));
    assert_eq!(audited.ask(Some("panicking"), "GET", CLAIMS, "").await, 500);
    check(&audited.last(), "Panic", 500, Value::Null);
    let before = audited.events().len();
    assert_eq!(audited.ask(None, "GET", CLAIMS, "").await, 401);
    check(&audited.last(), "ResponseStarted", 401, Value::Null);
    let message = &audited.last()["responseStatus"]["message"];
    assert_eq!(message, "Authentication failed, no credentials provided");
    assert_eq!((audited.events().len(), &audited.last()["user"]), (before + 1, &json!({})));
}

/// A watch is told when it begins and when it ends, however it ends.
#[tokio::test]
async fn the_end_of_a_watch_is_told() {
    let audited = Audited::open(EVERYTHING).await;
    let request = Request::get(format!("{CLAIMS}?watch=true")).body(Full::<Bytes>::default()).unwrap();
    let response = audited.site.server.answer(request, Some(&user("a"))).await;
    assert_eq!(audited.last()["stage"], "ResponseStarted");
    assert_eq!(audited.events().len(), 1);
    drop(response);
    tokio::time::timeout(Duration::from_secs(10), async {
        while audited.last()["stage"] != "ResponseComplete" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_log_that_insists_stops_what_it_cannot_tell_of() {
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, verbs: [get]}, {level: Metadata}]\n";
    for (mode, code, made) in [(AuditMode::BlockingStrict, 500, 404), (AuditMode::Blocking, 201, 200)] {
        let full = LogTarget::File("/dev/full".into());
        let audited = Audited::with(policy, tempfile::tempdir().unwrap(), full, mode).await;
        assert_eq!(audited.ask(Some("a"), "POST", CLAIMS, &claim("c", json!({})).to_string()).await, code);
        assert_eq!(audited.ask(Some("a"), "GET", &format!("{CLAIMS}/c"), "").await, made, "{mode:?}");
        let rejected = if mode == AuditMode::BlockingStrict { 1 } else { 0 };
        let text = audited.site.metrics("").await;
        assert!(text.contains(&format!("\napiserver_audit_requests_rejected_total {rejected}\n")), "{text}");
        assert!(!text.contains("\napiserver_audit_error_total{plugin=\"log\"} 0\n"), "{text}");
    }
}

/// Requests that are under way, as clients that take their time make them: the answer has begun and is not read.
#[tokio::test]
async fn who_finds_no_seat_is_told_to_come_back() {
    let limits = LimitOptions {
        reads: Some(4),
        watches: Some(2),
        patience: Duration::from_millis(50),
        ..LimitOptions::default()
    };
    let options = ServerOptions { limits, ..ServerOptions::default() };
    let metrics: Arc<Metrics> = Arc::default();
    let authorizer: Arc<dyn Authorizer> = Arc::new(Opinionated);
    let wiring = Wiring { authorizer, metrics, options, ..Wiring::default() };
    let site = Site::wired(wiring).await;
    let begin = async |name: &str, target: &str, origin: Option<FromWithin>| {
        let mut request = Request::get(target).body(Full::<Bytes>::default()).unwrap();
        if let Some(origin) = origin {
            request.extensions_mut().insert(origin);
        }
        site.server.answer(request, Some(&user(name))).await
    };
    // One user has three of four seats.
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(begin("greedy", CLAIMS, None).await);
    }
    let refused = begin("greedy", CLAIMS, None).await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    assert!(refused.headers().contains_key("audit-id"));
    held.push(begin("modest", CLAIMS, None).await);
    assert_eq!(begin("third", CLAIMS, None).await.status(), 429);
    assert!(held.iter().all(|response| response.status() == 200));
    // Others have rooms of their own.
    assert_eq!(begin("third", CLAIMS, Some(FromWithin)).await.status(), 200);
    assert_eq!(begin("third", "/livez/ping", None).await.status(), 200);
    assert_eq!(ask(&site, Some("third"), "POST", CLAIMS, &claim("c", json!({})).to_string()).await, 201);
    let watch = format!("{CLAIMS}?watch=true");
    let watches = [begin("a", &watch, None).await, begin("b", &watch, None).await];
    assert_eq!(begin("c", &watch, None).await.status(), 429);
    drop((held, watches));
    assert_eq!(begin("third", CLAIMS, None).await.status(), 200);
    assert_eq!(begin("c", &watch, None).await.status(), 200);
}

/// S-08, for this path.
#[tokio::test]
async fn metrics_are_for_those_who_may() {
    let audited = Audited::open(EVERYTHING).await;
    assert_eq!(audited.ask(None, "GET", "/metrics", "").await, 401);
    assert_eq!(audited.ask(Some("nobody"), "GET", "/metrics", "").await, 403);
    assert_eq!(audited.ask(Some("a"), "POST", CLAIMS, &claim("c", json!({})).to_string()).await, 201);
    assert_eq!(audited.ask(Some("a"), "GET", &format!("{CLAIMS}/c"), "").await, 200);
    let text = audited.site.metrics("").await;
    let labels = "group=\"catalog.bailiwick.dev\",version=\"v1alpha1\",resource=\"resourcecatalogclaims\",subresource=\"\",scope=\"resource\",component=\"apiserver\"";
    for expected in [
        "# TYPE apiserver_request_total counter".to_owned(),
        format!("apiserver_request_total{{verb=\"POST\",dry_run=\"\",{labels},code=\"201\"}} 1"),
        format!("apiserver_request_total{{verb=\"GET\",dry_run=\"\",{labels},code=\"200\"}} 1"),
        format!("apiserver_request_duration_seconds_bucket{{verb=\"GET\",dry_run=\"\",{labels},le=\"60\"}} 1"),
        format!("apiserver_request_duration_seconds_count{{verb=\"GET\",dry_run=\"\",{labels}}} 1"),
        format!("apiserver_response_sizes_bucket{{verb=\"GET\",{labels},le=\"1000\"}} 1"),
        "authorization_attempts_total{result=\"denied\"} 1".to_owned(),
        "authorization_duration_seconds_count{result=\"denied\"} 1".to_owned(),
        "apiserver_audit_error_total{plugin=\"log\"} 0".to_owned(),
        "apiserver_storage_objects{resource=\"resourcecatalogclaims.catalog.bailiwick.dev\"} 1".to_owned(),
        "# TYPE bailiwick_storage_cache_resets_total counter".to_owned(),
        "process_start_time_seconds".to_owned(),
    ] {
        assert!(text.lines().any(|line| line.starts_with(&expected)), "{expected}:\n{text}");
    }
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"));
    let open = audited.site.metrics("application/openmetrics-text;version=1.0.0,text/plain").await;
    assert!(open.ends_with("# EOF\n") && open.contains("# TYPE apiserver_request counter\n"), "{open}");
    assert!(open.contains("\nauthorization_attempts_total{result=\"denied\"} 1\n"), "{open}");
}
