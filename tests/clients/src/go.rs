//! client-go: a shared informer that is filled by a watch, one that knows only metadata, and the dynamic client. And what is
//! built on it: a controller of controller-runtime.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use crate::error::Error;
use crate::program::run;

/// How long a build may take. The first one compiles client-go.
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// How long the program may take. It has a limit of its own, which says more.
const RUN_LIMIT: Duration = Duration::from_secs(90);

/// Runs the Go program with a kubeconfig. The error says what it missed.
pub async fn go(kubeconfig: &Path) -> Result<(), Error> {
    run_program("go", kubeconfig, &[]).await
}

/// The same with a server that refuses a token within this time after its account is gone. A real kube-apiserver believes it
/// for another ten seconds.
pub async fn go_refused_within(kubeconfig: &Path, soon: Duration) -> Result<(), Error> {
    run_program("go", kubeconfig, &[format!("--refused-within={}ms", soon.as_millis())]).await
}

/// Runs a controller that is written with controller-runtime. The error says what it missed.
pub async fn go_controller(kubeconfig: &Path) -> Result<(), Error> {
    run_program("controller", kubeconfig, &[]).await
}

/// Builds and runs the program in a folder of this package.
async fn run_program(name: &str, kubeconfig: &Path, arguments: &[String]) -> Result<(), Error> {
    let folder = tempfile::Builder::new().prefix("bailiwick-client-").tempdir();
    let folder = folder.map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    let program = folder.path().join("client");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    // Go keeps what it has built, so that only linking is done each time.
    let mut build = Command::new("go");
    build.current_dir(source).args(["build", "-o"]).arg(&program).arg(".");
    run(&mut build, BUILD_LIMIT).await?;
    run(Command::new(&program).arg("--kubeconfig").arg(kubeconfig).args(arguments), RUN_LIMIT).await
}
