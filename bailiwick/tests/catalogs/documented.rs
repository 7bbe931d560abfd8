//! The page about catalogs, as it is printed: each does what their part of it says, and it comes to what it says.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio_util::task::AbortOnDropHandle;

use crate::extension::example;
use crate::shell::{Block, Shell};
use crate::site::{Mode, Site};
use crate::witness::nothing_was_done_as_ourselves;

const PAGE: &str = include_str!("../../../docs/catalogs.md");
/// What runs beside, and is run by the test itself.
const CONTROLLER: &str = "cargo run -p bailiwick-controllers --example realize_extension\n";

mod alone {
    #[tokio::test]
    async fn the_page_as_it_is_printed() {
        super::the_page_as_it_is_printed(crate::site::Site::alone().await).await;
    }
}

mod behind {
    #[tokio::test(flavor = "multi_thread")]
    async fn the_page_as_it_is_printed() {
        super::the_page_as_it_is_printed(crate::site::Site::behind().await).await;
    }
}

/// CAT-1 to CAT-5, CAT-29, CAT-65: three people follow the page, and a fourth whose controller realizes an extension.
async fn the_page_as_it_is_printed(site: Site) {
    let root = Shell::of(&site.kubeconfig).await;
    let (pat, ada) = (Shell::of_user(&site.kubeconfig, "pat").await, Shell::of_user(&site.kubeconfig, "ada").await);
    let mut controller = None;
    let mut printed = String::new();
    for block in Block::all(PAGE) {
        let shell = match block.section {
            "In a cluster" if site.mode == Mode::Alone => continue,
            "The cluster administrator" | "In a cluster" | "An extension of your own" => &root,
            "The publisher" => &pat,
            "The claimant" => &ada,
            other => panic!("who does what is said in {other:?}?"),
        };
        if block.text == CONTROLLER {
            controller = Some(AbortOnDropHandle::new(tokio::spawn(example::run(greeter(&site).await))));
            continue;
        }
        printed.push_str(&shell.follow(&block).await);
    }
    assert!(controller.is_some(), "the page says how the controller is run");
    for words in [
        "description: how to reach the database",
        "payments-database   Opaque   1",
        "app=web",
        "web         hello",
        "text: hello",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    nothing_was_done_as_ourselves(&site.asked_of_host());

    // A cluster is not to have it any more.
    root.run(&["kubectl delete clusterrole,clusterrolebinding greeter"]).await;
    root.run(&["kubectl delete rcc --all -n web", "kubectl delete namespace payments web --wait=false"]).await;
}

/// The controller's way to the server, with the rights of the page and no others.
async fn greeter(site: &Site) -> Client {
    let kubeconfig = Kubeconfig::read_from(&site.kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.impersonate = Some("greeter".to_owned());
    Client::try_from(config).unwrap()
}
