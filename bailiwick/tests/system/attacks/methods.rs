//! Verbs that are not what they seem.

use serde_json::json;

use super::{AS_ALICE, NAME, NAMESPACE, SECRET, Target};
use crate::claims::{collection, object};
use crate::turn::turn;

/// S-15. No header or parameter makes another method of a request, and a method that is unknown does nothing.
#[tokio::test]
async fn methods_in_disguise() {
    let _turn = turn().await;
    let target = Target::start().await;
    let one = object(NAMESPACE, NAME);
    for name in ["x-http-method-override", "x-http-method", "x-method-override", "_method"] {
        for (method, code) in [("GET", 200), ("HEAD", 200), ("POST", 400)] {
            let answer = target.ask(method, &one, &[(name, "DELETE")], "").await;
            assert_eq!(answer.code, code, "{method} with {name}: {}", answer.text());
        }
        let disguised = target.ask("GET", &one, &[(name, "HEAD"), AS_ALICE], "").await;
        assert_eq!(disguised.code, 403);
    }
    for query in ["_method=DELETE", "method=delete", "watch=false&_method=PUT"] {
        assert_eq!(target.ask("GET", &format!("{one}?{query}"), &[], "").await.code, 200);
    }
    for method in ["OPTIONS", "TRACE", "PROPFIND", "LINK", "delete", "Get", "DELETECOLLECTION", "PROXY", "WATCH"] {
        for path in [one.clone(), collection(NAMESPACE), "/version".to_owned(), "/".to_owned()] {
            let answer = target.ask(method, &path, &[], "").await;
            assert!(matches!(answer.code, 404 | 405), "{method} {path}: {} {}", answer.code, answer.text());
            assert!(!answer.text().contains(SECRET));
        }
    }
    target.end().await;
}

/// S-15, S-16. Whoever writes an object does not write its status, and the other way round.
#[tokio::test]
async fn a_status_is_written_as_one() {
    let _turn = turn().await;
    let target = Target::start().await;
    let one = object(NAMESPACE, NAME);
    let forged = json!({ "conditions": [{ "type": "Ready", "status": "True", "reason": "Forged", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z" }] });

    let mut object = target.victim.clone();
    object["status"] = forged.clone();
    let put = target.ask("PUT", &one, &[], &object.to_string()).await.expect(200);
    assert_eq!(put, target.victim, "nothing but the status was changed, so nothing was");
    let merge = target.client.merge(&one, &json!({ "status": forged })).await.unwrap().expect(200);
    assert_eq!(merge, target.victim);
    let mut other = target.victim.clone();
    other["metadata"] = json!({ "name": "other" });
    other["status"] = forged.clone();
    let made = target.ask("POST", &collection(NAMESPACE), &[], &other.to_string()).await.expect(201);
    assert_eq!(made.get("status").unwrap_or(&json!({})), &json!({}), "{made}");
    target.client.delete(&format!("{}/other", collection(NAMESPACE))).await.unwrap().expect(200);

    let mut object = target.victim.clone();
    object["spec"]["catalogName"] = json!("stolen");
    object["metadata"]["labels"] = json!({ "stolen": "true" });
    let put = target.ask("PUT", &format!("{one}/status"), &[], &object.to_string()).await.expect(200);
    assert_eq!(put["spec"], target.victim["spec"], "{put}");
    let merge = json!({ "spec": { "catalogName": "stolen" } });
    let merged = target.client.merge(&format!("{one}/status"), &merge).await.unwrap().expect(200);
    assert_eq!(merged["spec"], target.victim["spec"], "{merged}");
    target.server.stop().await;
}
