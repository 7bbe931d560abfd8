//! The section of docs/performance.md that a run writes, between two marker lines. Everything outside is people's; inside,
//! the reasons why a goal is missed are people's too, and stay when the figures around them change.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::report::{NO_REASON, Reasons};

const BEGIN: &str = "<!-- serving: begin (written by the benchmark; reasons after \"Why:\" are kept) -->";
const END: &str = "<!-- serving: end -->";

/// The plot's file, beside the document.
pub(crate) const PLOT: &str = "serving.svg";

/// A document with a section for the run.
pub(crate) struct Document {
    path: PathBuf,
    before: String,
    section: String,
    after: String,
}

// === impl Document ===

impl Document {
    /// Reads the one of this workspace.
    pub(crate) fn read() -> Result<Self, Error> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
        let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
        Self::parse(path, &text)
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, Error> {
        let missing = |marker| Error::NoMarker { path: path.clone(), marker };
        let (before, rest) = text.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
        let (section, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
        let [before, section, after] = [before, section, after].map(str::to_owned);
        Ok(Self { path, before, section, after })
    }

    /// The reasons that people wrote. One goes on until the next item or an empty line.
    pub(crate) fn reasons(&self) -> Reasons {
        let items = self.section.split("\n- **").skip(1);
        let reason = |item: &str| {
            let item = item.split("\n\n").next()?;
            let (what, rest) = item.split_once("**:")?;
            let (_, why) = rest.split_once("Why:")?;
            let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
            (!why.is_empty() && why != NO_REASON).then(|| (what.to_owned(), why))
        };
        items.filter_map(reason).collect()
    }

    /// Writes the document with another section, and the plot beside it.
    pub(crate) fn write(&self, section: &str, plot: &str) -> Result<(), Error> {
        std::fs::write(&self.path, self.with(section)).map_err(Error::file(&self.path))?;
        let path = self.path.with_file_name(PLOT);
        std::fs::write(&path, plot).map_err(Error::file(&path))
    }

    fn with(&self, section: &str) -> String {
        format!("{}{BEGIN}\n\n{}\n\n{END}{}", self.before, section.trim(), self.after)
    }
}

#[cfg(test)]
mod tests;
