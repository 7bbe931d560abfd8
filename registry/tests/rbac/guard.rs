//! Writes of roles and bindings, as a registry makes them: which of them are judged, and by what.

use std::sync::Arc;
use std::time::SystemTime;

use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::rbac::{GROUP, LivePolicy, NoEscalation, PolicyObject, Rbac};
use bailiwick_registry::{Ctx, Error, Part, Registry, ServedKind, Tracking, Update, User, WriteOptions, kinds};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use serde_json::{Value, json};

const EVERYTHING: &str = "everything";

/// Roles and bindings that someone else has made, and `writer`, who may only read pods.
struct Site {
    registry: Registry,
    admin: User,
    writer: User,
}

/// S-21. Whoever does not hold what a role gives may not change it at all but for its upkeep: by a label it would become part
/// of a role that the writer has.
#[tokio::test]
async fn what_gives_more_than_its_writer_holds_is_not_even_labelled() {
    let site = Site::start().await;
    let any = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let role = json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": EVERYTHING});
    let subjects = json!([{"apiGroup": GROUP, "kind": "User", "name": "someone"}]);
    for (plural, body) in [
        ("clusterroles", json!({"metadata": {"name": EVERYTHING}, "rules": any})),
        ("roles", json!({"metadata": {"name": "all", "namespace": "n"}, "rules": any})),
        ("rolebindings", json!({"metadata": {"name": "all", "namespace": "n"}, "roleRef": role, "subjects": subjects})),
        ("clusterrolebindings", json!({"metadata": {"name": "all"}, "roleRef": role, "subjects": subjects})),
    ] {
        let kind = site.kind(plural);
        let refused = site.create(&site.writer, &kind, body.clone()).await;
        assert!(matches!(refused, Err(Error::Forbidden { .. })), "{plural}: {refused:?}");
        site.create(&site.admin, &kind, body.clone()).await.unwrap();
        for change in [
            json!({"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}),
            json!({"annotations": {"a": "b"}}),
            json!({"labels": {"a": "b"}, "finalizers": ["example.dev/f"]}),
        ] {
            let refused = site.change(&site.writer, &kind, &body, &change).await;
            assert!(matches!(refused, Err(Error::Forbidden { .. })), "{plural} {change}: {refused:?}");
            site.change(&site.admin, &kind, &body, &json!({"labels": {"admin": "was-here"}})).await.unwrap();
        }
        let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}]);
        for upkeep in
            [json!({"finalizers": ["example.dev/f"]}), json!({"ownerReferences": owner}), json!({"finalizers": []})]
        {
            site.change(&site.writer, &kind, &body, &upkeep).await.unwrap();
        }
    }
}

/// What the writer holds they may give, and label as they like.
#[tokio::test]
async fn what_its_writer_holds_is_written_and_labelled() {
    let site = Site::start().await;
    let (kind, rules) =
        (site.kind("clusterroles"), json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]));
    let body = json!({"metadata": {"name": "readers"}, "rules": rules});
    site.create(&site.writer, &kind, body.clone()).await.unwrap();
    site.change(&site.writer, &kind, &body, &json!({"labels": {"a": "b"}})).await.unwrap();
}

/// A role in a namespace is judged as a role, and one that collects others only by who holds everything, also where it has
/// collected them before.
#[tokio::test]
async fn each_kind_is_judged_by_its_own_rule() {
    let site = Site::start().await;
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let local = json!({"metadata": {"name": "readers", "namespace": "n"}, "rules": rules});
    site.create(&site.writer, &site.kind("roles"), local).await.unwrap();

    let kind = site.kind("clusterroles");
    let collecting = json!({"metadata": {"name": "collecting"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
    let refused = site.create(&site.writer, &kind, collecting.clone()).await;
    assert!(matches!(&refused, Err(Error::Forbidden { why, .. }) if why.contains("aggregationRule")), "{refused:?}");
    site.create(&site.admin, &kind, collecting.clone()).await.unwrap();
    let refused =
        site.edit(&site.writer, &kind, &collecting, &|new| drop(new.fields_mut().remove("aggregationRule"))).await;
    assert!(matches!(&refused, Err(Error::Forbidden { why, .. }) if why.contains("aggregationRule")), "{refused:?}");
}

// === impl Site ===

impl Site {
    async fn start() -> Self {
        let store = Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap();
        let registry = Registry::start(Arc::new(store), kinds::host().unwrap(), Default::default()).await.unwrap();
        let live = Arc::new(LivePolicy::default());
        let policy = [
            json!({"kind": "ClusterRole", "metadata": {"name": "view"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
            json!({"kind": "ClusterRole", "metadata": {"name": EVERYTHING},
                "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}),
            json!({"kind": "ClusterRoleBinding", "metadata": {"name": "view"},
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"},
                "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "writer"}]}),
        ];
        live.replace(policy.into_iter().map(policy_object).collect());
        let guard = NoEscalation { authorizer: Arc::new(Rbac::new(live.clone())), roles: live };
        let named = |name: &str, groups: &[&str]| User {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..User::default()
        };
        Self {
            registry: registry.with_admission(guard),
            admin: named("admin", &["system:masters"]),
            writer: named("writer", &[]),
        }
    }

    fn kind(&self, plural: &str) -> Arc<ServedKind> {
        self.registry.find(&GroupVersion::new(GROUP, "v1"), plural).unwrap()
    }

    async fn create(&self, user: &User, kind: &ServedKind, body: Value) -> Result<(), Error> {
        let options = WriteOptions::default();
        let mut object = Object::try_from(body).unwrap();
        object.set_gvk(kind.gvk());
        let accepted = kind.accept(object, &options)?;
        self.registry.create(&ctx(user), kind, accepted, &options).await.map(|_| ())
    }

    /// Puts something into the metadata of the object there is.
    async fn change(&self, user: &User, kind: &ServedKind, body: &Value, change: &Value) -> Result<(), Error> {
        let change = change.as_object().unwrap();
        self.edit(user, kind, body, &|new| new.metadata_mut().extend(change.clone())).await
    }

    async fn edit(
        &self,
        user: &User,
        kind: &ServedKind,
        body: &Value,
        edit: &(dyn Fn(&mut Object) + Sync),
    ) -> Result<(), Error> {
        let metadata = &body["metadata"];
        let (namespace, name) =
            (metadata["namespace"].as_str().unwrap_or_default(), metadata["name"].as_str().unwrap());
        let change = |old: &Object| {
            let mut new = old.clone();
            edit(&mut new);
            kind.accept(new, &WriteOptions::default())
        };
        let update = Update { part: Part::Main, change: &change, tracking: &Tracking::default(), dry_run: false };
        self.registry.update(&ctx(user), kind, namespace, name, update).await.map(|_| ())
    }
}

fn ctx(user: &User) -> Ctx<'_> {
    Ctx { user, now: SystemTime::UNIX_EPOCH, annotations: None }
}

fn policy_object(body: Value) -> PolicyObject {
    match body["kind"].as_str().unwrap() {
        "ClusterRole" => PolicyObject::ClusterRole(serde_json::from_value(body).unwrap()),
        _ => PolicyObject::ClusterRoleBinding(serde_json::from_value(body).unwrap()),
    }
}
