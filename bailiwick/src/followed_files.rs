//! Files that others replace while the server runs: looked at again and again, and complained about once.

use std::fmt::Display;
use std::time::Duration;

/// How often files are looked at.
const POLL: Duration = Duration::from_secs(2);

/// Says when to look at files, and tells what is wrong with them only when that is news.
pub(crate) struct FollowedFiles {
    /// What is in them, for people.
    what: &'static str,
    problem: Option<String>,
}

// === impl FollowedFiles ===

impl FollowedFiles {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, problem: None }
    }

    /// Waits until it is time to look again.
    pub(crate) async fn turn(&self) {
        tokio::time::sleep(POLL).await;
    }

    /// Tells what became of a look: what is new is used now, or cannot be. Nothing is told if all is as it was.
    pub(crate) fn tell<T>(&mut self, found: Result<Option<T>, impl Display>) -> Option<T> {
        let what = self.what;
        match found {
            Ok(found) => {
                self.problem = None;
                if found.is_some() {
                    tracing::info!("{what} were replaced");
                }
                found
            }
            Err(error) => {
                let problem = error.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    tracing::error!(problem, "the new {what} are not used: the old ones stay");
                }
                self.problem = Some(problem);
                None
            }
        }
    }
}
