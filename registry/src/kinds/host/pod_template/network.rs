//! What is wrong with how a pod is named, and with whom it asks for the addresses of others.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use bailiwick_machinery::name::{Messages, dns1123_subdomain};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath};
use serde_json::Value;

use super::part::{Part, note};

pub(super) const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", NONE];
const NONE: &str = "None";
const MOST_SERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const MOST_SEARCH_BYTES: usize = 2048;
const MOST_HOSTNAME: usize = 64;
const MOST_DNS_NAME: usize = 253;
/// What `hostname` may be beside it.
const HOSTNAME_OVERRIDE: &str = "hostnameOverride";

/// Notes what is wrong with whom a pod asks for names.
pub(super) fn check_dns(spec: &Part<'_>, errors: &mut FieldErrors) {
    let needs_servers = spec.text("dnsPolicy") == NONE;
    let Some(config) = spec.part("dnsConfig") else {
        if needs_servers {
            let why = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push(FieldError::required(spec.at("dnsConfig"), why));
        }
        return;
    };
    let (servers, searches) = (config.texts("nameservers"), config.texts("searches"));
    if needs_servers && servers.is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(FieldError::required(config.at("nameservers"), why));
        return;
    }
    let mut wrong = |field: &str, why: String| {
        errors.push(FieldError::invalid(config.at(field), Value::from(config.items(field)), why));
    };
    if servers.len() > MOST_SERVERS {
        wrong("nameservers", format!("must not have more than {MOST_SERVERS} nameservers"));
    }
    if searches.len() > MOST_SEARCHES {
        wrong("searches", format!("must not have more than {MOST_SEARCHES} search paths"));
    }
    if searches.join(" ").len() > MOST_SEARCH_BYTES {
        let why =
            format!("must not have more than {MOST_SEARCH_BYTES} characters (including spaces) in the search list");
        wrong("searches", why);
    }
    for (index, server) in servers.into_iter().enumerate() {
        check_address(server, &config.at("nameservers").index(index), errors);
    }
    for (index, search) in searches.into_iter().enumerate().filter(|(_, search)| *search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        note(&config.at("searches").index(index), search, search_name(search), errors);
    }
    for option in config.parts("options").filter(|option| option.text("name").is_empty()) {
        errors.push(FieldError::required(option.path().clone(), "must not be empty"));
    }
}

/// What keeps a text from being a DNS name in which there may be underscores.
fn search_name(name: &str) -> Messages {
    let is_outer = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label).as_bytes();
        let is_inner = |byte: &u8| is_outer(Some(byte)) || matches!(byte, b'-' | b'_');
        is_outer(label.first()) && is_outer(label.last()) && label.iter().all(is_inner)
    };
    let mut messages = Messages::new();
    if name.len() > MOST_DNS_NAME {
        messages.push("must be no more than 253 characters".into());
    }
    if !name.split('.').all(is_label) {
        let label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
        let why = format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{label}(\\.{label})*')"
        );
        messages.push(Cow::Owned(why));
    }
    messages
}

/// Notes what is wrong with names that a pod gives to addresses.
pub(super) fn check_aliases(spec: &Part<'_>, errors: &mut FieldErrors) {
    for alias in spec.parts("hostAliases") {
        check_address(alias.text("ip"), &alias.at("ip"), errors);
        for (index, name) in alias.texts("hostnames").into_iter().enumerate() {
            note(&alias.at("hostnames").index(index), name, dns1123_subdomain(name), errors);
        }
    }
}

fn check_address(address: &str, path: &FieldPath, errors: &mut FieldErrors) {
    let why = match address.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => "must not be an IPv4-mapped IPv6 address",
        Ok(_) => return,
        Err(_) if without_zeros(address).parse::<IpAddr>().is_ok() => "must not have leading 0s",
        Err(_) => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    };
    errors.push(FieldError::invalid(path.clone(), address, why));
}

/// An address whose numbers have no zeros in front of them.
fn without_zeros(address: &str) -> String {
    let mut plain = String::with_capacity(address.len());
    for piece in address.split_inclusive(['.', ':']) {
        let number = piece.trim_end_matches(['.', ':']);
        let digits = number.trim_start_matches('0');
        plain.push_str(if digits.is_empty() && !number.is_empty() { "0" } else { digits });
        plain.push_str(&piece[number.len()..]);
    }
    plain
}

/// What to say of an address that could be written otherwise.
pub(super) fn address_warning(address: &str, path: &FieldPath) -> Option<String> {
    let canonical = address.parse::<Ipv6Addr>().ok()?.to_string();
    let quote = bailiwick_machinery::go::quote;
    (canonical != address).then(|| {
        let (address, canonical) = (quote(address), quote(&canonical));
        format!("{path}: IPv6 address {address} should be in RFC 5952 canonical format ({canonical})")
    })
}

/// Notes what is wrong with the name that a pod has for itself.
pub(super) fn check_hostname(spec: &Part<'_>, errors: &mut FieldErrors) {
    let Some(name) = spec.given(HOSTNAME_OVERRIDE) else { return };
    for field in ["setHostnameAsFQDN", "hostNetwork"].iter().filter(|field| spec.is(field)) {
        let why = format!("may not be specified when {field} is true");
        errors.push(FieldError::forbidden(spec.at(HOSTNAME_OVERRIDE), why));
    }
    if name.len() > MOST_HOSTNAME {
        errors.push(FieldError::too_long(spec.at(HOSTNAME_OVERRIDE), MOST_HOSTNAME));
    }
    spec.check_text(HOSTNAME_OVERRIDE, dns1123_subdomain, errors);
}
