//! Writing into the case files how a real server answers, so that nobody has to know it by heart.

use std::fs;

use crate::error::Error;
use crate::normal;
use crate::suite;
use crate::suite::Suite;
use crate::target::Target;

/// Asks `target`, and writes code and reason behind each request of the case files.
pub async fn record(target: &Target) -> Result<(), Error> {
    record_folder(target, suite::CASES).await
}

/// The same for the cases about quotas.
pub async fn record_quotas(target: &Target) -> Result<(), Error> {
    record_folder(target, suite::QUOTAS).await
}

async fn record_folder(target: &Target, folder: &str) -> Result<(), Error> {
    let suite = Suite::load_from(folder)?;
    let answers = suite.answers(target).await?;
    for path in suite::case_files(folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (scenario, exchanges) in answers.iter().filter(|(scenario, _)| scenario.file == name) {
            for (step, exchange) in scenario.steps.iter().zip(exchanges) {
                if step.path().is_none() {
                    continue;
                }
                let reason = normal::reason(exchange).map(|reason| format!(" {reason}")).unwrap_or_default();
                lines[step.line - 1] = format!("{} -> {}{reason}", step.title(), exchange.answer.status);
            }
        }
        fs::write(&path, lines.join("\n") + "\n").map_err(Error::file(&path))?;
    }
    Ok(())
}
