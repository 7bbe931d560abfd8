//! What is wrong with when a container is started again: because it ended, or because it gets more.

use std::collections::BTreeSet;

use bailiwick_machinery::{FieldError, FieldErrors};

use super::part::{Part, invalid_named, unsupported};

pub(super) const ALWAYS: &str = "Always";
const NEVER: &str = "Never";
const POLICIES: [&str; 3] = [ALWAYS, NEVER, "OnFailure"];
const ACTIONS: [&str; 2] = ["Restart", "RestartAllContainers"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const MOST_RULES: usize = 20;
const MOST_EXIT_CODES: usize = 255;
const RESIZED: [&str; 2] = ["cpu", "memory"];
const RESIZE_POLICIES: [&str; 2] = [NO_RESTART, RESTART];
const NO_RESTART: &str = "NotRequired";
const RESTART: &str = "RestartContainer";

/// Notes what is wrong with a container that is started again by rules of its own.
pub(super) fn check(container: &Part<'_>, errors: &mut FieldErrors) {
    let rules = container.items("restartPolicyRules");
    if container.has("restartPolicy") {
        container.check_known("restartPolicy", &POLICIES, errors);
    } else if rules.is_empty() {
        return;
    } else {
        errors.push(without_policy(container));
    }
    if rules.len() > MOST_RULES {
        errors.push(FieldError::too_many(container.at("restartPolicyRules"), rules.len(), MOST_RULES));
    }
    for rule in container.parts("restartPolicyRules") {
        rule.check_known("action", &ACTIONS, errors);
        let Some(codes) = rule.part("exitCodes") else {
            errors.push(FieldError::required(rule.at("exitCodes"), "must be specified"));
            continue;
        };
        codes.check_known("operator", &OPERATORS, errors);
        let count = codes.items("values").len();
        if count > MOST_EXIT_CODES {
            errors.push(FieldError::too_many(codes.at("values"), count, MOST_EXIT_CODES));
        }
    }
}

/// The same for an init container, of whose rules nothing is said without a policy.
pub(super) fn check_init(container: &Part<'_>, errors: &mut FieldErrors) {
    if container.has("restartPolicy") {
        check(container, errors);
    } else if !container.items("restartPolicyRules").is_empty() {
        errors.push(without_policy(container));
    }
}

fn without_policy(container: &Part<'_>) -> FieldError {
    let why = "must specify restartPolicy when restart rules are used";
    FieldError::required(container.at("restartPolicy"), why)
}

/// Notes what is wrong with what happens to a container that gets more, in a pod with a policy.
pub(super) fn check_resize(container: &Part<'_>, pod_policy: &str, errors: &mut FieldErrors) {
    let list = container.at("resizePolicy");
    let mut known = BTreeSet::new();
    for resize in container.parts("resizePolicy") {
        let (resource, policy) = (resize.text("resourceName"), resize.text("restartPolicy"));
        if !known.insert(resource) {
            errors.push(FieldError::duplicate(resize.path().clone(), resource));
        }
        for (value, supported) in [(resource, &RESIZED), (policy, &RESIZE_POLICIES)] {
            match value {
                "" => errors.push(FieldError::required(list.clone(), "")),
                value if supported.contains(&value) => {}
                value => errors.push(unsupported(list.clone(), value, supported)),
            }
        }
        if pod_policy == NEVER && policy != NO_RESTART {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(invalid_named(list.clone(), policy, why));
        }
    }
}

/// Notes an init container that would begin anew although others wait for its end.
pub(super) fn check_init_resize(container: &Part<'_>, errors: &mut FieldErrors) {
    for resize in container.parts("resizePolicy").filter(|resize| resize.text("restartPolicy") == RESTART) {
        let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
        errors.push(invalid_named(resize.at("restartPolicy"), RESTART, why));
    }
}
