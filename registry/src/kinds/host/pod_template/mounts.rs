//! What is wrong with how containers use the volumes of their pod.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_machinery::{FieldError, FieldErrors};

use super::part::{Part, unsupported};
use super::paths::{check_descending, has_backsteps};
use super::volumes::Volumes;

const MODES: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
const READ_ONLY: [&str; 3] = ["Disabled", "Enabled", "IfPossible"];
/// Sources of which a container can get the device itself.
const BLOCK: [&str; 2] = ["persistentVolumeClaim", "ephemeral"];

/// Notes what is wrong with the mounts and devices of a container.
pub(super) fn check(container: &Part<'_>, volumes: &Volumes<'_>, errors: &mut FieldErrors) {
    let mounts = places(container, "volumeMounts", "mountPath");
    let devices = places(container, "volumeDevices", "devicePath");
    check_mounts(container, &devices, volumes, errors);
    check_devices(container, &mounts, volumes, errors);
}

/// Where each volume is.
fn places<'v>(container: &Part<'v>, list: &str, place: &str) -> BTreeMap<&'v str, &'v str> {
    container.parts(list).map(|used| (used.text("name"), used.text(place))).collect()
}

fn check_mounts(container: &Part<'_>, devices: &BTreeMap<&str, &str>, volumes: &Volumes<'_>, errors: &mut FieldErrors) {
    let list = container.told_at(container.at("volumeMounts"));
    let mut taken = BTreeSet::new();
    for mount in container.parts("volumeMounts") {
        let (name, place) = (mount.text("name"), mount.text("mountPath"));
        mount.require("name", errors);
        if !volumes.contains_key(name) {
            errors.push(FieldError::not_found(mount.at("name"), name));
        }
        mount.require("mountPath", errors);
        if !taken.insert(place) {
            errors.push(FieldError::invalid(mount.at("mountPath"), place, "must be unique"));
        }
        if devices.contains_key(name) {
            errors.push(FieldError::invalid(mount.at("name"), name, "must not already exist in volumeDevices"));
        }
        if devices.values().any(|device| *device == place) {
            let why = "must not already exist as a path in volumeDevices";
            errors.push(FieldError::invalid(mount.at("mountPath"), place, why));
        }
        check_descending(mount.text("subPath"), &list.at("subPath"), errors);
        let expression = mount.text("subPathExpr");
        if !expression.is_empty() && !mount.text("subPath").is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            errors.push(FieldError::invalid(mount.at("subPathExpr"), expression, why));
        }
        check_descending(expression, &list.at("subPathExpr"), errors);
        check_propagation(container, &mount, &list, errors);
        check_read_only(&mount, &list, errors);
    }
}

fn check_propagation(container: &Part<'_>, mount: &Part<'_>, list: &Part<'_>, errors: &mut FieldErrors) {
    let Some(mode) = mount.given("mountPropagation") else { return };
    let path = list.at("mountPropagation");
    if !MODES.contains(&mode) {
        errors.push(unsupported(path.clone(), mode, &MODES));
    }
    let is_privileged = container.part("securityContext").is_some_and(|context| context.is("privileged"));
    if mode == "Bidirectional" && !is_privileged {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(path, why));
    }
}

fn check_read_only(mount: &Part<'_>, list: &Part<'_>, errors: &mut FieldErrors) {
    let path = list.at("recursiveReadOnly");
    match mount.given("recursiveReadOnly") {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !mount.is("readOnly") {
                errors.push(FieldError::forbidden(path.clone(), "may only be specified when readOnly is true"));
            }
            if mount.given("mountPropagation").is_some_and(|mode| mode != "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(path, why));
            }
        }
        Some(other) => errors.push(unsupported(path, other, &READ_ONLY)),
    }
}

fn check_devices(container: &Part<'_>, mounts: &BTreeMap<&str, &str>, volumes: &Volumes<'_>, errors: &mut FieldErrors) {
    let (mut names, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for device in container.parts("volumeDevices") {
        let (name, place) = (device.text("name"), device.text("devicePath"));
        let mut wrong = |field: &str, value: &str, why: &str| {
            errors.push(FieldError::invalid(device.at(field), value, why));
        };
        if !name.is_empty() && !names.insert(name) {
            wrong("name", name, "must be unique");
        }
        let volume = volumes.get(name);
        if volume.is_some_and(|volume| !BLOCK.iter().any(|source| volume.has(source))) {
            let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            wrong("name", name, why);
        }
        if taken.contains(place) {
            wrong("devicePath", place, "must be unique");
        }
        if has_backsteps(place) {
            wrong("devicePath", place, "can not contain backsteps ('..')");
        } else {
            taken.insert(place);
        }
        if mounts.contains_key(name) {
            wrong("name", name, "must not already exist in volumeMounts");
        }
        if mounts.values().any(|mount| *mount == place) {
            wrong("devicePath", place, "must not already exist as a path in volumeMounts");
        }
        if volume.is_none() {
            errors.push(FieldError::not_found(device.at("name"), name));
        }
        device.require("name", errors);
        device.require("devicePath", errors);
    }
}
