//! Runs the provider of databases on two clouds against the cluster that `KUBECONFIG` or `~/.kube/config` names.

use kube::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    bailiwick_examples::provider::run(Client::try_default().await?).await;
    Ok(())
}
