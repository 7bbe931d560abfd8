//! What tests of the program share: how it is started, alone or behind a real cluster, and how people reach it.

#![allow(dead_code, reason = "each binary of tests uses its part")]

pub(crate) mod behind;
pub(crate) mod client;
pub(crate) mod direct;
pub(crate) mod host;
pub(crate) mod process;
pub(crate) mod rights;
pub(crate) mod scenario;
pub(crate) mod shell;
pub(crate) mod site;
pub(crate) mod witness;
pub(crate) mod world;
