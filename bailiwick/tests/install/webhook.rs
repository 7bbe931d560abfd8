//! A kube-apiserver that asks the server what organizations give: what is printed for it is accepted, and what it is told
//! counts at once.
//!
//! The server makes no RoleBindings here, so that nothing else gives anything.

use std::time::Duration;

use bailiwick_test_host::pki::{Authority, Identity};
use bailiwick_test_host::{AuthorizationWebhook, Cluster, Kubectl, Port};
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::direct::Direct;
use crate::host::{done, done_soon, manifests, user};
use crate::organizations::{OBJECTS, Person, WEB, binding, org_group};
use crate::process::PATIENCE;
use crate::world::World;

/// How long it may take until a change counts.
const BOUND: Duration = Duration::from_secs(1);
const API: &str = "/apis/org.bailiwick.dev/v1alpha1";
/// How long these take is for nobody to promise.
const STOPPED: &str = "stopped";
const STARTED: &str = "started again";

/// The people, and what a change took until it counted.
struct Story {
    root: Person,
    alice: Person,
    bob: Person,
    carol: Person,
    took: Vec<(&'static str, Duration)>,
}

/// ORG-2, ORG-44, ORG-50, O-06: on an unmodified kube-apiserver, by its own configuration.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_asks_what_organizations_give() {
    let (port, authority) = (Port::reserve().unwrap(), Authority::new("bailiwick").unwrap());
    let number = format!("--port={}", port.number());
    let named = format!("--authorization-configuration={}", AuthorizationWebhook::KUBECONFIG);
    let webhook = AuthorizationWebhook {
        url: format!("https://localhost:{}/authorize", port.number()),
        ca: authority.certificate(),
        configuration: manifests(&["--external-name=localhost", &number, &named]).await,
    };
    // Which puts together the roles `admin` and `edit`.
    let cluster = Cluster::options().controller_manager().authorization_webhook(webhook).start().await.unwrap();
    let world = World::start_with(cluster, port, &authority).await;
    let arguments = ["--controllers=*,-organization-controller"];
    let mut server = world.spawn_with(&arguments);
    let admin = world.admin();
    done(admin, "wait --for=condition=Available apiservice/v1alpha1.org.bailiwick.dev --timeout=60s").await;
    done_soon(admin, "get organizations").await;
    admin.apply(OBJECTS).await.unwrap();

    let mut story = Story::begin(&world.cluster).await;
    story.what_is_bound_counts(admin).await;
    story.what_ends_ends().await;
    nothing_is_believed_that_users_say(&world).await;
    roles_that_we_may_not_bind_are_not_given(&world).await;
    only_the_cluster_may_ask(&world, &authority).await;
    server.stop().await;
    story.without_us_users_have_what_else_they_have(admin).await;
    let mut server = world.spawn_with(&arguments);
    story.counts(STARTED, true, Instant::now()).await;
    server.stop().await;
    assert_eq!(done(admin, &format!("get rolebindings -n {WEB} -o name")).await, "", "nothing else gives anything");
    for (what, took) in &story.took {
        println!("{what}: still so {took:?} after the acknowledgement");
        assert!(*took < BOUND || [STOPPED, STARTED].contains(what), "{what} took {took:?}");
    }
}

// === impl Story ===

impl Story {
    async fn begin(cluster: &Cluster) -> Self {
        let person = async |name| Person::of(cluster, name).await;
        Self {
            root: Person::of_groups(cluster, "root", &["system:masters"]).await,
            alice: person("alice").await,
            bob: person("bob").await,
            carol: person("carol").await,
            took: Vec::new(),
        }
    }

    async fn what_is_bound_counts(&mut self, admin: &Kubectl) {
        self.alice.apply(&org_group("bob, carol")).await;
        assert!(!self.bob.can(WEB).await);
        admin.apply(&binding("dev", "edit", "orgGroups: ['Acme:dev']")).await.unwrap();
        self.counts("bound", true, Instant::now()).await;
        assert!(self.carol.can(WEB).await, "a member by a Group");
        for elsewhere in ["beta-web", "default", "kube-system"] {
            assert!(!self.bob.can(elsewhere).await, "{elsewhere}");
        }
        done(&self.bob.kubectl, &format!("create configmap made -n {WEB}")).await;
    }

    async fn what_ends_ends(&mut self) {
        let (acme, group) = (format!("{API}/organizations/Acme"), format!("{API}/orggroups/Acme:dev"));
        let users = |users: &[&str]| json!({ "users": users });
        let members = |users: &[&str]| json!({ "memberUsers": users });
        let owner = |owner: Option<&str>| json!({ "metadata": { "labels": { "openshift.io/owner": owner } } });
        let (project, given_back) = (format!("/api/v1/namespaces/{WEB}"), owner(Some("organizations__Acme")));
        for (path, what, change, what_after, change_after) in [
            (&group, "removed from the group", users(&["carol"]), "added to the group", users(&["bob", "carol"])),
            (&acme, "removed from the organization", members(&[]), "added to the organization", members(&["bob"])),
            (&project, "moved", owner(Some("organizations__Beta")), "given back", given_back.clone()),
            (&project, "unlabelled", owner(None), "given back again", given_back),
        ] {
            for (what, change, allowed) in [(what, change, false), (what_after, change_after, true)] {
                let acknowledged = self.root.send(Method::PATCH, path, &change).await;
                self.counts(what, allowed, acknowledged).await;
            }
        }
        let bindings = format!("{API}/namespaces/{WEB}/orgrolebindings");
        let dev = json!({
            "apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "OrgRoleBinding", "metadata": { "name": "dev" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit" },
            "orgGroups": ["Acme:dev"],
        });
        let acknowledged = self.root.send(Method::DELETE, &format!("{bindings}/dev"), &json!({})).await;
        self.counts("unbound", false, acknowledged).await;
        let acknowledged = self.root.send(Method::POST, &bindings, &dev).await;
        self.counts("bound again", true, acknowledged).await;
    }

    /// kube-apiserver goes on without an answer.
    async fn without_us_users_have_what_else_they_have(&mut self, admin: &Kubectl) {
        self.counts(STOPPED, false, Instant::now()).await;
        let began = Instant::now();
        done(admin, &format!("get configmap made -n {WEB}")).await;
        assert!(began.elapsed() < PATIENCE);
    }

    /// Waits until bob may work in the project, or may not any more. What counts is when the last question was put that was
    /// answered as before: how long a busy machine takes to put it, or to answer, does not.
    async fn counts(&mut self, what: &'static str, allowed: bool, acknowledged: Instant) {
        let mut took = Duration::ZERO;
        loop {
            let asked = Instant::now();
            if self.bob.can(WEB).await == allowed {
                break;
            }
            took = asked - acknowledged;
            assert!(took < 2 * PATIENCE, "in vain: {what}");
            sleep(Duration::from_millis(10)).await;
        }
        self.took.push((what, took));
    }
}

/// A certificate can name any group.
async fn nothing_is_believed_that_users_say(world: &World) {
    let liar = Person::of_groups(&world.cluster, "mallory", &["org:Acme:dev"]).await;
    assert!(!liar.can(WEB).await);
}

async fn roles_that_we_may_not_bind_are_not_given(world: &World) {
    let (admin, dave) = (world.admin(), Person::of(&world.cluster, "dave").await);
    done(admin, "create clusterrole writer --verb=create --resource=configmaps").await;
    admin.apply(&binding("writers", "writer", "users: [dave]")).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    assert!(!dave.can(WEB).await);
    done(admin, "create clusterrole bailiwick:bind:writer --verb=bind --resource=clusterroles --resource-name=writer")
        .await;
    let account = "--serviceaccount=bailiwick-system:bailiwick";
    done(
        admin,
        &format!("create clusterrolebinding bailiwick:bind:writer --clusterrole=bailiwick:bind:writer {account}"),
    )
    .await;
    let began = Instant::now();
    while !dave.can(WEB).await {
        assert!(began.elapsed() < PATIENCE, "what may be bound is given");
        sleep(Duration::from_millis(100)).await;
    }
    done(admin, &format!("delete orgrolebinding writers -n {WEB}")).await;
}

/// S-08: whoever is not the cluster learns nothing about who may what.
async fn only_the_cluster_may_ask(world: &World, authority: &Authority) {
    let tls = world.cluster.tls();
    let ask = async |identity: Option<Identity>, token: Option<&str>, user: &str| {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": user,
                "resourceAttributes": { "verb": "create", "resource": "configmaps", "namespace": WEB },
            },
        });
        post(world, authority, identity, token, &review).await
    };
    let cluster = || Some(tls.user(AuthorizationWebhook::CALLER, &[]).unwrap());
    let (code, answer) = ask(cluster(), None, "bob").await;
    assert_eq!((code, &answer["status"]["allowed"]), (200, &json!(true)), "{answer}");
    assert_eq!(answer["status"]["reason"], format!("allowed by OrgRoleBinding \"dev/{WEB}\" of ClusterRole \"edit\""));
    for nobody in ["mallory", "system:serviceaccount:bailiwick-system:bailiwick"] {
        let (code, answer) = ask(cluster(), None, nobody).await;
        assert_eq!((code, &answer["status"]), (200, &json!({ "allowed": false })), "{nobody}: {answer}");
    }
    assert_eq!(ask(None, None, "bob").await.0, 401);
    assert_eq!(ask(Some(tls.user("bob", &[]).unwrap()), None, "bob").await.0, 403);
    let foreign = Authority::new("cluster").unwrap().client(AuthorizationWebhook::CALLER, &[]).unwrap();
    assert_eq!(ask(Some(foreign), None, "bob").await.0, 401);
    done(world.admin(), "create serviceaccount robot -n default").await;
    let token = done(world.admin(), "create token robot -n default").await;
    assert_eq!(ask(None, Some(token.trim()), "bob").await.0, 403);
    let bad = json!({ "apiVersion": "authorization.k8s.io/v1beta1", "kind": "SubjectAccessReview" });
    assert_eq!(post(world, authority, cluster(), None, &bad).await.0, 400);
    // It is no way in through the cluster.
    let bob = user(&world.cluster, "bob", &[]).await;
    assert!(!bob.run(["get", "--raw", "/authorize"]).await.unwrap().status.success());
}

/// Sends a review to the server itself.
async fn post(
    world: &World,
    authority: &Authority,
    identity: Option<Identity>,
    token: Option<&str>,
    review: &Value,
) -> (u16, Value) {
    let address = ([127, 0, 0, 1], world.port.number()).into();
    let direct = Direct::new(address, &authority.certificate(), identity.as_ref());
    let bearer = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> = bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
    let answer = direct.send(Method::POST, "/authorize", &headers, &review.to_string()).await.unwrap();
    (answer.code, serde_json::from_str(&answer.body).unwrap_or_default())
}
