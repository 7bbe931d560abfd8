use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use serde_json::json;

use super::*;
use crate::context::SystemClock;
use crate::delete::{DeleteOptions, Deleted, PropagationPolicy};
use crate::write::WriteOptions;

fn event(name: &str, fields: Value) -> Object {
    let mut event = json!({"metadata": {"namespace": "a", "name": name, "resourceVersion": "7"}});
    for (field, value) in fields.as_object().unwrap() {
        match field.as_str() {
            "creationTimestamp" | "managedFields" => event["metadata"][field] = value.clone(),
            _ => event[field] = value.clone(),
        }
    }
    let Value::Object(event) = event else { panic!() };
    Object::new(event)
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn an_event_says_when_it_was_written_but_not_that_it_will_be() {
    let now = at(1_000);
    for (fields, expected) in [
        (json!({"creationTimestamp": "1970-01-01T00:01:00Z"}), at(60)),
        (json!({"creationTimestamp": "1970-01-01T00:01:00Z", "lastTimestamp": "1970-01-01T00:02:00Z"}), at(120)),
        (json!({"creationTimestamp": "1970-01-01T00:01:00Z", "lastTimestamp": "2070-01-01T00:02:00Z"}), at(60)),
        (json!({"series": {"lastObservedTime": "1970-01-01T00:03:00.000000Z"}}), at(180)),
        (json!({"managedFields": [{"time": "1970-01-01T00:01:00Z"}, {"time": "1970-01-01T00:04:00Z"}]}), at(240)),
        (json!({"lastTimestamp": "yesterday", "creationTimestamp": null}), now),
    ] {
        assert_eq!(last_written(&event("e", fields.clone()), now), expected, "{fields}");
    }
}

#[test]
fn those_go_that_have_ended_and_no_others() {
    let (mut line, began) = (Line::default(), Instant::now());
    let at = |seconds| began + Duration::from_secs(seconds);
    for (name, end) in [("first", 10), ("second", 20), ("third", 30), ("fourth", 5), ("fifth", 1)] {
        line.set(&event(name, json!({})), at(end));
    }
    // Written again, it ends later.
    line.set(&event("fourth", json!({})), at(40));
    line.remove(&place(&event("fifth", json!({}))));
    let names = |ended: Vec<(Place, String)>| ended.iter().map(|(place, _)| place.1.clone()).collect::<Vec<_>>();
    assert_eq!(line.first_end(), Some(at(10)));
    assert_eq!(names(line.take_until(at(20))), ["first", "second"]);
    assert_eq!(line.first_end(), Some(at(30)));
    assert_eq!(names(line.take_until(at(100))), ["third", "fourth"]);
    assert_eq!((line.first_end(), line.ends.len()), (None, 0));
}

/// Nobody collects events, so nobody removes what a deletion in the foreground puts on them; in Kubernetes their time ends, too.
#[tokio::test]
async fn an_event_goes_when_its_time_is_over_whatever_holds_it() {
    let store = Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap();
    let registry = Registry::start(Arc::new(store), crate::kinds::host().unwrap(), Default::default()).await.unwrap();
    let registry = Arc::new(registry);
    let kind = registry.find(&GroupVersion::new("", "v1"), "events").unwrap();
    let (user, options) = (server(), WriteOptions::default());
    let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
    let about = json!({"kind": "ConfigMap", "namespace": "a", "name": "x"});
    for (name, finalizers) in [("free", json!([])), ("held", json!(["shop.dev/hold"])), ("cascading", json!([]))] {
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "involvedObject": about,
            "metadata": {"namespace": "a", "name": name, "finalizers": finalizers},
        });
        let accepted = kind.accept(Object::try_from(event).unwrap(), &options).unwrap();
        registry.create(&ctx, &kind, accepted, &options).await.unwrap();
    }
    let foreground =
        DeleteOptions { propagation_policy: Some(PropagationPolicy::Foreground), ..DeleteOptions::default() };
    let deleted = registry.delete(&ctx, &kind, "a", "cascading", &foreground).await.unwrap();
    assert!(matches!(deleted, Deleted::Waiting(_)), "as Kubernetes answers");
    let expiring = tokio::spawn(expire_events(registry.clone(), Duration::from_millis(50), Arc::new(SystemClock)));
    for name in ["free", "held", "cascading"] {
        let going = async {
            while registry.get(&kind, "a", name, At::Latest).await.is_ok() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), going).await.unwrap_or_else(|_| panic!("{name} stays"));
    }
    expiring.abort();
}
