//! Parts of a pod as Kubernetes shows them in an error: by the names its program has for their fields, absent ones included.

use serde::Serialize;
use serde_json::Value;

use super::part::Part;

/// What a container may do.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SecurityContext<'v> {
    capabilities: Option<Capabilities<'v>>,
    privileged: Option<bool>,
    #[serde(rename = "SELinuxOptions")]
    se_linux_options: Option<SeLinuxOptions<'v>>,
    windows_options: Option<WindowsOptions<'v>>,
    run_as_user: Option<i64>,
    run_as_group: Option<i64>,
    run_as_non_root: Option<bool>,
    read_only_root_filesystem: Option<bool>,
    allow_privilege_escalation: Option<bool>,
    proc_mount: Option<&'v str>,
    seccomp_profile: Option<Profile<'v>>,
    app_armor_profile: Option<Profile<'v>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Capabilities<'v> {
    add: Option<&'v Value>,
    drop: Option<&'v Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SeLinuxOptions<'v> {
    user: &'v str,
    role: &'v str,
    r#type: &'v str,
    level: &'v str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct WindowsOptions<'v> {
    #[serde(rename = "GMSACredentialSpecName")]
    gmsa_credential_spec_name: Option<&'v str>,
    #[serde(rename = "GMSACredentialSpec")]
    gmsa_credential_spec: Option<&'v str>,
    run_as_user_name: Option<&'v str>,
    host_process: Option<bool>,
}

/// A profile of seccomp or AppArmor.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Profile<'v> {
    r#type: &'v str,
    localhost_profile: Option<&'v str>,
}

// === impl SecurityContext ===

impl<'v> SecurityContext<'v> {
    pub(super) fn of(context: &Part<'v>) -> Self {
        Self {
            capabilities: context
                .part("capabilities")
                .map(|set| Capabilities { add: set.get("add"), drop: set.get("drop") }),
            privileged: context.flag("privileged"),
            se_linux_options: context.part("seLinuxOptions").map(|options| SeLinuxOptions {
                user: options.text("user"),
                role: options.text("role"),
                r#type: options.text("type"),
                level: options.text("level"),
            }),
            windows_options: context.part("windowsOptions").map(|options| WindowsOptions {
                gmsa_credential_spec_name: options.given("gmsaCredentialSpecName"),
                gmsa_credential_spec: options.given("gmsaCredentialSpec"),
                run_as_user_name: options.given("runAsUserName"),
                host_process: options.flag("hostProcess"),
            }),
            run_as_user: context.given_number("runAsUser"),
            run_as_group: context.given_number("runAsGroup"),
            run_as_non_root: context.flag("runAsNonRoot"),
            read_only_root_filesystem: context.flag("readOnlyRootFilesystem"),
            allow_privilege_escalation: context.flag("allowPrivilegeEscalation"),
            proc_mount: context.given("procMount"),
            seccomp_profile: context.part("seccompProfile").map(|profile| Profile::of(&profile)),
            app_armor_profile: context.part("appArmorProfile").map(|profile| Profile::of(&profile)),
        }
    }
}

// === impl Profile ===

impl<'v> Profile<'v> {
    pub(super) fn of(profile: &Part<'v>) -> Self {
        Self { r#type: profile.text("type"), localhost_profile: profile.given("localhostProfile") }
    }
}
