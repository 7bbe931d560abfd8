//! What the servers themselves may do in the cluster: what they use, each with its reason, and no more.
//!
//! What follows from users' objects is never done under this identity, but as a service account of their namespace, where that
//! was opted into.

use bailiwick_api::claims::PROVISIONER_LABEL;
use bailiwick_api::{CONTROLLERS_LEASE, PROVISIONER};
use serde_json::{Value, json};

use crate::flags::ActAs;

use super::manifest::Manifest;
use super::names::{ACT_AS, AUTHENTICATION_NAMESPACE, AUTHORITY_SECRET, NAME, api_service_names};
use super::plan::Plan;

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const ORGANIZATIONS: &str = "org.bailiwick.dev";
const CATALOGS: &str = "catalog.bailiwick.dev";
const BUNDLES: &str = "bundle.bailiwick.dev";
/// The role of the account as which definitions are carried out.
const PROVISIONER_ROLE: &str = "bailiwick:provisioner";
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
    manifests.extend(provisioner(plan));
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
    rights.extend(for_bundles());
    rights.extend(for_definitions());
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

/// What the objects of Bundles are is never touched by these rights, but by their service accounts'.
fn for_bundles() -> [Right; 3] {
    [
        Right {
            why: "bundles and readiness rules: it is followed what they ask for",
            rule: json!({"apiGroups": [BUNDLES], "resources": ["bundles", "readinessrules"], "verbs": ["list", "watch"]}),
        },
        Right {
            why: "bundles: what became of them is said in their status, and they go when all that they created is gone",
            rule: json!({"apiGroups": [BUNDLES], "resources": ["bundles"], "verbs": ["patch"]}),
        },
        Right {
            why: "bundles: the same",
            rule: json!({"apiGroups": [BUNDLES], "resources": ["bundles/status"], "verbs": ["update"]}),
        },
    ]
}

/// What definitions of claims come to is CustomResourceDefinitions. Which ones may be written is fenced by a policy. Claims
/// themselves, and what satisfies them, are touched as the provisioner only.
fn for_definitions() -> [Right; 5] {
    let group = "claim.bailiwick.dev";
    [
        Right {
            why: "definitions: they are followed, and let go when nothing depends on them any more",
            rule: json!({
                "apiGroups": [group],
                "resources": ["resourcebindingdefinitions", "resourceclaimdefinitions"],
                "verbs": ["get", "list", "patch", "watch"],
            }),
        },
        Right {
            why: "definitions: and it is said in their status what they come to",
            rule: json!({
                "apiGroups": [group],
                "resources": ["resourcebindingdefinitions/status", "resourceclaimdefinitions/status"],
                "verbs": ["patch"],
            }),
        },
        Right {
            why: "customresourcedefinitions: which kinds there are for claims, and when objects of Bundles are ready",
            rule: json!({
                "apiGroups": ["apiextensions.k8s.io"],
                "resources": ["customresourcedefinitions"],
                "verbs": ["get", "list", "watch"],
            }),
        },
        Right {
            why: "customresourcedefinitions: definitions of claims become such",
            rule: json!({
                "apiGroups": ["apiextensions.k8s.io"],
                "resources": ["customresourcedefinitions"],
                "verbs": ["create", "delete", "patch"],
            }),
        },
        Right {
            why: "apiservices: no claims are defined in a group that another server serves",
            rule: json!({"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": ["get"]}),
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
    rights.push(Right {
        why: "serviceaccounts: what definitions lead to is done as the provisioner",
        rule: json!({
            "apiGroups": [""],
            "resources": ["serviceaccounts"],
            "resourceNames": [PROVISIONER],
            "verbs": ["impersonate"],
        }),
    });
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

/// As whom definitions are carried out, and what that account may do: what the cluster's administrator says by labels.
fn provisioner(plan: &Plan) -> [Manifest; 3] {
    let why = "As whom definitions of claims are carried out. It may do what ClusterRoles say that carry the label\n  \
               claim.bailiwick.dev/aggregate-to-provisioner: \"true\"";
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": PROVISIONER, "namespace": plan.namespace},
    });
    let role = json!({
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": PROVISIONER_ROLE},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {PROVISIONER_LABEL: "true"}}]},
    });
    let mut binding = cluster_role_binding(plan, PROVISIONER_ROLE, PROVISIONER_ROLE);
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": PROVISIONER, "namespace": plan.namespace}]);
    [Manifest::new(why, account), Manifest::new("", role), Manifest::new("", binding)]
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
