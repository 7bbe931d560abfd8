//! A Kubernetes to try things with: etcd, kube-apiserver and kube-controller-manager, until the input ends or Ctrl-C.

use std::error::Error;
use std::io::Write;

use bailiwick_test_host::Cluster;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let cluster = Cluster::options().controller_manager().start().await?;
    let mut out = std::io::stdout();
    writeln!(out, "export KUBECONFIG={}", cluster.kubeconfig().display())?;
    out.flush()?;
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await??;
    Ok(())
}
