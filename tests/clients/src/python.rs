//! Python's package `kubernetes`, in an environment of its own that is made once and kept in the user's cache folder.

use std::fs::File;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use bailiwick_test_host::tool::cache_folder;
use tokio::process::Command;

use crate::error::Error;
use crate::program::run;

/// How long it may take to make the environment: a download of some megabytes.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// How long the program may take.
const RUN_LIMIT: Duration = Duration::from_secs(90);

const REQUIREMENTS: &str = include_str!("../python/requirements.txt");

/// Runs the Python program with a kubeconfig. The error says what it missed.
pub async fn python(kubeconfig: &Path) -> Result<(), Error> {
    let interpreter = environment().await?.join("bin/python");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/client.py");
    run(Command::new(interpreter).arg(program).arg(kubeconfig), RUN_LIMIT).await
}

/// The environment with the package in it. Its name holds a digest of what is in it, so that a changed pin is a new one.
async fn environment() -> Result<PathBuf, Error> {
    let mut hasher = DefaultHasher::new();
    REQUIREMENTS.hash(&mut hasher);
    let folder = cache_folder()?.join("python");
    let path = folder.join(format!("{:016x}", hasher.finish()));
    let file_error = |source| Error::File { path: folder.clone(), source };
    std::fs::create_dir_all(&folder).map_err(file_error)?;
    let lock = File::create(folder.join("lock")).map_err(file_error)?;
    // Another test process that makes it is waited for, away from those that run tasks.
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.expect("locking does not panic");
    let _locked = lock.map_err(file_error)?;
    let complete = path.join("complete");
    if !complete.exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&path), INSTALL_LIMIT).await?;
        let mut install = Command::new(path.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install.args(REQUIREMENTS.split_whitespace());
        run(&mut install, INSTALL_LIMIT).await?;
        File::create(&complete).map_err(file_error)?;
    }
    Ok(path)
}
