//! The page about claims, as it is printed: its commands are run one after the other, and come to what it says.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bailiwick_test_host::Kubectl;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::process::Command;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::estate::{API, CRDS, Estate, RBAC};
use crate::site::{Mode, eventually};

in_both_modes!(the_page_as_it_is_printed);

const PAGE: &str = include_str!("../../../docs/claims.md");
/// What runs beside, and is run by the test itself.
const PROVIDER: &str = "cargo run -p bailiwick-examples --bin claims-provider";

/// D-RCD-16, RCD-44, RCD-45: whoever follows the page has the same claim bound on one cloud, and then on the other.
async fn the_page_as_it_is_printed(estate: Estate) {
    let root = &estate.root;
    if estate.site.mode == Mode::Behind {
        // What other tests gave to the provisioner would hide that the page does not.
        let others = "labelSelector=claim.bailiwick.dev/aggregate-to-provisioner";
        root.delete(&format!("{RBAC}/clusterroles?{others}")).await.expect(200);
    }
    let shell = Shell::of(&estate).await;
    let mut blocks = blocks().into_iter();
    let mut next = || blocks.next().expect("a block of commands");
    shell.run(&next()).await;
    let rights = next();
    if estate.site.mode == Mode::Behind {
        shell.run(&rights).await;
    }
    assert_eq!(next(), [PROVIDER]);
    let _provider = AbortOnDropHandle::new(tokio::spawn(bailiwick_examples::provider::run(client(&estate).await)));
    let printed = shell.run(&next()).await;
    for words in ["CloudSQLInstanceClass   standard", "CloudSQLInstance   shop-", "Bound", "shop-database"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let instances = root.get("/apis/database.gcp.crossplane.io/v1beta1/cloudsqlinstances").await.expect(200);
    assert_eq!(instances["items"][0]["spec"]["forProvider"]["databaseVersion"], "MYSQL_5_7");
    let printed = shell.run(&next()).await;
    for words in
        ["SQLServerClass   mysql57-west", "MySQLServer     shop-", "MySQLServerVirtualNetworkRule", "Available"]
    {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert_eq!(blocks.next(), None, "all commands are run");

    // A cluster is not to have it any more.
    shell.run(&["kubectl delete -f examples/claims/claim.yaml".to_owned()]).await;
    shell.run(&["kubectl delete -f examples/claims/classes-azure.yaml".to_owned()]).await;
    shell.run(&["kubectl delete -f examples/claims/definitions.yaml".to_owned()]).await;
    estate.gone(&format!("{API}/resourceclaimdefinitions/mysqlinstance")).await;
    shell.run(&["kubectl delete -f examples/claims/providers.yaml".to_owned()]).await;
    eventually("the kinds are gone", async || !root.get(CRDS).await.text().contains("crossplane.io")).await;
}

/// The commands of the page, block by block.
fn blocks() -> Vec<Vec<String>> {
    let begun = PAGE.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    begun.map(|block| block.lines().map(str::to_owned).collect()).collect()
}

async fn client(estate: &Estate) -> Client {
    let kubeconfig = Kubeconfig::read_from(&estate.site.kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// A shell in which `kubectl` is there, in the folder that the page is about.
struct Shell {
    tools: tempfile::TempDir,
    kubeconfig: PathBuf,
}

// === impl Shell ===

impl Shell {
    async fn of(estate: &Estate) -> Self {
        let tools = crate::process::folder();
        let kubectl = Kubectl::new(&estate.site.kubeconfig).await.unwrap();
        let program = kubectl.command(["version"]).as_std().get_program().to_owned();
        std::os::unix::fs::symlink(program, tools.path().join("kubectl")).unwrap();
        Self { tools, kubeconfig: estate.site.kubeconfig.clone() }
    }

    /// Runs commands, which must succeed, and gives what they print.
    async fn run(&self, commands: &[String]) -> String {
        let mut printed = String::new();
        for command in commands {
            let path = format!("{}:{}", self.tools.path().display(), std::env::var("PATH").unwrap_or_default());
            let child = Command::new("sh")
                .args(["-c", command])
                .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
                .env("PATH", path)
                .env("HOME", self.tools.path())
                .env("KUBECONFIG", &self.kubeconfig)
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .output();
            let output = timeout(Duration::from_secs(120), child).await.expect("an end in time").unwrap();
            let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{command}: {told}{errors}");
            printed.push_str(&told);
        }
        printed
    }
}
