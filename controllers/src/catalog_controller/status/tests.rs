use serde_json::json;

use super::*;

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
