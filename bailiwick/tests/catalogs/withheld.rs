//! What comes with a user beside names and groups: asked about when something is done for them later, and shown to nobody.

use http::Method;
use serde_json::{Value, json};

use crate::client::{Answer, JSON_PATCH};
use crate::market::{Market, claims, entries};
use crate::objects::{API, claim, config_map, entry, list};
use crate::site::eventually;

in_both_modes!(no_answer_tells_what_came_with_a_writer);

const SCOPES: &str = "only-to-be-asked-about";

/// Decisions 5: neither the writes of an entry and of a claim nor what anyone reads of them tells what came with their writers;
/// and what they asked for is done.
async fn no_answer_tells_what_came_with_a_writer(site: &mut Market) {
    let (pat, eddie) = (site.user("pat").with_scopes(SCOPES), site.user("eddie").with_scopes(SCOPES));
    let silent = |answer: Answer, code: u16| {
        answer.expect(code);
        let told = answer.text();
        assert!(!told.contains(SCOPES) && !told.contains("\"extra\"") && !told.contains("f:requester"), "{told}");
    };
    let (shop, here) = (entries("shop"), claims("a"));
    let object = entry("set", list(json!([config_map("x", json!({ "k": "1" }))])));
    silent(pat.post(&format!("{shop}?dryRun=All"), &object).await, 201);
    silent(pat.post(&shop, &object).await, 201);
    silent(pat.merge(&format!("{shop}/set"), &json!({ "spec": { "description": "one" } })).await, 200);
    let described = json!([{ "op": "add", "path": "/spec/description", "value": "two" }]);
    silent(pat.send(Method::PATCH, &format!("{shop}/set"), JSON_PATCH, Some(&described)).await, 200);
    let mut applied = object.clone();
    applied["spec"]["description"] = json!("three");
    silent(pat.apply(&format!("{shop}/set"), "pat&force=true", &applied).await, 200);
    let forged = json!({ "status": { "requester": { "username": "pat", "extra": { "scopes": ["all"] } } } });
    silent(site.root().merge(&format!("{shop}/set/status"), &forged).await, 200);
    let published = site.accepted("set").await;
    assert_eq!(published["status"]["requester"]["username"], "pat");

    let mut events = site.root().watch(&format!("{here}?watch=true")).await;
    silent(eddie.post(&here, &claim("mine", "set", json!({}))).await, 201);
    site.ready("a", "mine").await;
    let told = events.soon().await.to_string();
    assert!(told.contains("eddie") && !told.contains(SCOPES) && !told.contains("\"extra\""), "{told}");
    for person in [site.root(), pat.clone(), eddie.clone()] {
        for path in [shop.clone(), format!("{shop}/set"), here.clone(), format!("{here}/mine")] {
            let answer = person.get(&path).await;
            let code = answer.code;
            assert!(matches!(code, 200 | 403), "{path}: {}", answer.text());
            silent(answer, code);
        }
    }
    silent(eddie.get(&format!("{API}/namespaces/a/localresourcecatalogs")).await, 200);
    for (user, verb) in [("pat", "publish"), ("eddie", "claim"), ("eddie", "impersonate")] {
        let is_asked = |event: &Value| {
            let asked = &event["requestObject"]["spec"];
            asked["user"] == user
                && asked["resourceAttributes"]["verb"] == verb
                && asked["extra"]["scopes"] == json!([SCOPES])
        };
        eventually(&format!("{user} is asked about as they came"), async || {
            site.site.asked_of_host().iter().any(is_asked)
        })
        .await;
    }
    silent(eddie.delete(&format!("{here}/mine")).await, 200);
    silent(pat.delete(&format!("{shop}/set")).await, 200);
}
