//! The crypto provider. Nothing else in this crate names it.

use std::sync::{Arc, LazyLock};

use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};

static PROVIDER: LazyLock<Arc<CryptoProvider>> = LazyLock::new(|| Arc::new(aws_lc_rs::default_provider()));

/// The provider of everything TLS needs.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    PROVIDER.clone()
}
