//! The authority behind the certificates of servers in a cluster. All servers of an installation share it in a Secret; each
//! signs its own certificate with it. Whichever finds it missing or old makes the next one, and all keep telling
//! kube-apiserver, in the APIServices, whom to believe.
//!
//! The Secret is only ever replaced in the state in which it was read, so that of two servers one is first and the other
//! takes what that one made. An authority stays in the bundle until it has run out: certificates that it signed are
//! believed to their end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_registry::{Clock, Kind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

use crate::certificates::{self, Pair, Pki, PkiError};
use crate::flags::ServiceName;
use crate::install::{AUTHORITY_SECRET, api_service_names};
use crate::report;

/// The fields of the Secret: the newest authority, its key, and every authority that is still to be believed.
const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";
const BUNDLE: &str = "ca-bundle.crt";

/// An authority is followed by the next one when it has less than this left: longer than its certificates last.
const RENEW_BEFORE: time::Duration = time::Duration::days(2 * 365);
/// How often everything is looked at.
const PERIOD: Duration = Duration::from_secs(60);
/// How soon again if something could not be done.
const RETRY: Duration = Duration::from_secs(5);
/// How long kube-apiserver may take to notice a new bundle. A certificate of a new authority is not used before.
const NOTICE: Duration = Duration::from_secs(5);
/// How often another server may be first in a row.
const ATTEMPTS: usize = 10;

/// Keeps a server's certificate good, and the cluster informed.
pub(crate) struct ServiceAuthority {
    client: Client,
    service: ServiceName,
    /// The names the certificate is for.
    names: Vec<String>,
    api_services: Vec<String>,
    /// Where the server's certificate lies.
    folder: PathBuf,
    clock: Arc<dyn Clock>,
}

/// What the Secret says.
struct Authority {
    pair: Pair,
    /// PEM.
    bundle: String,
}

/// Why the cluster cannot know this server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceAuthorityError {
    #[error(transparent)]
    Pki(#[from] PkiError),
    #[error(
        "there is no Secret \"{AUTHORITY_SECRET}\" in \"{0}\": apply what bailiwick install prints, or give --tls-cert-file"
    )]
    NoSecret(String),
    #[error(
        "the Secret \"{AUTHORITY_SECRET}\" in \"{namespace}\" cannot be {done}: {answer}; bailiwick install prints the rights that are needed"
    )]
    Secret { namespace: String, done: &'static str, answer: String },
    #[error("the Secret \"{AUTHORITY_SECRET}\" in \"{0}\" changes all the time: see who else writes it")]
    Contended(String),
    #[error(
        "the APIService \"{name}\" cannot be told who vouches for this server: {answer}; bailiwick install prints it, and the rights that are needed"
    )]
    Untold { name: String, answer: String },
    #[error(
        "the APIService \"{0}\" cannot be told who vouches for this server: it does not exist; apply what bailiwick install prints"
    )]
    NoApiService(String),
}

// === impl ServiceAuthority ===

impl ServiceAuthority {
    /// For a server of these kinds that is reached by a Service, and whose certificate is for these names.
    pub(crate) fn new(
        client: Client,
        service: ServiceName,
        names: Vec<String>,
        folder: PathBuf,
        clock: Arc<dyn Clock>,
        kinds: &[Kind],
    ) -> Self {
        let api_services = api_service_names(kinds);
        Self { client, service, names, api_services, folder, clock }
    }

    /// Waits until there is a certificate to serve with.
    pub(crate) async fn wait(&self) {
        while let Err(error) = self.prepare().await {
            tracing::warn!(error = %report::chain(&error), "no certificate can be made yet; trying again");
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Keeps everything good until it is not needed any more.
    pub(crate) async fn keep(self, stopped: CancellationToken) {
        loop {
            let pause = match self.renew().await {
                Ok(()) => PERIOD,
                Err(error) => {
                    tracing::warn!(error = %report::chain(&error), "the cluster may not know this server");
                    RETRY
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stopped.cancelled() => return,
            }
        }
    }

    /// Sees to it that there is a certificate. Nobody needs to believe it yet.
    async fn prepare(&self) -> Result<(), ServiceAuthorityError> {
        let authority = self.authority().await?;
        self.sign(&authority)
    }

    /// Tells the cluster whom to believe, and only then uses what is new. A certificate of the authority that is in use already
    /// is renewed in any case.
    async fn renew(&self) -> Result<(), ServiceAuthorityError> {
        let authority = self.authority().await?;
        let told = self.tell(&authority).await;
        if Pki::open(self.folder.clone(), self.now())?.authority() != authority.pair.certificate {
            // Where there is no APIService nobody asks this server, so nobody must believe it.
            if !matches!(told, Ok(()) | Err(ServiceAuthorityError::NoApiService(_))) {
                return told;
            }
            tokio::time::sleep(NOTICE).await;
        }
        self.sign(&authority)?;
        told
    }

    /// The authority that all servers use, made if there is none that lasts.
    async fn authority(&self) -> Result<Authority, ServiceAuthorityError> {
        let namespace = &self.service.namespace;
        let failed = |done| {
            move |source: kube::Error| ServiceAuthorityError::Secret {
                namespace: namespace.clone(),
                done,
                answer: report::answer(&source),
            }
        };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        for _ in 0..ATTEMPTS {
            let found = secrets.get_opt(AUTHORITY_SECRET).await.map_err(failed("read"))?;
            let mut secret = found.ok_or_else(|| ServiceAuthorityError::NoSecret(namespace.clone()))?;
            let now = self.now();
            let next = match Authority::read(&secret, now) {
                Some(found) if certificates::can_sign_until(&found.pair, now + RENEW_BEFORE) => return Ok(found),
                old => Authority::after(old, now)?,
            };
            next.write(&mut secret);
            match secrets.replace(AUTHORITY_SECRET, &PostParams::default(), &secret).await {
                Ok(_) => return Ok(next),
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(failed("written")(error)),
            }
        }
        Err(ServiceAuthorityError::Contended(namespace.clone()))
    }

    /// Puts the bundle into every APIService, also if one of them cannot be told. Where it is there already, nothing is written.
    /// The worst that happened is the answer: one that does not exist is not as bad as one that does and knows nothing.
    async fn tell(&self, authority: &Authority) -> Result<(), ServiceAuthorityError> {
        let api: Api<APIService> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({"spec": {"caBundle": STANDARD.encode(&authority.bundle)}}));
        let mut told = Ok(());
        for name in &self.api_services {
            match api.patch(name, &PatchParams::default(), &patch).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    told = told.and_then(|()| Err(ServiceAuthorityError::NoApiService(name.clone())));
                }
                Err(error) if matches!(told, Ok(()) | Err(ServiceAuthorityError::NoApiService(_))) => {
                    told = Err(ServiceAuthorityError::Untold { name: name.clone(), answer: report::answer(&error) });
                }
                Err(_) => {}
            }
        }
        told
    }

    /// Signs a certificate, if the one there is does not do. The listener looks for new ones by itself.
    fn sign(&self, authority: &Authority) -> Result<(), ServiceAuthorityError> {
        Ok(Pki::adopt(self.folder.clone(), &authority.pair, self.now())?.serving(&self.names)?)
    }

    fn now(&self) -> OffsetDateTime {
        self.clock.now().into()
    }
}

// === impl Authority ===

impl Authority {
    /// What a Secret says, unless it says nothing, or nothing that can be used.
    fn read(secret: &Secret, now: OffsetDateTime) -> Option<Self> {
        let text = |key: &str| String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok();
        let pair = Pair { certificate: text(CERTIFICATE)?, key: text(KEY)? };
        let bundle = text(BUNDLE)?;
        (certificates::can_sign_until(&pair, now) && bundle.contains(pair.certificate.trim()))
            .then_some(Self { pair, bundle })
    }

    /// A new one. The one before is believed for as long as it lasts.
    fn after(before: Option<Self>, now: OffsetDateTime) -> Result<Self, ServiceAuthorityError> {
        let pair = certificates::make_authority(now)?;
        let mut bundle = pair.certificate.clone();
        if let Some(before) = before {
            bundle.push_str(&before.pair.certificate);
        }
        Ok(Self { pair, bundle })
    }

    fn write(&self, secret: &mut Secret) {
        let fields = [(CERTIFICATE, &self.pair.certificate), (KEY, &self.pair.key), (BUNDLE, &self.bundle)];
        let fields = fields.map(|(key, text)| (key.to_owned(), ByteString(text.clone().into_bytes())));
        secret.data.get_or_insert_default().extend(fields);
    }
}

#[cfg(test)]
mod tests;
