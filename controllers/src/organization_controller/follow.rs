//! Watches, one for each kind that matters, which keep the index as it should be.

use std::fmt::Debug;

use bailiwick_api::{Group, OrgGroup, OrgRoleBinding, Organization};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::PartialObjectMeta;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::index::Change;
use super::{LONGEST_WITH_A_ROLE, Shared};
use crate::follow::{Changes, follow_closely};
use crate::place::Place;

/// A kind that the index is made of.
pub(super) trait Followed:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
    /// What became of the object of this name; it is gone if there is none.
    fn change(place: Place, object: Option<Self>) -> Change;
}

// === impl Shared ===

impl Shared {
    /// Follows a kind for as long as it is polled.
    pub(super) async fn follow<K: Followed>(&self, api: Api<K>) {
        let tell = |changes: Changes<K>| {
            self.apply(changes.objects.into_iter().map(|(place, object)| K::change(place, object)));
            self.first_look.saw(changes.is_complete);
        };
        follow_closely(api, LONGEST_WITH_A_ROLE, &K::plural(&()), "organizations", tell).await;
    }

    fn apply(&self, changes: impl Iterator<Item = Change>) {
        let mut index = self.index();
        for change in changes {
            self.want(index.apply(change));
        }
    }
}

// === impl Followed ===

macro_rules! followed {
    ($type:ty, $change:ident) => {
        impl Followed for $type {
            fn change(place: Place, object: Option<Self>) -> Change {
                Change::$change(place, object.map(Box::new))
            }
        }
    };
}

followed!(Group, Group);
followed!(Organization, Organization);
followed!(OrgGroup, OrgGroup);
followed!(OrgRoleBinding, Binding);
followed!(PartialObjectMeta<Namespace>, Namespace);
followed!(RoleBinding, RoleBinding);
