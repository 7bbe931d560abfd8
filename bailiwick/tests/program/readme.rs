//! What the README tells people to type, typed.

use std::path::Path;
use std::process::Output;

use bailiwick_test_host::tool;
use tokio::process::Command;
use tokio::time::timeout;

use crate::process::{PATIENCE, Server, folder, program};

/// The first command builds and starts the server. Cargo has built it for the tests already, without what a release build takes.
const START: &str = "cargo run --release";

/// Whoever clones the repository and types the first lines has organizations that work.
#[tokio::test]
async fn its_first_lines_work_as_printed() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let blocks = consoles(&readme);
    assert_eq!(blocks[0], [START]);
    let folder = folder();
    // The port it takes by itself may be another's here; the kubeconfig says which it is.
    let server = Server::start_command(folder.path(), program(folder.path(), &["--secure-port=0"])).await;
    let kubectl = tool::KUBECTL.path().await.unwrap();
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    std::os::unix::fs::symlink(kubectl, tools.join("kubectl")).unwrap();
    let output = type_all(folder.path(), &tools, &blocks[1]).await;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    for expected in [
        "organization.org.bailiwick.dev/Acme created",
        "orgrolebinding.org.bailiwick.dev/dev created",
        "org:Acme:dev",
        "configmap/prices created",
        "ADMIN USERS",
        "memberUsers",
    ] {
        assert!(stdout.contains(expected), "no {expected:?} in {stdout}{stderr}");
    }
    assert!(stderr.is_empty(), "{stderr}");
    server.stop().await;
}

/// The commands of each block of a Markdown text that shows a terminal. A line that does not begin one belongs to the one before.
fn consoles(text: &str) -> Vec<Vec<String>> {
    let inside = text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let commands = |block: &str| {
        let mut commands: Vec<String> = Vec::new();
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => commands.push(command.to_owned()),
                None => {
                    let command = commands.last_mut().expect("a command before its lines");
                    command.push('\n');
                    command.push_str(line);
                }
            }
        }
        commands
    };
    inside.map(commands).collect()
}

/// Types commands into one shell, which ends at the first that fails.
async fn type_all(folder: &Path, tools: &Path, commands: &[String]) -> Output {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools.to_owned()].into_iter().chain(std::env::split_paths(&usual)));
    let mut shell = Command::new("sh");
    shell.current_dir(folder).args(["-e", "-c"]).arg(commands.join("\n"));
    // kubectl keeps what it discovered in the home folder, by address: another server's there would be believed.
    shell.env("PATH", path.unwrap()).env("HOME", folder).kill_on_drop(true);
    timeout(PATIENCE, shell.output()).await.expect("an end in time").unwrap()
}
