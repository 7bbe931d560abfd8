//! What is wrong with what containers, and the pod, may do on their node.

use std::collections::BTreeSet;

use bailiwick_machinery::{FieldError, FieldErrors};
use serde_json::Value;

use super::part::{Part, invalid_named, out_of_range};
use super::profiles::{check_app_armor, check_seccomp};
use super::shown::SecurityContext;
use super::windows;

const MOST_ID: i64 = i32::MAX as i64;
const PROC_MOUNTS: [&str; 2] = ["Default", UNMASKED];
const UNMASKED: &str = "Unmasked";
const ADMIN: &str = "CAP_SYS_ADMIN";
const FS_GROUP_POLICIES: [&str; 2] = ["Always", "OnRootMismatch"];
const GROUP_POLICIES: [&str; 2] = ["Merge", "Strict"];
const LABEL_POLICIES: [&str; 2] = ["MountOption", RECURSIVE];
const RECURSIVE: &str = "Recursive";
const MOST_IN_SYSCTL: usize = 253;
/// Settings of the kernel that belong to what processes share.
const SHARED_SETTINGS: [&str; 10] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

/// Notes what is wrong with what a container may do. None is privileged, as in a kube-apiserver that is not told otherwise.
pub(super) fn check_container(container: &Part<'_>, has_host_users: bool, errors: &mut FieldErrors) {
    let Some(context) = container.part("securityContext") else { return };
    if context.is("privileged") {
        errors.push(FieldError::forbidden(context.at("privileged"), "disallowed by cluster policy"));
    }
    context.check_range("runAsUser", 0, MOST_ID, errors);
    context.check_range("runAsGroup", 0, MOST_ID, errors);
    context.check_known_if_given("procMount", &PROC_MOUNTS, errors);
    if has_host_users && context.text("procMount") == UNMASKED {
        let why = "`hostUsers` must be false to use `Unmasked`";
        errors.push(invalid_named(context.at("procMount"), UNMASKED, why));
    }
    check_seccomp(&context, errors);
    check_escalation(&context, errors);
    windows::check_options(&context, errors);
    check_app_armor(&context, errors);
}

/// Notes a container that may not get more rights, and has them.
fn check_escalation(context: &Part<'_>, errors: &mut FieldErrors) {
    if context.flag("allowPrivilegeEscalation") != Some(false) {
        return;
    }
    let mut wrong = |why: &str| {
        let shown = SecurityContext::of(context);
        errors.push(FieldError::invalid_json(context.path().clone(), &shown, why));
    };
    if context.is("privileged") {
        wrong("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    let added = context.part("capabilities").map(|capabilities| capabilities.texts("add")).unwrap_or_default();
    for _ in added.iter().filter(|capability| **capability == ADMIN) {
        wrong("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
    }
}

/// Notes what is wrong with what all containers of a pod may do. What `old` has may stay.
pub(super) fn check_pod(spec: &Part<'_>, old: Option<&Value>, errors: &mut FieldErrors) {
    let Some(context) = spec.part("securityContext") else { return };
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        context.check_range(field, 0, MOST_ID, errors);
    }
    for (index, group) in context.items("supplementalGroups").iter().filter_map(Value::as_i64).enumerate() {
        if !(0..=MOST_ID).contains(&group) {
            let path = context.at("supplementalGroups").index(index);
            errors.push(FieldError::invalid(path, group, out_of_range(0, MOST_ID)));
        }
    }
    if spec.is("shareProcessNamespace") && spec.is("hostPID") {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(context.at("shareProcessNamespace"), true, why));
    }
    check_sysctls(spec, &context, errors);
    context.check_known_if_given("fsGroupChangePolicy", &FS_GROUP_POLICIES, errors);
    check_seccomp(&context, errors);
    windows::check_options(&context, errors);
    check_app_armor(&context, errors);
    context.check_known_if_given("supplementalGroupsPolicy", &GROUP_POLICIES, errors);
    // Other policies than this one are for those who have begun with one.
    let policy = "/securityContext/seLinuxChangePolicy";
    let has_policy = old.and_then(|old| old.pointer(policy)).is_some_and(|policy| !policy.is_null());
    let policies = if has_policy { &LABEL_POLICIES[..] } else { &[RECURSIVE] };
    context.check_known_if_given("seLinuxChangePolicy", policies, errors);
}

fn check_sysctls(spec: &Part<'_>, context: &Part<'_>, errors: &mut FieldErrors) {
    let mut names = BTreeSet::new();
    for setting in context.parts("sysctls") {
        let name = setting.text("name");
        let path = setting.at("name");
        let is_first = names.insert(name);
        if name.is_empty() {
            errors.push(FieldError::required(path.clone(), ""));
        } else if !is_sysctl(name) {
            let why = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.push(FieldError::invalid(path.clone(), name, why));
        } else if !is_first {
            errors.push(FieldError::duplicate(path.clone(), name));
        }
        let normal = with_dots(name);
        let prefix = normal.split('*').next().unwrap_or_default();
        let is_shared = SHARED_SETTINGS.contains(&prefix) || prefix.starts_with("fs.mqueue.");
        if spec.is("hostNetwork") && prefix.starts_with("net.") {
            errors.push(FieldError::invalid(path, name, "may not be specified when 'hostNetwork' is true"));
        } else if spec.is("hostIPC") && is_shared {
            errors.push(FieldError::invalid(path, name, "may not be specified when 'hostIPC' is true"));
        }
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_outer = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        let is_inner = |byte: &u8| is_outer(byte) || matches!(byte, b'-' | b'_');
        bytes.first().is_some_and(is_outer) && bytes.last().is_some_and(is_outer) && bytes.iter().all(is_inner)
    };
    name.len() <= MOST_IN_SYSCTL && name.split(['.', '/']).all(is_segment)
}

/// A name whose first separator is a slash has slashes for dots, and dots for slashes.
fn with_dots(name: &str) -> String {
    match name.find(['.', '/']).and_then(|at| name.as_bytes().get(at)) {
        Some(b'/') => name
            .chars()
            .map(|c| match c {
                '/' => '.',
                '.' => '/',
                c => c,
            })
            .collect(),
        _ => name.to_owned(),
    }
}

/// Notes what a pod shares with its node although it has users of its own.
pub(super) fn check_host_users(spec: &Part<'_>, errors: &mut FieldErrors) {
    if spec.flag("hostUsers") != Some(false) {
        return;
    }
    let why = "when `hostUsers` is false";
    for (field, told_as) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.is(field) {
            errors.push(FieldError::forbidden(spec.at(told_as), why));
        }
    }
    for container in super::container::all(spec) {
        if !container.items("volumeDevices").is_empty() {
            errors.push(FieldError::forbidden(container.at("volumeDevices"), why));
        }
    }
}
