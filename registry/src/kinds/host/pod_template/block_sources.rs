//! Volumes that are disks.

use bailiwick_machinery::{FieldError, FieldErrors};
use serde_json::Value;

use super::part::{Part, out_of_range};

const MOST_UNIT: i64 = 255;
const CACHING_MODES: [&str; 3] = ["None", "ReadOnly", "ReadWrite"];
const DISK_KINDS: [&str; 3] = ["Dedicated", "Managed", "Shared"];
const MANAGED_DISK: &str =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB_DISK: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
/// How many bytes the name of a volume and its portal may have together.
const MOST_ISCSI: usize = 64;

pub(super) fn check_gce(source: &Part<'_>, errors: &mut FieldErrors) {
    source.require("pdName", errors);
    check_partition(source, errors);
}

pub(super) fn check_aws(source: &Part<'_>, errors: &mut FieldErrors) {
    source.require("volumeID", errors);
    check_partition(source, errors);
}

/// None is as good as the first, which the text does not say.
fn check_partition(source: &Part<'_>, errors: &mut FieldErrors) {
    let partition = source.number("partition");
    if !(0..=MOST_UNIT).contains(&partition) {
        errors.push(FieldError::invalid(source.at("partition"), partition, out_of_range(1, MOST_UNIT)));
    }
}

pub(super) fn check_iscsi(source: &Part<'_>, errors: &mut FieldErrors) {
    source.require("targetPortal", errors);
    match source.text("iqn") {
        "" => errors.push(FieldError::required(source.at("iqn"), "")),
        name => errors.extend(wrong_name(name).map(|why| FieldError::invalid(source.at("iqn"), name, why))),
    }
    source.check_range("lun", 0, MOST_UNIT, errors);
    if (source.is("chapAuthDiscovery") || source.is("chapAuthSession")) && !source.has("secretRef") {
        errors.push(FieldError::required(source.at("secretRef"), ""));
    }
    if let Some(name) = source.given("initiatorName") {
        errors.extend(wrong_name(name).map(|why| FieldError::invalid(source.at("initiatorname"), name, why)));
    }
}

/// What is wrong with the name of an initiator or a target.
fn wrong_name(name: &str) -> Option<&'static str> {
    let is_alphanumeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    // Of the separator, only that there is one character is looked at.
    let has_number = |rest: &str, digits: usize| {
        let mut rest = rest.chars();
        rest.next().is_some_and(|c| c != '\n') && rest.as_str().len() == digits && is_alphanumeric(rest.as_str())
    };
    let is_right = match name.get(..3) {
        Some("iqn") => is_qualified(name),
        Some("eui") => has_number(&name[3..], 16),
        Some("naa") => has_number(&name[3..], 32),
        _ => return Some("must be valid format starting with iqn, eui, or naa"),
    };
    (!is_right).then_some("must be valid format")
}

/// `iqn.2001-04.com.example:storage`, which may stand behind anything.
fn is_qualified(name: &str) -> bool {
    name.match_indices("iqn.").any(|(at, prefix)| {
        let rest = &name[at + prefix.len()..];
        let is_date = |date: &str| {
            let is_digit = |at: usize| date.as_bytes()[at].is_ascii_digit();
            date.len() == 8 && (0..4).chain(5..7).all(is_digit) && date.as_bytes()[4] == b'-' && date.ends_with('.')
        };
        let Some((_, rest)) = rest.split_at_checked(8).filter(|(date, _)| is_date(date)) else { return false };
        let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let is_outer = |c: char| !matches!(c, ',' | ';' | '*' | '&' | '$' | '|') && !c.is_ascii_whitespace();
        let Some((authority, unit)) = rest.split_once(':') else { return false };
        let is_named = !authority.is_empty() && authority.chars().all(is_inner);
        is_named && !unit.is_empty() && unit.chars().all(is_outer)
    })
}

/// Notes a volume whose name and portal are too long together; told of the volume, whatever else it has.
pub(super) fn check_iscsi_length(volume: &Part<'_>, source: &Part<'_>, errors: &mut FieldErrors) {
    let name = volume.text("name");
    if source.has("initiatorName") && name.len() + 1 + source.text("targetPortal").len() > MOST_ISCSI {
        let why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        errors.push(FieldError::invalid(volume.at("name"), name, why));
    }
}

pub(super) fn check_fibre_channel(source: &Part<'_>, errors: &mut FieldErrors) {
    let (targets, ids) = (source.items("targetWWNs"), source.items("wwids"));
    match (targets.is_empty(), ids.is_empty()) {
        (true, true) => {
            let why = "must specify either targetWWNs or wwids, but not both";
            errors.push(FieldError::required(source.at("targetWWNs"), why));
        }
        (false, false) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            errors.push(FieldError::invalid(source.at("targetWWNs"), Value::from(targets), why));
        }
        _ => {}
    }
    if !targets.is_empty() && !source.has("lun") {
        errors.push(FieldError::required(source.at("lun"), "lun is required if targetWWNs is specified"));
    } else if !targets.is_empty() {
        source.check_range("lun", 0, MOST_UNIT, errors);
    }
}

pub(super) fn check_azure_disk(source: &Part<'_>, errors: &mut FieldErrors) {
    source.require("diskName", errors);
    source.require("diskURI", errors);
    source.check_known_if_given("cachingMode", &CACHING_MODES, errors);
    source.check_known_if_given("kind", &DISK_KINDS, errors);
    let place = source.text("diskURI");
    let (prefix, form) = match source.given("kind") {
        None => return,
        Some("Managed") => ("/subscriptions/", MANAGED_DISK),
        Some(_) => ("https://", BLOB_DISK),
    };
    if !place.starts_with(prefix) {
        errors.push(FieldError::not_supported(source.at("diskURI"), place, &[form]));
    }
}
