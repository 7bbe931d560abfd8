//! The programs that tests run, built from pinned Go modules.
//!
//! Each program is one [`Tool`] in this file; a new one is a new line, and a new family of programs is a folder with its own
//! go.mod. A tool is built by the first test process that wants it and kept in the user's cache folder under a name that holds
//! its version and a digest of what it was built from, so that a changed pin is a new file and never a stale one:
//!
//! ```text
//! ~/.cache/bailiwick/tools/etcd-v3.7.3-1f6b0c6e4a9d2b37
//! ```

use std::env;
use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::error::Error;

/// A folder of this crate that pins Go modules, with what it pins.
#[derive(Debug, Clone, Copy)]
struct Module {
    folder: &'static str,
    version: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
    /// The programs of the module that are ours.
    sources: &'static [&'static str],
}

/// A program of another project that tests run.
#[derive(Debug, Hash)]
pub struct Tool {
    name: &'static str,
    module: &'static Module,
    package: &'static str,
    /// Added to `-s -w`; what a release build of that project sets.
    ldflags: &'static str,
}

static ETCD_MODULE: Module = Module {
    folder: "etcd",
    version: "v3.7.3",
    go_mod: include_str!("../etcd/go.mod"),
    go_sum: include_str!("../etcd/go.sum"),
    sources: &[],
};

/// The etcd server.
pub static ETCD: Tool = Tool { name: "etcd", module: &ETCD_MODULE, package: "go.etcd.io/etcd/server/v3", ldflags: "" };

/// etcd's client.
pub static ETCDCTL: Tool =
    Tool { name: "etcdctl", module: &ETCD_MODULE, package: "go.etcd.io/etcd/etcdctl/v3", ldflags: "" };

static KUBERNETES_MODULE: Module = Module {
    folder: "kubernetes",
    version: "v1.36.3",
    go_mod: include_str!("../kubernetes/go.mod"),
    go_sum: include_str!("../kubernetes/go.sum"),
    sources: &[],
};

/// The same folder, for the parts of Kubernetes that are published on their own, with versions of their own.
static STAGING_MODULE: Module = Module { version: "v0.36.3", ..KUBERNETES_MODULE };

/// Without these the programs take themselves for v0.0.0, and kubectl warns that server and client differ.
const KUBERNETES_LDFLAGS: &str = "-X k8s.io/component-base/version.gitVersion=v1.36.3 \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36";

/// The Kubernetes API server.
pub static KUBE_APISERVER: Tool = Tool {
    name: "kube-apiserver",
    module: &KUBERNETES_MODULE,
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    ldflags: KUBERNETES_LDFLAGS,
};

/// Kubernetes' controllers: namespaces, garbage collection, quota and the rest.
pub static KUBE_CONTROLLER_MANAGER: Tool = Tool {
    name: "kube-controller-manager",
    module: &KUBERNETES_MODULE,
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    ldflags: KUBERNETES_LDFLAGS,
};

/// Kubernetes' client.
pub static KUBECTL: Tool = Tool {
    name: "kubectl",
    module: &KUBERNETES_MODULE,
    package: "k8s.io/kubernetes/cmd/kubectl",
    ldflags: KUBERNETES_LDFLAGS,
};

/// Kubernetes' own example of an aggregated API server, to compare with.
pub static SAMPLE_APISERVER: Tool = Tool {
    name: "sample-apiserver",
    module: &STAGING_MODULE,
    package: "k8s.io/sample-apiserver",
    ldflags: KUBERNETES_LDFLAGS,
};

static RBAC_ORACLE_MODULE: Module = Module {
    folder: "../oracle/rbac",
    version: "v1.36.3",
    go_mod: include_str!("../../oracle/rbac/go.mod"),
    go_sum: include_str!("../../oracle/rbac/go.sum"),
    sources: &[include_str!("../../oracle/rbac/main.go")],
};

/// Tells what Kubernetes' own code makes of roles and bindings.
pub static RBAC_ORACLE: Tool = Tool { name: "rbac-oracle", module: &RBAC_ORACLE_MODULE, package: ".", ldflags: "" };

/// The Go that builds and the folder that keeps.
struct Workshop {
    /// `go`, and arguments that come before its own.
    go: Vec<OsString>,
    cache: PathBuf,
    /// Tells whoever waits what for.
    announce: fn(&str),
}

// === impl Module ===

/// Sources of ours count where there are any, so that other tools keep the names they have.
impl Hash for Module {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.folder, self.version, self.go_mod, self.go_sum).hash(state);
        if !self.sources.is_empty() {
            self.sources.hash(state);
        }
    }
}

// === impl Tool ===

impl Tool {
    /// The program's name, such as `etcdctl`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The version that is pinned, such as `v3.7.3`.
    pub fn version(&self) -> &'static str {
        self.module.version
    }

    /// The program's path. Builds it if this is the first time, which takes minutes; other processes that want it wait.
    pub async fn path(&'static self) -> Result<PathBuf, Error> {
        let build = move || Workshop { go: vec!["go".into()], cache: cache_folder()?, announce }.path(self);
        tokio::task::spawn_blocking(build).await.expect("building a tool does not panic")
    }

    /// The file's name in the cache. The digest is std's, which may change with the compiler: that costs one more build.
    fn file_name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        (env::consts::OS, env::consts::ARCH).hash(&mut hasher);
        format!("{}-{}-{:016x}", self.name, self.module.version, hasher.finish())
    }
}

// === impl Workshop ===

impl Workshop {
    fn path(&self, tool: &Tool) -> Result<PathBuf, Error> {
        let folder = self.cache.join("tools");
        let path = folder.join(tool.file_name());
        if path.exists() {
            return Ok(path);
        }
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        // One build per module at a time: its programs share most of their packages, and two builds at once compile them twice.
        let lock_path = folder.join(format!("{}.lock", tool.module.folder.rsplit('/').next().unwrap_or_default()));
        let lock = File::create(&lock_path).map_err(Error::file(&lock_path))?;
        if lock.try_lock().is_err() {
            (self.announce)(&format!("waiting for another process that builds from tests/host/{}", tool.module.folder));
            lock.lock().map_err(Error::file(&lock_path))?;
        }
        if !path.exists() {
            self.build(tool, &path)?;
        }
        Ok(path)
    }

    /// Builds beside the final name and renames, so that what has the name is whole.
    fn build(&self, tool: &Tool, path: &Path) -> Result<(), Error> {
        (self.announce)(&format!(
            "building {} {}: minutes the first time, then never again",
            tool.name, tool.module.version
        ));
        let partial = path.with_added_extension("partial");
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join(tool.module.folder);
        let output = Command::new(&self.go[0])
            .args(&self.go[1..])
            .args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags"])
            .arg(format!("-s -w {}", tool.ldflags))
            .arg("-o")
            .arg(&partial)
            .arg(tool.package)
            .current_dir(module)
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .env_remove("GOOS")
            .env_remove("GOARCH")
            .output()
            .map_err(|source| Error::NoGo { tool: tool.name, source })?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::Build { tool: tool.name, output });
        }
        fs::rename(&partial, path).map_err(Error::file(path))
    }
}

/// `eprintln!` would tell nobody: the test harness keeps what it prints until the test has failed.
fn announce(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Where this user keeps what tests build once.
pub fn cache_folder() -> Result<PathBuf, Error> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("BAILIWICK_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("bailiwick")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/bailiwick")))
        .ok_or(Error::NoCacheFolder)
}

#[cfg(test)]
mod tests;
