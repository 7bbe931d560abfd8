//! What our kinds have no fields for.

use serde_json::Value;

use crate::site::Site;

/// What a field is called that says where to connect to, or whom to believe there.
const ADDRESSES: [&str; 8] = ["url", "uri", "host", "endpoint", "address", "cabundle", "webhook", "server"];
/// The fields that name a namespace. What is in a status, or only read, nobody can write; an entry is claimed by those who may.
const NAMESPACES: [&str; 8] = [
    "ResourceBindingDefinition.status.classes[].namespace",
    "LocalResourceCatalog.entries[].namespace",
    "ResourceCatalog.spec.accept.namespaceSelector",
    "ResourceCatalog.status.entries[].namespace",
    "ResourceCatalogClaim.spec.resourceCatalogEntry.namespace",
    "ResourceCatalogEntries.entries[].namespace",
    "ResourceQuotaAllocation.status.usedByProject[].namespace",
    "ResourceQuotaAllocationProjects.projects[].namespace",
];

/// S-11, S-26: nobody can make the server connect anywhere by what they write, nor refer from one namespace to another. Whoever
/// adds such a field has to say here why that is safe.
#[tokio::test]
async fn no_field_leads_elsewhere() {
    let site = Site::open().await;
    let (mut addresses, mut namespaces) = (Vec::new(), Vec::new());
    for key in site.get("/openapi/v3").await.json()["paths"].as_object().unwrap().keys() {
        let document = site.get(&format!("/openapi/v3/{key}")).await.json();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            if let Some((_, kind)) = name.strip_prefix("dev.bailiwick.").and_then(|name| name.rsplit_once('.')) {
                visit(schema, kind, &mut |field, path| {
                    let field = field.to_lowercase();
                    if ADDRESSES.iter().any(|address| field.contains(address)) {
                        addresses.push(path.to_owned());
                    }
                    if field.contains("namespace") {
                        namespaces.push(path.to_owned());
                    }
                });
            }
        }
    }
    assert_eq!(addresses, Vec::<String>::new());
    namespaces.sort_unstable();
    let mut expected = NAMESPACES.map(str::to_owned);
    expected.sort_unstable();
    assert_eq!(namespaces, expected);
}

/// Every field of a schema, with the way to it.
fn visit(schema: &Value, path: &str, see: &mut impl FnMut(&str, &str)) {
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{field}");
        see(field, &path);
        visit(schema, &path, see);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            visit(&schema[inner], &format!("{path}[]"), see);
        }
    }
    for inner in ["allOf", "anyOf", "oneOf"] {
        schema[inner].as_array().into_iter().flatten().for_each(|schema| visit(schema, path, see));
    }
}
