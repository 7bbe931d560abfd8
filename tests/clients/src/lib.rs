//! Programs in other languages, as clients of a server: what they expect of Kubernetes, our server must do.
//!
//! Each program takes a kubeconfig, makes a namespace of its own, and says what it missed: [`go`] is client-go's informers,
//! [`python`] is the package `kubernetes`. Both speak to a real kube-apiserver as well as to ours; nothing here knows which.

mod error;
mod go;
mod program;
mod python;

pub use error::Error;
pub use go::{go, go_controller, go_refused_within};
pub use python::python;
