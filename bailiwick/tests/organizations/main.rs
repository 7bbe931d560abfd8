//! Organizations as people use them: who may form groups, what the groups may do, and where.
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
                super::$case(crate::site::Site::alone().await).await;
            })+
        }

        mod behind {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(crate::site::Site::behind().await).await;
            })+
        }
    };
}

mod access;
mod audit;
#[path = "../support/behind.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod behind;
mod bindings;
#[path = "../support/client.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod client;
mod groups;
mod guards;
#[path = "../support/host.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod host;
mod kubectl;
mod people;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod races;
mod reviews;
#[path = "../support/site.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod site;
mod status;
#[path = "../support/world.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod world;
