//! What organizations give, carried out by RoleBindings: by two at once, by one that missed something, and many.

use std::collections::BTreeSet;
use std::time::Duration;

use bailiwick_api::{OrgGroup, OrgRoleBinding, Organization};
use bailiwick_controllers::OrganizationController;
use bailiwick_registry::{Clock, SystemClock};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::site::{SOON, Site};

impl Site {
    fn controller(&self) -> AbortOnDropHandle<()> {
        let controller = OrganizationController::new(self.client.clone(), self.client.clone(), || SystemClock.now());
        AbortOnDropHandle::new(tokio::spawn(controller.with_role_bindings("controller".to_owned()).run()))
    }

    fn org_groups(&self) -> Api<OrgGroup> {
        Api::all(self.client.clone())
    }

    fn bindings(&self, namespace: &str) -> Api<OrgRoleBinding> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn role_bindings(&self, namespace: &str) -> Api<RoleBinding> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Acme with so many members, all of them in its group, which is bound in the namespaces `a` and `b`.
    async fn with_members(number: usize) -> Self {
        let site = Self::open().await;
        let organizations: Api<Organization> = Api::all(site.client.clone());
        let acme = json!({"metadata": {"name": "Acme"}, "memberUsers": users(0..number)});
        site.make(&organizations, acme).await;
        let group = json!({"metadata": {"name": "Acme:dev"}, "users": users(0..number)});
        site.make(&site.org_groups(), group).await;
        for namespace in ["a", "b"] {
            site.owner(namespace, json!("organizations__Acme")).await;
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"});
            let binding = json!({"metadata": {"name": "dev"}, "roleRef": role, "orgGroups": ["Acme:dev"]});
            site.make(&site.bindings(namespace), binding).await;
        }
        site
    }

    async fn owner(&self, namespace: &str, owner: Value) {
        let patch = json!({"metadata": {"labels": {"openshift.io/owner": owner}}});
        self.namespaces().patch(namespace, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn set_group(&self, users: Vec<String>) {
        let patch = Patch::Merge(json!({"users": users}));
        self.org_groups().patch("Acme:dev", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until these have the role in a namespace, and no others. Gives how many RoleBindings that takes.
    async fn holders(&self, namespace: &str, wanted: Vec<String>) -> usize {
        let (wanted, began): (BTreeSet<String>, _) = (wanted.into_iter().collect(), Instant::now());
        loop {
            let found = self.role_bindings(namespace).list(&ListParams::default()).await.unwrap().items;
            let subjects = found.iter().flat_map(|binding| binding.subjects.iter().flatten());
            let holders: Vec<String> = subjects.map(|subject| subject.name.clone()).collect();
            if holders.len() == wanted.len() && holders.into_iter().collect::<BTreeSet<_>>() == wanted {
                return found.len();
            }
            assert!(began.elapsed() < SOON, "{} are to have it: {found:?}", wanted.len());
            sleep(Duration::from_millis(20)).await;
        }
    }
}

fn users(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("user-{number}")).collect()
}

/// SRV-10: two that run at once come to the same end, and then leave it alone.
#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_agree() {
    let site = Site::with_members(2_500).await;
    let _two = [site.controller(), site.controller()];
    assert_eq!(site.holders("a", users(0..2_500)).await, 3);
    for round in 0..20 {
        site.set_group(users((0..2_500).filter(|number| number % 20 != round))).await;
    }
    let last = || users((0..2_500).filter(|number| number % 20 != 19));
    assert_eq!(site.holders("a", last()).await, 3);
    site.holders("b", last()).await;
    let versions = async || {
        let bindings = site.role_bindings("a").list(&ListParams::default()).await.unwrap().items;
        let mut versions: Vec<_> = bindings.iter().map(ResourceExt::resource_version).collect();
        versions.push(site.bindings("a").get("dev").await.unwrap().resource_version());
        versions.push(site.org_groups().get("Acme:dev").await.unwrap().resource_version());
        versions
    };
    let mut settled = versions().await;
    let began = Instant::now();
    loop {
        sleep(Duration::from_millis(500)).await;
        let now = versions().await;
        if now == settled {
            break;
        }
        assert!(began.elapsed() < SOON, "they go on writing");
        settled = now;
    }
    let names = site.bindings("a").get("dev").await.unwrap().status.unwrap().role_bindings;
    assert_eq!(names, ["org-role-binding:dev", "org-role-binding:dev:1", "org-role-binding:dev:2"]);
}

/// S-25: what changed while nobody looked counts as soon as somebody does.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_missed_is_made_up_for() {
    let site = Site::with_members(3).await;
    let first = site.controller();
    site.holders("a", users(0..3)).await;
    site.holders("b", users(0..3)).await;
    drop(first);
    sleep(Duration::from_millis(100)).await;
    site.set_group(users(1..3)).await;
    site.bindings("b").delete("dev", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    site.holders("a", users(0..3)).await;
    let second = site.controller();
    site.holders("a", users(1..3)).await;
    site.holders("b", Vec::new()).await;
    drop(second);
    sleep(Duration::from_millis(100)).await;
    site.owner("a", Value::Null).await;
    let _third = site.controller();
    site.holders("a", Vec::new()).await;
}
