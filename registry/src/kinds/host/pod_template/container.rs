//! What is wrong with the containers of a pod.

use std::collections::BTreeSet;

use bailiwick_machinery::name::dns1123_label;
use bailiwick_machinery::{FieldError, FieldErrors};
use serde_json::Value;

use super::part::Part;
use super::volumes::Volumes;
use super::{environment, mounts, ports, probes, resources, restarts, security};

pub(super) const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES: [&str; 2] = ["File", "FallbackToLogsOnError"];
/// What a container does not have that is there to look at others.
const NOT_EPHEMERAL: [&str; 8] = [
    "ports",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// What the containers of a pod have around them.
pub(super) struct Pod<'v> {
    pub(super) spec: Part<'v>,
    pub(super) volumes: Volumes<'v>,
    /// The names of its claims.
    pub(super) claims: BTreeSet<&'v str>,
}

/// All containers: first those that end before others begin, last those that are there to look at others.
pub(super) fn all<'v>(spec: &Part<'v>) -> impl Iterator<Item = Part<'v>> + use<'v> {
    let [init, main, ephemeral] = ["initContainers", "containers", "ephemeralContainers"].map(|list| spec.parts(list));
    init.chain(main).chain(ephemeral)
}

// === impl Pod ===

impl<'v> Pod<'v> {
    /// Notes what is wrong with all containers.
    pub(super) fn check_containers(&self, errors: &mut FieldErrors) {
        self.check_main(errors);
        self.check_init(errors);
        self.check_ephemeral(errors);
    }

    fn grace_period(&self) -> Option<i64> {
        self.spec.given_number("terminationGracePeriodSeconds")
    }

    fn names(&self, lists: &[&str]) -> BTreeSet<&'v str> {
        lists.iter().flat_map(|list| self.spec.parts(list)).map(|container| container.text("name")).collect()
    }

    fn check_main(&self, errors: &mut FieldErrors) {
        if self.spec.items("containers").is_empty() {
            errors.push(FieldError::required(self.spec.at("containers"), ""));
            return;
        }
        let mut names = BTreeSet::new();
        for container in self.spec.parts("containers") {
            self.check_one(&container, errors);
            check_unique(&container, &mut names, errors);
            probes::check(&container, self.grace_period(), errors);
            restarts::check(&container, errors);
        }
        ports::check_conflicts(self.spec.parts("containers"), errors);
    }

    fn check_init(&self, errors: &mut FieldErrors) {
        let mut names = self.names(&["containers"]);
        let first = self.spec.at("initContainers").index(0);
        for container in self.spec.parts("initContainers") {
            self.check_one(&container, errors);
            restarts::check_init(&container, errors);
            if !container.text("name").is_empty() || names.contains("") {
                check_unique(&container, &mut names, errors);
            }
            // They run one after the other, and Kubernetes takes each for the first.
            ports::check_conflicts([container.told_at(first.clone())].into_iter(), errors);
            if container.text("restartPolicy") == restarts::ALWAYS {
                probes::check(&container, self.grace_period(), errors);
            } else {
                probes::forbid(&container, errors);
                restarts::check_init_resize(&container, errors);
            }
        }
    }

    fn check_ephemeral(&self, errors: &mut FieldErrors) {
        let others = self.names(&["containers", "initContainers"]);
        let mut names = others.clone();
        for container in self.spec.parts("ephemeralContainers") {
            self.check_one(&container, errors);
            let image = container.text("image");
            if image.trim() != image {
                let why = "must not have leading or trailing whitespace";
                errors.push(FieldError::invalid(container.at("image"), image, why));
            }
            check_unique(&container, &mut names, errors);
            let target = container.text("targetContainerName");
            if !target.is_empty() && !others.contains(target) {
                errors.push(FieldError::not_found(container.at("targetContainerName"), target));
            }
            let why = "cannot be set for an Ephemeral Container";
            container.forbid(&NOT_EPHEMERAL, why, errors);
            let asks = container.get("resources").and_then(Value::as_object).is_some_and(|asks| !asks.is_empty());
            if asks {
                errors.push(FieldError::forbidden(container.at("resources"), why));
            }
            container.parts("volumeMounts").for_each(|mount| mount.forbid(&["subPath", "subPathExpr"], why, errors));
        }
    }

    /// What holds of each container, whatever it is for.
    fn check_one(&self, container: &Part<'_>, errors: &mut FieldErrors) {
        container.check_required("name", dns1123_label, errors);
        container.require("image", errors);
        container.check_known_required("terminationMessagePolicy", &MESSAGE_POLICIES, errors);
        ports::check(container, errors);
        environment::check(container, errors);
        mounts::check(container, &self.volumes, errors);
        container.check_known_required("imagePullPolicy", &PULL_POLICIES, errors);
        resources::check_container(container, &self.claims, errors);
        restarts::check_resize(container, self.spec.text("restartPolicy"), errors);
        security::check_container(container, self.spec.flag("hostUsers").unwrap_or(true), errors);
    }
}

fn check_unique<'v>(container: &Part<'v>, names: &mut BTreeSet<&'v str>, errors: &mut FieldErrors) {
    let name = container.text("name");
    if !names.insert(name) {
        errors.push(FieldError::duplicate(container.at("name"), name));
    }
}
