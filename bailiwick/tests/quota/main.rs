//! Quota allocations as people use them: an owner divides what was allotted, and nobody gets more.
//!
//! Most cases are tried twice: with a server that stands alone, and with one that a real kube-apiserver asks by its webhook.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

/// Each case with a server that stands alone, and with one behind a cluster.
macro_rules! in_both_modes {
    ($($case:ident),+ $(,)?) => {
        mod alone {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::estate::Estate::alone().await).await;
            })+
        }

        mod behind {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(crate::estate::Estate::behind().await).await;
            })+
        }
    };
}

mod accounts;
mod bank;
mod division;
mod documented;
mod estate;
mod newcomers;
mod owners;
mod projection;
mod races;
#[path = "../support/mod.rs"]
mod support;
mod telling;

use support::{client, process, shell, site};
