//! The URLs of issuers, and what Kubernetes says about bad ones.

use bailiwick_machinery::go;
use http::Uri;

/// What is wrong with a URL of an issuer.
pub(super) fn problems(url: &str) -> Vec<String> {
    let parse_error = |problem: &str| vec![format!("parse {}: {problem}", go::quote(url))];
    if url.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return parse_error("net/url: invalid control character in URL");
    }
    if url.starts_with(':') {
        return parse_error("missing protocol scheme");
    }
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = scheme(rest);
    let authority = rest.strip_prefix("//").map(|rest| rest.split('/').next().unwrap_or_default());
    let mut problems = Vec::new();
    let mut check = |is_good: bool, problem: &str| {
        if !is_good {
            problems.push(problem.to_owned());
        }
    };
    check(scheme == "https", "URL scheme must be https");
    check(!authority.is_some_and(|authority| authority.contains('@')), "URL must not contain a username or password");
    check(query.is_empty(), "URL must not contain a query");
    check(fragment.is_empty(), "URL must not contain a fragment");
    // What Kubernetes takes and nobody can connect to.
    if problems.is_empty() && !url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty())) {
        problems.push("URL must name a host that can be connected to".to_owned());
    }
    problems
}

/// The scheme in lower case, and what follows it.
fn scheme(url: &str) -> (String, &str) {
    match url.split_once(':') {
        Some((scheme, rest)) if scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && is_scheme(scheme) => {
            (scheme.to_ascii_lowercase(), rest)
        }
        _ => (String::new(), url),
    }
}

fn is_scheme(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

#[cfg(test)]
mod tests;
