//! The kinds that were defined before the server started: known before anything of theirs is read.

use bailiwick_machinery::Object;
use bailiwick_machinery::crd::Definition;
use bailiwick_storage::{self as storage, At, ListOptions, Store, Values};

use super::{GROUP, PLURAL, made};
use crate::kind::Kind;

/// The kinds that established definitions in the store define, if definitions are among the kinds.
pub(crate) async fn load(store: &dyn Store, native: &[Kind]) -> storage::Result<Vec<Kind>> {
    let is_definition =
        |kind: &&Kind| kind.names().plural == PLURAL && kind.home().is_some_and(|(group, _)| group == GROUP);
    let Some(definitions) = native.iter().find(is_definition) else { return Ok(Vec::new()) };
    // One that is damaged is told of when it is read, and its kind is not served.
    let options = ListOptions { values: Values::Whole, ..ListOptions::at(At::Latest) };
    let page = store.list(definitions.keys().all(), options).await?;
    let read = |value: &[u8]| serde_json::from_slice(value).map(Object::new).ok();
    Ok(page
        .records
        .iter()
        .filter_map(|record| read(&record.value))
        .filter_map(|object| kind(&object, native))
        .collect())
}

/// The kind of a definition that is established.
fn kind(object: &Object, native: &[Kind]) -> Option<Kind> {
    let definition = Definition::from_object(object).ok().filter(|definition| definition.is("Established"))?;
    let is_native =
        native.iter().flat_map(Kind::versions).any(|version| version.group_version.group == definition.spec.group);
    if is_native {
        return None;
    }
    made::kind(object, &definition).ok()
}
