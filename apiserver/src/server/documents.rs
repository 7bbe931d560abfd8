//! What is at paths that are of no resource: what there is, documents about it, how the server is, and what it has counted.

use bailiwick_machinery::encode::Layout;
use bailiwick_machinery::media::{self, MediaType};
use bailiwick_registry::Allocations;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::json;

use super::{HEALTH, Server};
use crate::authentication::OPENID_PATHS;
use crate::body::Body;
use crate::form::Form;
use crate::metrics;
use crate::openapi;
use crate::request::Request;
use crate::respond;

impl Server {
    pub(super) async fn answer_non_resource(&self, request: &Request, head: &Parts) -> Option<Response<Body>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return None;
        }
        let path = request.info().path();
        if path == "/" {
            return Some(self.index(request, head));
        }
        if path == metrics::PATH {
            return Some(self.answer_metrics(head).await);
        }
        let pretty = request.query().first("pretty").map(|wanted| media::is_pretty(wanted, ""));
        let found = self.discovery.answer(path, &head.headers, pretty);
        let found = found.or_else(|| self.openapi.answer(path, request.query(), &head.headers));
        let found = found.or_else(|| self.version.answer(path));
        let found = found.or_else(|| self.openid.as_ref()?.answer(path));
        match found {
            Some(response) => Some(response.map(Body::from)),
            None => self.answer_health(request).await,
        }
    }

    /// What there is, for people who look around.
    fn index(&self, request: &Request, head: &Parts) -> Response<Body> {
        let discovery = self.discovery.paths();
        let documents = discovery.iter().map(String::as_str).chain(openapi::PATHS);
        let documents = documents.chain(self.openid.iter().flat_map(|_| OPENID_PATHS));
        let mut paths: Vec<&str> = documents.chain(HEALTH).chain([metrics::PATH, "/version"]).collect();
        paths.sort_unstable();
        let form = Form::of_status(&head.headers, Some(request.query()), self.clock.now());
        let form = Form { layout: Layout::Pretty, media_type: MediaType::Json, ..form };
        respond::value(&form, StatusCode::OK, &json!({ "paths": paths }))
    }

    async fn answer_metrics(&self, head: &Parts) -> Response<Body> {
        // Where the store does not answer, the rest is wanted all the more.
        let objects = self.registry.object_counts().await.unwrap_or_default();
        let quota = self.registry.allocations().map(Allocations::metrics);
        let now = metrics::Now { requests: &self.requests, waiting: self.limits.waiting(), objects, quota };
        self.metrics.answer(&head.headers, &now).map(Body::from)
    }

    pub(super) async fn answer_health(&self, request: &Request) -> Option<Response<Body>> {
        let readable = matches!(*request.method(), Method::GET | Method::HEAD);
        let answer = if readable { self.health.answer(request.info().path(), request.query()).await } else { None };
        Some(answer?.map(Body::from))
    }
}
