use serde_json::json;
use tokio::time::advance;

use super::*;

fn owners(all: &[(&str, Option<&str>, Value)]) -> Vec<ManagedFieldsEntry> {
    let owner = |(manager, subresource, fields): &(&str, Option<&str>, Value)| {
        let entry =
            json!({ "manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": fields });
        serde_json::from_value(entry).unwrap()
    };
    all.iter().map(owner).collect()
}

fn paths(all: &[&str]) -> Paths {
    all.iter().map(|path| (*path).to_owned()).collect()
}

/// CAT-55: who has taken which field is told by its path, and whoever writes a status takes nothing.
#[test]
fn who_takes_fields_is_told() {
    let item =
        json!({ "f:spec": { "f:replicas": {}, "f:containers": { "k:{\"name\":\"a\"}": { ".": {}, "f:image": {} } } } });
    let had = owned_by(&owners(&[("us", None, item.clone())]), "us");
    let image = ".spec.containers[{\"name\":\"a\"}].image";
    assert_eq!(had, paths(&[".spec.replicas", ".spec.containers[{\"name\":\"a\"}]", image]));

    let status = ("deployer", Some("status"), json!({ "f:spec": { "f:replicas": {} } }));
    assert!(Undone::of(&owners(&[("us", None, item), status.clone()]), "us", digest(&had)).is_none());

    let left = json!({ "f:spec": { "f:containers": { "k:{\"name\":\"a\"}": { ".": {}, "f:image": {} } } } });
    let scaler = json!({ "f:spec": { "f:replicas": {} }, "f:metadata": { "f:labels": { "f:x": {} } } });
    let undone =
        Undone::of(&owners(&[("us", None, left.clone()), ("scaler", None, scaler), status]), "us", digest(&had));
    assert_eq!(undone.unwrap().who(&had), paths(&["\"scaler\" also sets .spec.replicas"]));
    let removed = Undone::of(&owners(&[("us", None, left)]), "us", digest(&had)).unwrap();
    assert_eq!(removed.who(&had), paths(&["somebody keeps changing it"]));
}

/// CAT-55: a copy is put right at once a few times, then as often in the same time, and at once again when there is peace.
#[tokio::test(start_paused = true)]
async fn repairs_are_bounded() {
    let (mut repairs, nothing) = (Repairs::default(), Paths::new());
    for _ in 0..MAX_REPAIRS {
        assert_eq!(repairs.against(Instant::now()), None);
        repairs.note(Instant::now(), &Undone::Deleted, &nothing);
    }
    for _ in 0..20 {
        assert_eq!(repairs.against(Instant::now()).as_deref(), Some("somebody keeps deleting it"));
        advance(PAUSE).await;
        repairs.note(Instant::now(), &Undone::Deleted, &nothing);
    }
    assert_eq!(repairs.0.len(), MAX_REPAIRS);
    advance(WINDOW).await;
    assert_eq!(repairs.against(Instant::now()), None);
}
