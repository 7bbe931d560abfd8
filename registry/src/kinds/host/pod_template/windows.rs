//! What is for one operating system only, and what is wrong with that.

use bailiwick_machinery::name::dns1123_subdomain;
use bailiwick_machinery::{FieldError, FieldErrors};

use super::container;
use super::part::{Part, invalid_named};

const LINUX: &str = "linux";
const WINDOWS: &str = "windows";
const MOST_CREDENTIAL_KIB: usize = 64;
const MOST_DOMAIN: usize = 256;
const MOST_USER: usize = 104;
const MOST_NETBIOS: usize = 15;
const MOST_DNS_LABEL: usize = 63;

/// What of a pod is for Linux.
const OF_LINUX_POD: [&str; 4] = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"];
/// What of its security context is.
const OF_LINUX_POD_SECURITY: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
/// What of a container's security context is.
const OF_LINUX_CONTAINER: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// Notes what a pod has that is not for its operating system.
pub(super) fn check_system(spec: &Part<'_>, errors: &mut FieldErrors) {
    let Some(os) = spec.part("os") else { return };
    match os.text("name") {
        "" => errors.push(FieldError::required(os.at("name"), "")),
        LINUX => {
            let why = "windows options cannot be set for a linux pod";
            contexts(spec).for_each(|context| context.forbid(&["windowsOptions"], why, errors));
        }
        WINDOWS => {
            let why = "cannot be set for a windows pod";
            spec.forbid(&OF_LINUX_POD, why, errors);
            if let Some(context) = spec.part("securityContext") {
                context.forbid(&OF_LINUX_POD_SECURITY, why, errors);
            }
            let containers = container::all(spec).filter_map(|container| container.part("securityContext"));
            containers.for_each(|context| context.forbid(&OF_LINUX_CONTAINER, why, errors));
        }
        other => errors.push(super::part::unsupported(os.path().clone(), other, &[LINUX, WINDOWS])),
    }
}

/// The security contexts of a pod and of its containers.
fn contexts<'v>(spec: &Part<'v>) -> impl Iterator<Item = Part<'v>> + use<'v> {
    let containers: Vec<Part<'v>> = container::all(spec).collect();
    [spec.clone()].into_iter().chain(containers).filter_map(|part| part.part("securityContext"))
}

/// Notes containers that are processes of the host beside others that are not.
pub(super) fn check_host_processes(spec: &Part<'_>, errors: &mut FieldErrors) {
    let of = |part: &Part<'_>| part.part("securityContext")?.part("windowsOptions")?.flag("hostProcess");
    let of_pod = of(spec);
    let (mut all, mut processes) = (0, 0);
    for container in container::all(spec) {
        let own = of(&container);
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let path = container.at("securityContext").child("windowsOptions").child("hostProcess");
            let why = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            errors.push(FieldError::invalid(path, own, why));
        }
        all += 1;
        if own.or(of_pod) == Some(true) {
            processes += 1;
        }
    }
    if processes == 0 {
        return;
    }
    if processes != all {
        let why = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(spec.path().clone(), "", why));
    }
    if !spec.is("hostNetwork") {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(spec.at("hostNetwork"), false, why));
    }
    let why = "hostProcess containers are disallowed by cluster policy";
    errors.push(FieldError::forbidden(spec.path().clone(), why));
}

/// Notes what is wrong with the Windows options of a security context.
pub(super) fn check_options(context: &Part<'_>, errors: &mut FieldErrors) {
    let Some(options) = context.part("windowsOptions") else { return };
    let mut wrong = |field: &str, value: &str, why: &str| errors.push(invalid_named(options.at(field), value, why));
    if let Some(name) = options.given("gmsaCredentialSpecName") {
        dns1123_subdomain(name).iter().for_each(|why| wrong("gmsaCredentialSpecName", name, why));
    }
    match options.given("gmsaCredentialSpec") {
        Some("") => wrong("gmsaCredentialSpec", "", "gmsaCredentialSpec cannot be an empty string"),
        Some(credential) if credential.len() > MOST_CREDENTIAL_KIB << 10 => {
            wrong("gmsaCredentialSpec", credential, "gmsaCredentialSpec size must be under 64 KiB");
        }
        _ => {}
    }
    if let Some(name) = options.given("runAsUserName") {
        wrong_user(name).into_iter().for_each(|why| wrong("runAsUserName", name, why));
    }
}

/// What is wrong with `DOMAIN\user`, of which the domain can be left out.
fn wrong_user(name: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = name.split('\\').collect();
    let (domain, user) = match parts.as_slice() {
        [""] => return vec!["runAsUserName cannot be an empty string"],
        _ if name.contains(|c: char| c.is_ascii_control()) => {
            return vec!["runAsUserName cannot contain control characters"];
        }
        [user] => (None, *user),
        [domain, user] => (Some(*domain), *user),
        _ => return vec!["runAsUserName cannot contain more than one backslash"],
    };
    let is_forbidden = |c: char| r#""/\:;|=,+*?<>@[]"#.contains(c);
    let wrong = [
        (
            domain.is_some_and(|domain| domain.len() >= MOST_DOMAIN),
            "runAsUserName's Domain length must be under 256 characters",
        ),
        (
            domain.is_some_and(|domain| !is_netbios(domain) && !is_dns(domain)),
            "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
        ),
        (user.is_empty(), "runAsUserName's User cannot be empty"),
        (user.len() > MOST_USER, "runAsUserName's User length must not be longer than 104 characters"),
        (
            !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')),
            "runAsUserName's User cannot contain only periods or spaces",
        ),
        (
            user.contains(is_forbidden),
            r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#,
        ),
    ];
    wrong.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, why)| why).collect()
}

fn is_netbios(domain: &str) -> bool {
    let is_forbidden = |c: char| r#"\/:*?"<>|"#.contains(c);
    let length = domain.chars().count();
    (1..=MOST_NETBIOS).contains(&length) && !domain.starts_with('.') && !domain.contains(is_forbidden)
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let is_outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = label.as_bytes();
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        bytes.len() <= MOST_DNS_LABEL && is_outer(bytes.first()) && is_outer(bytes.last()) && bytes.iter().all(is_inner)
    })
}
