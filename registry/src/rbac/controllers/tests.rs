use super::*;
use crate::rbac::list;

/// What is not a controller's own it may change by its name only.
#[test]
fn what_belongs_to_others_is_named() {
    let rules: Vec<PolicyRule> =
        controller_roles().into_iter().flat_map(|role| role.rules.unwrap_or_default()).collect();
    for (verb, resource, name) in
        [("update", "leases", "kube-controller-manager"), ("delete", "configmaps", "kube-root-ca.crt")]
    {
        let has = |set: &[String], wanted: &str| set.iter().any(|found| found == wanted);
        let found = rules.iter().filter(|rule| has(&rule.verbs, verb) && has(list(&rule.resources), resource));
        let names: Vec<&[String]> = found.map(|rule| list(&rule.resource_names)).collect();
        assert_eq!(names, [[name]], "{verb} {resource}");
    }
}
