//! The page about organizations, as it is printed: whoever follows it sees what it says.

use crate::shell::{Block, Shell};
use crate::site::{Mode, Site, eventually};

in_both_modes!(the_page_as_it_is_printed);

const PAGE: &str = include_str!("../../../docs/organizations.md");
const SECTION: &str = "Two organizations, from the beginning";

/// Two organizations, each with a project, and a group that has a role in one of them.
async fn the_page_as_it_is_printed(site: Site) {
    let shell = Shell::of(&site.kubeconfig).await;
    let mut blocks = Block::all(PAGE);
    blocks.retain(|block| block.section == SECTION);
    let [objects, group, binding, questions, who] = &blocks[..] else { panic!("five blocks, not: {blocks:?}") };
    shell.follow(objects).await;
    shell.run(&[group.text]).await;
    shell.run(&[binding.text]).await;
    for line in questions.text.lines() {
        is_answered(&site, &shell, line).await;
    }
    for line in who.text.lines() {
        match site.mode {
            Mode::Alone => is_answered(&site, &shell, line).await,
            Mode::Behind => assert!(!shell.print(line).await.output.contains("org:"), "the page says so"),
        }
    }
    let elsewhere = shell.print(&binding.text.replace("namespace: shop", "namespace: lab")).await;
    assert!(!elsewhere.is_done && elsewhere.errors.contains("is not a group of \"Beta\""), "{}", elsewhere.errors);
}

/// A command prints what stands behind it: at once, or in a cluster a moment later.
async fn is_answered(site: &Site, shell: &Shell, line: &str) {
    let (command, answer) = line.split_once('#').expect("what it prints");
    let is_so = async || shell.print(command).await.output.contains(answer.trim());
    match site.mode {
        Mode::Alone => assert!(is_so().await, "{line}"),
        Mode::Behind => drop(eventually(line, is_so).await),
    }
}
