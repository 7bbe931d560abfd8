//! Continue tokens of a client's own making.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{NAME, NAMESPACE, Target};
use crate::claims::{claim, collection, make_namespaces};
use crate::turn::turn;

#[tokio::test]
async fn a_token_never_leaves_its_collection() {
    let _turn = turn().await;
    let target = Target::start().await;
    // On both sides of the collection that is asked for.
    for namespace in ["before", "zoo"] {
        make_namespaces(&target.client, [namespace]).await;
        for name in ["a", "z"] {
            let other = claim(name, "tools", "gold", "0");
            target.client.post(&collection(namespace), &other).await.unwrap().expect(201);
        }
    }
    let path = collection(NAMESPACE);
    let revision = target.client.get(&path).await.unwrap().revision();
    let starts = [
        "a\0",
        "a",
        "",
        "\0",
        "/\0",
        "/a\0",
        "../before/a\0",
        "..\0",
        "a/../../zoo/a\0",
        "./a\0",
        "before/a\0",
        "zoo/a\0",
        "a/b/c\0",
        "a\0b\0",
        "\u{10ffff}\0",
        "/registry/samples.example.com/claims/before/a\0",
        "claims/before/a\0",
        "target/a\0",
        "%2e%2e/before/a\0",
    ];
    let mut answered = 0;
    for start in starts {
        for version in [json!(revision), json!(1), json!(-1), json!(0), json!(i64::MAX), json!("1"), Value::Null] {
            let token = token(&json!({"v": "meta.k8s.io/v1", "rv": version, "start": start}));
            answered += usize::from(check(&target, &path, &token, &format!("{start:?} at {version}")).await);
        }
    }
    assert!(answered > 0, "no token was ever taken: this shows nothing");
    let long = "a".repeat(10_000);
    for (what, token) in [
        ("another version", token(&json!({"v": "meta.k8s.io/v2", "rv": revision, "start": "a\0"}))),
        ("no object", token(&json!([1, 2]))),
        ("a number", token(&json!({"v": 1, "rv": {}, "start": []}))),
        ("no base64", "%21%21%21".to_owned()),
        ("half a token", token(&json!({"v": "meta.k8s.io/v1"}))),
        ("brackets", URL_SAFE_NO_PAD.encode("[".repeat(9_000))),
        ("a long name", token(&json!({"v": "meta.k8s.io/v1", "rv": revision, "start": format!("{long}\0")}))),
    ] {
        check(&target, &path, &token, what).await;
    }
    target.end().await;
}

/// Whether it was answered; if so, with nothing but what is in the collection.
async fn check(target: &Target, path: &str, token: &str, what: &str) -> bool {
    let answer = target.client.get(&format!("{path}?limit=10&continue={token}")).await.unwrap();
    // The versions may be of the past, and of the future.
    assert!([200, 400, 410, 504].contains(&answer.code), "{what}: {} {}", answer.code, answer.text());
    if answer.code != 200 {
        return false;
    }
    for item in answer.json()["items"].as_array().unwrap() {
        let found = (&item["metadata"]["namespace"], &item["metadata"]["name"]);
        assert_eq!(found, (&NAMESPACE.into(), &NAME.into()), "{what}");
    }
    true
}

fn token(token: &Value) -> String {
    URL_SAFE_NO_PAD.encode(token.to_string())
}
