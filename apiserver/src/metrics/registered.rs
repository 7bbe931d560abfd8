//! What is counted with a library that knows OpenMetrics only: by the store, and by whoever else runs in this process.

use std::fmt::Write;

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;

use super::exposition::{Exposition, Format};

/// Tells what is registered.
pub(super) fn expose(out: &mut Exposition, registry: &Registry) {
    let mut text = String::new();
    if encode_registry(&mut text, registry).is_err() {
        return;
    }
    match out.format() {
        Format::OpenMetrics => out.raw(&text),
        Format::Prometheus => out.raw(&without_units(&text)),
    }
}

/// The older format: no units, and a counter's family is called as its samples are.
fn without_units(text: &str) -> String {
    let counters: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut older = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.starts_with("# UNIT ")) {
        let head = ["# HELP ", "# TYPE "].into_iter().find_map(|head| Some((head, line.strip_prefix(head)?)));
        let renamed = head.and_then(|(head, rest)| {
            let (name, rest) = rest.split_once(' ')?;
            counters.contains(&name).then_some((head, name, rest))
        });
        // Writing to memory does not fail.
        let _ = match renamed {
            Some((head, name, rest)) => writeln!(older, "{head}{name}_total {rest}"),
            None => writeln!(older, "{line}"),
        };
    }
    older
}
