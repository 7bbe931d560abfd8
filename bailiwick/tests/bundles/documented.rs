//! The page about Bundles, as it is printed: its commands are run one after the other, and come to what it says.

use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

use crate::shell::{Block, Shell};
use crate::shop::Shop;
use crate::site::Mode;

mod sleepers {
    use super::three_sleepers;
    in_both_modes!(with crate::shop::Shop::open_with_aliases: three_sleepers);
}

mod database {
    use super::a_database;
    in_both_modes!(with crate::shop::Shop::open_without_aliases: a_database);
}

const PAGE: &str = include_str!("../../../docs/bundles.md");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const HERE: &str = "/api/v1/namespaces/default";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
/// What runs beside, and is run by the tests themselves.
const SERVER: &str = "bailiwick --alias-groups=false";
const CONTROLLER: &str = "cargo run -p bailiwick-examples \"$KUBECONFIG\"";

/// What is printed below a heading, in a language.
fn printed_below(heading: &str, language: &str) -> Vec<Block<'static>> {
    let mut blocks = Block::all(PAGE);
    blocks.retain(|block| block.section == heading && block.language == language);
    blocks
}

/// The sleepers: what is printed is what is applied, and it becomes ready as the page says.
async fn three_sleepers(shop: &Shop) {
    let section = "Three sleepers";
    let [bundle] = &printed_below(section, "yaml")[..] else { panic!("one Bundle") };
    assert_eq!(bundle.text, include_str!("../../../examples/sleepers.yaml"));
    forget(shop, &["sleepers.tpr.atlassian.com"]).await;
    let shell = Shell::of(&shop.site.kubeconfig).await;
    let mut steps = printed_below(section, "sh").into_iter();
    let mut next = || steps.next().expect("a block of commands").commands();
    let rights = next();
    if shop.site.mode == Mode::Behind {
        shell.run(&rights).await;
    }
    let printed = shell.run(&next()).await;
    for words in
        ["bundlex   0/3", "waits for \"sleeper1\" (InProgress: status.state is not there, and must be \"Awake\")"]
    {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let printed = shell.run(&next()).await;
    for words in ["bundlex   3/3         True", "sleeper3   Hello, Infravators!"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert_eq!(steps.next(), None, "all commands are run");
    forget(shop, &["sleepers.tpr.atlassian.com"]).await;
}

/// The database, and what becomes of a new password.
async fn a_database(shop: &Shop) {
    let kinds = ["resourceclaims.smith.atlassian.com", "resourcebindings.smith.atlassian.com"];
    forget(shop, &kinds).await;
    let shell = Shell::of(&shop.site.kubeconfig).await;
    if shop.site.mode == Mode::Behind {
        shell.follow(&printed_below("Three sleepers", "sh")[0]).await;
    }
    let section = "A database";
    let mut steps = printed_below(section, "sh").into_iter();
    let mut next = || steps.next().expect("a block of commands").commands();
    assert_eq!(next(), [SERVER]);
    shell.run(&next()).await;
    assert_eq!(next(), [CONTROLLER]);
    let _controller = AbortOnDropHandle::new(tokio::spawn(bailiwick_examples::run(shop.client().await)));
    let printed = shell.run(&next()).await;
    assert!(printed.trim().ends_with(printed_below(section, "text")[0].text.trim()), "{printed}");
    let before = shop.root.get(&format!("{HERE}/secrets/shop-credentials")).await.expect(200);
    assert_eq!(before["data"]["url"], "cG9zdGdyZXM6Ly9hZG1pbjpnb2RzZXhsb3ZlQGRhdGFiYXNlL3Nob3A=");
    shell.run(&next()).await;
    let url = json!("cG9zdGdyZXM6Ly9hZG1pbjpjb3JyZWN0LWhvcnNlQGRhdGFiYXNlL3Nob3A=");
    shop.until(&format!("{HERE}/secrets/shop-credentials"), |secret| secret["data"]["url"] == url).await;
    assert_eq!(steps.next(), None, "all commands are run");
    forget(shop, &kinds).await;
}

/// Removes what the page makes, as there may be something of the kind from another test.
async fn forget(shop: &Shop, definitions: &[&str]) {
    let bundles = "/apis/bundle.bailiwick.dev/v1alpha1/namespaces/default/bundles";
    for name in ["bundlex", "shop"] {
        shop.root.delete(&format!("{bundles}/{name}")).await;
        shop.gone(&format!("{bundles}/{name}")).await;
    }
    for name in definitions {
        shop.root.delete(&format!("{DEFINITIONS}/{name}")).await;
        shop.gone(&format!("{DEFINITIONS}/{name}")).await;
    }
    for name in ["sleepers", "builder"] {
        shop.root.delete(&format!("{RBAC}/roles/{name}")).await;
        shop.root.delete(&format!("{RBAC}/rolebindings/{name}")).await;
    }
    shop.root.delete(&format!("{RBAC}/rolebindings/bailiwick-act-as")).await;
    shop.root.delete(&format!("{HERE}/serviceaccounts/builder")).await;
}
