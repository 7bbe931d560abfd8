//! All scenarios with two servers at once.

use std::fmt;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use futures::StreamExt;
use futures::TryStreamExt;
use futures::stream;
use uuid::Uuid;

use crate::accepted::Accepted;
use crate::compare;
use crate::compare::Difference;
use crate::error::Error;
use crate::made;
use crate::mutations;
use crate::normal;
use crate::normal::normalise;
use crate::run::Exchange;
use crate::run::run;
use crate::scenario::Expected;
use crate::scenario::Scenario;
use crate::target::CORPUS;
use crate::target::Target;

/// How many scenarios run at a time. Most of what they do is waiting for watches to end.
const AT_A_TIME: usize = 16;

/// How often a scenario is held if the first server does not answer as the case says. On a busy machine a kube-apiserver may not
/// have heard of what was just written, and its answers are no measure for others then.
const TRIES: usize = 3;

/// The flag with which a real kube-controller-manager counts for quotas, and does nothing else.
pub const CONTROLLERS: &str = "--controllers=resourcequota-controller";

/// Which definitions are made by chance in every run, and how many.
const SEED: u64 = 1;
const MADE: usize = 60;

pub(crate) const CASES: &str = "cases";
pub(crate) const QUOTAS: &str = "quotas";
pub(crate) const LIFECYCLE: &str = "lifecycle";

/// The scenarios of the case files.
#[derive(Debug)]
pub struct Suite {
    /// In the order of the files' names.
    pub scenarios: Vec<Scenario>,
}

/// What came of a comparison.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many scenarios there were.
    pub scenarios: usize,
    /// How many steps they had.
    pub steps: usize,
    /// Steps to which the first server did not answer as the case says.
    pub unexpected: Vec<String>,
    /// Differences that are not accepted.
    pub differences: Vec<Difference>,
    /// Entries of `differences.yaml` that accept nothing.
    pub stale: Vec<String>,
}

// === impl Suite ===

impl Suite {
    /// Reads the cases that need nothing but an API server.
    pub fn load() -> Result<Self, Error> {
        Self::load_from(CASES)
    }

    /// Reads the cases about quotas, which something counts after each write: the real server needs a kube-controller-manager.
    pub fn quotas() -> Result<Self, Error> {
        Self::load_from(QUOTAS)
    }

    /// Reads the cases about what controllers make of requests: the real server needs a kube-controller-manager.
    pub fn lifecycle() -> Result<Self, Error> {
        Self::load_from(LIFECYCLE)
    }

    /// Makes the cases about templates of pods, of objects in `mutations/templates`.
    pub fn pod_templates() -> Result<Self, Error> {
        Ok(Self { scenarios: mutations::load(&mutations::TEMPLATES)? })
    }

    /// Makes the cases about definitions of custom resources that are wrong, of those in `crds/corpus`; about custom
    /// resources that are, of those in `mutations/resources`; and about some of both that are made by chance.
    pub fn custom_resources() -> Result<Self, Error> {
        let mut scenarios = mutations::definitions(&CORPUS)?;
        scenarios.extend(mutations::load(&mutations::RESOURCES)?);
        scenarios.extend(Self::made(SEED, MADE).scenarios);
        Ok(Self { scenarios })
    }

    /// Makes definitions by chance, the same ones for the same seed, and custom resources of those that are served.
    pub fn made(seed: u64, count: usize) -> Self {
        Self { scenarios: (0..count).map(|number| made::scenario(seed, number)).collect() }
    }

    pub(crate) fn load_from(folder: &str) -> Result<Self, Error> {
        let mut scenarios = Vec::new();
        for path in case_files(folder)? {
            let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            scenarios.extend(Scenario::parse(&name, &text)?);
        }
        Ok(Self { scenarios })
    }

    /// Keeps only the scenarios whose path matches a pattern, in which a `*` stands for any text.
    pub fn only(mut self, pattern: &str) -> Self {
        self.scenarios.retain(|scenario| crate::accepted::matches(pattern, &scenario.path()));
        self
    }

    /// Holds all scenarios with both servers and compares.
    pub async fn compare(&self, left: &Target, right: &Target, accepted: &Accepted) -> Result<Outcome, Error> {
        let run_name = unique_word();
        let results: Vec<Talks> = stream::iter(self.scenarios.iter().enumerate())
            .map(|(index, scenario)| {
                Talks::hold(scenario, left, right, format!("{}-{run_name}-{index}", scenario.file))
            })
            .buffered(AT_A_TIME)
            .try_collect()
            .await?;
        Ok(judge(&results, left, right, accepted))
    }

    /// Holds all scenarios with one server.
    pub async fn answers(&self, target: &Target) -> Result<Vec<(&Scenario, Vec<Exchange>)>, Error> {
        let run_name = unique_word();
        stream::iter(self.scenarios.iter().enumerate())
            .map(|(index, scenario)| {
                let id = format!("{}-{run_name}-{index}", scenario.file);
                async move { Ok((scenario, run(target, scenario, &id).await?)) }
            })
            .buffered(AT_A_TIME)
            .try_collect()
            .await
    }
}

/// A scenario, held with both servers.
struct Talks<'a> {
    scenario: &'a Scenario,
    left: Vec<Exchange>,
    right: Vec<Exchange>,
}

// === impl Talks ===

impl<'a> Talks<'a> {
    async fn hold(scenario: &'a Scenario, left: &Target, right: &Target, id: String) -> Result<Self, Error> {
        let mut tried = 1;
        loop {
            let id = if tried == 1 { id.clone() } else { format!("{id}-{tried}") };
            let (on_left, on_right) = tokio::join!(run(left, scenario, &id), run(right, scenario, &id));
            let talks = Self { scenario, left: on_left?, right: on_right? };
            if tried == TRIES || unexpected(scenario, &talks.left).is_empty() {
                return Ok(talks);
            }
            tried += 1;
        }
    }
}

fn judge(talks: &[Talks<'_>], left: &Target, right: &Target, accepted: &Accepted) -> Outcome {
    let mut outcome = Outcome { scenarios: talks.len(), ..Outcome::default() };
    let mut differences = Vec::new();
    let mut stripped: Vec<&String> = accepted.stripped.iter().map(|stripped| &stripped.field).collect();
    for talk in talks {
        outcome.steps += talk.scenario.steps.len();
        outcome.unexpected.extend(unexpected(talk.scenario, &talk.left));
        let left = normalise(&talk.left, left.client().authority(), &accepted.stripped);
        let right = normalise(&talk.right, right.client().authority(), &accepted.stripped);
        stripped.retain(|field| !left.stripped.contains(*field));
        for (index, (left, right)) in left.answers.iter().zip(&right.answers).enumerate() {
            let step = talk.scenario.step_path(index);
            let title = talk.scenario.steps[index].title();
            differences.extend(compare::places(left, right).into_iter().map(|(place, left, right)| Difference {
                step: step.clone(),
                title: title.clone(),
                place,
                left,
                right,
            }));
        }
    }
    let (differences, unused) = accepted.judge(differences);
    outcome.differences = differences;
    outcome.stale.extend(stripped.into_iter().map(|field| format!("no answer has \"{field}\"")));
    outcome.stale.extend(unused.iter().map(|entry| format!("{} at {} no longer occurs", entry.step, entry.place)));
    outcome
}

fn unexpected(scenario: &Scenario, exchanges: &[Exchange]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, (step, exchange)) in scenario.steps.iter().zip(exchanges).enumerate() {
        let Some(Expected { code, reason }) = &step.expected else { continue };
        let (status, actual_reason) = (exchange.answer.status, normal::reason(exchange));
        if *code != status || *reason != actual_reason {
            let answer = actual_reason.unwrap_or_default();
            found.push(format!("{}: {}: answered {status} {answer}", scenario.step_path(index), step.title()));
        }
    }
    found
}

// === impl Outcome ===

impl Outcome {
    /// Whether there is nothing to tell.
    pub fn is_clean(&self) -> bool {
        self.unexpected.is_empty() && self.differences.is_empty() && self.stale.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for unexpected in &self.unexpected {
            writeln!(f, "not as the case says: {unexpected}")?;
        }
        let mut step = "";
        for difference in &self.differences {
            if difference.step != step {
                step = &difference.step;
                writeln!(f, "\n{step}: {}", difference.title)?;
            }
            write!(f, "{difference}")?;
        }
        for stale in &self.stale {
            writeln!(f, "\ndifferences.yaml: {stale}: take the entry out")?;
        }
        let Self { scenarios, steps, .. } = self;
        write!(f, "\n{scenarios} scenarios, {steps} steps, {} differences", self.differences.len())
    }
}

/// The file that lists what is meant to differ between a real kube-apiserver and Bailiwick.
pub fn accepted_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("differences.yaml")
}

/// The same for quotas.
pub fn accepted_quotas_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("quotas/differences.yaml")
}

/// The same for what controllers do.
pub fn accepted_lifecycle_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lifecycle/differences.yaml")
}

/// The same for templates of pods.
pub fn accepted_templates_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mutations/templates/differences.yaml")
}

/// The same for custom resources and their definitions, whether they are made wrong or by chance.
pub fn accepted_custom_resources_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mutations/resources/differences.yaml")
}

/// The case files in a folder of this crate, sorted.
pub(crate) fn case_files(folder: &str) -> Result<Vec<PathBuf>, Error> {
    files(folder, "http")
}

/// The files with an extension in a folder of this crate, sorted.
pub(crate) fn files(folder: &str, extension: &str) -> Result<Vec<PathBuf>, Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).map_err(Error::file(&folder))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    Ok(paths)
}

/// Names this run, so that a server that lives longer than one run sees no name twice.
fn unique_word() -> String {
    let mut word = String::new();
    for byte in &Uuid::new_v4().as_bytes()[..3] {
        // Writing to a text cannot fail.
        let _ = write!(word, "{byte:02x}");
    }
    word
}
