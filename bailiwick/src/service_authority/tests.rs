use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;

use bailiwick_registry::{SystemClock, kinds};
use bailiwick_test_host::Cluster;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tempfile::TempDir;

use super::*;

/// A clock that can be set.
struct SetClock(Mutex<SystemTime>);

impl Clock for SetClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }
}

/// What two servers and a cluster have in common.
struct World {
    cluster: Cluster,
    client: Client,
    clock: Arc<SetClock>,
}

impl World {
    async fn start() -> Self {
        let cluster = Cluster::start().await.unwrap();
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let clock = Arc::new(SetClock(Mutex::new(SystemClock.now())));
        Self { cluster, client, clock }
    }

    fn server(&self, folder: &Path) -> ServiceAuthority {
        let service: ServiceName = "place/bailiwick".parse().unwrap();
        let (names, kinds) = (service.hosts().to_vec(), kinds::all().unwrap());
        ServiceAuthority::new(self.client.clone(), service, names, folder.join("pki"), self.clock.clone(), &kinds)
    }

    async fn pass(&self, days: u64) {
        *self.clock.0.lock().unwrap() += Duration::from_secs(days * 24 * 60 * 60);
    }

    async fn kubectl(&self, command: &str) -> String {
        self.cluster.kubectl(command.split(' ')).await.unwrap().success().unwrap()
    }

    async fn register(&self, api_service: &str) {
        let (version, group) = api_service.split_once('.').unwrap();
        let spec = format!(
            "group: {group}, version: {version}, groupPriorityMinimum: 1, versionPriority: 1, service: {{namespace: place, name: bailiwick}}"
        );
        let object = format!(
            "{{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {{name: {api_service}}}, spec: {{{spec}}}}}"
        );
        self.cluster.admin().apply(&object).await.unwrap();
    }

    /// Whom kube-apiserver believes, as PEM.
    async fn bundle(&self, api_service: &str) -> String {
        let bundle = self.kubectl(&format!("get apiservice {api_service} -o jsonpath={{.spec.caBundle}}")).await;
        String::from_utf8(STANDARD.decode(bundle).unwrap()).unwrap()
    }
}

fn serving(folder: &TempDir) -> String {
    std::fs::read_to_string(folder.path().join("pki/serving.crt")).unwrap()
}

/// Two servers, ten years.
#[tokio::test(flavor = "multi_thread")]
async fn servers_share_an_authority_and_renew_it_before_it_runs_out() {
    let world = World::start().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [first, second] = folders.each_ref().map(|folder| world.server(folder.path()));

    // What is missing is named.
    let error = first.prepare().await.unwrap_err();
    assert!(error.to_string().starts_with("there is no Secret \"bailiwick-authority\" in \"place\": apply"), "{error}");
    world.kubectl("create namespace place").await;
    world.kubectl("create secret generic bailiwick-authority -n place").await;
    first.prepare().await.unwrap();
    let error = first.renew().await.unwrap_err();
    assert!(
        error.to_string().starts_with("the APIService \"v1alpha1.admission.bailiwick.dev\" cannot be told"),
        "{error}"
    );
    for name in &first.api_services {
        world.register(name).await;
    }

    // Both at once agree.
    world.kubectl("delete secret bailiwick-authority -n place").await;
    world.kubectl("create secret generic bailiwick-authority -n place").await;
    let (one, other) = tokio::join!(first.renew(), second.renew());
    one.unwrap();
    other.unwrap();
    let authority = first.authority().await.unwrap();
    assert_eq!(second.authority().await.unwrap().pair.certificate, authority.pair.certificate);
    for name in &first.api_services {
        assert_eq!(world.bundle(name).await, authority.pair.certificate);
    }
    assert_ne!(serving(&folders[0]), serving(&folders[1]));
    let name = &first.api_services[0];
    let version = format!("get apiservice {name} -o jsonpath={{.metadata.resourceVersion}}");
    let (before, certificate) = (world.kubectl(&version).await, serving(&folders[0]));
    first.renew().await.unwrap();
    assert_eq!((world.kubectl(&version).await, serving(&folders[0])), (before, certificate.clone()));

    // A year later the certificate is another one, of the same authority.
    world.pass(360).await;
    first.renew().await.unwrap();
    assert_ne!(serving(&folders[0]), certificate);
    assert_eq!(world.bundle(name).await, authority.pair.certificate);

    // Also if the first APIService is gone, which is said; and the others are told.
    let (certificate, others) = (serving(&folders[0]), &first.api_services[1..]);
    world.kubectl(&format!("delete apiservice {name}")).await;
    for other in others {
        world.kubectl(&format!("patch apiservice {other} --type=merge -p {{\"spec\":{{\"caBundle\":null}}}}")).await;
    }
    world.pass(360).await;
    let error = first.renew().await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("the APIService \"{name}\" cannot be told")), "{error}");
    assert_ne!(serving(&folders[0]), certificate);
    for other in others {
        assert_eq!(world.bundle(other).await, authority.pair.certificate);
    }

    // After eight years there is a new authority, and the old one is believed beside it.
    world.pass(7 * 365 + 5).await;
    second.renew().await.unwrap_err();
    let next = second.authority().await.unwrap();
    for other in others {
        assert_eq!(world.bundle(other).await, format!("{}{}", next.pair.certificate, authority.pair.certificate));
    }
    assert_eq!(Pki::open(folders[1].path().join("pki"), second.now()).unwrap().authority(), next.pair.certificate);
    world.register(name).await;
    second.renew().await.unwrap();
    let next = second.authority().await.unwrap();
    assert_ne!(next.pair.certificate, authority.pair.certificate);
    assert_eq!(world.bundle(name).await, format!("{}{}", next.pair.certificate, authority.pair.certificate));
    first.renew().await.unwrap();
    assert_eq!(first.authority().await.unwrap().pair.certificate, next.pair.certificate);
    assert_eq!(Pki::open(folders[0].path().join("pki"), first.now()).unwrap().authority(), next.pair.certificate);
}
