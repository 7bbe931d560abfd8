//! What the server's account does by each of its rights to write, and does not do without it.
//!
//! Rights are taken away from a server that runs, several at once where what comes of them is told apart; then it is seen that
//! nothing happens, all are given back, and everything happens by itself.

use std::time::Duration;

use bailiwick_test_host::{Cluster, Kubectl};
use tokio::time::{Instant, sleep};

use crate::host::{done, done_soon};
use crate::process::PATIENCE;
use crate::rights::{AT_HOME, EVERYWHERE, NEVER};
use crate::world::World;

/// A project of Acme's, where the server may act as others; and a provisioner who may look for claims.
const PLACE: &str = "
{apiVersion: org.bailiwick.dev/v1alpha1, kind: Organization, metadata: {name: Acme}, memberUsers: [alice]}
---
{apiVersion: v1, kind: Namespace, metadata: {name: deeds, labels: {openshift.io/owner: organizations__Acme, tier: deeds}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: act-as, namespace: deeds}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'bailiwick:act-as'}
subjects: [{kind: ServiceAccount, name: bailiwick, namespace: bailiwick-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: worker, namespace: deeds}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: default, namespace: deeds}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: deeds-provisioner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: provisioner, namespace: bailiwick-system}]
";

const CATALOG: &str = "
{apiVersion: catalog.bailiwick.dev/v1alpha1, kind: ResourceCatalog, metadata: {name: deeds}, spec: {selector: {tier: deeds}, accept: {policy: All}}}
---
apiVersion: catalog.bailiwick.dev/v1alpha1
kind: ResourceCatalogEntry
metadata: {name: tools, namespace: deeds, labels: {tier: deeds}}
spec: {description: tools, extension: {apiVersion: example.com/v1, kind: Template}}
";

const CLAIM: &str = "
apiVersion: catalog.bailiwick.dev/v1alpha1
kind: ResourceCatalogClaim
metadata: {name: tools, namespace: deeds}
spec: {catalogName: deeds, resourceCatalogEntry: {namespace: deeds, name: tools}, deletionPolicy: Orphan}
";

const ALLOCATION: &str = "
apiVersion: quota.bailiwick.dev/v1alpha1
kind: ResourceQuotaAllocation
metadata: {name: deeds}
spec: {selector: {matchLabels: {tier: deeds}}, allocation: {hard: {cpu: 10}}, uncoveredPolicy: Zero}
";

const BUNDLE: &str = "
apiVersion: bundle.bailiwick.dev/v1alpha1
kind: Bundle
metadata: {name: hello, namespace: deeds}
spec: {resources: [{name: hello, spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}}]}
";

const BINDING: &str = "
{apiVersion: org.bailiwick.dev/v1alpha1, kind: OrgRoleBinding, metadata: {name: deeds, namespace: deeds}, roleRef: {name: view}, users: [alice]}
";

/// Something that is done by one right.
struct Deed {
    /// The role with the rule, and words of the rule.
    right: (&'static str, &'static [&'static str]),
    /// A command that prints nothing before it is done, or nothing after.
    look: &'static str,
    /// Whether there is something to be seen once it is done.
    shows: bool,
}

const fn deed(role: &'static str, words: &'static [&'static str], look: &'static str, shows: bool) -> Deed {
    Deed { right: (role, words), look, shows }
}

const FIRST: [Deed; 5] = [
    deed(EVERYWHERE, &["resourcecatalogs/status"], "get resourcecatalog deeds -o jsonpath={.status.conditions}", true),
    deed(EVERYWHERE, &["resourcequotas", "create"], "get quota default -n deeds --ignore-not-found -o name", true),
    deed(EVERYWHERE, &["bundles/status"], "get bundle hello -n deeds -o jsonpath={.status.conditions}", true),
    deed(
        EVERYWHERE,
        &["customresourcedefinitions", "create"],
        "get crd firsts.deeds.example.dev --ignore-not-found -o name",
        true,
    ),
    deed(
        EVERYWHERE,
        &["clusterroles", "bind"],
        "get rolebinding org-role-binding:deeds -n deeds --ignore-not-found -o name",
        true,
    ),
];

const SECOND: [Deed; 3] = [
    deed(
        EVERYWHERE,
        &["resourcecatalogclaims", "patch"],
        "get resourcecatalogclaim tools -n deeds --ignore-not-found -o name",
        false,
    ),
    deed(EVERYWHERE, &["bundles", "patch"], "get bundle hello -n deeds --ignore-not-found -o name", false),
    deed(
        EVERYWHERE,
        &["resourceclaimdefinitions/status"],
        "get resourceclaimdefinition second -o jsonpath={.status.conditions}",
        true,
    ),
];

const THIRD: [Deed; 1] = [deed(
    AT_HOME,
    &["serviceaccounts", "impersonate"],
    "get resourceclaimdefinition first --ignore-not-found -o name",
    false,
)];

/// SRV-13, of what follows from catalogs, quota allocations, bundles, definitions and bindings.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_without_the_right_to() {
    // Which puts together the roles that can be bound: anyone may give what is nothing.
    let world = &World::start_in(Cluster::options().controller_manager().start().await.unwrap()).await;
    let admin = world.admin();
    let mut server = world.spawn();
    world.wait_ready(&server).await;
    for kind in ["organizations", "resourcecatalogs", "bundles", "resourcequotaallocations", "resourceclaimdefinitions"]
    {
        done_soon(admin, &format!("get {kind} -A")).await;
    }
    admin.apply(PLACE).await.unwrap();
    done_soon(admin, "get serviceaccount default -n deeds").await;

    take_away(world, &FIRST).await;
    for object in [CATALOG, ALLOCATION, BUNDLE, BINDING, &definition("first")] {
        admin.apply(object).await.unwrap();
    }
    nothing_happens_until_restored(world, &FIRST).await;

    done_soon_with(admin, CLAIM).await;
    take_away(world, &SECOND).await;
    done(admin, "delete resourcecatalogclaim tools -n deeds --wait=false").await;
    done(admin, "delete bundle hello -n deeds --wait=false").await;
    admin.apply(&definition("second")).await.unwrap();
    nothing_happens_until_restored(world, &SECOND).await;

    take_away(world, &THIRD).await;
    done(admin, "delete resourceclaimdefinition first --wait=false").await;
    world.remove_rule(EVERYWHERE, &["apiservices", "get"]).await;
    sleep(Duration::from_secs(1)).await;
    // Nobody can tell whether another server has the group.
    let refused = admin.apply(&definition("third")).await.unwrap_err();
    assert!(refused.to_string().contains("apiservices"), "{refused}");
    nothing_happens_until_restored(world, &THIRD).await;
    done_soon_with(admin, &definition("third")).await;
    server.stop().await;
}

async fn take_away(world: &World, deeds: &[Deed]) {
    for Deed { right: (role, words), .. } in deeds {
        world.remove_rule(role, words).await;
    }
    // A rule is in force for a moment after it is gone.
    sleep(Duration::from_secs(1)).await;
}

async fn nothing_happens_until_restored(world: &World, deeds: &[Deed]) {
    let admin = world.admin();
    sleep(NEVER).await;
    for deed in deeds {
        assert!(!deed.is_done(admin).await, "without {:?}", deed.right);
    }
    admin.apply(&world.manifests).await.unwrap();
    let began = Instant::now();
    for deed in deeds {
        while !deed.is_done(admin).await {
            assert!(began.elapsed() < 2 * PATIENCE, "with {:?}", deed.right);
            sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Applies something that is accepted once something else has been noticed.
async fn done_soon_with(admin: &Kubectl, object: &str) {
    let began = Instant::now();
    while let Err(error) = admin.apply(object).await {
        assert!(began.elapsed() < PATIENCE, "{error}");
        sleep(Duration::from_millis(200)).await;
    }
}

fn definition(name: &str) -> String {
    let mut kind = name.to_owned();
    kind[..1].make_ascii_uppercase();
    format!(
        "{{apiVersion: claim.bailiwick.dev/v1alpha1, kind: ResourceClaimDefinition, metadata: {{name: {name}}}, \
         spec: {{group: deeds.example.dev, version: v1alpha1, names: {{kind: {kind}, plural: {name}s, singular: {name}}}, \
         validation: {{openAPIV3Schema: {{properties: {{spec: {{properties: {{size: {{type: string}}}}}}}}}}}}}}}}"
    )
}

// === impl Deed ===

impl Deed {
    async fn is_done(&self, admin: &Kubectl) -> bool {
        done(admin, self.look).await.is_empty() != self.shows
    }
}
