//! What may stand as the target of a request: an absolute URI, or an absolute path.

use std::net::Ipv6Addr;

/// What an escape may stand for, and what must be escaped.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Path,
    User,
    Host,
    Zone,
}

pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else {
        return false;
    };
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    let path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        Some(after) => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            if !is_authority(scheme, authority) {
                return false;
            }
            path
        }
        None => rest,
    };
    is_escaped(path, Part::Path)
}

/// Whether a text is a URI that says where it leads: one with a scheme and a host.
pub(crate) fn is_absolute_url(text: &str) -> bool {
    let Some((scheme, rest)) = split_scheme(text).filter(|_| is_request_uri(text)) else {
        return false;
    };
    let Some(after) = rest.strip_prefix("//") else {
        return false;
    };
    let authority = after.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    !scheme.is_empty() && !host.is_empty()
}

/// The scheme, if there is one, and what comes after it.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return None,
            b':' => return Some((&text[..i], &text[i + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(scheme: &str, authority: &str) -> bool {
    let Some((user, host)) = authority.rsplit_once('@') else {
        return is_host(scheme, authority);
    };
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    is_host(scheme, host) && user.bytes().all(allowed) && is_escaped(user, Part::User)
}

fn is_host(scheme: &str, host: &str) -> bool {
    match host.rfind('[') {
        Some(0) => {
            let Some((address, port)) = host[1..].rsplit_once(']') else {
                return false;
            };
            is_port(port) && is_ip_literal(address)
        }
        Some(_) => false,
        None => {
            let strict = ["http", "https"].iter().any(|name| scheme.eq_ignore_ascii_case(name));
            let colon = if strict { host.find(':') } else { host.rfind(':') };
            colon.is_none_or(|colon| is_port(&host[colon..])) && is_escaped(host, Part::Host)
        }
    }
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

/// An IPv6 address, with a zone or without.
fn is_ip_literal(text: &str) -> bool {
    let (address, zone) = text.split_at(text.find("%25").unwrap_or(text.len()));
    let zoned = zone.is_empty() || (zone.len() > 3 && is_escaped(zone, Part::Zone));
    zoned && is_escaped(address, Part::Host) && address.parse::<Ipv6Addr>().is_ok()
}

fn is_escaped(text: &str, part: Part) -> bool {
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return true,
            [b'%', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let value = u8::from_str_radix(&format!("{}{}", char::from(*high), char::from(*low)), 16).unwrap_or(0);
                let fits = match part {
                    Part::Path | Part::User => true,
                    Part::Host => value >= 0x80 || value == b'%',
                    Part::Zone => value == b'%' || value == b' ' || is_host_byte(value),
                };
                if !fits {
                    return false;
                }
                after
            }
            [b'%', ..] => return false,
            [b, after @ ..] => {
                let free = matches!(part, Part::Path | Part::User) || *b >= 0x80;
                if !free && !is_host_byte(*b) {
                    return false;
                }
                after
            }
        }
    }
}

fn is_host_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&b)
}
