use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response};
use kube::client::Body;
use serde_json::json;
use tower_service::Service;

use super::*;

/// A server on which an object is nearly as large as objects may be: there is room for as much as this.
#[derive(Clone)]
struct Crowded {
    room: usize,
    written: Arc<Mutex<Vec<Value>>>,
}

impl Service<Request<Body>> for Crowded {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { room, written } = self.clone();
        Box::pin(async move {
            let sent = request.into_body().collect_bytes().await.unwrap();
            let (code, answer) = if sent.len() > room {
                let answer = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 413,
                    "reason": "RequestEntityTooLarge", "message": "the object would have too many bytes" });
                (413, answer)
            } else {
                let patch: Value = serde_json::from_slice(&sent).unwrap();
                written.lock().unwrap().push(patch["status"].clone());
                (200, json!({ "metadata": { "name": "x", "namespace": "shop" }, "spec": {} }))
            };
            Ok(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())).unwrap())
        })
    }
}

fn answers(refusing: usize, accepting: &[&str], message: &str) -> Vec<(String, Acceptance)> {
    let refused = |number| {
        let acceptance = Acceptance::Refused { reason: "PublishForbidden".to_owned(), message: message.to_owned() };
        (format!("c{number:04}"), acceptance)
    };
    let accepted = accepting.iter().map(|name| ((*name).to_owned(), Acceptance::Accepted));
    (0..refusing).map(refused).chain(accepted).collect()
}

fn told(answers: Vec<(String, Acceptance)>) -> ResourceCatalogEntryStatus {
    let entry = json!({ "metadata": { "name": "x", "namespace": "shop", "generation": 2 }, "spec": {} });
    let entry: ResourceCatalogEntry = serde_json::from_value(entry).unwrap();
    entry_status(&entry, ResourceCatalogEntryStatus::default(), answers, SystemTime::UNIX_EPOCH)
}

/// I5, CAT-14: however many catalogs refuse an entry, and however long they tell why, that can be said.
#[test]
fn what_is_told_of_refusals_is_bounded() {
    let status = told(answers(2, &["gold"], "no"));
    assert_eq!((status.catalogs.len(), status.errors.len()), (1, 2));
    assert_eq!((&*status.conditions[0].reason, &*status.conditions[0].message), ("PartlyAccepted", "no; no"));
    let status = told(answers(3_000, &[], &"ü".repeat(40_000)));
    assert_eq!((status.errors.len(), &*status.errors[99].catalog), (100, "c0099"));
    assert!(status.errors.iter().all(|error| error.message.len() <= 1_024 && error.message.ends_with('…')));
    let message = &status.conditions[0].message;
    assert!(message.len() < 6_000 && message.ends_with("; and 2995 more"), "{message}");
    assert!(serde_json::to_vec(&status).unwrap().len() < 200_000);
}

/// CAT-14, C-05: whoever publishes what leaves no room to say why it is refused does not stay in a catalog by that.
#[tokio::test]
async fn where_there_is_no_room_for_reasons_what_counts_is_said() {
    let before = json!({
        "conditions": [
            { "type": "ResourcesResolved", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z",
                "reason": "Resolved", "message": "1 resource" },
            { "type": "Accepted", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z", "reason": "Accepted",
                "message": "" },
        ],
        "catalogs": ["c0000"], "generation": 2,
    });
    let entry =
        json!({ "metadata": { "name": "x", "namespace": "shop", "generation": 2 }, "spec": {}, "status": before });
    let entry: ResourceCatalogEntry = serde_json::from_value(entry).unwrap();
    for (room, reasons) in [(10_000, 1), (patch(entry.status.as_ref().unwrap()).to_string().len() + 100, 0)] {
        let server = Crowded { room, written: Arc::default() };
        let client = Client::new(server.clone(), "default");
        write_entry(&client, &entry, answers(1, &[], &"no ".repeat(200)), SystemTime::UNIX_EPOCH).await.unwrap();
        let written = server.written.lock().unwrap().clone();
        let [status] = &written[..] else { panic!("{written:?}") };
        assert_eq!((&status["catalogs"], &status["generation"]), (&Value::Null, &Value::Null), "{room}");
        assert_eq!(status["errors"].as_array().map_or(0, Vec::len), reasons, "{room}");
        let told: Vec<&str> =
            status["conditions"].as_array().unwrap().iter().filter_map(|one| one["reason"].as_str()).collect();
        assert_eq!(told, ["Resolved", "Refused"], "{room}");
        assert_eq!(status["conditions"][0]["message"], "1 resource");
    }
}
