//! The clients of a controller that acts for users: who it is itself, and as whom it does what follows from their objects.

use std::sync::Arc;

use bailiwick_api::ServiceAccountRef;
use kube::Client;

use crate::requesters::Requesters;

/// Who makes clients that are service accounts. There is none that is nobody.
pub trait ActAs: Send + Sync + 'static {
    /// A client that is this account, and may what it may.
    fn client(&self, account: &ServiceAccountRef) -> Client;
}

/// The clients of a controller. Cheap to clone.
#[derive(Clone)]
pub struct Clients {
    /// Our own kinds, as the controller's account.
    pub own: Client,
    /// The host, as the controller's account: for what it keeps books of, and for nothing that follows from users' objects.
    pub host: Client,
    /// The host, as service accounts: whatever follows from a user's object is read, written and removed in this way.
    pub act_as: Arc<dyn ActAs>,
    /// What came with who wrote our own kinds.
    pub requesters: Arc<dyn Requesters>,
}
