//! The schemas of `meta/v1`: what all objects, lists, deletions and failures have in common.
//!
//! Names, fields, types and extensions are those of Kubernetes, because an aggregator merges the documents of many
//! servers by these names.

use serde_json::{Map, Value, json};

use super::components::Components;

/// The name of a schema of `meta/v1`.
pub(super) fn name(kind: &str) -> String {
    format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}")
}

/// `apiVersion`, as every object has it.
pub(super) fn api_version() -> Value {
    json!({ "description": "The group and version of the object's schema: group/version.", "type": "string" })
}

/// `kind`, as every object has it.
pub(super) fn kind() -> Value {
    json!({ "description": "The kind of the object, in CamelCase. It cannot be changed.", "type": "string" })
}

/// All schemas of `meta/v1`.
pub(super) fn all() -> Components {
    let all = [
        ("DeleteOptions", delete_options()),
        ("FieldsV1", fields_v1()),
        ("ListMeta", list_meta()),
        ("ManagedFieldsEntry", managed_fields_entry()),
        ("ObjectMeta", object_meta()),
        ("OwnerReference", owner_reference()),
        ("Patch", patch()),
        ("Preconditions", preconditions()),
        ("ShardInfo", shard_info()),
        ("Status", status()),
        ("StatusCause", status_cause()),
        ("StatusDetails", status_details()),
        ("Time", time()),
    ];
    all.into_iter().map(|(kind, schema)| (name(kind), schema)).collect()
}

/// A schema of an object with these fields.
fn object(description: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    let properties: Map<String, Value> = fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect();
    Map::from_iter([
        ("description".to_owned(), description.into()),
        ("type".to_owned(), "object".into()),
        ("properties".to_owned(), properties.into()),
    ])
}

fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}

fn flag(description: &str) -> Value {
    json!({ "description": description, "type": "boolean" })
}

fn integer(format: &str, description: &str) -> Value {
    json!({ "description": description, "type": "integer", "format": format })
}

fn reference(kind: &str, description: &str) -> Value {
    json!({ "description": description, "$ref": name(kind) })
}

fn texts_by_name(description: &str) -> Value {
    json!({
        "description": description,
        "type": "object",
        "additionalProperties": { "type": "string", "default": "" },
    })
}

/// A list of texts, or of objects of a schema.
fn list(items: Value, list_type: &str, description: &str) -> Value {
    json!({ "description": description, "type": "array", "items": items, "x-kubernetes-list-type": list_type })
}

fn item_text() -> Value {
    json!({ "type": "string", "default": "" })
}

fn item(kind: &str) -> Value {
    json!({ "default": {}, "$ref": name(kind) })
}

/// The field must be there, and reads as empty if it is not.
fn required_text(description: &str) -> Value {
    json!({ "description": description, "type": "string", "default": "" })
}

fn of_core(mut schema: Map<String, Value>, kind: &str) -> Map<String, Value> {
    let gvk = json!([{ "group": "", "version": "v1", "kind": kind }]);
    schema.insert("x-kubernetes-group-version-kind".to_owned(), gvk);
    schema
}

fn object_meta() -> Map<String, Value> {
    let mut owners = list(
        item("OwnerReference"),
        "map",
        "What this object depends on. Once all of it is deleted, so is this object. At most one owner controls it.",
    );
    owners["x-kubernetes-list-map-keys"] = json!(["uid"]);
    owners["x-kubernetes-patch-merge-key"] = "uid".into();
    owners["x-kubernetes-patch-strategy"] = "merge".into();
    let mut finalizers = list(
        item_text(),
        "set",
        "What still has to be done before the object goes; whoever did it removes the entry. While there are any, a \
         deletion only sets deletionTimestamp, and none can be added after that.",
    );
    finalizers["x-kubernetes-patch-strategy"] = "merge".into();
    let fields = [
        (
            "annotations",
            texts_by_name("Texts that tools and people attach to the object. Nothing is selected by them."),
        ),
        ("creationTimestamp", reference("Time", "When the object was created. Set by the server.")),
        (
            "deletionGracePeriodSeconds",
            integer(
                "int64",
                "How many seconds the object is given to end. Set when it is deleted; may only be shortened.",
            ),
        ),
        (
            "deletionTimestamp",
            reference(
                "Time",
                "When the object goes, or would go if finalizers did not hold it. Set by the server when the object is \
                 deleted, and never taken back.",
            ),
        ),
        ("finalizers", finalizers),
        ("generateName", text("What the name begins with, if none is given: the server adds a random end to it.")),
        ("generation", integer("int64", "Counts the changes of what is wanted. Set by the server.")),
        ("labels", texts_by_name("Names and values by which objects are selected.")),
        (
            "managedFields",
            list(
                item("ManagedFieldsEntry"),
                "atomic",
                "Who manages which fields. Kept by the server, for those who apply.",
            ),
        ),
        ("name", text("The name, unique among the objects of its kind in its namespace. It cannot be changed.")),
        ("namespace", text("Where the object lives, if its kind has namespaces. It cannot be changed.")),
        ("ownerReferences", owners),
        (
            "resourceVersion",
            text(
                "The version of the object. In an update, the version that it is based on: if there is a newer one, the \
                 update is refused. Set by the server.",
            ),
        ),
        ("selfLink", text("Deprecated: it is not set any more.")),
        ("uid", text("Tells this object from others of the same name before and after it. Set by the server.")),
    ];
    object("ObjectMeta is what all objects that are stored have in common.", fields)
}

fn owner_reference() -> Map<String, Value> {
    let fields = [
        ("apiVersion", required_text("The group and version of the owner.")),
        (
            "blockOwnerDeletion",
            flag("Whether an owner that is deleted in the foreground waits for this object to be gone."),
        ),
        ("controller", flag("Whether this owner is the one that controls the object.")),
        ("kind", required_text("The kind of the owner.")),
        ("name", required_text("The name of the owner.")),
        ("uid", required_text("The UID of the owner.")),
    ];
    let mut schema = object(
        "OwnerReference names an object that another one depends on: one in the same namespace, or one that is in none.",
        fields,
    );
    schema.insert("required".to_owned(), json!(["apiVersion", "kind", "name", "uid"]));
    schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
    schema
}

fn managed_fields_entry() -> Map<String, Value> {
    let fields = [
        ("apiVersion", text("The group and version in which the fields are named.")),
        ("fieldsType", text("How the fields are written: FieldsV1.")),
        ("fieldsV1", reference("FieldsV1", "The fields.")),
        ("manager", text("Who manages them.")),
        ("operation", text("How they came to be managed: Apply or Update.")),
        ("subresource", text("The subresource they were written through, if any.")),
        ("time", reference("Time", "When they were last changed.")),
    ];
    object("ManagedFieldsEntry is a set of fields and who manages them.", fields)
}

fn fields_v1() -> Map<String, Value> {
    let mut schema = object(
        "FieldsV1 is a set of fields: 'f:<name>' is a field, 'k:<keys>' an item by its keys, 'v:<value>' an item by its \
         value, 'i:<index>' an item by its place, and '.' the whole.",
        [],
    );
    schema.remove("properties");
    schema
}

fn list_meta() -> Map<String, Value> {
    let fields = [
        ("continue", text("If the list is not complete: what to pass as 'continue' to get the rest.")),
        (
            "remainingItemCount",
            integer("int64", "How many more objects there are, if the list is not complete and nothing was selected."),
        ),
        ("resourceVersion", text("The state that was listed. A watch from here misses nothing.")),
        ("selfLink", text("Deprecated: it is not set any more.")),
        ("shardInfo", reference("ShardInfo", "Which part of all objects this is, if only a part was asked for.")),
    ];
    object("ListMeta is what all lists have in common.", fields)
}

fn shard_info() -> Map<String, Value> {
    let fields = [("selector", required_text("The selector that was asked for."))];
    let mut schema = object("ShardInfo says which part of all objects a list has.", fields);
    schema.insert("required".to_owned(), json!(["selector"]));
    schema
}

fn delete_options() -> Map<String, Value> {
    let fields = [
        ("apiVersion", api_version()),
        (
            "dryRun",
            list(
                item_text(),
                "atomic",
                "If it is 'All', everything is done but the deletion itself. No other value is valid.",
            ),
        ),
        (
            "gracePeriodSeconds",
            integer(
                "int64",
                "How many seconds there are until the object is deleted: 0 is at once. Without it, the kind decides.",
            ),
        ),
        (
            "ignoreStoreReadErrorWithClusterBreakingPotential",
            flag(
                "Whether an object that cannot be read from storage is deleted nevertheless, without regard to \
                 finalizers and preconditions. What depends on an orderly deletion may break.",
            ),
        ),
        ("kind", kind()),
        (
            "orphanDependents",
            flag(
                "Deprecated: use propagationPolicy. Whether dependents are left behind. Not together with propagationPolicy.",
            ),
        ),
        (
            "preconditions",
            reference("Preconditions", "What must be true of the object; if it is not, the answer is 409."),
        ),
        (
            "propagationPolicy",
            text("What becomes of dependents: Orphan, Background or Foreground. Not together with orphanDependents."),
        ),
    ];
    of_core(object("DeleteOptions says how to delete.", fields), "DeleteOptions")
}

fn preconditions() -> Map<String, Value> {
    let fields = [("resourceVersion", text("The version it must have.")), ("uid", text("The UID it must have."))];
    object("Preconditions must be true of an object before something is done with it.", fields)
}

fn patch() -> Map<String, Value> {
    let mut schema = object("Patch is a change to an object, in the form that the content type names.", []);
    schema.remove("properties");
    schema
}

fn status() -> Map<String, Value> {
    let mut metadata = reference("ListMeta", "Standard list metadata.");
    metadata["default"] = json!({});
    let fields = [
        ("apiVersion", api_version()),
        ("code", integer("int32", "The HTTP status that goes with it.")),
        ("details", reference("StatusDetails", "More, depending on the reason.")),
        ("kind", kind()),
        ("message", text("What happened, for people.")),
        ("metadata", metadata),
        ("reason", text("Why it failed, in one word that programs can rely on.")),
        ("status", text("Success or Failure.")),
    ];
    of_core(object("Status is the answer where there is no object to answer with.", fields), "Status")
}

fn status_cause() -> Map<String, Value> {
    let fields = [
        ("field", text("The field that is at fault, as JSON names it: 'name', 'items[0].name'.")),
        ("message", text("What is wrong, for people.")),
        ("reason", text("What is wrong, in one word that programs can rely on.")),
    ];
    object("StatusCause is one of the things that were wrong.", fields)
}

fn status_details() -> Map<String, Value> {
    let fields = [
        ("causes", list(item("StatusCause"), "atomic", "All that was wrong, one by one.")),
        ("group", text("The group of what it is about.")),
        ("kind", text("The kind or resource of what it is about.")),
        ("name", text("The name of what it is about.")),
        ("retryAfterSeconds", integer("int32", "How many seconds to wait before trying again.")),
        ("uid", text("The UID of what it is about.")),
    ];
    object("StatusDetails says more of a failure, depending on its reason.", fields)
}

fn time() -> Map<String, Value> {
    Map::from_iter([
        ("description".to_owned(), "Time is a moment, as RFC 3339 writes it.".into()),
        ("type".to_owned(), "string".into()),
        ("format".to_owned(), "date-time".into()),
    ])
}
