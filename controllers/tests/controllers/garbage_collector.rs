//! What is owned, and what happens to it when its owners go.

use bailiwick_api::{Group, Organization, ResourceCatalogClaim};
use bailiwick_controllers::GarbageCollector;
use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::site::{Holds, Site, delete, gone, stays};

impl Site {
    async fn with_collector() -> Self {
        Self::open().await.collecting()
    }

    fn collecting(mut self) -> Self {
        self.run(GarbageCollector::new(self.client.clone()).run());
        self
    }

    fn groups(&self) -> Api<Group> {
        Api::all(self.client.clone())
    }

    fn organizations(&self) -> Api<Organization> {
        Api::all(self.client.clone())
    }

    fn claims(&self, namespace: &str) -> Api<ResourceCatalogClaim> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn group(&self, name: &str, owners: &[Value]) -> Group {
        self.make(&self.groups(), json!({"metadata": {"name": name, "ownerReferences": owners}})).await
    }

    async fn organization(&self, name: &str, owners: &[Value]) -> Organization {
        self.make(&self.organizations(), json!({"metadata": {"name": name, "ownerReferences": owners}})).await
    }

    async fn claim(&self, namespace: &str, name: &str, owners: &[Value]) -> ResourceCatalogClaim {
        let entry = json!({"namespace": "publisher", "name": "database"});
        let spec = json!({"catalogName": "gold", "resourceCatalogEntry": entry});
        let object = json!({"metadata": {"name": name, "ownerReferences": owners}, "spec": spec});
        self.make(&self.claims(namespace), object).await
    }
}

fn owner<K: Resource<DynamicType = ()>>(owner: &K) -> Value {
    reference(owner, false)
}

fn blocking<K: Resource<DynamicType = ()>>(owner: &K) -> Value {
    reference(owner, true)
}

fn reference<K: Resource<DynamicType = ()>>(owner: &K, blocking: bool) -> Value {
    json!({"apiVersion": K::api_version(&()), "kind": K::kind(&()), "name": owner.name_any(),
        "uid": owner.uid().unwrap(), "blockOwnerDeletion": blocking})
}

#[tokio::test]
async fn what_is_owned_goes_with_its_last_owner() {
    let site = Site::with_collector().await;
    let (first, second) = (site.organization("First", &[]).await, site.organization("Second", &[]).await);
    let child = site.group("child", &[owner(&first)]).await;
    site.group("grandchild", &[owner(&child)]).await;
    site.claim("a", "claimed", &[owner(&child)]).await;
    site.group("shared", &[owner(&first), owner(&second)]).await;
    site.group("free", &[]).await;
    delete(&site.organizations(), "First", PropagationPolicy::Background).await;
    gone(&site.groups(), "child").await;
    gone(&site.groups(), "grandchild").await;
    gone(&site.claims("a"), "claimed").await;
    let shared = stays(&site.groups(), "shared").await;
    let owners: Vec<_> = shared.owner_references().iter().map(|owner| owner.name.clone()).collect();
    assert_eq!(owners, ["Second"], "who is gone is no owner any more");
    stays(&site.groups(), "free").await;
    delete(&site.organizations(), "Second", PropagationPolicy::Background).await;
    gone(&site.groups(), "shared").await;
}

#[tokio::test]
async fn orphans_stay_and_have_no_owner() {
    let site = Site::with_collector().await;
    let parent = site.organization("Parent", &[]).await;
    site.group("one", &[owner(&parent)]).await;
    site.group("two", &[owner(&parent)]).await;
    delete(&site.organizations(), "Parent", PropagationPolicy::Orphan).await;
    gone(&site.organizations(), "Parent").await;
    for name in ["one", "two"] {
        assert_eq!(stays(&site.groups(), name).await.owner_references(), []);
    }
}

#[tokio::test]
async fn an_owner_waits_for_those_who_block_it_and_for_nobody_else() {
    let site = Site::with_collector().await;
    let parent = site.organization("Parent", &[]).await;
    let mut held = site.group("held", &[blocking(&parent)]).await;
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    let held = site.groups().replace("held", &PostParams::default(), &held).await.unwrap();
    let mut loose = site.group("loose", &[owner(&parent)]).await;
    loose.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    site.groups().replace("loose", &PostParams::default(), &loose).await.unwrap();
    delete(&site.organizations(), "Parent", PropagationPolicy::Foreground).await;
    let waiting = stays(&site.organizations(), "Parent").await;
    assert_eq!(waiting.finalizers(), ["foregroundDeletion"]);
    let mut held = site.groups().get(&held.name_any()).await.unwrap();
    assert!(held.metadata.deletion_timestamp.is_some(), "it is asked to go");
    held.metadata.finalizers = None;
    site.groups().replace("held", &PostParams::default(), &held).await.unwrap();
    gone(&site.groups(), "held").await;
    gone(&site.organizations(), "Parent").await;
    assert!(stays(&site.groups(), "loose").await.metadata.deletion_timestamp.is_some());
}

#[tokio::test]
async fn a_circle_is_no_reason_to_wait_for_ever() {
    let site = Site::with_collector().await;
    let mut first = site.group("first", &[]).await;
    let second = site.group("second", &[blocking(&first)]).await;
    let third = site.group("third", &[blocking(&second)]).await;
    first.metadata.owner_references = Some(vec![serde_json::from_value(blocking(&third)).unwrap()]);
    site.groups().replace("first", &PostParams::default(), &first).await.unwrap();
    delete(&site.groups(), "first", PropagationPolicy::Foreground).await;
    for name in ["first", "second", "third"] {
        gone(&site.groups(), name).await;
    }
}

/// S-14: kube puts names into paths as they are. The name of an owner that makes another question of the one whether it is there,
/// such as one without an end, must not keep the collector from its work.
#[tokio::test]
async fn the_name_of_an_owner_leads_nowhere_else() {
    const MORE_THAN_WORKERS: usize = 50;
    let site = Site::with_collector().await;
    let parent = site.organization("Parent", &[]).await;
    site.group("child", &[owner(&parent)]).await;
    let called = |name: &str| {
        let mut reference = owner(&parent);
        reference["name"] = name.into();
        reference["uid"] = "00000000-0000-4000-8000-000000000000".into();
        reference
    };
    for number in 0..MORE_THAN_WORKERS {
        site.group(&format!("asks-{number}"), &[called("Parent?watch=true")]).await;
    }
    let nowhere = ["a/b", "..", "../organizations/Parent", "%2e%2e"];
    for (number, name) in nowhere.iter().enumerate() {
        site.group(&format!("nowhere-{number}"), &[called(name)]).await;
    }
    delete(&site.organizations(), "Parent", PropagationPolicy::Background).await;
    gone(&site.groups(), "child").await;
    for number in 0..MORE_THAN_WORKERS {
        gone(&site.groups(), &format!("asks-{number}")).await;
    }
    for number in 0..nowhere.len() {
        stays(&site.groups(), &format!("nowhere-{number}")).await;
    }
}

#[tokio::test]
async fn who_names_the_wrong_owner_is_alone() {
    let site = Site::with_collector().await;
    let organization = site.organization("Acme", &[]).await;
    let elsewhere = site.claim("b", "owner", &[]).await;
    let with = |field: &str, value: &str| {
        let mut reference = owner(&organization);
        reference[field] = json!(value);
        reference
    };
    site.group("no-such-uid", &[with("uid", "11111111-2222-3333-4444-555555555555")]).await;
    site.group("other-name", &[with("name", "Other")]).await;
    site.group("other-kind", &[with("kind", "Group")]).await;
    site.claim("a", "other-namespace", &[owner(&elsewhere)]).await;
    for name in ["no-such-uid", "other-name", "other-kind"] {
        gone(&site.groups(), name).await;
    }
    gone(&site.claims("a"), "other-namespace").await;

    // These cannot be told, and what cannot be told is no reason to remove anything.
    site.group("unknown-kind", &[with("apiVersion", "unknown.example.com/v1")]).await;
    site.group("of-a-claim", &[owner(&elsewhere)]).await;
    stays(&site.groups(), "unknown-kind").await;
    stays(&site.groups(), "of-a-claim").await;
}

#[tokio::test]
async fn what_happened_before_it_began_is_made_good() {
    let site = Site::open().await;
    let parent = site.organization("Parent", &[]).await;
    let kept = site.organization("Kept", &[]).await;
    site.group("child", &[owner(&parent)]).await;
    site.group("kept", &[owner(&kept)]).await;
    site.group("blocking", &[blocking(&kept)]).await;
    delete(&site.organizations(), "Parent", PropagationPolicy::Background).await;
    // The same name again is another object.
    site.organization("Parent", &[]).await;
    let waiting = site.organization("Waiting", &[]).await;
    site.group("hindrance", &[blocking(&waiting)]).await;
    delete(&site.organizations(), "Waiting", PropagationPolicy::Foreground).await;
    let site = site.collecting();
    gone(&site.groups(), "child").await;
    gone(&site.organizations(), "Waiting").await;
    gone(&site.groups(), "hindrance").await;
    stays(&site.groups(), "kept").await;
    stays(&site.groups(), "blocking").await;
}

/// A kind that has just been defined, and that the collector, which asks for kinds every few seconds, has not heard of.
async fn fresh_kind(site: &Site) -> Api<DynamicObject> {
    // It works, and so has asked for kinds.
    let first = site.organization("First", &[]).await;
    site.group("child", &[owner(&first)]).await;
    delete(&site.organizations(), "First", PropagationPolicy::Background).await;
    gone(&site.groups(), "child").await;
    let definitions: Api<CustomResourceDefinition> = Api::all(site.client.clone());
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let spec = json!({
        "group": "shop.dev", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
    });
    site.make(&definitions, json!({"metadata": {"name": "gadgets.shop.dev"}, "spec": spec})).await;
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("shop.dev", "v1", "Gadget"), "gadgets");
    Api::namespaced_with(site.client.clone(), "a", &resource)
}

async fn gadget(gadgets: &Api<DynamicObject>, metadata: Value) {
    let gadget = json!({"apiVersion": "shop.dev/v1", "kind": "Gadget", "metadata": metadata});
    gadgets.create(&PostParams::default(), &serde_json::from_value(gadget).unwrap()).await.unwrap();
}

/// What is to be kept is kept, also if it is of a kind that is younger than the last look at them.
#[tokio::test]
async fn an_owner_abandons_what_is_of_a_new_kind() {
    let site = Site::with_collector().await;
    let gadgets = fresh_kind(&site).await;
    let settings: Api<ConfigMap> = Api::namespaced(site.client.clone(), "a");
    let settings_made = site.make(&settings, json!({"metadata": {"name": "owner"}})).await;
    gadget(&gadgets, json!({"name": "kept", "ownerReferences": [owner(&settings_made)]})).await;
    delete(&settings, "owner", PropagationPolicy::Orphan).await;
    gone(&settings, "owner").await;
    assert!(stays(&gadgets, "kept").await.owner_references().is_empty());
}

/// Who waits for those it owns waits for those of a new kind, too.
#[tokio::test]
async fn an_owner_waits_for_what_is_of_a_new_kind() {
    let site = Site::with_collector().await;
    let gadgets = fresh_kind(&site).await;
    let settings: Api<ConfigMap> = Api::namespaced(site.client.clone(), "a");
    let settings_made = site.make(&settings, json!({"metadata": {"name": "owner"}})).await;
    let held = json!({"name": "held", "finalizers": ["shop.dev/hold"], "ownerReferences": [blocking(&settings_made)]});
    gadget(&gadgets, held).await;
    delete(&settings, "owner", PropagationPolicy::Foreground).await;
    stays(&settings, "owner").await;
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    gadgets.patch("held", &PatchParams::default(), &patch).await.unwrap();
    gone(&gadgets, "held").await;
    gone(&settings, "owner").await;
}

/// Who was seen to go is gone, also when their kind has gone since and nobody can be asked about them any more.
#[tokio::test]
async fn what_is_owned_goes_though_the_kind_of_its_owner_is_gone() {
    let mut site = Site::open().await;
    let (road, client) = site.road();
    site.run(GarbageCollector::new(client).run());
    let gadgets = fresh_kind(&site).await;
    let settings: Api<ConfigMap> = Api::namespaced(site.client.clone(), "a");
    let nobody = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody",
        "uid": "11111111-2222-3333-4444-555555555555"});
    // When the younger of two is collected, the other one has been seen, too.
    gadget(&gadgets, json!({"name": "owner"})).await;
    gadget(&gadgets, json!({"name": "younger", "ownerReferences": [nobody]})).await;
    gone(&gadgets, "younger").await;
    let owner = gadgets.get("owner").await.unwrap().uid().unwrap();
    let owner = json!({"apiVersion": "shop.dev/v1", "kind": "Gadget", "name": "owner", "uid": owner});
    site.make(&settings, json!({"metadata": {"name": "owned", "ownerReferences": [owner]}})).await;
    site.make(&settings, json!({"metadata": {"name": "younger", "ownerReferences": [nobody]}})).await;
    gone(&settings, "younger").await;

    let asks_for_a_gadget: Holds = |method, uri| method == Method::GET && uri.path().contains("/gadgets/");
    road.held.send_replace(Some(asks_for_a_gadget));
    let definitions: Api<CustomResourceDefinition> = Api::all(site.client.clone());
    delete(&definitions, "gadgets.shop.dev", PropagationPolicy::Background).await;
    gone(&definitions, "gadgets.shop.dev").await;
    road.held.send_replace(None);
    gone(&settings, "owned").await;
}
