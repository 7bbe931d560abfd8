//! What a resource puts out, and others use, while those who look after both end at every point at which they write.

use std::time::Duration;

use bailiwick_api::{Condition, ConditionStatus, OutputInUse, Phase, ReadinessRule};
use bailiwick_controllers::Clients;
use http::Request;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::brittle::{End, everyone};
use crate::bundles::controller;
use crate::site::{SOON, Site, comes, gone};

/// The sample kinds: ResourceClaim, which puts something out, and ResourceBinding, which names it.
const KINDS: &str = include_str!("../../../examples/definitions.yaml");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How outputs are called in these tests: by what is in them, and otherwise each time.
const MODES: [&str; 2] = ["ContentsHash", "Random"];

/// Looks after claims, as a program of its own.
async fn claims(clients: Clients) {
    bailiwick_examples::run(clients.own).await;
}

// === impl Site ===

impl Site {
    /// One with the sample kinds.
    async fn open_with_claims() -> (Self, ServiceAccount) {
        let (site, account) = Self::open_with_account().await;
        for definition in KINDS.split("\n---\n") {
            let request = Request::post(DEFINITIONS).header("content-type", "application/yaml");
            let request = request.body(definition.as_bytes().to_vec()).unwrap();
            site.client.request::<DynamicObject>(request).await.unwrap();
        }
        (site, account)
    }

    /// What names an output names one that is there.
    async fn names_what_is_there(&self, name: &str) {
        let named = async || {
            let map = self.maps().get_opt(&format!("{name}-named")).await.unwrap()?;
            map.data.unwrap_or_default().remove("secret")
        };
        let Some(found) = named().await else { return };
        // It may have been let go between the questions, but then something else is named.
        if self.secrets().get_opt(&found).await.unwrap().is_none() {
            assert_ne!(named().await, Some(found), "{name} names what is not there");
        }
    }

    /// The name of what a Bundle's claim has put out last, if everyone has it and it is all that is left.
    async fn settled(&self, name: &str, word: &str) -> Option<String> {
        let bundle = self.bundles().get(name).await.unwrap();
        let status = bundle.status.filter(|status| status.observed_generation == bundle.metadata.generation)?;
        let is_ready = |found: &Condition| found.condition_type == "Ready" && found.status == ConditionStatus::True;
        status.conditions.iter().find(|found| is_ready(found))?;
        let copy = self.secrets().get(&format!("{name}-copy")).await.ok()?.data?;
        let current = self.maps().get(&format!("{name}-named")).await.ok()?.data?.remove("secret")?;
        let claim = &status.inventory.iter().find(|item| item.resource == "db")?.object.uid;
        let its = ListParams::default().labels(&format!("resource-claims.example.dev/claim={claim}"));
        let left: Vec<String> = self.secrets().list(&its).await.ok()?.iter().map(ResourceExt::name_any).collect();
        let used = [OutputInUse { resource: "db".to_owned(), name: current.clone() }];
        let is_so = copy.get("word")?.0 == word.as_bytes()
            && (status.inventory.len(), status.ready.as_deref()) == (3, Some("3/3"))
            && status.outputs == used
            && left == [&*current];
        is_so.then_some(current)
    }

    /// Waits until that is so.
    async fn is_settled(&self, name: &str, word: &str) -> String {
        let settling = async {
            loop {
                match self.settled(name, word).await {
                    Some(current) => return current,
                    None => sleep(Duration::from_millis(10)).await,
                }
            }
        };
        match timeout(SOON, settling).await {
            Ok(current) => current,
            Err(_) => panic!("{name} does not come to {word}: {:#?}", self.bundles().get(name).await.unwrap().status),
        }
    }

    /// Ends a controller before and after each of its writes, when an output is used for the first time and when another takes its
    /// place, while everyone else goes on. What is named is there, and another controller comes to the same end. Gives how
    /// many points there were.
    async fn end_at_every_write<R>(&self, account: &ServiceAccount, run: impl Fn(Clients) -> R + Copy) -> usize
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let mut points = 0;
        for (mode, end) in MODES.into_iter().flat_map(|mode| [End::Before, End::After].map(|end| (mode, end))) {
            for writes in 0.. {
                let name = format!("{mode}-{writes}-{end:?}").to_lowercase();
                self.accepted(&name, account, resources(&name, mode, "one")).await;
                let until = async { drop(self.is_settled(&name, "one").await) };
                let making = self.run_brittle(run, (writes, end), until).await;
                self.names_what_is_there(&name).await;
                let whole = Self::start(self.client.clone(), run);
                let first = self.is_settled(&name, "one").await;
                drop(whole);
                let change = Patch::Merge(json!({"spec": {"resources": resources(&name, mode, "two")}}));
                self.bundles().patch(&name, &PatchParams::default(), &change).await.unwrap();
                let until = async { drop(self.is_settled(&name, "two").await) };
                let rolling = self.run_brittle(run, (writes, end), until).await;
                self.names_what_is_there(&name).await;
                let _whole = Self::start(self.client.clone(), run);
                assert_ne!(self.is_settled(&name, "two").await, first, "{name}");
                self.bundles().delete(&name, &DeleteParams::default()).await.unwrap();
                gone(&self.bundles(), &name).await;
                points += usize::from(making) + usize::from(rolling);
                if !making && !rolling {
                    break;
                }
                assert!(writes < 60, "it writes for ever");
            }
        }
        eprintln!("{points} points were tried");
        points
    }
}

/// A claim that puts out a word, who names what it puts out, and who has a copy.
fn resources(name: &str, mode: &str, word: &str) -> Value {
    json!([
        {"name": "db", "spec": {
            "apiVersion": "smith.atlassian.com/v1", "kind": "ResourceClaim", "metadata": {"name": name},
            "spec": {"secretNameMode": mode, "contents": {"word": word}},
        }},
        {"name": "named", "dependsOn": ["db"], "spec": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}-named")},
            "data": {"secret": "$(db:binding.status.secretName)", "word": word},
        }},
        {"name": "copy", "dependsOn": ["db"], "spec": {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("{name}-copy")},
            "stringData": {"word": "$(db:output.data.word)"},
        }},
    ])
}

/// R-26, SMITH-31, B-SMITH-1: wherever the controller of Bundles ends, dependents name what is there, whoever comes next updates all
/// of them, and the old output goes.
#[tokio::test(flavor = "multi_thread")]
async fn outputs_roll_over_from_a_crash_at_every_write() {
    let (mut site, account) = Site::open_with_claims().await;
    site.run(claims(everyone(site.client.clone())));
    let points = site.end_at_every_write(&account, controller).await;
    assert!(points >= 40, "{points} points were tried");
}

/// R-26, SMITH-26, SMITH-31, SMITH-32: wherever the type's own controller ends, what is named is there, nothing is put out that
/// nobody knows of, and what is old goes.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_puts_out_converges_from_a_crash_at_every_write() {
    let (site, account) = Site::open_with_claims().await;
    let _bundles = site.bundle_controller();
    let points = site.end_at_every_write(&account, claims).await;
    assert!(points >= 40, "{points} points were tried");
}

/// M-SMITH-2, SMITH-25: a rule that says when objects of a kind are ready takes nothing away of what they put out: who uses that
/// waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_leaves_outputs_to_be_used() {
    let (mut site, account) = Site::open_with_claims().await;
    let _bundles = site.bundle_controller();
    let selector = json!({"group": "smith.atlassian.com", "kind": "ResourceClaim"});
    let rule = json!({
        "metadata": {"name": "claims"}, "spec": {"selector": selector, "path": "metadata.name", "value": "ruled"},
    });
    site.make(&Api::<ReadinessRule>::all(site.client.clone()), rule).await;
    let mut alone = resources("ruled", "ContentsHash", "one");
    alone.as_array_mut().unwrap().truncate(1);
    site.accepted("ruled", &account, alone).await;
    // The rule alone decides as long as nobody uses anything: nobody looks after claims yet.
    site.is_ready("ruled").await;
    let all = Patch::Merge(json!({"spec": {"resources": resources("ruled", "ContentsHash", "one")}}));
    site.bundles().patch("ruled", &PatchParams::default(), &all).await.unwrap();
    comes(&site.bundles(), "ruled", |bundle| {
        let mut resources = bundle.status.iter().flat_map(|status| &status.resources);
        resources.any(|found| found.phase == Phase::InProgress && found.message.contains("no ResourceBinding exists"))
    })
    .await;
    site.run(claims(everyone(site.client.clone())));
    site.is_settled("ruled", "one").await;
}

/// SMITH-29, B-05: what has the name of an output and is not the claim's is neither changed nor used.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_have_is_not_put_out() {
    let (mut site, account) = Site::open_with_claims().await;
    site.run(claims(everyone(site.client.clone())));
    let _bundles = site.bundle_controller();
    site.make(&site.secrets(), json!({"metadata": {"name": "taken"}, "stringData": {"word": "theirs"}})).await;
    let mut parts = resources("fixed", "Fixed", "ours");
    parts[0]["spec"]["spec"]["secretName"] = json!("taken");
    site.accepted("fixed", &account, parts).await;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("smith.atlassian.com", "v1", "ResourceClaim"));
    let all: Api<DynamicObject> = Api::namespaced_with(site.client.clone(), "a", &kind);
    let told = async {
        while all.get_opt("fixed").await.unwrap().is_none_or(|claim| claim.data["status"]["error"].is_null()) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, told).await.expect("the claim says nothing");
    let theirs = site.secrets().get("taken").await.unwrap();
    assert_eq!((&*theirs.data.clone().unwrap()["word"].0, theirs.labels().len()), (&b"theirs"[..], 0));
    // When it is gone, there is room for the claim's own.
    site.secrets().delete("taken", &DeleteParams::default()).await.unwrap();
    site.is_settled("fixed", "ours").await;
}

/// SMITH-25, B-05: a binding can name what somebody else controls, or what is another path. Neither is an output.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_control_is_no_output() {
    let (site, account) = Site::open_with_claims().await;
    let _bundles = site.bundle_controller();
    let owner = |uid: Option<String>| json!([{"apiVersion": "v1", "kind": "ServiceAccount", "name": "default", "uid": uid, "controller": true}]);
    let theirs = json!({"metadata": {"name": "theirs", "ownerReferences": owner(account.uid())}, "stringData": {"word": "theirs"}});
    site.make(&site.secrets(), theirs).await;
    let of = |kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk("smith.atlassian.com", "v1", kind));
    let claims: Api<DynamicObject> = Api::namespaced_with(site.client.clone(), "a", &of("ResourceClaim"));
    let bindings: Api<DynamicObject> = Api::namespaced_with(site.client.clone(), "a", &of("ResourceBinding"));
    for (name, output, why) in
        [("foreign", "theirs", "is controlled by"), ("elsewhere", "?limit=1", "one part of a path")]
    {
        site.accepted(name, &account, resources(name, "Random", "x")).await;
        let claim = comes_dynamic(&claims, name).await;
        let binding = json!({
            "apiVersion": "smith.atlassian.com/v1", "kind": "ResourceBinding",
            "metadata": {"name": name, "ownerReferences": [{
                "apiVersion": "smith.atlassian.com/v1", "kind": "ResourceClaim", "name": name, "uid": claim.uid(), "controller": true,
            }]},
            "status": {"secretName": output},
        });
        bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
        comes(&site.bundles(), name, |bundle| {
            let mut resources = bundle.status.iter().flat_map(|status| &status.resources);
            resources.any(|found| found.phase == Phase::Error && found.message.contains(why))
        })
        .await;
        assert_eq!(site.secrets().get_opt(&format!("{name}-copy")).await.unwrap(), None);
    }
}

/// Waits until there is an object of this name.
async fn comes_dynamic(api: &Api<DynamicObject>, name: &str) -> DynamicObject {
    let coming = async {
        loop {
            match api.get_opt(name).await.unwrap() {
                Some(found) => return found,
                None => sleep(Duration::from_millis(10)).await,
            }
        }
    };
    timeout(SOON, coming).await.unwrap_or_else(|_| panic!("{name} does not come"))
}
