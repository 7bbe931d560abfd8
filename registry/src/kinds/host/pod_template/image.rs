//! Names of images: `registry.example.com:5000/team/app:1.2@sha256:…`.

const MOST_IN_TAG: usize = 128;
const MOST_IN_NAME: usize = 255;
/// What hashes there are, and how many digits they have.
const HASHES: [(&str, usize); 3] = [("sha256", 64), ("sha384", 96), ("sha512", 128)];
const DEFAULT_REGISTRY: &str = "docker.io";

/// Whether an image may be another one tomorrow: it has the tag `latest`, or neither tag nor hash. What is no name of an image
/// is not.
pub(super) fn is_latest(image: &str) -> bool {
    let (rest, digest) = match image.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (image, None),
    };
    // A colon before the last slash is that of a port.
    let last = rest.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match rest[last..].split_once(':') {
        Some((_, tag)) => (&rest[..rest.len() - tag.len() - 1], Some(tag)),
        None => (rest, None),
    };
    let is_reference = is_name(name) && tag.is_none_or(is_tag) && digest.is_none_or(is_digest) && !is_hash(image);
    is_reference && tag.unwrap_or(if digest.is_none() { "latest" } else { "" }) == "latest"
}

/// What could be the hash of an image is not taken for a name.
fn is_hash(image: &str) -> bool {
    image.len() == 64 && image.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_name(name: &str) -> bool {
    let has_registry = |first: &str| {
        first.contains(['.', ':']) || first == "localhost" || first.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let (registry, path) = match name.split_once('/').filter(|(first, _)| has_registry(first)) {
        Some((registry, path)) => (registry, path),
        None => (DEFAULT_REGISTRY, name),
    };
    let is_short = registry == DEFAULT_REGISTRY && !path.contains('/');
    let length = registry.len() + 1 + path.len() + if is_short { "library/".len() } else { 0 };
    is_registry(registry) && path.split('/').all(is_component) && length <= MOST_IN_NAME
}

fn is_registry(registry: &str) -> bool {
    let (host, port) = match registry.rsplit_once(':').filter(|_| !registry.ends_with(']')) {
        Some((host, port)) => (host, Some(port)),
        None => (registry, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = |label: &str| {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_inner)
    };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':'),
        None => host.split('.').all(is_label),
    };
    is_host && port.is_none_or(is_port)
}

/// Letters and digits, with a dot, one or two underscores or any number of hyphens between them.
fn is_component(component: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator = |gap: &str| matches!(gap, "." | "_" | "__") || gap.bytes().all(|byte| byte == b'-');
    let is_closed = component.starts_with(is_word) && component.ends_with(is_word);
    is_closed && component.split(is_word).all(is_separator)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_inner = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'-');
    tag.len() <= MOST_IN_TAG && tag.bytes().next().is_some_and(is_word) && tag.bytes().all(is_inner)
}

fn is_digest(digest: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let Some((hash, digits)) = digest.split_once(':') else { return false };
    HASHES.iter().any(|(known, length)| *known == hash && *length == digits.len()) && digits.bytes().all(is_digit)
}

#[cfg(test)]
mod tests;
