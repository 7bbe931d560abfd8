//! A server that is pushed: by too many requests, by names that nobody has, by clients that come and go.

mod attacks;
mod floods;
mod idle;
mod leaks;
mod open_loop;
mod overload;

use std::collections::BTreeMap;
use std::path::Path;

use crate::client::Client;

/// The samples of `/metrics`, by name and labels.
pub(super) async fn metrics(client: &Client) -> BTreeMap<String, f64> {
    let answer = client.get("/metrics").await.unwrap();
    assert_eq!(answer.code, 200, "{}", answer.text());
    let text = answer.text();
    let sample = |line: &str| {
        let (series, value) = line.rsplit_once(' ')?;
        Some((series.to_owned(), value.parse().ok()?))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect()
}

/// The sum of all samples of a family whose labels contain all of these.
pub(super) fn sum(samples: &BTreeMap<String, f64>, family: &str, labels: &[&str]) -> f64 {
    let of_family = |series: &str| series == family || series.starts_with(&format!("{family}{{"));
    let matching =
        samples.iter().filter(|(series, _)| of_family(series) && labels.iter().all(|label| series.contains(label)));
    matching.map(|(_, value)| value).sum()
}

/// How many files a process has open.
pub(super) fn open_files(pid: u32) -> usize {
    std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).unwrap().count()
}
