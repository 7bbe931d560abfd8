//! The same with kubectl, as people type it.

use std::fs;

use bailiwick_test_host::Kubectl;

use crate::process::{Server, folder};

const STORY: &str = "
apiVersion: org.bailiwick.dev/v1alpha1
kind: Organization
metadata: {name: Acme}
adminUsers: [alice]
memberUsers: [bob, carol]
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {openshift.io/owner: organizations__Acme}}
";

const GROUP: &str = "
apiVersion: org.bailiwick.dev/v1alpha1
kind: OrgGroup
metadata: {name: 'Acme:dev'}
users: [USERS]
";

const BINDING: &str = "
apiVersion: org.bailiwick.dev/v1alpha1
kind: OrgRoleBinding
metadata: {name: dev, namespace: shop}
roleRef: {name: edit}
orgGroups: ['Acme:dev']
";

async fn ok(kubectl: &Kubectl, line: &str) -> String {
    kubectl.run(line.split(' ')).await.unwrap().success().unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// ORG-35: apply by name, `--raw` on the subresources, `--as` to see what others may, explain.
#[tokio::test]
async fn people_type_it() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (story, binding) = (file("story.yaml", STORY.to_owned()), file("binding.yaml", BINDING.to_owned()));
    let group = file("group.yaml", GROUP.replace("USERS", "bob"));
    ok(&kubectl, &format!("apply -f {story}")).await;
    ok(&kubectl, &format!("apply -f {group} --as alice")).await;
    let group = file("group.yaml", GROUP.replace("USERS", "bob, carol"));
    assert!(ok(&kubectl, &format!("apply -f {group} --as alice")).await.contains("configured"));
    assert!(
        ok(&kubectl, &format!("apply --server-side --force-conflicts -f {group} --as alice"))
            .await
            .contains("serverside-applied")
    );
    ok(&kubectl, &format!("apply -f {binding}")).await;
    assert!(ok(&kubectl, "auth can-i create configmaps -n shop --as carol").await.contains("yes"));
    assert!(ok(&kubectl, "auth whoami --as carol").await.contains("org:Acme:dev"));
    let raw = "/apis/org.bailiwick.dev/v1alpha1/organizations/Acme";
    assert!(ok(&kubectl, &format!("get --raw {raw}/groups --as alice")).await.contains("OrgGroupList"));
    assert!(ok(&kubectl, &format!("get --raw {raw}/members --as alice")).await.contains("memberUsers"));
    ok(&kubectl, &format!("delete --raw {raw}/groups/dev --as alice")).await;
    let create = format!("create --raw {raw}/groups -f {group} --as alice");
    assert!(!kubectl.run(create.split(' ')).await.unwrap().status.success(), "YAML is not what --raw says it sends");
    let json = file("group.json", r#"{"apiVersion":"org.bailiwick.dev/v1alpha1","kind":"OrgGroup","metadata":{"name":"Acme:dev"},"users":["bob"]}"#.to_owned());
    ok(&kubectl, &format!("create --raw {raw}/groups -f {json} --as alice")).await;
    assert!(ok(&kubectl, "get organizations").await.contains("ADMIN USERS"));
    assert!(ok(&kubectl, "get orggroups").await.contains("Acme"));
    assert!(ok(&kubectl, "get orgrolebindings -n shop").await.contains("ClusterRole/edit"));
    assert!(ok(&kubectl, "explain organization.adminGroups").await.contains("manage the OrgGroups"));
    assert!(ok(&kubectl, "explain orgrolebinding.orgGroups").await.contains("owns the namespace"));
    assert!(ok(&kubectl, "get ns -l openshift.io/owner=organizations__Acme -o name").await.contains("namespace/shop"));
}
