use std::sync::Mutex;

use super::*;

/// A cluster that notes the headers of the last request.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<HeaderMap>>);

impl Service<Request<Body>> for Noting {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = std::future::Ready<kube::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<kube::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        *self.0.lock().unwrap() = request.headers().clone();
        std::future::ready(Ok(Response::new(Body::empty())))
    }
}

/// S-03: a request that is made as an account says so once, and nothing else about whose it is.
#[tokio::test]
async fn an_account_is_named_once_whatever_a_request_says() {
    let noting = Noting::default();
    let host = ClusterHost(Client::new(noting.clone(), "default"));
    let account = ServiceAccountRef::new("shop", "deployer").unwrap();
    let mut request = Request::get("/api/v1/namespaces/shop/configmaps").header("accept", "application/json");
    for header in [
        "Impersonate-User",
        "Impersonate-Group",
        "Impersonate-Uid",
        "Impersonate-Extra-Scopes",
        "X-Remote-User",
        "X-Remote-Group",
        "X-Remote-Extra-Scopes",
    ] {
        request = request.header(header, "system:masters").header(header, "admin");
    }
    let client = ActAs::client(&host, &account);
    client.send(request.body(Body::empty()).unwrap()).await.unwrap();
    let mut seen: Vec<(String, String)> = noting.0.lock().unwrap().iter().map(told).collect();
    seen.sort();
    let expected = [("accept", "application/json"), ("impersonate-user", "system:serviceaccount:shop:deployer")];
    assert_eq!(seen, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

fn told((name, value): (&HeaderName, &HeaderValue)) -> (String, String) {
    (name.to_string(), value.to_str().unwrap().to_owned())
}
