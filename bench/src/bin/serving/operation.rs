//! What is measured, and what it should cost at most.

use crate::options::Options;

/// One kind of work for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Delete,
    Get,
    List,
    PagedList,
    LabelList,
    Patch,
    /// An apply that makes an object.
    ApplyNew,
    /// An apply that changes one field.
    ApplyChange,
    /// An apply that changes nothing.
    ApplySame,
    /// An event that reaches a watcher which shares its connection with others, as behind an aggregator.
    Delivery,
    /// An event that reaches a watcher on a connection of its own.
    DeliveryAlone,
}

/// The size of the collection that the goal for a list is for.
const GOAL_OBJECTS: f64 = 5_000.0;

/// What a server may occupy, in bytes.
pub(crate) const MEMORY_GOAL: f64 = 60.0 * 1_048_576.0;

/// Which part of etcd's own creates a second a server on etcd should reach.
pub(crate) const RAW_SHARE_GOAL: f64 = 0.6;

// === impl Operation ===

impl Operation {
    /// All of them, in the order in which they are measured: what is created is deleted before anything is listed.
    pub(crate) const ALL: [Self; 12] = [
        Self::Create,
        Self::Delete,
        Self::Get,
        Self::List,
        Self::PagedList,
        Self::LabelList,
        Self::Patch,
        Self::ApplyNew,
        Self::ApplyChange,
        Self::ApplySame,
        Self::Delivery,
        Self::DeliveryAlone,
    ];

    /// What the command line calls it.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Get => "get",
            Self::List => "list",
            Self::PagedList => "paged-list",
            Self::LabelList => "label-list",
            Self::Patch => "patch",
            Self::ApplyNew => "apply-new",
            Self::ApplyChange => "apply-change",
            Self::ApplySame => "apply-same",
            Self::Delivery => "delivery",
            Self::DeliveryAlone => "delivery-alone",
        }
    }

    /// What the report calls it.
    pub(crate) fn title(self, options: &Options) -> String {
        let Options { objects, page, per_batch, watchers, .. } = options;
        match self {
            Self::Create => "create".to_owned(),
            Self::Delete => "delete".to_owned(),
            Self::Get => "get".to_owned(),
            Self::List => format!("list {objects}"),
            Self::PagedList => format!("list {objects}, {page} a page"),
            Self::LabelList => format!("list {per_batch} of {objects} by label"),
            Self::Patch => "merge patch".to_owned(),
            Self::ApplyNew => "apply of a new object".to_owned(),
            Self::ApplyChange => "apply that changes a field".to_owned(),
            Self::ApplySame => "apply that changes nothing".to_owned(),
            Self::Delivery => format!("watch delivery, {watchers} watchers"),
            Self::DeliveryAlone => "watch delivery, a connection each".to_owned(),
        }
    }

    /// The processor time it should take the server at most, in seconds. None if no goal was set.
    pub(crate) fn goal(self, options: &Options) -> Option<f64> {
        match self {
            Self::Create => Some(0.15e-3),
            Self::Get => Some(0.05e-3),
            Self::List => Some(6e-3 * options.objects as f64 / GOAL_OBJECTS),
            Self::LabelList => Some(0.15e-3),
            Self::Patch => Some(0.20e-3),
            Self::Delivery => Some(0.004e-3),
            Self::Delete
            | Self::PagedList
            | Self::ApplyNew
            | Self::ApplyChange
            | Self::ApplySame
            | Self::DeliveryAlone => None,
        }
    }
}
