//! How whoever writes is called.

use std::borrow::Cow;

use crate::go::is_printable;
use crate::metadata::MAX_FIELD_MANAGER_BYTES;

/// The name of a manager: the one that the request gives, or else what the client calls itself, up to the first slash.
pub fn manager_name<'n>(field_manager: &'n str, user_agent: &str) -> Cow<'n, str> {
    if !field_manager.is_empty() {
        return Cow::Borrowed(field_manager);
    }
    let program = user_agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for c in program.chars().filter(|c| is_printable(*c)) {
        if name.len() + c.len_utf8() > MAX_FIELD_MANAGER_BYTES {
            break;
        }
        name.push(c);
    }
    Cow::Owned(name)
}
