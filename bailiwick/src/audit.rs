//! The audit log that the flags ask for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{
    Audit, AuditLog, AuditLogError, AuditLogOptions, AuditMode, LogTarget, Metrics, Policy, PolicyError,
};
use bailiwick_registry::Clock;

use crate::flags::{AuditFlags, AuditLogFormat, AuditLogMode};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MEGABYTE: u64 = 1024 * 1024;

/// Why there is no audit log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuditError {
    #[error("--audit-policy-file {path}: {source}")]
    Policy { path: String, source: PolicyError },
    #[error(transparent)]
    Log(#[from] AuditLogError),
}

/// Opens it, if there is to be one.
pub(crate) fn open(
    flags: &AuditFlags,
    metrics: &Arc<Metrics>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Audit>, AuditError> {
    let (Some(policy), Some(log)) = (&flags.audit_policy_file, &flags.audit_log_path) else { return Ok(None) };
    let refused = |source| AuditError::Policy { path: policy.display().to_string(), source };
    let policy = Policy::load(policy).map_err(refused)?;
    let log = AuditLog::open(options(flags, log), metrics.clone(), clock.clone())?;
    Ok(Some(Audit { policy, log }))
}

fn options(flags: &AuditFlags, path: &Path) -> AuditLogOptions {
    // The only one there is; what there was before it, Kubernetes only keeps for those who have it.
    let AuditLogFormat::Json = flags.audit_log_format;
    AuditLogOptions {
        target: if path == Path::new("-") { LogTarget::Stdout } else { LogTarget::File(path.to_owned()) },
        mode: match flags.audit_log_mode {
            AuditLogMode::Batch => AuditMode::Batch,
            AuditLogMode::Blocking => AuditMode::Blocking,
            AuditLogMode::BlockingStrict => AuditMode::BlockingStrict,
        },
        max_bytes: Some(u64::from(flags.audit_log_maxsize) * MEGABYTE).filter(|bytes| *bytes > 0),
        max_backups: Some(flags.audit_log_maxbackup).filter(|number| *number > 0),
        max_age: Some(flags.audit_log_maxage).filter(|days| *days > 0).map(|days| DAY * days),
        compress: flags.audit_log_compress,
    }
}
