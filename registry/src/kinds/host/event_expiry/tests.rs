use super::*;
use serde_json::json;

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
    let mut line = Line::default();
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
