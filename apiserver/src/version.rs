//! The version of the server: `/version`.
//!
//! Clients read from it which Kubernetes they speak to, and kubectl warns if it is two versions away from its own. So it is
//! the Kubernetes version whose behaviour this server has, with its own behind it, where semantic versions do not compare.

use std::env::consts::{ARCH, OS};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use serde::Serialize;

/// The Kubernetes version whose behaviour the server has, and its own.
pub const GIT_VERSION: &str = concat!("v1.36.3+bailiwick-", env!("CARGO_PKG_VERSION"));

/// What the server says about itself. The fields are those of Kubernetes, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerVersion {
    major: &'static str,
    minor: &'static str,
    emulation_major: &'static str,
    emulation_minor: &'static str,
    min_compatibility_major: &'static str,
    min_compatibility_minor: &'static str,
    git_version: &'static str,
    git_commit: &'static str,
    git_tree_state: &'static str,
    build_date: &'static str,
    go_version: &'static str,
    compiler: &'static str,
    platform: String,
}

// === impl ServerVersion ===

impl ServerVersion {
    /// That of this program.
    pub fn new() -> Self {
        Self {
            major: "1",
            minor: "36",
            emulation_major: "1",
            emulation_minor: "36",
            min_compatibility_major: "1",
            min_compatibility_minor: "35",
            git_version: GIT_VERSION,
            // Which commit, and when it was built, would make two builds of the same sources differ.
            git_commit: "",
            git_tree_state: "",
            build_date: "1970-01-01T00:00:00Z",
            go_version: "",
            compiler: "rustc",
            platform: platform(OS, ARCH),
        }
    }

    /// The answer to a GET; `None` for another path.
    pub fn answer(&self, path: &str) -> Option<Response<Bytes>> {
        if path.strip_suffix('/').unwrap_or(path) != "/version" {
            return None;
        }
        // It is always written for people, whoever asks.
        let body = serde_json::to_vec_pretty(self).unwrap_or_default();
        let mut response = Response::new(body.into());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Some(response)
    }
}

impl Default for ServerVersion {
    fn default() -> Self {
        Self::new()
    }
}

/// In Go's words, which are what clients compare with.
fn platform(os: &str, arch: &str) -> String {
    let os = if os == "macos" { "darwin" } else { os };
    let arch = match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        other => other,
    };
    format!("{os}/{arch}")
}

#[cfg(test)]
mod tests;
