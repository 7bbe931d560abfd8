//! Organizations in a real cluster: what their groups may do is decided there, by RoleBindings that our account makes with no
//! more rights than were installed, and within the guards that were installed.

use std::time::Duration;

use bailiwick_test_host::{Cluster, Kubectl, Link};
use http::Method;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::host::{done, done_soon, refused_soon, user};
use crate::process::PATIENCE;
use crate::world::World;

/// How long it may take until a change counts in the cluster.
const BOUND: Duration = Duration::from_secs(2);
pub(crate) const WEB: &str = "acme-web";
/// The RoleBinding that the OrgRoleBinding `dev` becomes.
const DERIVED: &str = "org-role-binding:dev";

/// Two organizations: Acme is run by alice, bob is its member, and carol by the Group `engineers`. petra administers its
/// project.
pub(crate) const OBJECTS: &str = "
{apiVersion: org.bailiwick.dev/v1alpha1, kind: Group, metadata: {name: engineers}, users: [carol]}
---
{apiVersion: org.bailiwick.dev/v1alpha1, kind: Organization, metadata: {name: Acme}, adminUsers: [alice], memberUsers: [bob], memberGroups: [engineers]}
---
{apiVersion: org.bailiwick.dev/v1alpha1, kind: Organization, metadata: {name: Beta}, adminUsers: [ben], memberUsers: [bella]}
---
{apiVersion: v1, kind: Namespace, metadata: {name: acme-web, labels: {openshift.io/owner: organizations__Acme}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: beta-web, labels: {openshift.io/owner: organizations__Beta}}}
";

/// Someone in the cluster.
pub(crate) struct Person {
    pub(crate) kubectl: Kubectl,
    pub(crate) client: Client,
}

/// The people, and what a change took until it counted.
struct Story {
    alice: Person,
    bob: Person,
    carol: Person,
    petra: Person,
    took: Vec<(&'static str, Duration)>,
}

/// M-ORG-3, ORG-2, ORG-35, ORG-44, ORG-50, S-23, S-25, O-05, O-06, O-11: what a group may do, it may by the cluster's own
/// authorization, for as long as it should.
#[tokio::test(flavor = "multi_thread")]
async fn groups_of_organizations_count_in_the_cluster() {
    // Which puts together the roles `admin` and `edit`.
    let world = World::start_in(Cluster::options().controller_manager().start().await.unwrap()).await;
    let mut server = world.spawn();
    let admin = world.admin();
    done(admin, "wait --for=condition=Available apiservice/v1alpha1.org.bailiwick.dev --timeout=60s").await;
    done_soon(admin, "get organizations").await;
    admin.apply(OBJECTS).await.unwrap();
    let mut story = Story::begin(&world.cluster).await;
    done(admin, &format!("create rolebinding petra -n {WEB} --clusterrole=admin --user=petra")).await;
    story.an_administrator_forms_a_group_and_a_project_binds_it(admin).await;
    story.whoever_leaves_has_nothing(admin).await;
    story.a_project_that_changes_hands_takes_nothing_along(admin).await;
    only_our_role_bindings_are_touched(admin).await;
    story.roles_are_bound_that_may_be_bound(&world).await;
    story.rights_that_are_missing_are_told(&world).await;
    story.a_binding_that_goes_takes_all_along(admin).await;
    for (what, took) in &story.took {
        println!("{what}: {took:?}");
        assert!(*took < BOUND, "{what} took {took:?}");
    }
    server.stop().await;
}

/// S-25, O-06: what is taken away while the server's connections have fallen silent, without it having been told, is lost as soon as
/// else: it notices, and begins others.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_has_fallen_silent_keeps_nothing_bound() {
    let world = World::start_in(Cluster::options().controller_manager().start().await.unwrap()).await;
    let link = Link::open(world.cluster.server().strip_prefix("https://").unwrap().parse().unwrap()).await.unwrap();
    let by_link = std::fs::read_to_string(&world.kubeconfig).unwrap();
    let by_link = by_link.replace(world.cluster.server(), &format!("https://{}", link.address()));
    std::fs::write(&world.kubeconfig, by_link).unwrap();
    let mut server = world.spawn();
    let admin = world.admin();
    done(admin, "wait --for=condition=Available apiservice/v1alpha1.org.bailiwick.dev --timeout=60s").await;
    done_soon(admin, "get organizations").await;
    admin.apply(OBJECTS).await.unwrap();
    let mut story = Story::begin(&world.cluster).await;
    let bob = story.bob.client.clone();
    story.alice.apply(&org_group("bob")).await;
    admin.apply(&binding("dev", "edit", "orgGroups: ['Acme:dev']")).await.unwrap();
    story.counts("bound", &bob, true).await;
    let label = format!("label namespace {WEB} --overwrite openshift.io/owner=organizations__");
    for _ in 0..3 {
        link.desert().await.unwrap();
        done(admin, &format!("{label}Beta")).await;
        story.counts("moved", &bob, false).await;
        done(admin, &format!("{label}Acme")).await;
        story.counts("given back", &bob, true).await;
    }
    for (what, took) in &story.took {
        println!("{what}: {took:?}");
        assert!(*took < BOUND, "{what} took {took:?}");
    }
    server.stop().await;
}

// === impl Story ===

impl Story {
    async fn begin(cluster: &Cluster) -> Self {
        let person = async |name| Person::of(cluster, name).await;
        Self {
            alice: person("alice").await,
            bob: person("bob").await,
            carol: person("carol").await,
            petra: person("petra").await,
            took: Vec::new(),
        }
    }

    async fn an_administrator_forms_a_group_and_a_project_binds_it(&mut self, admin: &Kubectl) {
        self.alice.apply(&org_group("bob, carol")).await;
        refused_soon(&self.alice.kubectl, "get orggroups", "Forbidden").await;
        refused_soon(&self.bob.kubectl, "get orggroup Acme:dev", "Forbidden").await;
        refused_soon(
            &self.petra.kubectl,
            "get --raw /apis/org.bailiwick.dev/v1alpha1/organizations/Acme/groups",
            "orbidden",
        )
        .await;
        let members =
            done(&self.alice.kubectl, "get --raw /apis/org.bailiwick.dev/v1alpha1/organizations/Acme/members").await;
        assert!(members.contains("bob") && members.contains("carol"), "{members}");
        let projects =
            done(&self.alice.kubectl, "get --raw /apis/org.bailiwick.dev/v1alpha1/organizations/Acme/projects").await;
        assert!(projects.contains(WEB) && !projects.contains("beta-web"), "{projects}");
        assert!(!self.bob.can(WEB).await);
        // petra's rights must have come to the server, too.
        done_soon(&self.petra.kubectl, &format!("get orgrolebindings -n {WEB}")).await;
        self.petra.apply(&binding("dev", "edit", "orgGroups: ['Acme:dev']")).await;
        self.counts("bound", &self.bob.client.clone(), true).await;
        assert!(self.carol.can(WEB).await, "a member by a Group");
        let words = format!("auth can-i create configmaps -n {WEB}");
        assert_eq!(done(&self.bob.kubectl, &words).await, "yes\n");
        for elsewhere in ["beta-web", "default", "kube-system"] {
            assert!(!self.bob.can(elsewhere).await, "{elsewhere}");
        }
        let bound = says(admin, "dev", "True", "InEffect").await;
        assert_eq!(bound["status"]["roleBindings"], serde_json::json!([DERIVED]));
    }

    async fn whoever_leaves_has_nothing(&mut self, admin: &Kubectl) {
        let bob = self.bob.client.clone();
        self.alice.apply(&org_group("carol")).await;
        self.counts("removed from the group", &bob, false).await;
        assert!(self.carol.can(WEB).await);
        self.alice.apply(&org_group("bob, carol")).await;
        self.counts("added to the group", &bob, true).await;
        merge(admin, "organization Acme", "{\"memberUsers\":[]}").await;
        self.counts("removed from the organization", &bob, false).await;
        let named = "get orggroup Acme:dev -o jsonpath={.status.nonMembers}";
        eventually(admin, named, "[\"bob\"]").await;
        merge(admin, "organization Acme", "{\"memberUsers\":[\"bob\"]}").await;
        self.counts("added to the organization", &bob, true).await;
        merge(admin, "groups.org.bailiwick.dev engineers", "{\"users\":[]}").await;
        self.counts("removed from a Group", &self.carol.client.clone(), false).await;
        merge(admin, "groups.org.bailiwick.dev engineers", "{\"users\":[\"carol\"]}").await;
        self.counts("added to a Group", &self.carol.client.clone(), true).await;
    }

    async fn a_project_that_changes_hands_takes_nothing_along(&mut self, admin: &Kubectl) {
        let bob = self.bob.client.clone();
        let label = |value: &str| format!("label namespace {WEB} openshift.io/owner{value} --overwrite");
        for (what, value, reason) in [("moved", "=organizations__Beta", "OtherOwner"), ("unlabelled", "-", "NoOwner")] {
            done(admin, &label(value)).await;
            self.counts(what, &bob, false).await;
            let told = says(admin, "dev", "False", reason).await;
            assert_eq!(told["status"]["roleBindings"], Value::Null);
            let events = format!("get events -n {WEB} --field-selector reason={reason},type=Warning -o name");
            assert!(!done_with_output(admin, &events).await.is_empty(), "{reason}");
            refused_soon(admin, &format!("get rolebinding {DERIVED} -n {WEB}"), "NotFound").await;
            done(admin, &label("=organizations__Acme")).await;
            self.counts("given back", &bob, true).await;
        }
    }

    async fn roles_are_bound_that_may_be_bound(&mut self, world: &World) {
        let (admin, dave) = (world.admin(), Person::of(&world.cluster, "dave").await);
        done(admin, "create clusterrole writer --verb=create --resource=configmaps").await;
        admin.apply(&binding("writers", "writer", "users: [dave, erin]")).await.unwrap();
        let told = says(admin, "writers", "False", "RoleNotAllowed").await;
        assert!(!dave.can(WEB).await);
        let message = told["status"]["conditions"][0]["message"].as_str().unwrap().to_owned();
        let (_, commands) = message.split_once("allows it with: ").unwrap();
        for command in commands.split(" && ") {
            done(admin, command.strip_prefix("kubectl ").unwrap()).await;
        }
        says(admin, "writers", "True", "InEffect").await;
        assert!(dave.can(WEB).await);
        // What may not be given any more can be taken away all the same.
        done(admin, "delete clusterrolebinding bailiwick:bind:writer").await;
        sleep(Duration::from_secs(1)).await;
        admin.apply(&binding("writers", "writer", "users: [erin]")).await.unwrap();
        self.counts("taken from a role that may not be bound", &dave.client, false).await;
        done(admin, &format!("delete orgrolebinding writers -n {WEB}")).await;
        // Our account's policy does not let it give anything to itself, so it does not try, and others have what they are to have.
        admin
            .apply(&binding("itself", "edit", "users: [dave, 'system:serviceaccount:bailiwick-system:bailiwick']"))
            .await
            .unwrap();
        let told = says(admin, "itself", "False", "NotBound").await;
        assert!(told.to_string().contains("system:serviceaccount:bailiwick-system:bailiwick"), "{told}");
        assert!(dave.can(WEB).await);
        done(admin, &format!("delete orgrolebinding itself -n {WEB}")).await;
    }

    async fn rights_that_are_missing_are_told(&mut self, world: &World) {
        let (admin, erin) = (world.admin(), Person::of(&world.cluster, "erin").await);
        world.remove_rule("clusterrole bailiwick", &["rolebindings", "create"]).await;
        sleep(Duration::from_secs(1)).await;
        admin.apply(&binding("late", "edit", "users: [erin]")).await.unwrap();
        let told = says(admin, "late", "False", "Refused").await;
        assert!(told.to_string().contains("bailiwick install | kubectl apply -f -"), "{told}");
        assert!(!erin.can(WEB).await);
        admin.apply(&world.manifests).await.unwrap();
        says(admin, "late", "True", "InEffect").await;
        assert!(erin.can(WEB).await);
    }

    async fn a_binding_that_goes_takes_all_along(&mut self, admin: &Kubectl) {
        // Whoever adds someone by hand has not added them.
        let dave = "{\"op\":\"add\",\"path\":\"/subjects/-\",\"value\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"dave\"}}";
        done(admin, &format!("patch rolebinding {DERIVED} -n {WEB} --type=json -p [{dave}]")).await;
        let subjects = format!("get rolebinding {DERIVED} -n {WEB} -o jsonpath={{.subjects[*].name}}");
        eventually(admin, &subjects, "bob carol").await;
        done(&self.petra.kubectl, &format!("delete orgrolebinding dev -n {WEB}")).await;
        self.counts("unbound", &self.bob.client.clone(), false).await;
        done(admin, &format!("delete orgrolebindings --all -n {WEB}")).await;
        eventually(admin, &format!("get rolebindings -n {WEB} -l bailiwick.dev/derived-from -o name"), "").await;
    }

    /// Waits until someone may work in the project, or may not any more.
    async fn counts(&mut self, what: &'static str, client: &Client, allowed: bool) {
        let began = Instant::now();
        while can(client, WEB).await != allowed {
            assert!(began.elapsed() < PATIENCE, "in vain: {what}");
            sleep(Duration::from_millis(20)).await;
        }
        self.took.push((what, began.elapsed()));
    }
}

/// A RoleBinding of the name that one of ours would have is someone else's, and stays so.
async fn only_our_role_bindings_are_touched(admin: &Kubectl) {
    let theirs = "org-role-binding:taken";
    done(admin, &format!("create rolebinding {theirs} -n {WEB} --clusterrole=view --user=zoe")).await;
    let look = format!("get rolebinding {theirs} -n {WEB} -o json");
    let before = done(admin, &look).await;
    admin.apply(&binding("taken", "view", "users: [dave]")).await.unwrap();
    says(admin, "taken", "False", "NameTaken").await;
    done(admin, &format!("delete orgrolebinding taken -n {WEB}")).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(done(admin, &look).await, before);
    done(admin, &format!("delete rolebinding {theirs} -n {WEB}")).await;
}

// === impl Person ===

impl Person {
    pub(crate) async fn of(cluster: &Cluster, name: &str) -> Self {
        Self::of_groups(cluster, name, &[]).await
    }

    pub(crate) async fn of_groups(cluster: &Cluster, name: &str, groups: &[&str]) -> Self {
        let kubectl = user(cluster, name, groups).await;
        let kubeconfig = Kubeconfig::read_from(kubectl.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Self { kubectl, client: Client::try_from(config).unwrap() }
    }

    /// Applies an object; what rights it takes may have been given a moment ago.
    pub(crate) async fn apply(&self, object: &str) {
        let began = Instant::now();
        while let Err(error) = self.kubectl.apply(object).await {
            assert!(began.elapsed() < PATIENCE, "{error}");
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Sends an object, or a merge patch, that is accepted, and tells when that was acknowledged.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Instant {
        let content_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", content_type);
        let request = request.body(body.to_string().into_bytes()).unwrap();
        self.client.request::<Value>(request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        Instant::now()
    }

    pub(crate) async fn can(&self, namespace: &str) -> bool {
        can(&self.client, namespace).await
    }
}

/// Whether someone may make ConfigMaps, as the cluster says.
async fn can(client: &Client, namespace: &str) -> bool {
    let attributes = ResourceAttributes {
        verb: Some("create".to_owned()),
        resource: Some("configmaps".to_owned()),
        namespace: Some(namespace.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec =
        SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..SelfSubjectAccessReviewSpec::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
}

/// Waits until an OrgRoleBinding says that it is effective, or not, for this reason. Gives it.
async fn says(admin: &Kubectl, name: &str, status: &str, reason: &str) -> Value {
    let began = Instant::now();
    loop {
        let text = done(admin, &format!("get orgrolebinding {name} -n {WEB} -o json")).await;
        let object: Value = serde_json::from_str(&text).unwrap();
        let condition = &object["status"]["conditions"][0];
        if condition["status"] == status && condition["reason"] == reason {
            return object;
        }
        assert!(began.elapsed() < 2 * PATIENCE, "not {status} for {reason}: {object}");
        sleep(Duration::from_millis(100)).await;
    }
}

async fn eventually(admin: &Kubectl, command: &str, wanted: &str) {
    let began = Instant::now();
    loop {
        let text = done(admin, command).await;
        if text == wanted {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{command}: {text}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// What a command says, once it says something.
async fn done_with_output(admin: &Kubectl, command: &str) -> String {
    let began = Instant::now();
    loop {
        let text = done(admin, command).await;
        if !text.is_empty() || began.elapsed() > PATIENCE {
            return text;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn merge(admin: &Kubectl, object: &str, patch: &str) {
    done(admin, &format!("patch {object} --type=merge -p {patch}")).await;
}

pub(crate) fn org_group(users: &str) -> String {
    format!(
        "{{apiVersion: org.bailiwick.dev/v1alpha1, kind: OrgGroup, metadata: {{name: 'Acme:dev'}}, users: [{users}]}}"
    )
}

pub(crate) fn binding(name: &str, role: &str, who: &str) -> String {
    format!(
        "{{apiVersion: org.bailiwick.dev/v1alpha1, kind: OrgRoleBinding, metadata: {{name: {name}, namespace: {WEB}}}, \
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}, {who}}}"
    )
}
