use tokio::time::Instant;

use super::*;

/// One test with many phases, as a cluster takes seconds to start.
#[tokio::test]
async fn a_cluster_serves_its_users_and_finds_aggregated_servers() {
    let cluster = Cluster::start().await.unwrap();

    // The administrator, who may do everything.
    let version = cluster.kubectl(["version"]).await.unwrap();
    assert!(version.stdout.contains("Client Version: v1.36.3"), "{version:?}");
    assert!(version.stdout.contains("Server Version: v1.36.3"), "{version:?}");
    assert_eq!(version.stderr, "");
    let namespace = run(&cluster, "get namespace default -o json").await;
    assert!(namespace.contains("\"phase\": \"Active\""), "{namespace}");
    run(&cluster, "create configmap settings --from-literal=colour=blue").await;
    assert_eq!(run(&cluster, "get configmap settings -o jsonpath={.data.colour}").await, "blue");

    // A user who may do nothing, until a group of theirs may.
    let alice = Kubectl::new(&cluster.user("alice", &["readers", "writers"]).unwrap()).await.unwrap();
    let refused = alice.run(["get", "configmaps"]).await.unwrap();
    assert!(!refused.status.success(), "{refused:?}");
    assert!(refused.stderr.contains("(Forbidden)") && refused.stderr.contains("\"alice\""), "{refused:?}");
    let error = refused.success().unwrap_err().to_string();
    assert!(error.starts_with("\"kubectl get configmaps\" failed:\n") && error.contains("Forbidden"), "{error}");
    run(&cluster, "create role reader --verb=list --resource=configmaps").await;
    run(&cluster, "create role writer --verb=create --resource=configmaps").await;
    run(&cluster, "create rolebinding readers --role=reader --group=readers").await;
    run(&cluster, "create rolebinding writers --role=writer --group=writers").await;
    run_soon(&alice, "get configmaps").await;
    run_soon(&alice, "create configmap hers").await;

    // The aggregator, with a server behind it and with none.
    let sample = cluster.sample_apiserver().await.unwrap();
    let (port, ca) = (sample.port(), sample.ca());
    cluster.register_api_service(SampleApiserver::GROUP, SampleApiserver::VERSION, port, ca).await.unwrap();
    let flunder = "{apiVersion: wardle.example.com/v1alpha1, kind: Flunder, metadata: {name: f, namespace: default}}";
    cluster.admin().apply(flunder).await.unwrap();
    assert_eq!(run(&cluster, "get flunders -o name").await, "flunder.wardle.example.com/f\n");
    let nobody = Port::reserve().unwrap().number();
    let limit = Duration::from_secs(5);
    let error = cluster.register_within(limit, "example.com", "v1", nobody, ca).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable { name, .. } if name == "v1.example.com"), "{error:?}");
    assert!(error.to_string().contains("connection refused"), "{error}");

    // A crash of the server loses nothing.
    cluster.apiserver().kill().await.unwrap();
    assert!(!cluster.kubectl(["get", "namespaces"]).await.unwrap().status.success());
    cluster.apiserver().start().await.unwrap();
    cluster.apiserver().wait_ready().await.unwrap();
    assert_eq!(run(&cluster, "get configmap settings -o jsonpath={.data.colour}").await, "blue");

    let folder = cluster.folder.path().to_owned();
    drop(cluster);
    assert!(!folder.exists());
}

#[tokio::test]
async fn with_controllers_a_namespace_goes_with_all_it_has() {
    let cluster = Cluster::options().controller_manager().start().await.unwrap();
    run(&cluster, "create namespace brief").await;
    run(&cluster, "create configmap settings -n brief").await;
    run(&cluster, "delete namespace brief --timeout=60s").await;
    assert_eq!(run(&cluster, "get configmaps -A -o name --field-selector metadata.name=settings").await, "");
    assert_eq!(run(&cluster, "get namespace brief --ignore-not-found").await, "");
}

#[tokio::test]
async fn a_wrong_flag_shows_in_the_error() {
    let error = Cluster::options().apiserver_flag("--no-such-flag").start().await.unwrap_err();
    assert!(matches!(&error, Error::Ended { daemon, .. } if daemon == "kube-apiserver"), "{error:?}");
    assert!(error.to_string().contains("no-such-flag"), "{error}");
}

/// Runs a command of the administrator that must succeed; its words are separated by spaces.
async fn run(cluster: &Cluster, command: &str) -> String {
    cluster.kubectl(command.split(' ')).await.unwrap().success().unwrap()
}

/// The same, for a command that succeeds only once kube-apiserver has noticed a new role.
async fn run_soon(kubectl: &Kubectl, command: &str) {
    let start = Instant::now();
    loop {
        match kubectl.run(command.split(' ')).await.unwrap().success() {
            Ok(_) => return,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(30), "{error}"),
        }
    }
}
