//! Bundles as people use them: what is refused, what becomes of one, and who acts.
//!
//! Most cases are tried twice, with a server that stands alone and with one behind a real cluster, through which everyone
//! comes then.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

/// Each case with a server that stands alone, and with one behind a cluster.
macro_rules! in_both_modes {
    ($($case:ident),+ $(,)?) => {
        mod alone {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::shop::Shop::open(crate::site::Site::alone().await).await).await;
            })+
        }

        mod behind {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(crate::shop::Shop::open(crate::site::Site::behind().await).await).await;
            })+
        }
    };
}

#[path = "../support/behind.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod behind;
mod carrying_out;
#[path = "../support/client.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod client;
mod deletion;
mod deputy;
#[path = "../support/host.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod host;
mod outputs;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod readiness;
mod seed;
mod shop;
#[path = "../support/site.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod site;
#[path = "../support/world.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod world;
mod writing;
