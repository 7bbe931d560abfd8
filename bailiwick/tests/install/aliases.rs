//! Groups by whose names others have known our kinds, in a cluster: only where they are asked for, and only if nobody has them.

use bailiwick_test_host::{Cluster, Kubectl};

use crate::host::{about, done, done_soon, lines, manifests, user};
use crate::process::PATIENCE;
use crate::world::World;

const ALIASES: [&str; 2] = ["v1.smith.atlassian.com", "v1alpha1.core.crossplane.io"];

const BUNDLE: &str = "
apiVersion: smith.atlassian.com/v1
kind: Bundle
metadata: {name: greeting, namespace: shop}
spec:
  resources:
  - name: hello
    spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: hello}, data: {word: hello}}
";

const DEFINITION: &str = "
apiVersion: core.crossplane.io/v1alpha1
kind: ResourceClaimDefinition
metadata: {name: mysqlinstance}
spec:
  group: database.example.dev
  version: v1alpha1
  names: {kind: MySQLInstance, listKind: MySQLInstanceList, plural: mysqlinstances, singular: mysqlinstance}
  validation: {openAPIV3Schema: {properties: {spec: {properties: {engineVersion: {enum: ['5.6', '5.7'], type: string}}}}}}
";

/// Without it nobody can tell whether there are claims that the definition is needed for.
const PROVISIONER: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: provision-mysql, labels: {claim.bailiwick.dev/aggregate-to-provisioner: 'true'}}
rules: [{apiGroups: [database.example.dev], resources: [mysqlinstances], verbs: [get, list, watch]}]
";

/// A kind of someone else's in one of the groups, and a server of someone else's for the other.
const OTHERS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sleepers.smith.atlassian.com}
spec:
  group: smith.atlassian.com
  scope: Namespaced
  names: {kind: Sleeper, plural: sleepers}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.core.crossplane.io}
spec: {group: core.crossplane.io, version: v1beta1, groupPriorityMinimum: 1, versionPriority: 1, service: {namespace: other, name: other}}
";

#[tokio::test(flavor = "multi_thread")]
async fn kinds_are_used_by_the_names_that_others_know() {
    // Which puts together the role `edit`.
    let cluster = Cluster::options().controller_manager().start().await.unwrap();
    groups_that_someone_has_are_said(&cluster).await;
    let world = World::start_in_with(cluster, &["--alias-groups", "--act-as=cluster"]).await;
    let mut server = world.spawn_with(&["--alias-groups"]);
    let admin = world.admin();
    for name in ["v1alpha1.bundle.bailiwick.dev", "v1alpha1.claim.bailiwick.dev"].iter().chain(&ALIASES) {
        done(admin, &format!("wait --for=condition=Available apiservice/{name} --timeout=60s")).await;
    }
    done_soon(admin, "get bundles.v1.smith.atlassian.com -A").await;
    done_soon(admin, "get resourceclaimdefinitions.v1alpha1.core.crossplane.io").await;
    a_bundle_is_a_bundle(&world).await;
    a_definition_is_a_definition(admin).await;
    nothing_is_missing(&world).await;
    server.stop().await;
    uninstalling_takes_them_along(&world).await;
}

/// Each only if the group is asked for.
async fn groups_that_someone_has_are_said(cluster: &Cluster) {
    let admin = cluster.admin();
    admin.apply(OTHERS).await.unwrap();
    let expected = [
        "missing: CustomResourceDefinition \"sleepers.smith.atlassian.com\" has a group that is to be served by Bailiwick",
        "missing: APIService \"v1beta1.core.crossplane.io\" leads to another server",
    ];
    let plain = lines(&about(cluster, &["install", "--check"]).await);
    let aliased = lines(&about(cluster, &["install", "--check", "--alias-groups"]).await);
    for expected in expected {
        assert!(!plain.iter().any(|line| line.starts_with(expected)), "{plain:#?}");
        assert_eq!(aliased.iter().filter(|line| line.starts_with(expected)).count(), 1, "{expected}: {aliased:#?}");
    }
    // Nor is anything printed that could be applied, unless nobody is to be asked.
    let refused = about(cluster, &["install", "--alias-groups"]).await;
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{refused:?}");
    let error = String::from_utf8_lossy(&refused.stderr);
    for expected in expected {
        assert!(error.contains(expected.trim_start_matches("missing: ")), "{error}");
    }
    assert!(about(cluster, &["install"]).await.status.success());
    assert!(manifests(&["--alias-groups", "--unchecked"]).await.contains(ALIASES[0]));
    done(admin, "wait --for=condition=Established crd/sleepers.smith.atlassian.com --timeout=60s").await;
    done(admin, "delete crd sleepers.smith.atlassian.com").await;
    done(admin, "delete apiservice v1beta1.core.crossplane.io").await;
}

/// Whoever may edit a namespace makes a Bundle by the name that they know; it is carried out, and is the same by ours.
async fn a_bundle_is_a_bundle(world: &World) {
    let admin = world.admin();
    done(admin, "create namespace shop").await;
    done(admin, "create rolebinding worker -n shop --clusterrole=edit --serviceaccount=shop:default").await;
    done(admin, "create rolebinding erin -n shop --clusterrole=edit --user=erin").await;
    done_soon(admin, "get serviceaccount default -n shop").await;
    let erin = user(&world.cluster, "erin", &[]).await;
    done_soon(&erin, "get bundles.smith.atlassian.com -n shop").await;
    erin.apply(BUNDLE).await.unwrap();
    let uid = "-n shop -o jsonpath={.metadata.uid}";
    let known = done(&erin, &format!("get bundles.v1.smith.atlassian.com greeting {uid}")).await;
    assert_eq!(done(&erin, &format!("get bundles.bundle.bailiwick.dev greeting {uid}")).await, known);
    // Without a group it is ours that is meant.
    assert_eq!(
        done(&erin, "get bundle greeting -n shop -o jsonpath={.apiVersion}").await,
        "bundle.bailiwick.dev/v1alpha1"
    );
    prints(&erin, "get configmap hello -n shop --ignore-not-found -o jsonpath={.data.word}", "hello").await;
    let changed = BUNDLE.replace("word: hello", "word: goodbye");
    erin.apply(&changed).await.unwrap();
    prints(&erin, "get configmap hello -n shop -o jsonpath={.data.word}", "goodbye").await;
    let explained = done(&erin, "explain bundles --api-version=smith.atlassian.com/v1").await;
    assert!(explained.contains("GROUP:      smith.atlassian.com"), "{explained}");
    done(&erin, "delete bundles.smith.atlassian.com greeting -n shop --timeout=60s").await;
    prints(&erin, "get configmap hello -n shop --ignore-not-found -o name", "").await;
}

async fn a_definition_is_a_definition(admin: &Kubectl) {
    admin.apply(PROVISIONER).await.unwrap();
    admin.apply(DEFINITION).await.unwrap();
    let group = "get crd mysqlinstances.database.example.dev --ignore-not-found -o jsonpath={.spec.group}";
    prints(admin, group, "database.example.dev").await;
    let name = "get resourceclaimdefinitions.claim.bailiwick.dev -o name";
    assert_eq!(done(admin, name).await, "resourceclaimdefinition.claim.bailiwick.dev/mysqlinstance\n");
    done(admin, "delete resourceclaimdefinitions.core.crossplane.io mysqlinstance --timeout=60s").await;
    prints(admin, "get crd mysqlinstances.database.example.dev --ignore-not-found -o name", "").await;
}

async fn nothing_is_missing(world: &World) {
    let port = format!("--port={}", world.port.number());
    let arguments = ["install", "--check", "--external-name=localhost", &port, "--alias-groups", "--act-as=cluster"];
    let lines = lines(&about(&world.cluster, &arguments).await);
    assert_eq!(lines.last().unwrap(), "nothing is missing", "{lines:#?}");
}

async fn uninstalling_takes_them_along(world: &World) {
    let removed = lines(&about(&world.cluster, &["uninstall", "--yes"]).await);
    for name in ALIASES {
        let line = format!("removed APIService \"{name}\": it was installed");
        assert!(removed.contains(&line), "{removed:#?}");
        assert_eq!(done(world.admin(), &format!("get apiservice {name} --ignore-not-found -o name")).await, "");
    }
}

/// Waits until a command prints this.
async fn prints(kubectl: &Kubectl, command: &str, wanted: &str) {
    let began = tokio::time::Instant::now();
    loop {
        let text = done(kubectl, command).await;
        if text == wanted {
            return;
        }
        assert!(began.elapsed() < 2 * PATIENCE, "{command}: {text}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}
