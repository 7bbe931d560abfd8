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
mod bindings;
mod documented;
mod groups;
mod guards;
mod kubectl;
mod people;
mod races;
mod reviews;
mod status;
#[path = "../support/mod.rs"]
mod support;

use support::{client, process, shell, site};
