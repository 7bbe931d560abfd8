//! The rules that kube-apiserver enforces for us, and the roles that people get, tried as different people.

use bailiwick_test_host::{Cluster, Kubectl};
use tokio::time::Instant;

use crate::host::{done, done_soon, manifests, refused_soon, refused_with, user};
use crate::process::PATIENCE;

/// Who the servers are.
const ACCOUNT: &str = "system:serviceaccount:bailiwick-system:bailiwick";

const NOT_SET: &str = "the label openshift.io/owner cannot be set to";
const NOT_CHANGED: &str = "the label openshift.io/owner cannot be changed from";
const NO_ORG_SUBJECTS: &str = "use an OrgRoleBinding";
const NOT_MADE: &str = "only RoleBindings that it made";

/// ORG-48
#[tokio::test(flavor = "multi_thread")]
async fn guards_and_roles_hold_for_everyone() {
    let cluster = Cluster::options().controller_manager().start().await.unwrap();
    let admin = cluster.admin();
    admin.apply(&manifests(&["--external-name=localhost", "--port=1"]).await).await.unwrap();
    owners_are_changed_by_owners(&cluster).await;
    nobody_binds_groups_of_organizations(admin).await;
    our_own_account_is_fenced(admin).await;
    acting_as_others_is_opted_into(&cluster).await;
    roles_include_our_kinds(&cluster).await;
}

async fn owners_are_changed_by_owners(cluster: &Cluster) {
    let admin = cluster.admin();
    let namespaces = "namespaces,namespaces/status,namespaces/finalize";
    done(admin, &format!("create clusterrole namespaces --verb=get,create,update,patch --resource={namespaces}")).await;
    done(admin, "create clusterrolebinding namespaces --clusterrole=namespaces --group=projects").await;
    own(admin, "bob", "Acme").await;
    done(admin, "create namespace free").await;
    let alice = user(cluster, "alice", &["projects"]).await;
    let bob = user(cluster, "bob", &["projects"]).await;

    done_soon(&alice, "label namespace free colour=blue").await;
    // Nothing may change before the guard is in force, which takes a moment.
    refused_soon(&alice, "label namespace free openshift.io/owner=organizations__Acme --dry-run=server", NOT_SET).await;
    let owned = |owner: &str| {
        format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: made, labels: {{openshift.io/owner: {owner}}}}}}}"
        )
    };
    refused_with(&alice, "create -f -", &owned("organizations__Acme"), NOT_SET).await;
    refused_with(&bob, "create -f -", &owned("organizations__Beta"), NOT_SET).await;
    // Who owns one organization does not speak for what is none.
    refused_with(&bob, "create -f -", &owned("users__bob"), NOT_SET).await;
    bob.run_with(["create", "-f", "-"], &owned("organizations__Acme")).await.unwrap().success().unwrap();

    // The label can be written through subresources.
    for (command, input) in subresource_writes("free", "organizations__Acme") {
        refused_with(&alice, &command, &input, NOT_SET).await;
        bob.run_with(command.split(' '), &input).await.unwrap().success().unwrap();
        assert_eq!(owner(admin, "free").await, "organizations__Acme", "{command}");
        for (command, input) in subresource_writes("free", "organizations__Beta") {
            refused_with(&bob, &command, &input, NOT_SET).await;
            refused_with(&alice, &command, &input, "openshift.io/owner").await;
        }
        refused_with(&alice, "label namespace free openshift.io/owner-", "", NOT_CHANGED).await;
        done(&alice, "label namespace free --overwrite colour=red").await;
        done(&bob, "label namespace free openshift.io/owner-").await;
    }

    // From one owner to another it takes both.
    done(&bob, "label namespace free openshift.io/owner=organizations__Acme").await;
    own(admin, "carol", "Beta").await;
    let carol = user(cluster, "carol", &["projects"]).await;
    let give = "label namespace free --overwrite openshift.io/owner=organizations__Beta";
    refused_soon(&carol, give, NOT_CHANGED).await;
    done(admin, "create clusterrolebinding carol-too --clusterrole=own-acme --user=carol").await;
    done_soon(&carol, give).await;
    assert_eq!(owner(admin, "free").await, "organizations__Beta");
    // Whoever may do everything may do this.
    done(admin, "label namespace free openshift.io/owner-").await;
}

/// Writes of a namespace's owner that do not go to the namespace itself.
fn subresource_writes(namespace: &str, owner: &str) -> [(String, String); 2] {
    let patch = format!("{{\"metadata\":{{\"labels\":{{\"openshift.io/owner\":\"{owner}\"}}}}}}");
    let whole = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{{\"name\":\"{namespace}\",\"labels\":{{\"openshift.io/owner\":\"{owner}\"}}}},\"spec\":{{\"finalizers\":[\"kubernetes\"]}}}}"
    );
    [
        (format!("patch namespace {namespace} --subresource=status --type=merge -p {patch}"), String::new()),
        (format!("replace --raw /api/v1/namespaces/{namespace}/finalize -f -"), whole),
    ]
}

async fn owner(admin: &Kubectl, namespace: &str) -> String {
    done(admin, &format!("get namespace {namespace} -o jsonpath={{.metadata.labels.openshift\\.io/owner}}")).await
}

/// Lets a user speak for an organization.
async fn own(admin: &Kubectl, user: &str, organization: &str) {
    let role = format!("own-{}", organization.to_lowercase());
    let rule = format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: {role}}}, rules: [\
         {{apiGroups: [org.bailiwick.dev], resources: [organizations], resourceNames: [{organization}], verbs: [own]}}]}}"
    );
    admin.apply(&rule).await.unwrap();
    done(admin, &format!("create clusterrolebinding {user}-{role} --clusterrole={role} --user={user}")).await;
}

async fn nobody_binds_groups_of_organizations(admin: &Kubectl) {
    refused_soon(admin, "create rolebinding theirs --clusterrole=view --group=org:Acme:dev", NO_ORG_SUBJECTS).await;
    refused_soon(admin, "create clusterrolebinding theirs --clusterrole=view --group=org:Acme:dev", NO_ORG_SUBJECTS)
        .await;
    for kind in ["rolebinding", "clusterrolebinding"] {
        done(admin, &format!("create {kind} others --clusterrole=view --group=acme --user=org:someone")).await;
        let patch = "[{\"op\":\"add\",\"path\":\"/subjects/-\",\"value\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Group\",\"name\":\"org:Acme:dev\"}}]";
        refused_soon(admin, &format!("patch {kind} others --type=json -p {patch}"), NO_ORG_SUBJECTS).await;
        done(admin, &format!("label {kind} others colour=blue")).await;
    }
}

/// Even with all rights it does no more than it should.
async fn our_own_account_is_fenced(admin: &Kubectl) {
    let binding =
        "create clusterrolebinding too-much --clusterrole=cluster-admin --serviceaccount=bailiwick-system:bailiwick";
    done(admin, binding).await;
    let as_account = |command: &str| format!("{command} --as={ACCOUNT}");
    let bind = |namespace: &str, to: &str| {
        as_account(&format!("create rolebinding made-{namespace} -n {namespace} --clusterrole=view {to}"))
    };
    done(admin, "create namespace owned").await;
    done(admin, "label namespace owned openshift.io/owner=organizations__Acme").await;
    for namespace in ["free", "default", "kube-system", "bailiwick-system"] {
        refused_soon(admin, &bind(namespace, "--user=alice"), "only in namespaces that an organization owns").await;
    }
    for to in [
        "--serviceaccount=bailiwick-system:bailiwick",
        "--serviceaccount=bailiwick-system:provisioner",
        "--user=system:serviceaccount:bailiwick-system:bailiwick",
        "--group=system:serviceaccounts",
        "--group=system:serviceaccounts:bailiwick-system",
        "--group=system:authenticated",
    ] {
        refused_soon(admin, &bind("owned", to), "binds no roles to itself").await;
    }
    let own_role = as_account("create rolebinding made -n owned --role=view --user=alice");
    refused_soon(admin, &own_role, "binds ClusterRoles only").await;
    only_what_it_made_is_its_own(admin).await;

    let definition = |annotations: &str| {
        format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: things.example.dev, annotations: {{{annotations}}}}}, \
             spec: {{group: example.dev, scope: Cluster, names: {{kind: Thing, plural: things}}, versions: [\
             {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}}}"
        )
    };
    let (create, delete) = (as_account("create -f -"), as_account("delete crd things.example.dev --wait=false"));
    refused_with(admin, &create, &definition(""), "only CustomResourceDefinitions that it made").await;
    admin.apply(&definition("")).await.unwrap();
    refused_with(admin, &delete, "", "only CustomResourceDefinitions that it made").await;
    // What it did not make does not become its own by an annotation.
    let adopt = as_account("annotate crd things.example.dev claim.bailiwick.dev/definition-uid=7");
    refused_with(admin, &adopt, "", "only CustomResourceDefinitions that it made").await;
    done(admin, "delete crd things.example.dev").await;
    let made = definition("claim.bailiwick.dev/definition-uid: \"7\"");
    admin.run_with(create.split(' '), &made).await.unwrap().success().unwrap();
    done(admin, &delete).await;
    done(admin, "delete clusterrolebinding too-much").await;
}

/// RoleBindings of others are neither changed nor removed, and become its own by no label.
async fn only_what_it_made_is_its_own(admin: &Kubectl) {
    let as_account = |command: &str| format!("{command} --as={ACCOUNT}");
    let binding = |labels: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{name: made, namespace: owned, labels: {{{labels}}}}}, \
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}, \
             subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}}]}}"
        )
    };
    let create = as_account("create -f -");
    refused_with(admin, &create, &binding(""), NOT_MADE).await;
    done(admin, "create rolebinding theirs -n owned --clusterrole=view --user=zoe").await;
    for command in
        ["delete rolebinding theirs -n owned", "label rolebinding theirs -n owned bailiwick.dev/derived-from=x"]
    {
        refused_soon(admin, &as_account(command), NOT_MADE).await;
    }
    let made = binding("bailiwick.dev/derived-from: orgrolebindings");
    admin.run_with(create.split(' '), &made).await.unwrap().success().unwrap();
    refused_soon(admin, &as_account("label rolebinding made -n owned bailiwick.dev/derived-from-"), NOT_MADE).await;
    done(admin, &as_account("delete rolebinding made -n owned")).await;
    only_what_it_made_is_emptied(admin).await;
}

/// S-22: what a finalizer keeps is emptied, wherever it is; nobody is put into it there.
async fn only_what_it_made_is_emptied(admin: &Kubectl) {
    let patch = |name: &str, subjects: &str| {
        format!("patch rolebinding {name} -n free --as={ACCOUNT} --type=merge -p {{\"subjects\":{subjects}}}")
    };
    let zoe = "[{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"zoe\"}]";
    for name in ["labelled", "org-role-binding:bare", "theirs"] {
        done(admin, &format!("create rolebinding {name} -n free --clusterrole=view --user=alice --user=bob")).await;
    }
    done(admin, "label rolebinding labelled -n free bailiwick.dev/derived-from=orgrolebindings").await;
    refused_soon(admin, &patch("labelled", zoe), "only in namespaces that an organization owns").await;
    refused_soon(admin, &patch("theirs", "null"), NOT_MADE).await;
    for name in ["labelled", "org-role-binding:bare"] {
        done(admin, &patch(name, "null")).await;
        refused_soon(admin, &patch(name, zoe), "only in namespaces that an organization owns").await;
    }
    done(admin, "delete rolebinding labelled org-role-binding:bare theirs -n free").await;
}

async fn acting_as_others_is_opted_into(cluster: &Cluster) {
    let admin = cluster.admin();
    done(admin, "create namespace project").await;
    done(admin, "create rolebinding dora -n project --clusterrole=admin --user=dora").await;
    done(admin, "create rolebinding victor -n project --clusterrole=view --user=victor").await;
    let (dora, victor) = (user(cluster, "dora", &[]).await, user(cluster, "victor", &[]).await);
    let may = format!("auth can-i impersonate serviceaccounts -n project --as={ACCOUNT}");
    refused_soon(admin, &may, "").await;
    let opt_in = "create rolebinding bailiwick-act-as -n project --clusterrole=bailiwick:act-as --serviceaccount=bailiwick-system:bailiwick";
    refused_soon(&victor, opt_in, "cannot create resource \"rolebindings\"").await;
    done_soon(&dora, opt_in).await;
    done_soon(admin, &may).await;
    refused_soon(admin, &format!("auth can-i impersonate serviceaccounts -n default --as={ACCOUNT}"), "").await;
    refused_soon(admin, &format!("auth can-i impersonate users -n project --as={ACCOUNT}"), "").await;

    admin.apply(&manifests(&["--external-name=localhost", "--port=1", "--act-as=cluster"]).await).await.unwrap();
    done_soon(admin, &format!("auth can-i impersonate serviceaccounts -n default --as={ACCOUNT}")).await;
    done(admin, "delete clusterrolebinding bailiwick:act-as").await;
}

async fn roles_include_our_kinds(cluster: &Cluster) {
    let (dora, victor) = (user(cluster, "dora", &[]).await, user(cluster, "victor", &[]).await);
    let claims = "catalog.bailiwick.dev/resourcecatalogclaims";
    let every = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    for verb in every {
        assert!(may_soon(&dora, verb, claims).await, "{verb}");
        assert_eq!(may(&victor, verb, claims).await, ["get", "list", "watch"].contains(&verb), "{verb}");
    }
    assert!(may(&victor, "get", "catalog.bailiwick.dev/resourcecatalogclaims/status").await);
    for (verb, resource) in [
        ("update", "catalog.bailiwick.dev/resourcecatalogclaims/status"),
        ("list", "org.bailiwick.dev/orggroups"),
        ("get", "org.bailiwick.dev/organizations"),
        ("claim", "catalog.bailiwick.dev/resourcecatalogs"),
        ("publish", "catalog.bailiwick.dev/resourcecatalogs"),
    ] {
        assert!(!may(&dora, verb, resource).await, "{verb} {resource}");
    }
}

/// Whether a user may do something in the namespace `project`. kubectl's own question needs the kind to be served.
async fn may(who: &Kubectl, verb: &str, resource: &str) -> bool {
    let mut parts = resource.split('/');
    let (group, resource, subresource) =
        (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap_or_default());
    let review = serde_json::json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": "project", "verb": verb, "group": group, "resource": resource, "subresource": subresource,
        }},
    });
    let output = who
        .run_with(["create", "--validate=false", "-f", "-", "-o", "jsonpath={.status.allowed}"], &review.to_string())
        .await;
    output.unwrap().success().unwrap() == "true"
}

/// The same, once controllers have put the roles together.
async fn may_soon(who: &Kubectl, verb: &str, resource: &str) -> bool {
    let start = Instant::now();
    while !may(who, verb, resource).await {
        if start.elapsed() > PATIENCE {
            return false;
        }
    }
    true
}
