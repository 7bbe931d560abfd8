//! An installation's life in a cluster: what is missing before, what is applied and applied again, what is removed.

use bailiwick_test_host::pki::Authority;
use bailiwick_test_host::{Cluster, Kubectl};

use crate::held;
use crate::host::{about, done, done_soon, lines, manifests, top};
use crate::process::folder;
use crate::removal::write_unreadable_time;

/// Everything that can carry the label of what is installed.
const INSTALLED: &str = "apiservices,validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,clusterrolebindings,\
                         namespaces,deployments,services,secrets,serviceaccounts,roles,rolebindings,poddisruptionbudgets";

pub(crate) const OUTSIDE: [&str; 2] = ["--external-name=localhost", "--port=1"];

#[tokio::test(flavor = "multi_thread")]
async fn installed_checked_and_removed() {
    let cluster = Cluster::options().controller_manager().start().await.unwrap();
    nothing_is_there_yet(&cluster).await;
    what_stands_in_the_way_is_said(&cluster).await;
    every_form_is_accepted_and_stays(&cluster).await;
    what_is_not_as_it_should_be_is_said(&cluster).await;
    held::nothing_is_removed_while_something_is_held(&cluster).await;
    uninstalling_leaves_nothing(&cluster).await;
    held::what_is_held_later_or_out_of_sight_is_said(&cluster).await;
}

async fn nothing_is_there_yet(cluster: &Cluster) {
    let output = about(cluster, &["install", "--check"]).await;
    assert_eq!(output.status.code(), Some(1));
    let lines = lines(&output);
    let missing = lines.iter().filter(|line| line.starts_with("missing: ")).count();
    assert_eq!(missing, manifests(&[]).await.matches("---\n").count(), "{lines:#?}");
    for expected in ["Deployment \"bailiwick\" in \"bailiwick-system\"", "APIService \"v1alpha1.org.bailiwick.dev\""] {
        let line = format!(
            "missing: {expected} does not exist; run: bailiwick install (with the same options) | kubectl apply -f -"
        );
        assert!(lines.contains(&line), "{lines:#?}");
    }
    let masters = "note: Group \"system:masters\" may set owner labels (\"own\" on organizations), by ClusterRole \"cluster-admin\"";
    assert!(lines.iter().any(|line| line == masters), "{lines:#?}");
    let output = about(cluster, &["uninstall", "--yes"]).await;
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing is installed\n");
}

async fn what_stands_in_the_way_is_said(cluster: &Cluster) {
    let admin = cluster.admin();
    done(admin, "create rolebinding early -n default --clusterrole=view --group=org:Acme:dev").await;
    done(admin, "create namespace early").await;
    done(admin, "label namespace early openshift.io/owner=organizations__Acme").await;
    let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.org.bailiwick.dev}, \
                      spec: {group: org.bailiwick.dev, scope: Cluster, names: {kind: Thing, plural: things}, versions: [\
                      {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
    admin.apply(definition).await.unwrap();
    let other = "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.catalog.bailiwick.dev}, spec: {\
                 group: catalog.bailiwick.dev, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {namespace: other, name: other}}}";
    admin.apply(other).await.unwrap();
    let configuration = "configmap extension-apiserver-authentication -n kube-system";
    let patch = "{\"data\":{\"requestheader-client-ca-file\":null}}";
    done(admin, &format!("patch {configuration} --type=merge -p {patch}")).await;

    let lines = lines(&about(cluster, &["install", "--check"]).await);
    for expected in [
        "missing: kube-apiserver has no certificate to show when it hands on requests; start it with",
        "missing: RoleBinding \"early\" in \"default\" gives a role to the group \"org:Acme:dev\"",
        "missing: CustomResourceDefinition \"things.org.bailiwick.dev\" has a group that is to be served by Bailiwick",
        "missing: APIService \"v1.catalog.bailiwick.dev\" leads to another server",
        "note: Namespace \"early\" is owned by \"organizations__Acme\"",
    ] {
        assert_eq!(lines.iter().filter(|line| line.starts_with(expected)).count(), 1, "{expected}: {lines:#?}");
    }
    done(admin, "delete rolebinding early -n default").await;
    done(admin, "delete crd things.org.bailiwick.dev").await;
    // While nobody serves a group, namespaces are not emptied: nobody knows what they hold of it.
    done(admin, "delete apiservice v1.catalog.bailiwick.dev").await;
    done(admin, "delete namespace early").await;
    // kube-apiserver writes it again by itself, within a minute.
    let again = serde_json::json!({"data": {"requestheader-client-ca-file": cluster.tls().front_proxy_ca.text()}});
    let arguments =
        ["patch", "configmap", "extension-apiserver-authentication", "-n", "kube-system", "--type=merge", "-p"];
    let again = again.to_string();
    admin.run(arguments.into_iter().chain([again.as_str()])).await.unwrap().success().unwrap();
}

/// Each form is accepted as a whole, without a warning, and changes nothing when it is applied again.
async fn every_form_is_accepted_and_stays(cluster: &Cluster) {
    let (folder, authority) = (folder(), Authority::new("mine").unwrap());
    let identity = authority.server("serving", &["bailiwick.bailiwick-system.svc"]).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let certificate = format!("--cert={}", write("tls.crt", &identity.certificate));
    let key = format!("--key={}", write("tls.key", &identity.key));
    let ca = format!("--ca={}", write("ca.crt", &authority.certificate()));
    let admin = cluster.admin();
    done(admin, "create namespace bailiwick-system").await;
    let said = lines(&about(cluster, &["install", "--check"]).await);
    let theirs = "missing: Namespace \"bailiwick-system\" is there, and was not made by an installation; if others have pods in it, give";
    assert_eq!(said.iter().filter(|line| line.starts_with(theirs)).count(), 1, "{said:#?}");
    for arguments in [
        &["--act-as=cluster", "--replicas=3"][..],
        &[&certificate, &key, &ca],
        &[OUTSIDE[0], OUTSIDE[1], &ca],
        &[],
        &OUTSIDE,
    ] {
        let text = manifests(arguments).await;
        let dry_run = admin.run_with(["apply", "--server-side", "--dry-run=server", "-f", "-"], &text).await.unwrap();
        assert!(dry_run.status.success() && dry_run.stderr.is_empty(), "{arguments:?}: {dry_run:?}");
    }
    for arguments in [&[&certificate, &key, &ca].map(String::as_str)[..], &OUTSIDE, &[]] {
        let text = manifests(arguments).await;
        let first = admin.run_with(["apply", "-f", "-"], &text).await.unwrap();
        // It was made before it was applied.
        let known = "Warning: resource namespaces/bailiwick-system is missing the kubectl.kubernetes.io/last-applied-configuration";
        let warnings: Vec<_> = first.stderr.lines().filter(|line| !line.starts_with(known)).collect();
        assert!(first.status.success() && warnings.is_empty(), "{arguments:?}: {first:?}");
        fill(admin).await;
        let second = admin.run_with(["apply", "-f", "-"], &text).await.unwrap().success().unwrap();
        // kubectl always replaces the selector of a budget, also by itself.
        let is_known =
            |line: &str| line.ends_with(" unchanged") || line == "poddisruptionbudget.policy/bailiwick configured";
        let changed: Vec<_> = second.lines().filter(|line| !is_known(line)).collect();
        assert!(changed.is_empty() && second.lines().count() > 10, "{arguments:?}: {changed:?}");
        if text.contains("kind: PodDisruptionBudget") {
            let budget = "poddisruptionbudget bailiwick -n bailiwick-system";
            assert_eq!(field(admin, budget, "{.metadata.generation}").await, "1");
        }
        if !text.contains("caBundle: ") {
            assert_eq!(field(admin, "apiservice v1alpha1.org.bailiwick.dev", "{.spec.caBundle}").await, "bWluZQ==");
        }
        if text.contains("bailiwick-authority") {
            assert_eq!(
                field(admin, "secret bailiwick-authority -n bailiwick-system", "{.data.mine}").await,
                "bWluZQ=="
            );
        }
    }
}

/// Does what the servers do: whatever they filled in must still be there after the next apply.
async fn fill(admin: &Kubectl) {
    let patch = "{\"spec\":{\"caBundle\":\"bWluZQ==\"}}";
    if field(admin, "apiservice v1alpha1.org.bailiwick.dev", "{.spec.caBundle}").await.is_empty() {
        done(admin, &format!("patch apiservice v1alpha1.org.bailiwick.dev --type=merge -p {patch}")).await;
    }
    let patch = "{\"data\":{\"mine\":\"bWluZQ==\"}}";
    let secret = "secret bailiwick-authority -n bailiwick-system";
    if !done(admin, &format!("get {secret} --ignore-not-found -o name")).await.is_empty() {
        done(admin, &format!("patch {secret} --type=merge -p {patch}")).await;
    }
}

async fn field(admin: &Kubectl, object: &str, path: &str) -> String {
    done(admin, &format!("get {object} -o jsonpath={path}")).await
}

async fn what_is_not_as_it_should_be_is_said(cluster: &Cluster) {
    let admin = cluster.admin();
    let patch = "{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"namespaces\"],\"verbs\":[\"get\"]}]}";
    done(admin, &format!("patch clusterrole bailiwick --type=merge -p {patch}")).await;
    done(admin, "delete validatingadmissionpolicybinding org-subjects.bailiwick.dev").await;
    let output = about(cluster, &["install", "--check"]).await;
    let missing: Vec<_> = lines(&output).into_iter().filter(|line| line.starts_with("missing: ")).collect();
    let unavailable = ["admission", "bundle", "catalog", "claim", "org", "quota"]
        .map(|group| format!("missing: APIService \"v1alpha1.{group}.bailiwick.dev\" is not available: "));
    let differing = [
        "missing: ClusterRole \"bailiwick\" is not as it should be: rules differs",
        "missing: ValidatingAdmissionPolicyBinding \"org-subjects.bailiwick.dev\" does not exist",
        "missing: Deployment \"bailiwick\" in \"bailiwick-system\" has 0 of 2 servers",
    ];
    let expected: Vec<String> = differing.map(str::to_owned).into_iter().chain(unavailable).collect();
    assert_eq!(missing.len(), expected.len(), "{missing:#?}");
    for (line, expected) in missing.iter().zip(&expected) {
        assert!(line.starts_with(expected), "{expected}: {missing:#?}");
    }
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: 9 of the lines above say what is missing\n");
}

async fn uninstalling_leaves_nothing(cluster: &Cluster) {
    let admin = cluster.admin();
    let account = "--serviceaccount=bailiwick-system:bailiwick";
    done(admin, &format!("create rolebinding opted-in -n default --clusterrole=bailiwick:act-as {account}")).await;
    done(admin, "create rolebinding derived -n default --clusterrole=view --user=alice").await;
    done(admin, "label rolebinding derived -n default bailiwick.dev/derived-from=orgrolebindings").await;
    done(admin, "create rolebinding unrelated -n default --clusterrole=view --user=alice").await;
    write_unreadable_time(admin, "default", "unrelated").await;
    // Elsewhere a server would be asked, and none runs.
    done(admin, "create quota derived -n kube-system --hard=cpu=1").await;
    done(admin, "label quota derived -n kube-system bailiwick.dev/derived-from=resourcequotaallocations").await;
    let theirs = std::fs::read_to_string(top().join("docs/etcd-for-trials.yaml")).unwrap();
    let applied = admin.run_with(["apply", "-f", "-"], &theirs).await.unwrap();
    assert!(applied.status.success() && applied.stderr.is_empty(), "{applied:?}");
    let before = everything(admin).await;
    assert!(before.lines().count() > 20, "{before}");

    // Only said.
    let told = lines(&about(cluster, &["uninstall", "--release"]).await);
    assert_eq!(everything(admin).await, before);
    assert_eq!(
        told.last().unwrap(),
        "nothing was removed: say --yes to do it; stop servers outside of the cluster before"
    );
    // Whatever the servers could still do is not done any more before anything is removed that they made.
    let index = |words: &str| told.iter().position(|line| line.starts_with(&format!("would remove {words}"))).unwrap();
    let in_order = [
        "ValidatingWebhookConfiguration \"quota.bailiwick.dev\"",
        "APIService \"v1alpha1.org.bailiwick.dev\"",
        "ClusterRoleBinding \"bailiwick\"",
        "Deployment \"bailiwick\" in \"bailiwick-system\"",
        "RoleBinding \"derived\"",
        "ServiceAccount \"bailiwick\"",
    ];
    assert!(in_order.map(index).is_sorted(), "{told:#?}");
    assert_eq!(index(in_order[0]), 0);
    for name in ["derived", "opted-in"] {
        assert!(
            told.iter().any(|line| line.starts_with(&format!("would remove RoleBinding \"{name}\" in \"default\""))),
            "{told:#?}"
        );
    }
    let is_kept = |line: &String| line.starts_with("kept the quotas that were made for projects (1): ");
    assert!(told.iter().any(is_kept), "{told:#?}");
    held::are_told_to_be_let_go(&told);

    // Done, but for what holds data of others.
    let output = about(cluster, &["uninstall", "--yes", "--release"]).await;
    assert!(output.status.success(), "{output:?}");
    let removed = lines(&output);
    let count = |lines: &[String], words: &str| lines.iter().filter(|line| line.starts_with(words)).count();
    assert_eq!(count(&removed, "removed "), count(&told, "would remove "), "{removed:#?}\n{told:#?}");
    assert_eq!(count(&removed, "let go of "), count(&told, "would let go of "), "{removed:#?}\n{told:#?}");
    held::are_let_go(admin).await;
    assert!(
        removed
            .iter()
            .any(|line| line.starts_with("kept Namespace \"bailiwick-system\": StatefulSet \"bailiwick-etcd\"")),
        "{removed:#?}"
    );
    assert_eq!(everything(admin).await, "namespace/bailiwick-system\n");
    assert_eq!(
        done(admin, "get rolebindings -n default -o name").await,
        "rolebinding.rbac.authorization.k8s.io/unrelated\n"
    );
    done(admin, "get statefulset bailiwick-etcd -n bailiwick-system").await;
    // What limits a project does so without us.
    assert!(removed.iter().any(is_kept), "{removed:#?}");
    done(admin, "delete quota derived -n kube-system").await;

    done(admin, "delete statefulset,service bailiwick-etcd -n bailiwick-system").await;
    done(admin, "wait --for=delete pod -l app.kubernetes.io/name=bailiwick-etcd -n bailiwick-system --timeout=30s")
        .await;
    for (kind, how) in [
        ("Secret", "secret generic theirs"),
        ("ConfigMap", "configmap theirs"),
        ("Service", "service clusterip theirs --tcp=80"),
        ("Job", "job theirs --image=theirs"),
        ("ServiceAccount", "serviceaccount theirs"),
    ] {
        done(admin, &format!("create {how} -n bailiwick-system")).await;
        let said = lines(&about(cluster, &["uninstall", "--yes"]).await);
        assert!(said[0].starts_with(&format!("kept Namespace \"bailiwick-system\": {kind} \"theirs\"")), "{said:#?}");
        done(admin, &format!("delete {kind} theirs -n bailiwick-system")).await;
    }
    about(cluster, &["uninstall", "--yes"]).await;
    done_soon(admin, "wait --for=delete namespace/bailiwick-system --timeout=30s").await;
    assert_eq!(everything(admin).await, "");
}

async fn everything(admin: &Kubectl) -> String {
    done(admin, &format!("get {INSTALLED} -A -o name -l app.kubernetes.io/managed-by=bailiwick-install")).await
}
