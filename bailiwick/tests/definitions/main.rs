//! Definitions of claims and bindings as people use them: kinds that come from definitions, what satisfies a claim, and what
//! becomes of all of it when something goes.
//!
//! Most cases are tried twice, with a server that stands alone and with one behind a real cluster.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

/// Each case with a server that stands alone, and with one behind a cluster.
macro_rules! in_both_modes {
    ($($case:ident),+ $(,)?) => {
        mod alone {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::estate::Estate::alone(stringify!($case)).await).await;
            })+
        }

        mod behind {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(crate::estate::Estate::behind(stringify!($case)).await).await;
            })+
        }
    };
}

#[path = "../support/behind.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod behind;
mod binding;
mod choosing;
mod claim_kinds;
#[path = "../support/client.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod client;
mod documented;
mod estate;
mod explaining;
mod going;
#[path = "../support/host.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod host;
mod mysql;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod process;
mod races;
mod secrets;
#[path = "../support/site.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod site;
#[path = "../support/world.rs"]
#[allow(dead_code, reason = "each binary of tests uses its part")]
mod world;
mod writers;
