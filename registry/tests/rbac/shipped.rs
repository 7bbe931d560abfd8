//! The roles and bindings that every server has: what they come to, and that they are kept.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::rbac::{GROUP, LivePolicy, Rbac, RoleSource, bootstrap, follow};
use bailiwick_registry::{
    Attributes, AuthorizationTarget, Ctx, Decision, DeleteOptions, Part, Registry, ResourceAttributes, RuleResolver,
    ServedKind, Tracking, Update, User, WriteOptions, kinds,
};
use bailiwick_storage::At;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use serde_json::{Value, json};

/// How long something that must happen may take.
const SOON: Duration = Duration::from_secs(60);

/// A server's roles, at its start.
struct Site {
    registry: Arc<Registry>,
    policy: Arc<LivePolicy>,
    admin: User,
}

// === impl Site ===

impl Site {
    async fn start() -> Self {
        let store = Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap();
        let kinds = kinds::all().unwrap().into_iter().chain(kinds::host().unwrap()).collect();
        let registry = Arc::new(Registry::start(Arc::new(store), kinds, Default::default()).await.unwrap());
        bootstrap(&registry).await.unwrap();
        let policy = Arc::new(LivePolicy::default());
        follow(&registry, &policy).await.unwrap();
        Self { registry, policy, admin: someone("admin", &["system:masters"]) }
    }

    fn kind(&self, plural: &str) -> Arc<ServedKind> {
        self.registry.find(&GroupVersion::new(GROUP, "v1"), plural).unwrap()
    }

    fn ctx(&self) -> Ctx<'_> {
        Ctx { user: &self.admin, now: SystemTime::UNIX_EPOCH, annotations: None }
    }

    async fn create(&self, plural: &str, body: Value) {
        let (kind, options) = (self.kind(plural), WriteOptions::default());
        let mut object = Object::try_from(body).unwrap();
        object.set_gvk(kind.gvk());
        let accepted = kind.accept(object, &options).unwrap();
        self.registry.create(&self.ctx(), &kind, accepted, &options).await.unwrap();
    }

    async fn remove(&self, plural: &str, namespace: &str, name: &str) {
        let (kind, options) = (self.kind(plural), DeleteOptions::default());
        self.registry.delete(&self.ctx(), &kind, namespace, name, &options).await.unwrap();
    }

    async fn edit(&self, plural: &str, name: &str, edit: impl Fn(&mut Value) + Send + Sync) {
        let kind = self.kind(plural);
        let change = |old: &Object| {
            let mut new = old.clone();
            new.edit_as_value(&edit);
            kind.accept(new, &WriteOptions::default())
        };
        let update = Update { part: Part::Main, change: &change, tracking: &Tracking::default(), dry_run: false };
        self.registry.update(&self.ctx(), &kind, "", name, update).await.unwrap();
    }

    async fn get(&self, plural: &str, name: &str) -> Value {
        let kind = self.kind(plural);
        let found = self.registry.get(&kind, "", name, At::Latest).await.unwrap();
        found.to_object(kind.gvk()).unwrap().as_value().clone()
    }

    /// Whether someone may: `get configmaps`, `create .../selfsubjectreviews`, `get /metrics`. In the namespace `n`.
    fn may(&self, user: &User, asked: &str) -> bool {
        let (verb, what) = asked.split_once(' ').unwrap();
        let target = if what.starts_with('/') {
            AuthorizationTarget::Path(what)
        } else {
            let (group, what) = what.rsplit_once(':').unwrap_or(("", what));
            let (resource, subresource) = what.split_once('/').unwrap_or((what, ""));
            AuthorizationTarget::Resource(ResourceAttributes {
                group,
                resource,
                subresource,
                namespace: "n",
                ..Default::default()
            })
        };
        matches!(self.policy.policy().decide(&Attributes { user, verb, target }), Decision::Allow(_))
    }

    /// Waits until someone may, or may no longer.
    async fn until(&self, user: &User, asked: &str, may: bool) {
        let waiting = async {
            while self.may(user, asked) != may {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, waiting).await.unwrap_or_else(|_| panic!("{asked}: not {may} in time"));
    }
}

fn someone(name: &str, groups: &[&str]) -> User {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    User { name: name.to_owned(), groups, ..User::default() }
}

fn controller(name: &str) -> User {
    someone(&format!("system:serviceaccount:kube-system:{name}"), &[])
}

fn bound(role: &str, user: &str) -> Value {
    json!({
        "metadata": {"name": user, "namespace": "n"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    })
}

/// S-21: what everyone may do, and what they may not, before anybody has been given anything.
#[tokio::test]
async fn everyone_has_what_kubernetes_gives_them_and_no_more() {
    let site = Site::start().await;
    for role in ["view", "edit", "admin"] {
        site.create("rolebindings", bound(role, role)).await;
    }
    let (viewer, editor, admin) = (someone("view", &[]), someone("edit", &[]), someone("admin", &[]));
    site.until(&admin, "get configmaps", true).await;
    site.until(&admin, &format!("create {GROUP}:roles"), true).await;
    site.until(&editor, "create configmaps", true).await;
    site.until(&editor, "get configmaps", true).await;
    site.until(&viewer, "get configmaps", true).await;
    let reader = someone("system:kube-controller-manager", &[]);
    let rows: [(&User, &[&str], &[&str]); 17] = [
        (&someone("root", &["system:masters"]), &["delete secrets", "post /anything", "impersonate users"], &[]),
        (
            &someone("ann", &["system:authenticated"]),
            &[
                "get /version",
                "get /healthz",
                "get /livez",
                "get /readyz",
                "get /api",
                "get /apis/x",
                "get /openapi/v3",
                "create authorization.k8s.io:selfsubjectaccessreviews",
                "create authorization.k8s.io:selfsubjectrulesreviews",
                "create authentication.k8s.io:selfsubjectreviews",
            ],
            &[
                "get configmaps",
                "get /metrics",
                "post /api",
                "create authentication.k8s.io:tokenreviews",
                "create authorization.k8s.io:subjectaccessreviews",
                "get /openid/v1/jwks",
            ],
        ),
        (
            &someone("system:anonymous", &["system:unauthenticated"]),
            &["get /version", "get /livez"],
            &["get /api", "get /metrics"],
        ),
        (
            &someone("probe", &["system:monitoring"]),
            &["get /metrics", "get /livez/etcd", "get nodes/metrics"],
            &["get nodes", "get /api"],
        ),
        (
            &someone("bot", &["system:serviceaccounts"]),
            &["get /openid/v1/jwks", "get /.well-known/openid-configuration"],
            &["get /api"],
        ),
        (
            &viewer,
            &["list namespaces", "watch events", "list events.k8s.io:events", "get resourcequotas", "get pods/log"],
            &["get secrets", "create configmaps", "impersonate serviceaccounts", "get coordination.k8s.io:leases"],
        ),
        (
            &editor,
            &[
                "get secrets",
                "deletecollection configmaps",
                "impersonate serviceaccounts",
                "create serviceaccounts/token",
                "update coordination.k8s.io:leases",
                "create pods/eviction",
                "patch pods",
                "delete events",
                "get pods/log",
            ],
            &[
                "get rbac.authorization.k8s.io:roles",
                "create authorization.k8s.io:localsubjectaccessreviews",
                "delete namespaces",
            ],
        ),
        (
            &admin,
            &[
                "update rbac.authorization.k8s.io:rolebindings",
                "create authorization.k8s.io:localsubjectaccessreviews",
                "get secrets",
                "get pods/log",
            ],
            &[
                "create resourcequotas",
                "escalate rbac.authorization.k8s.io:roles",
                "bind rbac.authorization.k8s.io:roles",
            ],
        ),
        (
            &reader,
            &["list anything:things", "create serviceaccounts/token", "update secrets"],
            &["delete configmaps", "get things"],
        ),
        (&controller("generic-garbage-collector"), &["delete x:things", "create events"], &["create x:things"]),
        (
            &controller("namespace-controller"),
            &["update namespaces/finalize", "deletecollection x:things"],
            &["create pods"],
        ),
        (&controller("service-account-controller"), &["create serviceaccounts"], &["get secrets"]),
        (&controller("root-ca-cert-publisher"), &["update configmaps"], &["delete configmaps"]),
        (&controller("admission-controller"), &["get namespaces"], &["list namespaces"]),
        (&controller("bundle-controller"), &["update bundle.bailiwick.dev:bundles/status"], &["get secrets"]),
        (&controller("quota-controller"), &["create resourcequotas"], &["update resourcequotas"]),
        (
            &someone("system:serviceaccount:bailiwick-system:provisioner", &[]),
            &["create secrets"],
            &["create configmaps", "patch secrets"],
        ),
    ];
    for (user, may, may_not) in rows {
        for asked in may {
            site.until(user, asked, true).await;
        }
        for asked in may_not {
            assert!(!site.may(user, asked), "{}: {asked}", user.name);
        }
    }
    for name in
        ["catalog-controller", "catalog-claim-controller", "claim-definition-controller", "organization-controller"]
    {
        let may = site.policy.policy().rules_for(&controller(name), "n").0.len();
        assert!(may > 2, "{name}: {may} rules");
    }
}

/// S-21: what a role or a binding has lost is given back at the next start; what it has been given stays.
#[tokio::test]
async fn what_was_lost_is_given_back() {
    let site = Site::start().await;
    let (role, binding) = ("system:discovery", "system:public-info-viewer");
    let (old_role, old_binding) =
        (site.get("clusterroles", role).await, site.get("clusterrolebindings", binding).await);
    let more = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]});
    site.edit("clusterroles", role, |role| {
        role["rules"] = json!([more]);
        role["metadata"]["labels"] = json!({"mine": "stays"});
    })
    .await;
    let friend = json!({"apiGroup": GROUP, "kind": "Group", "name": "friends"});
    let kept = old_binding["subjects"][0].clone();
    site.edit("clusterrolebindings", binding, |binding| binding["subjects"] = json!([friend, kept])).await;
    site.edit("clusterrolebindings", "system:monitoring", |binding| {
        drop(binding.as_object_mut().unwrap().remove("subjects"));
    })
    .await;
    bootstrap(&site.registry).await.unwrap();

    let new = site.get("clusterroles", role).await;
    assert_eq!(new["rules"], json!([more, old_role["rules"][0]]));
    let mut labels = old_role["metadata"]["labels"].clone();
    labels["mine"] = json!("stays");
    assert_eq!(new["metadata"]["labels"], labels);
    let new = site.get("clusterrolebindings", binding).await;
    assert_eq!(new["subjects"], json!([friend, kept, old_binding["subjects"][1]]));
    let new = site.get("clusterrolebindings", "system:monitoring").await;
    assert_eq!(new["subjects"][0]["name"], "system:monitoring");

    // What a role allows in other words is not said again.
    site.edit("clusterroles", role, |role| role["rules"] = json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}])).await;
    bootstrap(&site.registry).await.unwrap();
    assert_eq!(site.get("clusterroles", role).await["rules"].as_array().unwrap().len(), 1);
}

/// S-21: roles that are made of others follow them, and so does what people may, also when something goes.
#[tokio::test]
async fn what_people_may_follows_what_is_stored() {
    let site = Site::start().await;
    site.create("rolebindings", bound("view", "ann")).await;
    let ann = someone("ann", &[]);
    site.until(&ann, "get configmaps", true).await;
    site.create(
        "clusterroles",
        json!({
            "metadata": {"name": "things", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
            "rules": [{"verbs": ["get"], "apiGroups": ["x"], "resources": ["things"]}],
        }),
    )
    .await;
    site.until(&ann, "get x:things", true).await;
    site.remove("clusterroles", "", "things").await;
    site.until(&ann, "get x:things", false).await;
    site.until(&ann, "get configmaps", true).await;

    let rules = json!([{"verbs": ["delete"], "apiGroups": [""], "resources": ["configmaps"]}]);
    site.create("roles", json!({"metadata": {"name": "own", "namespace": "n"}, "rules": rules})).await;
    let mut own = bound("own", "own");
    own["roleRef"]["kind"] = json!("Role");
    own["subjects"][0]["name"] = json!("ann");
    site.create("rolebindings", own).await;
    site.until(&ann, "delete configmaps", true).await;
    site.remove("roles", "n", "own").await;
    site.until(&ann, "delete configmaps", false).await;
    let told = Rbac::new(site.policy.clone()).rules_for(&ann, "n").await;
    assert!(told.evaluation_error.unwrap().contains("\"own\" not found"));
    assert!(!told.resource_rules.is_empty() && told.non_resource_rules.is_empty());
    site.remove("rolebindings", "n", "ann").await;
    site.until(&ann, "get configmaps", false).await;

    let everyone = someone("x", &["system:authenticated"]);
    let told = Rbac::new(site.policy.clone()).rules_for(&everyone, "n").await;
    assert!(told.evaluation_error.is_none());
    assert!(told.non_resource_rules.iter().all(|rule| !rule.non_resource_urls.as_ref().unwrap().is_empty()));
    assert!(!told.non_resource_rules.is_empty() && !told.resource_rules.is_empty());
    site.remove("clusterrolebindings", "", "system:discovery").await;
    site.until(&everyone, "get /api", false).await;
}
