//! What is to be installed: the flags, read and checked, and the kinds that the program has.

use std::path::{Path, PathBuf};

use bailiwick_machinery::GroupVersion;
use bailiwick_registry::{Kind, KindError, kinds};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

use crate::certificates::Pair;
use crate::flags::{ActAs, InstallFlags};
use crate::private_file::{self, PrivateFileError};

use super::names::{NAME, group_versions};

/// What is to be installed.
pub(super) struct Plan {
    pub(super) namespace: String,
    pub(super) act_as: ActAs,
    pub(super) server: Server,
    pub(super) certificates: Certificates,
    /// The kinds to be served, all of them ours.
    pub(super) kinds: Vec<Kind>,
    /// Whether they are served under the names by which others have known them, too.
    pub(super) alias_groups: bool,
}

/// Where the server runs.
pub(super) enum Server {
    /// In the cluster.
    Inside(Workload),
    /// Elsewhere: whoever starts it there decides how.
    Outside {
        /// The name by which kube-apiserver finds it.
        host: String,
        port: u16,
    },
}

/// How servers run in the cluster.
pub(super) struct Workload {
    pub(super) image: String,
    pub(super) replicas: u16,
    pub(super) etcd_servers: Vec<String>,
    /// The Secret for connections to etcd, if they are encrypted.
    pub(super) etcd_secret: Option<String>,
}

/// By what kube-apiserver knows the server.
pub(super) enum Certificates {
    /// The servers make an authority, sign their certificates with it, renew both, and tell kube-apiserver.
    Own,
    /// Somebody else does.
    Given {
        /// The authorities, PEM.
        authorities: String,
        /// The certificate, for servers in the cluster.
        serving: Option<Pair>,
    },
}

/// Why the flags make no plan.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanError {
    #[error(transparent)]
    Kinds(#[from] KindError),
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("{} does not exist: give the file that has the {what}", file.display())]
    Absent { what: &'static str, file: PathBuf },
    #[error("--ca without --cert and --key is for a server outside of the cluster: give all three, or --external-name")]
    AuthorityAlone,
    #[error("{} holds no certificate that can be read: it must be PEM", .0.display())]
    NoCertificate(PathBuf),
    #[error("the certificate in {} is not for \"{name}\", by which kube-apiserver calls the server: have one made for that name", file.display())]
    OtherName { file: PathBuf, name: String },
}

// === impl Plan ===

impl Plan {
    /// Reads the flags, and the files they name.
    pub(super) fn new(flags: &InstallFlags) -> Result<Self, PlanError> {
        let server = match (&flags.external_name, flags.port) {
            (Some(host), Some(port)) => Server::Outside { host: host.clone(), port },
            _ => Server::Inside(Workload::new(flags)),
        };
        let mut plan = Self {
            namespace: flags.namespace.clone(),
            act_as: flags.act_as,
            server,
            certificates: Certificates::Own,
            kinds: match flags.alias_groups {
                true => kinds::with_aliases(kinds::all()?)?,
                false => kinds::all()?,
            },
            alias_groups: flags.alias_groups,
        };
        plan.certificates = plan.read_certificates(flags)?;
        Ok(plan)
    }

    /// The groups and versions that kube-apiserver is to hand on: those of all kinds, each once, in order.
    pub(super) fn group_versions(&self) -> Vec<GroupVersion> {
        group_versions(&self.kinds)
    }

    /// Whether no kind is at home in a group and version, but only known by it to others.
    pub(super) fn is_alias(&self, version: &GroupVersion) -> bool {
        let is_home = |kind: &Kind| kind.stored_gvk().is_some_and(|stored| stored.group_version() == *version);
        !self.kinds.iter().any(is_home)
    }

    /// Whether the servers look after their certificates themselves.
    pub(super) fn makes_certificates(&self) -> bool {
        matches!(self.certificates, Certificates::Own)
    }

    /// The service account's name, as RBAC's subjects and kube-apiserver's users have it.
    pub(super) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{NAME}", self.namespace)
    }

    fn read_certificates(&self, flags: &InstallFlags) -> Result<Certificates, PlanError> {
        let Some(ca) = &flags.ca else { return Ok(Certificates::Own) };
        let authorities = read("authorities", ca)?;
        names_of(ca, &authorities)?;
        let serving = match (&flags.cert, &flags.key) {
            (Some(certificate), Some(key)) => Some(self.read_serving(certificate, key)?),
            _ => None,
        };
        if serving.is_none() && matches!(self.server, Server::Inside(_)) {
            return Err(PlanError::AuthorityAlone);
        }
        Ok(Certificates::Given { authorities, serving })
    }

    fn read_serving(&self, file: &Path, key: &Path) -> Result<Pair, PlanError> {
        let certificate = read("serving certificate", file)?;
        let name = format!("{NAME}.{}.svc", self.namespace);
        let wildcard = format!("*.{}.svc", self.namespace);
        if !names_of(file, &certificate)?.iter().any(|known| *known == name || *known == wildcard) {
            return Err(PlanError::OtherName { file: file.to_owned(), name });
        }
        Ok(Pair { certificate, key: read("key", key)? })
    }
}

// === impl Workload ===

impl Workload {
    fn new(flags: &InstallFlags) -> Self {
        let mut etcd_servers = flags.etcd_servers.clone();
        if etcd_servers.is_empty() {
            etcd_servers.push(format!("https://bailiwick-etcd.{}.svc:2379", flags.namespace));
        }
        let is_encrypted = etcd_servers.iter().any(|url| url.starts_with("https:"));
        Self {
            image: flags.image.clone(),
            replicas: flags.replicas,
            etcd_servers,
            etcd_secret: is_encrypted.then(|| flags.etcd_secret.clone()),
        }
    }
}

fn read(what: &'static str, file: &Path) -> Result<String, PlanError> {
    private_file::read(file)?.ok_or_else(|| PlanError::Absent { what, file: file.to_owned() })
}

/// The names that the first certificate of a file is for.
fn names_of(file: &Path, text: &str) -> Result<Vec<String>, PlanError> {
    let no_certificate = || PlanError::NoCertificate(file.to_owned());
    let (_, pem) = parse_x509_pem(text.as_bytes()).map_err(|_| no_certificate())?;
    let certificate = pem.parse_x509().map_err(|_| no_certificate())?;
    let names = certificate.subject_alternative_name().map_err(|_| no_certificate())?;
    let names = names.iter().flat_map(|extension| &extension.value.general_names);
    let dns = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    };
    Ok(names.filter_map(dns).collect())
}
