//! Compares two running servers, or writes down how one answers: see the README beside this crate.

use std::env;
use std::error::Error as _;
use std::path::Path;
use std::process::ExitCode;

use bailiwick_differential_tests::Error;
use bailiwick_differential_tests::Suite;
use bailiwick_differential_tests::Target;
use bailiwick_differential_tests::accepted::Accepted;
use bailiwick_differential_tests::record::record;
use bailiwick_differential_tests::record::record_quotas;
use bailiwick_differential_tests::suite::CONTROLLERS;
use bailiwick_differential_tests::suite::accepted_custom_resources_file;
use bailiwick_differential_tests::suite::accepted_file;
use bailiwick_differential_tests::suite::accepted_lifecycle_file;
use bailiwick_differential_tests::suite::accepted_templates_file;
use bailiwick_test_host::Cluster;
use bailiwick_test_host::ClusterOptions;

const USAGE: &str =
    "usage: differential compare KUBECONFIG [PATTERN]   a real kube-apiserver and the server of KUBECONFIG
       differential lifecycle KUBECONFIG [PATTERN] the same with controllers on both sides
       differential templates KUBECONFIG [PATTERN] the same for templates of pods that are wrong
       differential custom KUBECONFIG [PATTERN]    the same for custom resources and definitions that are wrong
       differential made KUBECONFIG SEED COUNT [NUMBER] the same for so many that are made by chance
       differential tell SEED NUMBER              what is sent for one of them
       differential show PATTERN                  what a real kube-apiserver answers
       differential record                        writes the real answers' codes into the case files";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["compare", kubeconfig] => compare(kubeconfig, "*").await,
        ["compare", kubeconfig, pattern] => compare(kubeconfig, pattern).await,
        ["lifecycle", kubeconfig] => compare_lifecycle(kubeconfig, "*").await,
        ["lifecycle", kubeconfig, pattern] => compare_lifecycle(kubeconfig, pattern).await,
        ["templates", kubeconfig] => compare_templates(kubeconfig, "*").await,
        ["templates", kubeconfig, pattern] => compare_templates(kubeconfig, pattern).await,
        ["custom", kubeconfig] => compare_custom(kubeconfig, "*").await,
        ["custom", kubeconfig, pattern] => compare_custom(kubeconfig, pattern).await,
        ["made", kubeconfig, seed, count] => compare_made(kubeconfig, seed, count, "*").await,
        ["made", kubeconfig, seed, count, number] => compare_made(kubeconfig, seed, count, number).await,
        ["tell", seed, number] => tell(seed, number),
        ["show", pattern] => show(pattern).await,
        ["record"] => record_all().await,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn compare(kubeconfig: &str, pattern: &str) -> Result<ExitCode, Error> {
    compare_suite(Suite::load()?, &Cluster::start().await?, kubeconfig, pattern, &accepted_file()).await
}

async fn compare_lifecycle(kubeconfig: &str, pattern: &str) -> Result<ExitCode, Error> {
    let cluster = Cluster::options().controller_manager().start().await?;
    compare_suite(Suite::lifecycle()?, &cluster, kubeconfig, pattern, &accepted_lifecycle_file()).await
}

async fn compare_templates(kubeconfig: &str, pattern: &str) -> Result<ExitCode, Error> {
    let nothing = accepted_templates_file();
    compare_suite(Suite::pod_templates()?, &Cluster::start().await?, kubeconfig, pattern, &nothing).await
}

async fn compare_custom(kubeconfig: &str, pattern: &str) -> Result<ExitCode, Error> {
    let accepted = accepted_custom_resources_file();
    compare_suite(Suite::custom_resources()?, &Cluster::start().await?, kubeconfig, pattern, &accepted).await
}

async fn compare_made(kubeconfig: &str, seed: &str, count: &str, number: &str) -> Result<ExitCode, Error> {
    let (Ok(seed), Ok(count)) = (seed.parse(), count.parse()) else {
        eprintln!("{USAGE}");
        return Ok(ExitCode::FAILURE);
    };
    let (accepted, pattern) = (accepted_custom_resources_file(), format!("made/{number}"));
    compare_suite(Suite::made(seed, count), &Cluster::start().await?, kubeconfig, &pattern, &accepted).await
}

fn tell(seed: &str, number: &str) -> Result<ExitCode, Error> {
    let (Ok(seed), Ok(number)) = (seed.parse(), number.parse::<usize>()) else {
        eprintln!("{USAGE}");
        return Ok(ExitCode::FAILURE);
    };
    for step in Suite::made(seed, number + 1).scenarios.iter().skip(number).flat_map(|scenario| &scenario.steps) {
        println!("{}\n    {}\n", step.title(), step.body);
    }
    Ok(ExitCode::SUCCESS)
}

async fn compare_suite(
    suite: Suite,
    cluster: &Cluster,
    kubeconfig: &str,
    pattern: &str,
    accepted: &Path,
) -> Result<ExitCode, Error> {
    let real = Target::taught("kube-apiserver", cluster.kubeconfig()).await?;
    let other = Target::native("the other", Path::new(kubeconfig)).await?;
    let accepted = Accepted::read(accepted)?;
    let mut outcome = suite.only(pattern).compare(&real, &other, &accepted).await?;
    // Of some cases nobody expects all differences.
    outcome.stale.retain(|_| pattern == "*");
    println!("{outcome}");
    Ok(if outcome.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn show(pattern: &str) -> Result<ExitCode, Error> {
    let cluster = Cluster::start().await?;
    let real = Target::taught("kube-apiserver", cluster.kubeconfig()).await?;
    let suite = Suite::load()?.only(pattern);
    for (scenario, exchanges) in suite.answers(&real).await? {
        println!("\n## {}", scenario.path());
        for (step, exchange) in scenario.steps.iter().zip(exchanges) {
            let answer = exchange.answer;
            println!("{}\n  {} {:?}", step.title(), answer.status, answer.headers);
            println!("  {}", String::from_utf8_lossy(&answer.body).trim_end());
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn record_all() -> Result<ExitCode, Error> {
    let cluster = Cluster::start().await?;
    record(&Target::taught("kube-apiserver", cluster.kubeconfig()).await?).await?;
    let controlled = ClusterOptions::default().controller_manager_flag(CONTROLLERS).start().await?;
    record_quotas(&Target::taught("kube-apiserver", controlled.kubeconfig()).await?).await?;
    Ok(ExitCode::SUCCESS)
}
