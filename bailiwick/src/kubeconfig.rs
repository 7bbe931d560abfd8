//! A kubeconfig with everything inside, so that it can be copied to where kubectl is.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::certificates::Pair;

/// A kubeconfig for one user of one server, YAML. `authorities` vouch for the server, PEM.
pub(crate) fn kubeconfig(server: &str, authorities: &str, user: &str, pair: &Pair) -> String {
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        // Writing to memory does not fail.
        let _ = writeln!(text, "{line}");
    };
    line(format_args!("apiVersion: v1"));
    line(format_args!("kind: Config"));
    line(format_args!("clusters:"));
    line(format_args!("- name: bailiwick"));
    line(format_args!("  cluster:"));
    line(format_args!("    server: {server}"));
    line(format_args!("    certificate-authority-data: {}", STANDARD.encode(authorities)));
    line(format_args!("users:"));
    line(format_args!("- name: {user}"));
    line(format_args!("  user:"));
    line(format_args!("    client-certificate-data: {}", STANDARD.encode(&pair.certificate)));
    line(format_args!("    client-key-data: {}", STANDARD.encode(&pair.key)));
    line(format_args!("contexts:"));
    line(format_args!("- name: bailiwick"));
    line(format_args!("  context:"));
    line(format_args!("    cluster: bailiwick"));
    line(format_args!("    user: {user}"));
    line(format_args!("current-context: bailiwick"));
    text
}
