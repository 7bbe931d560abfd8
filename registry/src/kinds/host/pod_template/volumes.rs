//! What is wrong with the volumes of a pod: each has a name, and one source.

use std::collections::BTreeMap;

use bailiwick_machinery::name::dns1123_label;
use bailiwick_machinery::{FieldError, FieldErrors, Quantity};

use super::part::Part;
use super::{block_sources, claim_template, file_sources, network_sources};

/// The volumes that containers can use, by their names.
pub(super) type Volumes<'v> = BTreeMap<&'v str, Part<'v>>;

type Check = fn(&Part<'_>, &mut FieldErrors);

/// A field in which a source is.
struct Source {
    field: &'static str,
    /// What Kubernetes calls it when it is one too many.
    when_second: &'static str,
    /// What Kubernetes calls it otherwise.
    told_as: &'static str,
    check: Check,
}

/// All sources, in the order in which they are looked at.
const SOURCES: [Source; 30] = [
    source("emptyDir", check_empty_dir),
    source("hostPath", file_sources::check_host_path),
    source("gitRepo", file_sources::check_git_repo),
    Source { told_as: "persistentDisk", ..source("gcePersistentDisk", block_sources::check_gce) },
    source("awsElasticBlockStore", block_sources::check_aws),
    source("secret", |secret, errors| file_sources::check_object(secret, "secretName", errors)),
    source("nfs", network_sources::check_nfs),
    source("iscsi", block_sources::check_iscsi),
    source("glusterfs", |source, errors| require(source, &["endpoints", "path"], errors)),
    source("flocker", network_sources::check_flocker),
    source("persistentVolumeClaim", |source, errors| require(source, &["claimName"], errors)),
    source("rbd", |source, errors| require(source, &["monitors", "image"], errors)),
    source("cinder", network_sources::check_cinder),
    Source { when_second: "cephFS", ..source("cephfs", |source, errors| require(source, &["monitors"], errors)) },
    source("quobyte", network_sources::check_quobyte),
    Source { when_second: "downwarAPI", ..source("downwardAPI", file_sources::check_downward) },
    source("fc", block_sources::check_fibre_channel),
    source("flexVolume", network_sources::check_flex),
    source("configMap", |source, errors| file_sources::check_object(source, "name", errors)),
    source("azureFile", |source, errors| require(source, &["secretName", "shareName"], errors)),
    source("vsphereVolume", |source, errors| require(source, &["volumePath"], errors)),
    source("photonPersistentDisk", |source, errors| require(source, &["pdID"], errors)),
    source("portworxVolume", |source, errors| require(source, &["volumeID"], errors)),
    source("azureDisk", block_sources::check_azure_disk),
    source("storageos", network_sources::check_storage_os),
    source("projected", file_sources::check_projected),
    source("scaleIO", |source, errors| require(source, &["gateway", "system", "volumeName"], errors)),
    source("csi", network_sources::check_csi),
    source("ephemeral", claim_template::check),
    source("image", |image, errors| image.check_known_required("pullPolicy", &super::container::PULL_POLICIES, errors)),
];

const fn source(field: &'static str, check: Check) -> Source {
    Source { field, when_second: field, told_as: field, check }
}

/// Notes what is wrong with the volumes of a pod. Returns those that can be used.
pub(super) fn check<'v>(spec: &Part<'v>, errors: &mut FieldErrors) -> Volumes<'v> {
    let mut volumes = Volumes::new();
    for volume in spec.parts("volumes") {
        let (name, before) = (volume.text("name"), errors.as_slice().len());
        check_source(&volume, errors);
        volume.check_required("name", dns1123_label, errors);
        if volumes.contains_key(name) {
            errors.push(FieldError::duplicate(volume.at("name"), name));
        }
        if errors.as_slice().len() == before {
            volumes.insert(name, volume);
        }
    }
    volumes
}

fn check_source(volume: &Part<'_>, errors: &mut FieldErrors) {
    let mut found = SOURCES.iter().filter_map(|source| Some((source, volume.part(source.field)?)));
    match found.next() {
        None => errors.push(FieldError::required(volume.path().clone(), "must specify a volume type")),
        Some((source, part)) => (source.check)(&part.told_at(volume.at(source.told_as)), errors),
    }
    for (source, _) in found {
        let why = "may not specify more than 1 volume type";
        errors.push(FieldError::forbidden(volume.at(source.when_second), why));
    }
    if let Some(iscsi) = volume.part("iscsi") {
        block_sources::check_iscsi_length(volume, &iscsi, errors);
    }
}

fn require(source: &Part<'_>, fields: &[&str], errors: &mut FieldErrors) {
    fields.iter().for_each(|field| source.require(field, errors));
}

fn check_empty_dir(source: &Part<'_>, errors: &mut FieldErrors) {
    let limit = source.get("sizeLimit").and_then(|limit| Quantity::from_json(limit).ok());
    if limit.is_some_and(|limit| limit.is_negative()) {
        let why = "SizeLimit field must be a valid resource quantity";
        errors.push(FieldError::forbidden(source.at("sizeLimit"), why));
    }
}
