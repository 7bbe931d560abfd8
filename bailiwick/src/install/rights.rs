//! What the servers themselves may do in the cluster: what they use, each with its reason, and no more.
//!
//! What follows from users' objects is never done under this identity, but as a service account of their namespace, where that
//! was opted into.

use bailiwick_api::CONTROLLERS_LEASE;
use serde_json::{Value, json};

use crate::flags::ActAs;

use super::manifest::Manifest;
use super::names::{ACT_AS, AUTHENTICATION_NAMESPACE, AUTHORITY_SECRET, NAME, api_service_names};
use super::plan::Plan;

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const ORGANIZATIONS: &str = "org.bailiwick.dev";
const CATALOGS: &str = "catalog.bailiwick.dev";
/// The roles that organizations can give from the beginning: Kubernetes' own for people who work in a namespace.
const BINDABLE: [&str; 3] = ["admin", "edit", "view"];

/// A rule of a role, and what it is for.
struct Right {
    why: &'static str,
    rule: Value,
}

/// The service account and what it may do.
pub(super) fn manifests(plan: &Plan) -> Vec<Manifest> {
    let mut manifests = vec![account(plan)];
    manifests.extend(everywhere(plan));
    manifests.extend(at_home(plan));
    manifests.extend(delegation(plan));
    manifests.extend(act_as(plan));
    manifests
}

fn account(plan: &Plan) -> Manifest {
    let why = "Who the servers are.";
    Manifest::new(
        why,
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": NAME, "namespace": plan.namespace},
        }),
    )
}

/// Rights in the whole cluster.
fn everywhere(plan: &Plan) -> [Manifest; 2] {
    let mut rights = vec![Right {
        why: "namespaces: objects are made only in those that exist and stay",
        rule: json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]}),
    }];
    rights.push(Right {
        why: "roles and bindings: whoever gives rights to an organization's groups is held to what they hold",
        rule: json!({
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["clusterrolebindings", "clusterroles", "rolebindings", "roles"],
            "verbs": ["get", "list", "watch"],
        }),
    });
    rights.extend(for_organizations());
    rights.extend(for_catalogs());
    rights.extend(for_quotas());
    if plan.makes_certificates() {
        let names = api_service_names(&plan.kinds);
        rights.push(Right {
            why: "apiservices: the servers make their certificates, and tell kube-apiserver who vouches for them",
            rule: json!({
                "apiGroups": ["apiregistration.k8s.io"],
                "resources": ["apiservices"],
                "resourceNames": names,
                "verbs": ["patch"],
            }),
        });
    }
    let role = json!({
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": NAME},
        "rules": rules(&rights),
    });
    [
        Manifest::new(told("What the servers may do in the whole cluster.", &rights), role),
        Manifest::new("", cluster_role_binding(plan, NAME, NAME)),
    ]
}

/// What OrgRoleBindings come to in a cluster is RoleBindings. Which ones may be written is fenced by a policy.
fn for_organizations() -> [Right; 5] {
    [
        Right {
            why: "organizations, groups and bindings: it is followed what they come to",
            rule: json!({
                "apiGroups": [ORGANIZATIONS],
                "resources": ["groups", "organizations", "orggroups", "orgrolebindings"],
                "verbs": ["list", "watch"],
            }),
        },
        Right {
            why: "organizations, groups and bindings: and said in their status",
            rule: json!({
                "apiGroups": [ORGANIZATIONS],
                "resources": ["orggroups/status", "orgrolebindings/status"],
                "verbs": ["patch"],
            }),
        },
        Right {
            why: "rolebindings: members of organizations' groups have roles in their projects",
            rule: json!({
                "apiGroups": ["rbac.authorization.k8s.io"],
                "resources": ["rolebindings"],
                "verbs": ["create", "delete", "update"],
            }),
        },
        Right {
            why: "clusterroles: those roles, and no others; more can be added by a ClusterRole of your own",
            rule: json!({
                "apiGroups": ["rbac.authorization.k8s.io"],
                "resources": ["clusterroles"],
                "resourceNames": BINDABLE,
                "verbs": ["bind"],
            }),
        },
        Right {
            why: "events: it is told when a binding comes to nothing, and what becomes of a claim",
            rule: json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}),
        },
    ]
}

/// What follows from entries and claims is read and written as service accounts that they name; here is only what must be known
/// to do so, and where it is said what became of it.
fn for_catalogs() -> [Right; 4] {
    [
        Right {
            why: "catalogs, entries and claims: it is followed what they come to",
            rule: json!({
                "apiGroups": [CATALOGS],
                "resources": ["resourcecatalogclaims", "resourcecatalogentries", "resourcecatalogs"],
                "verbs": ["list", "watch"],
            }),
        },
        Right {
            why: "catalogs, entries and claims: and said in their status",
            rule: json!({
                "apiGroups": [CATALOGS],
                "resources": ["resourcecatalogclaims/status", "resourcecatalogentries/status", "resourcecatalogs/status"],
                "verbs": ["patch"],
            }),
        },
        Right {
            why: "claims: those whose resources are to stay go when these have been let go",
            rule: json!({"apiGroups": [CATALOGS], "resources": ["resourcecatalogclaims"], "verbs": ["patch"]}),
        },
        Right {
            why: "serviceaccounts: it is acted as those only that are still the ones that were named",
            rule: json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "list", "watch"]}),
        },
    ]
}

/// What projects have is compared with what was allotted to them.
fn for_quotas() -> [Right; 3] {
    [
        Right {
            why: "resourcequotas: they are counted against quota allocations",
            rule: json!({"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["list", "watch"]}),
        },
        Right {
            why: "resourcequotas: a project that nothing limits gets one, if its allocation says so; a policy allows no other",
            rule: json!({"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["create"]}),
        },
        Right {
            why: "quota allocations: it is followed which ones say so",
            rule: json!({
                "apiGroups": ["quota.bailiwick.dev"],
                "resources": ["resourcequotaallocations"],
                "verbs": ["list", "watch"],
            }),
        },
    ]
}

/// Rights in the namespace of the installation.
fn at_home(plan: &Plan) -> [Manifest; 2] {
    let mut rights = vec![
        Right {
            why: "leases: of several servers, one runs the controllers (a rule for new objects cannot name them)",
            rule: json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]}),
        },
        Right {
            why: "leases: and keeps saying so",
            rule: json!({
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "resourceNames": [CONTROLLERS_LEASE],
                "verbs": ["get", "update"],
            }),
        },
    ];
    if plan.makes_certificates() {
        rights.push(Right {
            why: "secrets: the authority that they share, and renew",
            rule: json!({
                "apiGroups": [""],
                "resources": ["secrets"],
                "resourceNames": [AUTHORITY_SECRET],
                "verbs": ["get", "update"],
            }),
        });
    }
    let role = json!({
        "apiVersion": RBAC,
        "kind": "Role",
        "metadata": {"name": NAME, "namespace": plan.namespace},
        "rules": rules(&rights),
    });
    let binding = role_binding(plan, NAME, &plan.namespace, NAME);
    [Manifest::new(told("What they may do in their own namespace.", &rights), role), Manifest::new("", binding)]
}

/// Kubernetes' own roles for servers that have kube-apiserver decide who asks, and who may.
fn delegation(plan: &Plan) -> [Manifest; 2] {
    let reader = "extension-apiserver-authentication-reader";
    [
        Manifest::new(
            "Asking kube-apiserver who a token belongs to, and who may do what.",
            cluster_role_binding(plan, "bailiwick:auth-delegator", "system:auth-delegator"),
        ),
        Manifest::new(
            "Knowing kube-apiserver when it hands on a request.",
            role_binding(plan, "bailiwick-authentication-reader", AUTHENTICATION_NAMESPACE, reader),
        ),
    ]
}

/// The right to act as others, which is given where it is wanted.
fn act_as(plan: &Plan) -> Vec<Manifest> {
    let namespace = &plan.namespace;
    let why = format!(
        "Claims and bundles are carried out as a service account of their namespace. Whoever administers one allows it:\n  \
         kubectl create rolebinding bailiwick-act-as -n NAMESPACE --clusterrole={ACT_AS} --serviceaccount={namespace}:{NAME}"
    );
    let role = json!({
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": ACT_AS},
        "rules": [{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}],
    });
    let mut manifests = vec![Manifest::new(why, role)];
    if plan.act_as == ActAs::Cluster {
        let why = "Asked for with --act-as=cluster: in all namespaces. Whoever owns the servers can then be any service account.";
        manifests.push(Manifest::new(why, cluster_role_binding(plan, ACT_AS, ACT_AS)));
    }
    manifests
}

fn told(what: &str, rights: &[Right]) -> String {
    rights.iter().fold(what.to_owned(), |text, right| format!("{text}\n- {}", right.why))
}

fn rules(rights: &[Right]) -> Vec<&Value> {
    rights.iter().map(|right| &right.rule).collect()
}

fn cluster_role_binding(plan: &Plan, name: &str, role: &str) -> Value {
    json!({
        "apiVersion": RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": subjects(plan),
    })
}

fn role_binding(plan: &Plan, name: &str, namespace: &str, role: &str) -> Value {
    json!({
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        "subjects": subjects(plan),
    })
}

fn subjects(plan: &Plan) -> Value {
    json!([{"kind": "ServiceAccount", "name": NAME, "namespace": plan.namespace}])
}
