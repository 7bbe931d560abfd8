use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

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
    entry_status(&entry, ResourceCatalogEntryStatus::default(), &answers, SystemTime::UNIX_EPOCH)
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

/// An entry in this catalog, of which nothing else can be said.
fn published_in(catalog: &str) -> ResourceCatalogEntry {
    let status = json!({
        "conditions": [
            { "type": "ResourcesResolved", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z",
                "reason": "Resolved", "message": "1 resource" },
            { "type": "Accepted", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z", "reason": "Accepted",
                "message": "" },
        ],
        "catalogs": [catalog], "generation": 2,
    });
    let entry =
        json!({ "metadata": { "name": "x", "namespace": "shop", "generation": 2 }, "spec": {}, "status": status });
    serde_json::from_value(entry).unwrap()
}

/// As much room as it takes to say the same again, and to say about what it is said.
fn tight(entry: &ResourceCatalogEntry) -> usize {
    patch(entry.status.as_ref().unwrap()).to_string().len() + 100
}

/// CAT-14, C-05, I5: whoever publishes what leaves no room to say why it is refused does not stay in a catalog by that; nor does
/// who has a catalog accept it that there is no room to name.
#[tokio::test]
async fn where_there_is_no_room_for_reasons_what_counts_is_said() {
    let (entry, long) = (published_in("c0000"), "l".repeat(200));
    for (room, accepting, reasons) in
        [(tight(&entry), &[long.as_str()][..], 0), (tight(&entry), &[], 0), (10_000, &[], 1)]
    {
        let server = Crowded { room, written: Arc::default() };
        let client = Client::new(server.clone(), "default");
        let answers = answers(1, accepting, &"no ".repeat(200));
        write_entry(&client, &entry, answers.clone(), SystemTime::UNIX_EPOCH).await.unwrap();
        let written = server.written.lock().unwrap().clone();
        let [status] = &written[..] else { panic!("{written:?}") };
        assert_eq!((&status["catalogs"], &status["generation"]), (&Value::Null, &Value::Null), "{room}");
        assert_eq!(status["errors"].as_array().map_or(0, Vec::len), reasons, "{room}");
        let told: Vec<&str> =
            status["conditions"].as_array().unwrap().iter().filter_map(|one| one["reason"].as_str()).collect();
        assert_eq!(told, ["Resolved", "Refused"], "{room}");
        assert_eq!(status["conditions"][0]["message"], "1 resource");
        // Who looks again later has nothing else to say.
        let again = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        write_entry(&client, &told_so(&entry, status), answers, again).await.unwrap();
        assert_eq!(server.written.lock().unwrap().len(), 1, "{room}");
    }
}

/// CAT-14: an entry stays in its catalogs while there is no room to name another one.
#[tokio::test]
async fn where_there_is_no_room_for_a_catalog_the_others_stay() {
    let (entry, long) = (published_in("c"), "l".repeat(200));
    let server = Crowded { room: tight(&entry), written: Arc::default() };
    let client = Client::new(server.clone(), "default");
    let answers = answers(0, &["c", &long], "");
    write_entry(&client, &entry, answers.clone(), SystemTime::UNIX_EPOCH).await.unwrap();
    let written = server.written.lock().unwrap().clone();
    let [status] = &written[..] else { panic!("{written:?}") };
    assert_eq!((&status["catalogs"], &status["generation"]), (&json!(["c"]), &json!(2)));
    assert_eq!((&status["conditions"][1]["status"], &status["conditions"][1]["message"]), (&json!("True"), &json!("")));
    write_entry(&client, &told_so(&entry, status), answers, SystemTime::UNIX_EPOCH).await.unwrap();
    assert_eq!(server.written.lock().unwrap().len(), 1);
}

/// An entry, once this was written of it.
fn told_so(entry: &ResourceCatalogEntry, status: &Value) -> ResourceCatalogEntry {
    let mut status = status.clone();
    status.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    ResourceCatalogEntry { status: Some(serde_json::from_value(status).unwrap()), ..entry.clone() }
}
