//! What all versions of a definition have in common. In Kubernetes' internal form it stands once, beside the versions, and
//! errors name it there: `spec.validation.openAPIV3Schema`, not `spec.versions[0].schema.openAPIV3Schema`.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::definition::{DefinitionSpec, PrinterColumn, Scale, SelectablePath, Subresources, Version};
use crate::schema::SchemaInGo;

/// Which parts all versions have in common.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub(super) schema: bool,
    pub(super) subresources: bool,
    pub(super) columns: bool,
    pub(super) selectable_fields: bool,
}

// === impl Shared ===

impl Shared {
    pub(super) fn of(spec: &DefinitionSpec) -> Self {
        fn all<T: PartialEq>(versions: &[Version], part: impl Fn(&Version) -> &T) -> bool {
            versions.first().is_some_and(|first| versions.iter().all(|version| part(version) == part(first)))
        }
        let versions = &spec.versions;
        Self {
            schema: all(versions, |version| &version.schema),
            subresources: all(versions, |version| &version.subresources),
            columns: all(versions, |version| &version.additional_printer_columns),
            selectable_fields: all(versions, |version| &version.selectable_fields),
        }
    }

    /// Which parts versions have each for itself.
    pub(super) fn apart(self) -> Self {
        Self {
            schema: !self.schema,
            subresources: !self.subresources,
            columns: !self.columns,
            selectable_fields: !self.selectable_fields,
        }
    }
}

/// The versions as Kubernetes prints them in errors: the JSON of its internal Go type.
pub(super) struct VersionsInGo<'d> {
    pub(super) versions: &'d [Version],
    pub(super) shared: Shared,
}

struct VersionInGo<'d>(&'d Version, Shared);
struct ValidationInGo<'d>(Option<&'d Map<String, Value>>);
struct SubresourcesInGo<'d>(&'d Subresources);
struct ScaleInGo<'d>(&'d Scale);
struct ColumnInGo<'d>(&'d PrinterColumn);
struct SelectableInGo<'d>(&'d SelectablePath);

impl Serialize for VersionsInGo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.versions {
            [] => serializer.serialize_unit(),
            versions => serializer.collect_seq(versions.iter().map(|version| VersionInGo(version, self.shared))),
        }
    }
}

impl Serialize for VersionInGo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(version, shared) = self;
        let schema = version.schema.as_ref().filter(|_| !shared.schema);
        let subresources: Option<&Subresources> = version.subresources.as_ref().filter(|_| !shared.subresources);
        let columns: Vec<_> = version.additional_printer_columns.iter().map(ColumnInGo).collect();
        let selectable: Vec<_> = version.selectable_fields.iter().map(SelectableInGo).collect();
        let mut map = serializer.serialize_map(Some(9))?;
        map.serialize_entry("Name", &version.name)?;
        map.serialize_entry("Served", &version.served)?;
        map.serialize_entry("Storage", &version.storage)?;
        map.serialize_entry("Deprecated", &version.deprecated)?;
        map.serialize_entry("DeprecationWarning", &version.deprecation_warning)?;
        map.serialize_entry("Schema", &schema.map(|schema| ValidationInGo(schema.open_api_v3_schema.as_ref())))?;
        map.serialize_entry("Subresources", &subresources.map(SubresourcesInGo))?;
        map.serialize_entry("AdditionalPrinterColumns", &Some(columns).filter(|c| !shared.columns && !c.is_empty()))?;
        let selectable = Some(selectable).filter(|fields| !shared.selectable_fields && !fields.is_empty());
        map.serialize_entry("SelectableFields", &selectable)?;
        map.end()
    }
}

impl Serialize for ValidationInGo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("OpenAPIV3Schema", &self.0.map(SchemaInGo))?;
        map.end()
    }
}

impl Serialize for SubresourcesInGo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = self.0.status.as_ref().map(|_| Map::<String, Value>::new());
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("Status", &status)?;
        map.serialize_entry("Scale", &self.0.scale.as_ref().map(ScaleInGo))?;
        map.end()
    }
}

impl Serialize for ScaleInGo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("SpecReplicasPath", &self.0.spec_replicas_path)?;
        map.serialize_entry("StatusReplicasPath", &self.0.status_replicas_path)?;
        map.serialize_entry("LabelSelectorPath", &self.0.label_selector_path)?;
        map.end()
    }
}

impl Serialize for ColumnInGo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(6))?;
        map.serialize_entry("Name", &self.0.name)?;
        map.serialize_entry("Type", &self.0.column_type)?;
        map.serialize_entry("Format", &self.0.format)?;
        map.serialize_entry("Description", &self.0.description)?;
        map.serialize_entry("Priority", &self.0.priority)?;
        map.serialize_entry("JSONPath", &self.0.json_path)?;
        map.end()
    }
}

impl Serialize for SelectableInGo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("JSONPath", &self.0.json_path)?;
        map.end()
    }
}
