use std::future::pending;

use http::HeaderMap;

use super::*;

fn query(raw: &str) -> Query {
    Query::parse(raw).unwrap()
}

async fn body(health: &Health, path: &str, parameters: &str) -> (u16, String) {
    let response = health.answer(path, &query(parameters)).await.unwrap();
    (response.status().as_u16(), String::from_utf8(response.body().to_vec()).unwrap())
}

/// A server whose store can be switched off.
fn with_store() -> (Health, Arc<AtomicBool>) {
    let broken = Arc::new(AtomicBool::new(false));
    let store = |broken: &Arc<AtomicBool>| {
        let broken = broken.clone();
        move || {
            let broken = broken.load(Ordering::Relaxed);
            async move { if broken { Err(Unhealthy::new("no leader")) } else { Ok(()) } }
        }
    };
    let health = Health::new()
        .with("etcd", Endpoints::All, store(&broken))
        .with("etcd-readiness", Endpoints::Ready, store(&broken))
        .with("informer-sync", Endpoints::Ready, || async { Ok(()) });
    (health, broken)
}

#[tokio::test]
async fn healthy() {
    let (health, _) = with_store();
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(body(&health, path, "").await, (200, "ok".to_owned()));
    }
    let verbose = "[+]ping ok\n[+]log ok\n[+]etcd ok\n";
    for endpoint in ["healthz", "livez"] {
        let (code, text) = body(&health, &format!("/{endpoint}"), "verbose").await;
        assert_eq!((code, text), (200, format!("{verbose}{endpoint} check passed\n")));
    }
    let ready = format!("{verbose}[+]etcd-readiness ok\n[+]informer-sync ok\n[+]shutdown ok\nreadyz check passed\n");
    assert_eq!(body(&health, "/readyz", "verbose=").await, (200, ready));
}

#[tokio::test]
async fn failures_are_told_without_their_reason() {
    let (health, broken) = with_store();
    broken.store(true, Ordering::Relaxed);
    let expected = "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\nlivez check failed\n";
    assert_eq!(body(&health, "/livez", "").await, (500, expected.to_owned()));
    let expected = "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\nlivez check passed\n";
    assert_eq!(body(&health, "/livez", "verbose&exclude=etcd").await, (200, expected.to_owned()));
    assert_eq!(body(&health, "/livez", "exclude=etcd").await, (200, "ok".to_owned()));
    assert_eq!(body(&health, "/livez/etcd", "").await, (500, "internal server error: no leader\n".to_owned()));
    assert_eq!(body(&health, "/livez/ping", "").await, (200, "ok".to_owned()));
}

#[tokio::test]
async fn unknown_exclusions_are_told() {
    let (health, _) = with_store();
    let (code, text) = body(&health, "/healthz", "verbose&exclude=z&exclude=a&exclude=log&exclude=a").await;
    assert_eq!(code, 200);
    let expected = "[+]ping ok\n[+]log excluded: ok\n[+]etcd ok\n\
                    warn: some health checks cannot be excluded: no matches for \"a\",\"z\"\nhealthz check passed\n";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn a_server_that_ends_is_alive_and_not_ready() {
    let (health, _) = with_store();
    let elsewhere = health.clone();
    elsewhere.begin_shutdown();
    let (code, text) = body(&health, "/readyz", "").await;
    assert_eq!(code, 500);
    assert!(text.ends_with("[-]shutdown failed: reason withheld\nreadyz check failed\n"), "{text}");
    let (_, why) = body(&health, "/readyz/shutdown", "").await;
    assert_eq!(why, "internal server error: process is shutting down\n");
    assert_eq!(body(&health, "/livez", "").await.0, 200);
}

#[tokio::test]
async fn checks_are_where_they_belong() {
    let (health, _) = with_store();
    let health = health.with("poststarthook/claims", Endpoints::All, || async { Ok(()) });
    for path in ["/readyz/shutdown", "/healthz/etcd", "/readyz/poststarthook/claims", "/livez/log"] {
        assert!(health.answer(path, &Query::default()).await.is_some(), "{path}");
    }
    for path in ["/livez/shutdown", "/healthz/etcd-readiness", "/readyz/none", "/readyz/", "/health", "healthz", "/"] {
        assert!(health.answer(path, &Query::default()).await.is_none(), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_answer_in_time_is_not_healthy() {
    let slow = |delay: Duration| {
        move || async move {
            tokio::time::sleep(delay).await;
            Ok(())
        }
    };
    let (below, above) = (CHECK_LIMIT - Duration::from_millis(1), CHECK_LIMIT + Duration::from_millis(1));
    let health = Health::new().with("below", Endpoints::All, slow(below)).with("above", Endpoints::All, slow(above));
    let health = health.with("never", Endpoints::All, || async { pending().await });
    let start = tokio::time::Instant::now();
    let (code, text) = body(&health, "/livez", "").await;
    assert_eq!(code, 500);
    assert!(text.contains("[+]below ok\n[-]above failed: reason withheld\n[-]never failed"), "{text}");
    assert_eq!(start.elapsed(), CHECK_LIMIT, "checks run side by side");
    assert_eq!(body(&health, "/livez/never", "").await.1, "internal server error: no answer within 2 s\n");
}

#[tokio::test]
async fn headers() {
    let check = |headers: &HeaderMap| {
        assert_eq!(headers[CONTENT_TYPE], "text/plain; charset=utf-8");
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
    };
    let (health, broken) = with_store();
    check(health.answer("/livez", &Query::default()).await.unwrap().headers());
    check(health.answer("/livez", &query("verbose")).await.unwrap().headers());
    broken.store(true, Ordering::Relaxed);
    check(health.answer("/livez", &Query::default()).await.unwrap().headers());
    check(health.answer("/livez/etcd", &Query::default()).await.unwrap().headers());
}
