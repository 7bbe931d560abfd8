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

mod binding;
mod choosing;
mod claim_kinds;
mod documented;
mod estate;
mod explaining;
mod forming;
mod going;
mod mysql;
mod races;
mod secrets;
#[path = "../support/mod.rs"]
mod support;
mod writers;

use support::{process, shell, site};
