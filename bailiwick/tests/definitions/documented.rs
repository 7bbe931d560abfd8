//! The page about claims, as it is printed: its commands are run one after the other, and come to what it says.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio_util::task::AbortOnDropHandle;

use crate::estate::{API, CRDS, Estate, RBAC};
use crate::shell::{Block, Shell};
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
    let shell = Shell::of(&estate.site.kubeconfig).await;
    let mut blocks = Block::all(PAGE).into_iter().filter(|block| block.language == "sh");
    let mut next = || blocks.next().expect("a block of commands").commands();
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
    shell.run(&["kubectl delete -f examples/claims/claim.yaml"]).await;
    shell.run(&["kubectl delete -f examples/claims/classes-azure.yaml"]).await;
    shell.run(&["kubectl delete -f examples/claims/definitions.yaml"]).await;
    estate.gone(&format!("{API}/resourceclaimdefinitions/mysqlinstance")).await;
    shell.run(&["kubectl delete -f examples/claims/providers.yaml"]).await;
    eventually("the kinds are gone", async || !root.get(CRDS).await.text().contains("crossplane.io")).await;
}

async fn client(estate: &Estate) -> Client {
    let kubeconfig = Kubeconfig::read_from(&estate.site.kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}
