//! Removing an installation whose server goes on running: what it gave is taken, and it gives nothing again.

use std::time::Duration;

use bailiwick_test_host::{Cluster, Kubectl};
use tokio::time::{Instant, sleep};

use crate::host::{about, done, done_soon, lines};
use crate::organizations::{OBJECTS, Person, WEB, binding, org_group};
use crate::process::PATIENCE;
use crate::world::World;

/// For how long it is looked whether a server makes something again: it would within a moment.
const LOOKED_AT: Duration = Duration::from_secs(5);

const DERIVED: &str = "get rolebindings -A -l bailiwick.dev/derived-from -o name";

/// S-23: whoever had a role by an organization has none when the installation is gone, although a server outside of the cluster
/// was not stopped before, and whatever anybody has had a RoleBinding say of itself.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_running_server_gave_is_taken_for_good() {
    let world = World::start_in(Cluster::options().controller_manager().start().await.unwrap()).await;
    let mut server = world.spawn();
    let admin = world.admin();
    for group in ["org", "admission"] {
        let service = format!("apiservice/v1alpha1.{group}.bailiwick.dev");
        done(admin, &format!("wait --for=condition=Available {service} --timeout=60s")).await;
    }
    done_soon(admin, "get organizations").await;
    admin.apply(OBJECTS).await.unwrap();
    admin.apply(&org_group("bob")).await.unwrap();
    for number in 0..20 {
        admin.apply(&binding(&format!("dev-{number}"), "edit", "orgGroups: ['Acme:dev']")).await.unwrap();
    }
    let bob = Person::of(&world.cluster, "bob").await;
    let began = Instant::now();
    while done(admin, DERIVED).await.lines().count() < 20 || !bob.can(WEB).await {
        assert!(began.elapsed() < PATIENCE, "bob has no role");
        sleep(Duration::from_millis(200)).await;
    }
    // It is made again for as long as the server may.
    done(admin, &format!("delete rolebinding org-role-binding:dev-0 -n {WEB}")).await;
    done_soon(admin, &format!("get rolebinding org-role-binding:dev-0 -n {WEB}")).await;

    done_soon(admin, &format!("create quota default -n {WEB} --hard=cpu=1")).await;
    done_soon(admin, &format!("label quota default -n {WEB} bailiwick.dev/derived-from=resourcequotaallocations"))
        .await;

    done(admin, &format!("create rolebinding unrelated -n {WEB} --clusterrole=view --user=zoe")).await;
    for name in ["unrelated", "org-role-binding:dev-1"] {
        write_unreadable_time(admin, WEB, name).await;
    }

    let output = about(&world.cluster, &["uninstall", "--yes"]).await;
    assert!(output.status.success(), "{output:?}");
    let ended = Instant::now();
    while ended.elapsed() < LOOKED_AT {
        assert_eq!(done(admin, DERIVED).await, "", "{:#?}", lines(&output));
        assert!(!bob.can(WEB).await);
        sleep(Duration::from_millis(500)).await;
    }
    // A project does not become unlimited.
    assert_eq!(done(admin, &format!("get quota default -n {WEB} -o jsonpath={{.spec.hard.cpu}}")).await, "1");
    done(admin, &format!("get rolebinding unrelated -n {WEB}")).await;
    assert!(server.is_alive(), "the server was to run all the time");
    server.stop().await;
}

/// Has a RoleBinding say that some of it was written when the year 9999 ended, as whoever may write it can: the cluster keeps that, and
/// not every client can read it.
pub(crate) async fn write_unreadable_time(admin: &Kubectl, namespace: &str, name: &str) {
    const LAST: &str = "9999-12-31T23:59:59Z";
    let owner = format!(
        "{{\"manager\":\"x\",\"operation\":\"Update\",\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"time\":\"{LAST}\",\
         \"fieldsType\":\"FieldsV1\",\"fieldsV1\":{{\"f:roleRef\":{{}}}}}}"
    );
    let patch = format!("{{\"metadata\":{{\"managedFields\":[{owner}]}}}}");
    done(admin, &format!("patch rolebinding {name} -n {namespace} --type=merge -p {patch}")).await;
    let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}");
    let stored = done(admin, &format!("get --raw {path}")).await;
    assert!(stored.contains(LAST), "{stored}");
}
