//! The same with kubectl, as people type it.

use std::fs;

use bailiwick_test_host::Kubectl;

use crate::process::folder;
use crate::site::{Mode, Site, eventually};

in_both_modes!(people_type_it);

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
async fn people_type_it(site: Site) {
    let folder = folder();
    let kubectl = Kubectl::new(&site.kubeconfig).await.unwrap();
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
    // A cluster binds the role a moment later, and knows nothing of the group.
    let can = "auth can-i create configmaps -n shop --as carol";
    let said = async || kubectl.run(can.split(' ')).await.unwrap().stdout.contains("yes");
    match site.mode {
        Mode::Alone => assert!(said().await),
        Mode::Behind => drop(eventually("carol may", said).await),
    }
    let groups = ok(&kubectl, "auth whoami --as carol").await;
    assert_eq!(groups.contains("org:Acme:dev"), site.mode == Mode::Alone, "{groups}");
    let raw = "/apis/org.bailiwick.dev/v1alpha1/organizations/Acme";
    assert!(ok(&kubectl, &format!("get --raw {raw}/groups --as alice")).await.contains("OrgGroupList"));
    assert!(ok(&kubectl, &format!("get --raw {raw}/members --as alice")).await.contains("memberUsers"));
    ok(&kubectl, &format!("delete --raw {raw}/groups/dev --as alice")).await;
    let create = format!("create --raw {raw}/groups -f {group} --as alice");
    assert!(!kubectl.run(create.split(' ')).await.unwrap().status.success(), "YAML is not what --raw says it sends");
    let json = file("group.json", r#"{"apiVersion":"org.bailiwick.dev/v1alpha1","kind":"OrgGroup","metadata":{"name":"Acme:dev"},"users":["bob"]}"#.to_owned());
    ok(&kubectl, &format!("create --raw {raw}/groups -f {json} --as alice")).await;
    // What is replaced is the state that was seen, which may be another a moment later: its status is written, too.
    let replace = format!("replace --raw {raw}/groups -f {json} --as alice");
    eventually("the state that was seen is replaced", async || {
        let seen = ok(&kubectl, "get orggroup Acme:dev -o json --as alice").await;
        let mut group: serde_json::Value = serde_json::from_str(&seen).unwrap();
        group["users"] = serde_json::json!(["carol"]);
        file("group.json", group.to_string());
        let replaced = kubectl.run(replace.split(' ')).await.unwrap();
        assert!(replaced.status.success() || replaced.stderr.contains("Conflict"), "{}", replaced.stderr);
        replaced.status.success()
    })
    .await;
    assert!(ok(&kubectl, &format!("get --raw {raw}/groups --as alice")).await.contains("carol"));
    let stale = kubectl.run(replace.split(' ')).await.unwrap();
    assert!(!stale.status.success() && stale.stderr.contains("Conflict"), "{}", stale.stderr);
    assert!(ok(&kubectl, "get organizations").await.contains("ADMIN USERS"));
    assert!(ok(&kubectl, "get orggroups").await.contains("Acme"));
    assert!(ok(&kubectl, "get orgrolebindings -n shop").await.contains("ClusterRole/edit"));
    assert!(ok(&kubectl, "explain organization.adminGroups").await.contains("manage the OrgGroups"));
    assert!(ok(&kubectl, "explain orgrolebinding.orgGroups").await.contains("owns the namespace"));
    assert!(ok(&kubectl, "get ns -l openshift.io/owner=organizations__Acme -o name").await.contains("namespace/shop"));
}
