//! The page about quota allocation, as it is printed: its commands are run one after the other, and print what it says.

use serde_json::json;

use crate::estate::{Estate, until};
use crate::shell::{Block, Printed, Shell};

in_both_modes!(the_page_as_it_is_printed);

const PAGE: &str = include_str!("../../../docs/quota.md");
const PROJECTS: [&str; 3] = ["shop", "blog", "lab"];

/// QUOTA-1, QUOTA-15, QUOTA-30: whoever follows the page as an owner of three projects sees what it shows.
async fn the_page_as_it_is_printed(estate: Estate) {
    let shell = Shell::of(&estate.site.kubeconfig).await;
    let blocks = Block::all(PAGE);
    let [allocation] = &blocks.iter().filter(|block| block.language == "yaml").collect::<Vec<_>>()[..] else {
        panic!("one allocation")
    };
    shell.follow(allocation).await;
    for project in PROJECTS {
        estate.project(project, &json!({ "owner": "alice" })).await;
        crate::newcomers::default_quota(&estate, project).await;
    }
    let [session] = &blocks.iter().filter(|block| block.language == "console").collect::<Vec<_>>()[..] else {
        panic!("one session")
    };
    for (command, expected) in steps(session.text) {
        is_printed(&estate, &shell, &command, &expected).await;
        if let Some((grant, _)) = command.split_once("-n shop  ") {
            for project in &PROJECTS[1..] {
                shell.run(&[format!("{grant} -n {project}")]).await;
            }
        }
    }
    // A cluster is not to have it any more.
    for project in PROJECTS {
        shell.run(&[format!("kubectl delete rolebinding alice -n {project}")]).await;
    }
}

/// The commands of a session, each with what it prints.
fn steps(session: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in session.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), String::new())),
            (None, Some((_, printed))) => printed.extend([line, "\n"]),
            (None, None) => panic!("{line}: a session begins with a command"),
        }
    }
    steps
}

/// Runs a command until it prints this: rights, and what was written to a cluster, count a moment later.
async fn is_printed(estate: &Estate, shell: &Shell, command: &str, expected: &str) {
    let wanted = words(expected);
    let last = std::cell::RefCell::new(String::new());
    let is_so = || async {
        let Printed { output, errors, .. } = shell.print(command).await;
        let printed = words(&format!("{output}{errors}"));
        // kube-apiserver says first which webhook it has asked.
        let reason = |text: &str| text.find("exceeds the").map(|at| text[at..].to_owned());
        let is_it = printed == wanted
            || (!estate.is_at_once() && reason(&printed).is_some_and(|why| reason(&wanted) == Some(why)));
        *last.borrow_mut() = printed;
        is_it.then_some(())
    };
    until(is_so, || format!("{command}\n  prints {}\n  and not {wanted}", last.borrow())).await;
}

/// What is printed, with its spaces and line breaks made one, and without ages.
fn words(text: &str) -> String {
    let is_age = |word: &&str| {
        let number = word.strip_suffix(['s', 'm', 'h']).unwrap_or("");
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    };
    text.split_whitespace().filter(|word| !is_age(word)).collect::<Vec<_>>().join(" ")
}
