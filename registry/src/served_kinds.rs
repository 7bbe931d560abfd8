//! The kinds that are served at one moment. A set of them never changes: another takes its place.

use std::collections::HashMap;
use std::sync::Arc;

use bailiwick_machinery::GroupVersion;

use crate::kind::Kind;
use crate::served_kind::ServedKind;

/// All kinds that are served at one moment, in all their versions.
#[derive(Clone, Default)]
pub struct ServedKinds {
    kinds: Vec<Arc<Kind>>,
    served: Vec<Arc<ServedKind>>,
    by_path: HashMap<String, Arc<ServedKind>>,
}

// === impl ServedKinds ===

impl ServedKinds {
    /// The kinds.
    pub fn kinds(&self) -> &[Arc<Kind>] {
        &self.kinds
    }

    /// The kinds in all their versions.
    pub fn served(&self) -> &[Arc<ServedKind>] {
        &self.served
    }

    /// The kind that a path names.
    pub fn find(&self, group_version: &GroupVersion, plural: &str) -> Option<&Arc<ServedKind>> {
        self.by_path.get(&path(group_version, plural))
    }

    /// The same without some kinds and with others. What stays is shared.
    pub(crate) fn changed(&self, gone: &[Arc<Kind>], come: &[Arc<Kind>]) -> Self {
        let stays = |kind: &Kind| !gone.iter().any(|gone| std::ptr::eq(&raw const **gone, kind));
        let mut changed = self.clone();
        changed.kinds.retain(|kind| stays(kind));
        changed.served.retain(|served| stays(served.kind()));
        changed.by_path.retain(|_, served| stays(served.kind()));
        for kind in come {
            changed.kinds.push(kind.clone());
            for served in ServedKind::all(kind).into_iter().map(Arc::new) {
                let path = path(&served.version().group_version, &kind.names().plural);
                changed.by_path.insert(path, served.clone());
                changed.served.push(served);
            }
        }
        changed
    }
}

fn path(group_version: &GroupVersion, plural: &str) -> String {
    format!("{}/{}/{plural}", group_version.group, group_version.version)
}
