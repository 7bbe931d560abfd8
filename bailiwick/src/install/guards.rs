//! Rules that kube-apiserver enforces by itself, so that no outage of ours blocks or opens anything.
//!
//! Two are for everyone: who may say to whom a namespace belongs, and that nobody binds roles to the groups that organizations
//! form. Three are for our own service account, whose rights could otherwise be turned into all rights by whoever takes it over.

use bailiwick_api::{DEFINITION_UID_ANNOTATION, DERIVED_LABEL, OWNER_LABEL, OrgRoleBinding, Owner};
use serde_json::{Value, json};

use super::manifest::Manifest;
use super::plan::Plan;

/// What the label of a namespace begins with that belongs to an organization.
const ORGANIZATION_OWNER: &str = Owner::ORGANIZATION_PREFIX;
/// How RoleBindings are named that were made for OrgRoleBindings.
const DERIVED_PREFIX: &str = OrgRoleBinding::DERIVED_PREFIX;
const ADMISSION: &str = "admissionregistration.k8s.io/v1";

/// A rule: of what, and what must be true.
struct Guard {
    name: &'static str,
    why: &'static str,
    /// Only for this user, or for everyone.
    only_for: Option<String>,
    rule: Value,
    variables: Value,
    validations: Value,
}

/// The policies and what puts them into force.
pub(super) fn manifests(plan: &Plan) -> Vec<Manifest> {
    let guards = [project_owner(), org_subjects(), own_role_bindings(plan), own_definitions(plan), own_quotas(plan)];
    guards.into_iter().flat_map(Guard::manifests).collect()
}

/// The label is all that says whose a namespace is, so changing it takes the consent of the old owner and of the new one.
/// Subresources write labels too.
fn project_owner() -> Guard {
    let owner = |object: &str| format!("{object}.metadata.?labels[?'{OWNER_LABEL}'].orValue('')");
    let name = |value: &str| {
        let length = ORGANIZATION_OWNER.len();
        format!("{value}.startsWith('{ORGANIZATION_OWNER}') ? {value}.substring({length}) : ''")
    };
    // Whatever is no organization's name is asked for as all of them.
    let may_own = |value: &str, name: &str| {
        format!(
            "variables.before == variables.after || {value} == '' || \
             authorizer.group('org.bailiwick.dev').resource('organizations').name({name}).check('own').allowed()"
        )
    };
    let message = |what: &str, value: &str| {
        format!(
            "'the label {OWNER_LABEL} cannot be {what} \"' + {value} + '\": that needs the verb \"own\" on this organization \
             (organizations.org.bailiwick.dev); a cluster administrator can give it'"
        )
    };
    Guard {
        name: "project-owner.bailiwick.dev",
        why: "Whose a namespace is changes only by those who hold \"own\" on the old and on the new owner.",
        only_for: None,
        rule: json!({
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["namespaces", "namespaces/status", "namespaces/finalize"],
        }),
        variables: json!([
            {"name": "before", "expression": format!("oldObject == null ? '' : {}", owner("oldObject"))},
            {"name": "after", "expression": owner("object")},
            {"name": "beforeName", "expression": name("variables.before")},
            {"name": "afterName", "expression": name("variables.after")},
        ]),
        validations: json!([
            {
                "expression": "variables.before == variables.after || variables.after == '' || variables.afterName != ''",
                "messageExpression": format!(
                    "'the label {OWNER_LABEL} cannot be set to \"' + variables.after + '\": it must be \"{ORGANIZATION_OWNER}<name>\", \
                     the owning organization'"
                ),
                "reason": "Invalid",
            },
            {
                "expression": may_own("variables.after", "variables.afterName"),
                "messageExpression": message("set to", "variables.after"),
                "reason": "Forbidden",
            },
            {
                "expression": may_own("variables.before", "variables.beforeName"),
                "messageExpression": message("changed from", "variables.before"),
                "reason": "Forbidden",
            },
        ]),
    }
}

/// A certificate or a token could carry such a group, and RBAC would believe it.
fn org_subjects() -> Guard {
    Guard {
        name: "org-subjects.bailiwick.dev",
        why: "Groups of organizations are bound by OrgRoleBindings, which end with the membership. Nobody binds them by hand.",
        only_for: None,
        rule: json!({
            "apiGroups": ["rbac.authorization.k8s.io"],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["rolebindings", "clusterrolebindings"],
        }),
        variables: json!([]),
        validations: json!([{
            "expression": "!has(object.subjects) || \
                           object.subjects.all(subject, subject.kind != 'Group' || !subject.name.startsWith('org:'))",
            "message": "groups that begin with \"org:\" are those of organizations, and cannot be subjects: use an OrgRoleBinding",
            "reason": "Forbidden",
        }]),
    }
}

fn own_role_bindings(plan: &Plan) -> Guard {
    let namespace = &plan.namespace;
    // What is being deleted counts until it is gone, and whoever wants to keep the role can keep it by a finalizer.
    let takes_away = "object == null || \
                      (request.operation == 'UPDATE' && (!has(object.subjects) || object.subjects.size() == 0))";
    let owned = format!(
        "variables.takesAway || (\
         namespaceObject.metadata.?labels[?'{OWNER_LABEL}'].orValue('').startsWith('{ORGANIZATION_OWNER}') && \
         !request.namespace.startsWith('kube-') && request.namespace != '{namespace}')"
    );
    let foreign = format!(
        "object == null || !has(object.subjects) || object.subjects.all(subject, \
         subject.kind == 'User' ? !subject.name.startsWith('system:serviceaccount:{namespace}:') : \
         subject.kind == 'ServiceAccount' ? subject.?namespace.orValue('') != '{namespace}' : \
         !subject.name.startsWith('system:'))"
    );
    let labelled = |object: &str| format!("{object}.metadata.?labels[?'{DERIVED_LABEL}'].hasValue()");
    // Someone may have taken the label off, which does not keep it.
    let before = format!(
        "oldObject == null || {} || \
         (variables.takesAway && oldObject.metadata.name.startsWith('{DERIVED_PREFIX}'))",
        labelled("oldObject")
    );
    let after = format!("variables.takesAway || {}", labelled("object"));
    Guard {
        name: "own-role-bindings.bailiwick.dev",
        why: "Bailiwick itself binds roles only in namespaces of organizations, never to itself, and leaves bindings of others alone.",
        only_for: Some(plan.user()),
        rule: json!({
            "apiGroups": ["rbac.authorization.k8s.io"],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["rolebindings"],
        }),
        variables: json!([{"name": "takesAway", "expression": takes_away}]),
        validations: json!([
            {"expression": owned, "message": "Bailiwick binds roles only in namespaces that an organization owns", "reason": "Forbidden"},
            {"expression": foreign, "message": "Bailiwick binds no roles to itself", "reason": "Forbidden"},
            {
                "expression": "object == null || object.roleRef.kind == 'ClusterRole'",
                "message": "Bailiwick binds ClusterRoles only",
                "reason": "Forbidden",
            },
            {
                "expression": format!("({before}) && ({after})"),
                "message": format!("Bailiwick touches only RoleBindings that it made, by their label {DERIVED_LABEL}"),
                "reason": "Forbidden",
            },
        ]),
    }
}

fn own_definitions(plan: &Plan) -> Guard {
    let uid = |object: &str| format!("{object}.metadata.?annotations[?'{DEFINITION_UID_ANNOTATION}'].orValue('')");
    Guard {
        name: "own-definitions.bailiwick.dev",
        why: "Bailiwick itself makes, changes and removes only those CustomResourceDefinitions that it made for a definition.",
        only_for: Some(plan.user()),
        rule: json!({
            "apiGroups": ["apiextensions.k8s.io"],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["customresourcedefinitions"],
        }),
        variables: json!([
            {"name": "before", "expression": format!("oldObject == null ? '' : {}", uid("oldObject"))},
            {"name": "after", "expression": format!("object == null ? '' : {}", uid("object"))},
        ]),
        validations: json!([{
            "expression": "request.operation == 'CREATE' ? variables.after != '' : \
                           request.operation == 'DELETE' ? variables.before != '' : \
                           variables.before != '' && variables.before == variables.after",
            "message": format!("Bailiwick touches only CustomResourceDefinitions that it made, by their annotation {DEFINITION_UID_ANNOTATION}"),
            "reason": "Forbidden",
        }]),
    }
}

fn own_quotas(plan: &Plan) -> Guard {
    Guard {
        name: "own-quotas.bailiwick.dev",
        why: "Bailiwick itself makes only the ResourceQuota \"default\" of a project.",
        only_for: Some(plan.user()),
        rule: json!({
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["resourcequotas"],
        }),
        variables: json!([]),
        validations: json!([{
            "expression": "request.operation == 'CREATE' && object.metadata.name == 'default' && \
                           !request.namespace.startsWith('kube-')",
            "message": "Bailiwick makes only the ResourceQuota \"default\" of a project",
            "reason": "Forbidden",
        }]),
    }
}

// === impl Guard ===

impl Guard {
    fn manifests(mut self) -> [Manifest; 2] {
        // What Kubernetes would fill in anyway; kubectl takes its absence for a change each time.
        self.rule["scope"] = "*".into();
        let mut spec = json!({
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [self.rule]},
            "validations": self.validations,
        });
        if self.variables != json!([]) {
            spec["variables"] = self.variables;
        }
        if let Some(user) = self.only_for {
            let expression = format!("request.userInfo.username == '{user}'");
            spec["matchConditions"] = json!([{"name": "own-account", "expression": expression}]);
        }
        let metadata = json!({"name": self.name});
        let policy = json!({
            "apiVersion": ADMISSION,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata,
            "spec": spec,
        });
        let binding = json!({
            "apiVersion": ADMISSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": self.name, "validationActions": ["Deny"]},
        });
        [Manifest::new(self.why, policy), Manifest::new("", binding)]
    }
}
