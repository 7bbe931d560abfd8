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

mod assigned;
mod claims;
mod deputy;
mod documented;
mod entries;
mod extension;
mod following;
mod gathering;
mod going;
mod hidden;
mod invariants;
mod kubectl;
mod losing;
mod market;
mod objects;
mod restarts;
mod rights;
mod roles;
#[path = "../support/mod.rs"]
mod support;
mod walks;
mod withheld;

use support::{client, process, shell, site, witness};
