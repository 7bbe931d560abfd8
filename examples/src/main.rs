//! Runs the controller of ResourceClaims against the cluster that a kubeconfig names: `resource-claims FILE`.

use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name a kubeconfig")?;
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &KubeConfigOptions::default()).await?;
    bailiwick_examples::run(Client::try_from(config)?).await;
    Ok(())
}
