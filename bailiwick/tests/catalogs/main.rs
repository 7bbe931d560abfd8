//! Catalogs as people use them: who may publish what, who may claim it, and what becomes of it.
//!
//! Most cases are tried twice, with a server that stands alone and with one behind a real cluster, through which everyone
//! comes then. After each of them the invariants hold that concern everyone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

/// Each case with a server that stands alone, and with one behind a cluster.
macro_rules! in_both_modes {
    ($($case:ident),+ $(,)?) => {
        mod alone {
            $(#[tokio::test]
            async fn $case() {
                let mut market = crate::market::Market::open(crate::site::Site::alone().await).await;
                super::$case(&mut market).await;
                market.check_invariants().await;
            })+
        }

        mod behind {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let mut market = crate::market::Market::open(crate::site::Site::behind().await).await;
                super::$case(&mut market).await;
                market.check_invariants().await;
            })+
        }
    };
}

#[path = "../support/behind.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod behind;
mod claims;
#[path = "../support/client.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod client;
mod deputy;
mod entries;
mod extension;
mod following;
mod gathering;
mod going;
#[path = "../support/host.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod host;
mod invariants;
mod market;
mod objects;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod restarts;
mod roles;
#[path = "../support/site.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod site;
#[path = "../support/witness.rs"]
mod witness;
#[path = "../support/world.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod world;
