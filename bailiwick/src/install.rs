//! Installation into a cluster: what is made there, whether it is there, and how it goes again.
//!
//! Everything is a list of [`Manifest`](manifest::Manifest)s that follows from a [`Plan`](plan::Plan). Printing, checking and
//! `apiservice.yaml` are views of that list. Nothing here writes to a cluster but `uninstall`, and printing asks one only about groups
//! that others may have.

mod authorization;
mod check;
mod cluster;
mod guards;
mod held;
mod manifest;
mod names;
mod plan;
mod registration;
mod rights;
mod roles;
mod uninstall;
mod webhook;
mod workload;

use std::io::Write;

use crate::flags::{InstallFlags, UninstallFlags};

use self::check::CheckError;
use self::cluster::{Cluster, ClusterError};
use self::manifest::Manifest;
use self::plan::{Plan, PlanError};
use self::uninstall::UninstallError;

pub(crate) use self::names::{AUTHORITY_SECRET, api_service_names};

/// Why nothing was installed, checked or removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Uninstall(#[from] UninstallError),
    #[error("nothing is to be applied, as someone else has a group: {0}")]
    Taken(String),
}

/// Prints what is to be applied, or looks whether it is there.
pub(crate) async fn install(flags: InstallFlags) -> Result<(), InstallError> {
    let plan = Plan::new(&flags)?;
    if flags.check {
        let cluster = Cluster::connect(&flags.cluster).await?;
        return Ok(check::check(&plan, &manifests(&plan), &cluster).await?);
    }
    let text = match &flags.authorization_configuration {
        Some(kubeconfig) => authorization::configuration(&plan, kubeconfig),
        None => {
            if flags.alias_groups && !flags.unchecked {
                see_that_groups_are_free(&plan, &Cluster::connect(&flags.cluster).await?).await?;
            }
            manifest::document(&manifests(&plan))
        }
    };
    // Whoever closed the output does not want to read it.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

/// Groups that others know are likely to be theirs. What is printed is for `kubectl apply`, so nothing is if one is.
async fn see_that_groups_are_free(plan: &Plan, cluster: &Cluster) -> Result<(), InstallError> {
    let taken = check::taken_groups(plan, cluster).await?;
    if taken.is_empty() {
        return Ok(());
    }
    Err(InstallError::Taken(taken.iter().map(ToString::to_string).collect::<Vec<_>>().join("; and ")))
}

/// Removes what was installed, or says what would be removed.
pub(crate) async fn uninstall(flags: UninstallFlags) -> Result<(), InstallError> {
    let cluster = Cluster::connect(&flags.cluster).await?;
    let mode = if flags.yes { uninstall::Mode::Remove } else { uninstall::Mode::Tell };
    let claims = if flags.release { uninstall::Claims::LetGo } else { uninstall::Claims::Respected };
    Ok(uninstall::uninstall(&cluster, mode, claims).await?)
}

/// Everything, in the order in which it can be applied. The webhook comes last: one that nobody answers stops what it is
/// asked about.
fn manifests(plan: &Plan) -> Vec<Manifest> {
    let parts = [
        workload::namespace(plan),
        rights::manifests(plan),
        roles::manifests(plan),
        guards::manifests(plan),
        workload::manifests(plan),
        registration::manifests(plan),
        webhook::manifests(plan),
    ];
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
