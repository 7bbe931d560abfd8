//! One test at a time: what one measures, another would disturb.

use tokio::sync::{Mutex, MutexGuard};

static TURN: Mutex<()> = Mutex::const_new(());

/// Waits for its turn, which lasts as long as the value.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().await
}
