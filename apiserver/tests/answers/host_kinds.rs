//! What sets single kinds of Kubernetes' own apart: namespaces that end in two steps, events in two forms, objects that are
//! made by replacing them.

use bailiwick_machinery::GroupVersion;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::proto::Envelope;
use serde_json::{Value, json};

use crate::site::Site;

const NAMESPACES: &str = "/api/v1/namespaces";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const NEWER_EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

#[tokio::test]
async fn a_namespace_stays_until_all_its_finalizers_are_gone() {
    let site = Site::standalone().await;
    let made = site.post(NAMESPACES, &json!({"metadata": {"name": "a"}})).await;
    assert_eq!(made.code, 201, "{}", made.text());
    let made = made.json();
    assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(made["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "a"}));

    let target = format!("{NAMESPACES}/a");
    let marked = site.delete(&target).await.json();
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
    // Neither a second deletion nor a write of the object itself takes the finalizers away.
    assert_eq!(site.delete(&target).await.json()["metadata"], marked["metadata"]);
    let kept = site.merge(&target, &json!({"metadata": {"finalizers": null}, "spec": {"finalizers": null}})).await;
    assert_eq!(kept.json()["spec"]["finalizers"], json!(["kubernetes"]));

    let finalized = site.put(&format!("{target}/finalize"), &json!({"metadata": {"name": "a"}, "spec": {}})).await;
    assert_eq!((finalized.code.as_u16(), finalized.json()["spec"].clone()), (200, json!({})));
    assert_eq!(site.get(&target).await.code, 404);
}

#[tokio::test]
async fn a_namespace_stays_as_long_as_its_metadata_has_finalizers() {
    let site = Site::standalone().await;
    let body = json!({"metadata": {"name": "a", "finalizers": ["x.dev/a"]}});
    assert_eq!(site.post(NAMESPACES, &body).await.code, 201);
    let target = format!("{NAMESPACES}/a");
    assert_eq!(site.delete(&target).await.code, 200);
    assert_eq!(site.put(&format!("{target}/finalize"), &body).await.code, 200);
    assert_eq!(site.get(&target).await.code, 200);
    assert_eq!(site.merge(&target, &json!({"metadata": {"finalizers": null}})).await.code, 200);
    assert_eq!(site.get(&target).await.code, 404);
}

#[tokio::test]
async fn namespaces_that_everything_relies_on_cannot_be_deleted() {
    let site = Site::standalone().await;
    for name in ["default", "kube-system", "kube-public"] {
        assert_eq!(site.post(NAMESPACES, &json!({"metadata": {"name": name}})).await.code, 201);
        let refused = site.delete(&format!("{NAMESPACES}/{name}")).await;
        let message = format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!((refused.code.as_u16(), &refused.json()["message"]), (403, &json!(message)));
    }
    assert_eq!(site.delete(NAMESPACES).await.code, 405, "not even all at once");
}

#[tokio::test]
async fn an_event_is_one_object_in_two_forms() {
    let site = Site::standalone().await;
    let body = json!({
        "metadata": {"name": "a", "labels": {"l": "m"}}, "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "reason": "Why", "message": "text", "source": {"component": "c"}, "count": 3, "type": "Normal",
    });
    let made = site.post(EVENTS, &body).await;
    assert_eq!(made.code, 201, "{}", made.text());
    let newer = site.get(&format!("{NEWER_EVENTS}/a")).await.json();
    assert_eq!((&newer["apiVersion"], &newer["note"]), (&json!("events.k8s.io/v1"), &json!("text")));
    assert_eq!((&newer["regarding"]["name"], &newer["deprecatedCount"]), (&json!("p"), &json!(3)));
    assert_eq!((newer.get("message"), newer.get("involvedObject")), (None, None));

    // Lists, watches and protobuf are in the form that was asked for, too.
    let item = |list: Value| list["items"][0]["note"].clone();
    assert_eq!(item(site.get(NEWER_EVENTS).await.json()), "text");
    let selected = format!("{NEWER_EVENTS}?fieldSelector=regarding.kind%3DPod,reason%3DWhy");
    assert_eq!(item(site.get(&selected).await.json()), "text");
    let watch = site.get(&format!("{NEWER_EVENTS}?watch=1&timeoutSeconds=1&resourceVersion=0")).await;
    assert_eq!(watch.events()[0]["object"]["note"], "text");
    let accept = ("accept", "application/vnd.kubernetes.protobuf");
    let envelope = site.ask("GET", &format!("{NEWER_EVENTS}/a"), &[accept], "").await.body;
    let host_type = HostType::of(&GroupVersion::new("events.k8s.io", "v1").kind("Event")).unwrap();
    let read: Value = host_type.from_protobuf(&Envelope::read(envelope).unwrap()).unwrap().into();
    assert_eq!(read, newer);

    let patched = site.merge(&format!("{NEWER_EVENTS}/a"), &json!({"metadata": {"labels": {"l": "n"}}})).await;
    // It has none of what an event in the newer form must say once it is written in it, but that is asked of new ones only.
    assert_eq!(patched.code, 200, "{}", patched.text());
    let older = site.get(&format!("{EVENTS}/a")).await.json();
    assert_eq!((&older["message"], &older["metadata"]["labels"]["l"]), (&json!("text"), &json!("n")));
}

#[tokio::test]
async fn a_lease_that_is_not_there_is_made_by_replacing_it() {
    let site = Site::standalone().await;
    let body = json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}});
    let made = site.put(&format!("{LEASES}/a"), &body).await;
    assert_eq!(made.code, 201, "{}", made.text());
    let blind = site.put(&format!("{LEASES}/a"), &body).await;
    assert_eq!(blind.code, 422, "who replaces one that is there says which");
    assert_eq!(site.put(&format!("{LEASES}/a"), &made.json()).await.code, 200);
}
