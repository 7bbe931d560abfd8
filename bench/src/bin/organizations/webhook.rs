//! What a kube-apiserver waits for that asks: the same question a thousand times a second, over one connection, as it would.

use std::path::Path;
use std::time::Duration;

use bailiwick_test_host::Cluster;
use bailiwick_test_host::pki::Identity;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::peers::Ours;
use crate::{Failure, part};

const RATE: u32 = 1_000;
const QUESTIONS: u32 = 10_000;
const SETTLING: Duration = Duration::from_secs(20);
const OBJECTS: &str = "
{apiVersion: org.bailiwick.dev/v1alpha1, kind: Organization, metadata: {name: Acme}, memberUsers: [bob]}
---
{apiVersion: org.bailiwick.dev/v1alpha1, kind: OrgGroup, metadata: {name: 'Acme:dev'}, users: [bob]}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {openshift.io/owner: organizations__Acme}}}
";
const BINDING: &str = "{apiVersion: org.bailiwick.dev/v1alpha1, kind: OrgRoleBinding, metadata: {name: dev, namespace: shop}, \
                       roleRef: {name: 'system:basic-user'}, orgGroups: ['Acme:dev']}";
const REVIEW: &str = r#"{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "bob",
    "groups": ["system:authenticated"], "resourceAttributes": {"namespace": "shop", "verb": "create",
    "group": "authorization.k8s.io", "resource": "selfsubjectaccessreviews"}}}"#;

pub(crate) async fn measure(program: &Path) -> Result<(), Failure> {
    let cluster = Cluster::start().await?;
    let ours = Ours::start(program, &cluster).await?;
    cluster.register_api_service("org.bailiwick.dev", "v1alpha1", ours.port(), ours.ca()).await?;
    cluster.admin().apply(OBJECTS).await?;
    cluster.admin().apply(BINDING).await?;
    let caller = cluster.tls().user("kube-apiserver", &[])?;
    let sender = connect(ours.port(), ours.ca(), &caller).await?;
    let answer = ask(sender.clone(), ours.port()).await?;
    if !answer.contains("\"allowed\":true") {
        return Err(format!("what is given is not: {answer}").into());
    }
    // What a cluster does when it has just begun is not what is measured.
    sleep(SETTLING).await;
    let (mut asked, mut times, began) = (JoinSet::new(), Vec::new(), Instant::now());
    for number in 0..QUESTIONS {
        sleep_until(began + Duration::from_secs(1) / RATE * number).await;
        // Timers are a millisecond late, which is nobody's wait. None waits for the answer of another.
        let (sender, port, sent) = (sender.clone(), ours.port(), Instant::now());
        asked.spawn(async move { ask(sender, port).await.map(|_| sent.elapsed()) });
        while let Some(done) = asked.try_join_next() {
            times.push(done??);
        }
    }
    while let Some(done) = asked.join_next().await {
        times.push(done??);
    }
    let rate = f64::from(QUESTIONS) / began.elapsed().as_secs_f64();
    let (median, p99) = (part(&mut times, 500), part(&mut times, 990));
    println!("a cluster that asks {rate:.0} times a second waits {median:?} median, {p99:?} p99 (goal: 2ms)");
    Ok(())
}

async fn connect(port: u16, ca: &str, caller: &Identity) -> Result<SendRequest<Full<Bytes>>, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes())?)?;
    let chain = vec![CertificateDer::from_pem_slice(caller.certificate.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(caller.key.as_bytes())?;
    let mut config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let connector = TlsConnector::from(std::sync::Arc::new(config));
    let stream = connector.connect(ServerName::try_from("localhost")?, stream).await?;
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    // It ends with the sender; whatever goes wrong, the request that suffers tells.
    tokio::spawn(async { drop(connection.await) });
    Ok(sender)
}

async fn ask(mut sender: SendRequest<Full<Bytes>>, port: u16) -> Result<String, Failure> {
    let request = Request::post(format!("https://localhost:{port}/authorize"));
    let request = request.header("content-type", "application/json").body(Full::from(REVIEW))?;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    if status.is_success() { Ok(text) } else { Err(format!("{status}: {text}").into()) }
}
