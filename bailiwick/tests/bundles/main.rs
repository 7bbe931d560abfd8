//! Bundles as people use them: what is refused, what becomes of one, and who acts.
//!
//! Most cases are tried twice, with a server that stands alone and with one behind a real cluster, through which everyone
//! comes then. After each of them the invariants hold that concern everyone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

/// Each case with a server that stands alone, and with one behind a cluster; with whatever a shop opened in this way has.
macro_rules! in_both_modes {
    (with $open:path: $($case:ident),+ $(,)?) => {
        mod alone {
            $(#[tokio::test]
            async fn $case() {
                let shop = $open(crate::site::Mode::Alone).await;
                super::$case(&shop).await;
                shop.check_invariants().await;
            })+
        }

        mod behind {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let shop = $open(crate::site::Mode::Behind).await;
                super::$case(&shop).await;
                shop.check_invariants().await;
            })+
        }
    };
    ($($case:ident),+ $(,)?) => {
        in_both_modes!(with crate::shop::Shop::open: $($case),+);
    };
}

mod apply_set;
mod carrying_out;
mod deletion;
mod deputy;
mod documented;
mod invariants;
mod outputs;
mod readiness;
mod seed;
mod shop;
#[path = "../support/mod.rs"]
mod support;
mod versions;
mod watching;
mod writing;

use support::{process, shell, site, witness};
