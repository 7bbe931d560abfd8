//! Finds the resources that an entry exposes, and what these depend on.

use std::collections::HashSet;

use bailiwick_api::{
    BadDependency, DEPENDS_ON, ExposedResource, Grant, Grantee, LocalResourceSpec, ServiceAccountRef, dependencies,
};
use bailiwick_machinery::{Cause, FieldError, FieldPath, Object};

use super::{CatalogRules, GROUP};
use crate::authorization::Resource;
use crate::error::{Error, Result};
use crate::host::{HostError, HostKind};
use crate::named_account::not_acting;
use crate::ruled_write::RuledWrite;

/// How many resources an entry exposes at most, with all that they depend on.
const MAX_RESOURCES: usize = 100;
/// The Secrets of this type are the credentials of one account, and never leave it.
pub(super) const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

/// A resource to be found.
struct Wanted {
    kind: HostKind,
    api_version: String,
    name: String,
    /// The one of this UID only.
    uid: Option<String>,
    /// What names it, where it is told what is wrong.
    path: FieldPath,
}

// === impl CatalogRules ===

impl CatalogRules {
    /// The resources, each with its UID, in the order in which they are named; and behind them what they depend on. All of them
    /// can be read by whoever writes the entry, and by the account.
    pub(super) async fn locate(
        &self,
        write: RuledWrite<'_>,
        account: &ServiceAccountRef,
        spec: &LocalResourceSpec,
    ) -> Result<Vec<ExposedResource>> {
        let mut known: HashSet<(String, String, String)> = HashSet::new();
        let mut found = Vec::new();
        let mut wanted = self.named(write, spec, &mut known).await?;
        // Ends, because nothing is wanted twice, and there is a bound.
        while !wanted.is_empty() {
            check_number(write, known.len())?;
            self.check_writer(write, &wanted).await?;
            let mut next = Vec::new();
            for one in &wanted {
                let object = self.read(write, account, one).await?;
                if spec.transitive {
                    next.extend(self.depends_on(write, one, &object, &mut known).await?);
                }
                found.push(ExposedResource {
                    api_version: one.api_version.clone(),
                    kind: one.kind.kind.clone(),
                    name: one.name.clone(),
                    uid: Some(object.metadata().uid().to_owned()),
                });
            }
            wanted = next;
        }
        Ok(found)
    }

    /// What the entry names.
    async fn named(
        &self,
        write: RuledWrite<'_>,
        spec: &LocalResourceSpec,
        known: &mut HashSet<(String, String, String)>,
    ) -> Result<Vec<Wanted>> {
        let list = FieldPath::new("spec").child("localResources").child("exposedResources");
        let mut wanted = Vec::new();
        for (index, named) in spec.exposed_resources.iter().enumerate() {
            let path = list.index(index);
            let ExposedResource { api_version, kind, name, uid } = named.clone();
            let found = self.host.kind(&api_version, &kind).await?;
            let Some(found) = found else {
                let why = format!("there is no kind \"{kind}\" of \"{api_version}\"");
                return Err(write.invalid([FieldError::invalid(path.child("kind"), kind, why)]));
            };
            check_kind(write, &found, &path.child("kind"))?;
            if name.is_empty() {
                return Err(write.invalid([FieldError::required(path.child("name"), "")]));
            }
            if !known.insert(key(&found, &name)) {
                return Err(write.invalid([FieldError::duplicate(path, format!("{kind}/{name}"))]));
            }
            wanted.push(Wanted { kind: found, api_version, name, uid, path });
        }
        Ok(wanted)
    }

    /// What an object says that it depends on, as far as it is not known yet.
    async fn depends_on(
        &self,
        write: RuledWrite<'_>,
        of: &Wanted,
        object: &Object,
        known: &mut HashSet<(String, String, String)>,
    ) -> Result<Vec<Wanted>> {
        let Some(text) = object.metadata().annotation(DEPENDS_ON) else { return Ok(Vec::new()) };
        let who = format!("{} \"{}\"", of.kind.kind, of.name);
        let invalid = |value: &str, why: String| write.invalid([FieldError::invalid(of.path.clone(), value, why)]);
        let named = dependencies(text).map_err(|BadDependency(part)| {
            let why = format!("the annotation {DEPENDS_ON} of {who} names resources as TYPE[.VERSION.GROUP]/NAME");
            invalid(&part, why)
        })?;
        let mut wanted = Vec::new();
        for dependency in named {
            let found = self.host.resource(dependency.resource).await?;
            let Some(found) = found else {
                let why = format!("{who} depends on it, and there is no such kind of resource");
                return Err(invalid(dependency.resource, why));
            };
            check_kind(write, &found, &of.path)?;
            if known.insert(key(&found, dependency.name)) {
                // As soon as that is known: what is still to be read may name any number of others.
                check_number(write, known.len())?;
                wanted.push(Wanted {
                    api_version: found.api_version(),
                    kind: found,
                    name: dependency.name.to_owned(),
                    uid: None,
                    path: of.path.clone(),
                });
            }
        }
        Ok(wanted)
    }

    /// Whoever writes the entry could read all of it, whether it is there or not.
    async fn check_writer(&self, write: RuledWrite<'_>, wanted: &[Wanted]) -> Result<()> {
        let mut causes = Vec::new();
        for one in wanted {
            if !self.exposure.authorizer().may(write.ctx.user, "get", resource(one, write.namespace)).await? {
                causes.push(Cause {
                    reason: "GetForbidden".to_owned(),
                    message: format!("cannot get {} \"{}\"", one.kind.plural, one.name),
                    field: one.path.as_str().to_owned(),
                });
            }
        }
        if causes.is_empty() {
            return Ok(());
        }
        let listed: Vec<&str> = causes.iter().map(|cause| cause.message.as_str()).collect();
        let why = format!(
            "user \"{}\" publishes only what they can get themselves in the namespace \"{}\": {}",
            write.ctx.user.name,
            write.namespace,
            listed.join(", ")
        );
        Err(write.forbidden(why, causes))
    }

    /// One resource, read and followed as the account.
    async fn read(&self, write: RuledWrite<'_>, account: &ServiceAccountRef, wanted: &Wanted) -> Result<Object> {
        let read = self.host.get(account, &wanted.kind, write.namespace, &wanted.name).await;
        let found = match read {
            Ok(found) => found,
            Err(HostError::Forbidden(why)) => return Err(not_readable(write, account, wanted, "get", &why)),
            Err(HostError::NotActing(why)) => return Err(not_acting(write, &why, wanted.path.clone())),
            Err(error) => return Err(error.into()),
        };
        let Some(object) = found else {
            let value = format!("{}/{}", wanted.kind.kind, wanted.name);
            return Err(write.invalid([FieldError::not_found(wanted.path.clone(), value)]));
        };
        let is_token = wanted.kind.group.is_empty() && wanted.kind.kind == "Secret";
        if is_token && object.fields().get("type").is_some_and(|secret_type| secret_type == ACCOUNT_TOKEN) {
            let why =
                format!("the Secret \"{}\" is the credential of a service account, which is never shared", wanted.name);
            return Err(write.invalid([FieldError::forbidden(wanted.path.clone(), why)]));
        }
        if let Some(uid) = &wanted.uid
            && uid != object.metadata().uid()
        {
            let what = format!("{} \"{}\"", wanted.kind.kind, wanted.name);
            return Err(write.conflict(format!("uid mismatch: the {what} is not the one with the UID \"{uid}\"")));
        }
        let user = self.exposure.account(account);
        if !self.exposure.authorizer().may(&user, "watch", resource(wanted, write.namespace)).await? {
            return Err(not_readable(write, account, wanted, "watch", ""));
        }
        Ok(object)
    }
}

/// Refuses more resources than an entry exposes.
fn check_number(write: RuledWrite<'_>, count: usize) -> Result<()> {
    if count <= MAX_RESOURCES {
        return Ok(());
    }
    let path = FieldPath::new("spec").child("localResources");
    Err(write.invalid([FieldError::too_many(path, count, MAX_RESOURCES)]))
}

fn key(kind: &HostKind, name: &str) -> (String, String, String) {
    (kind.group.clone(), kind.kind.clone(), name.to_owned())
}

fn resource<'w>(wanted: &'w Wanted, namespace: &'w str) -> Resource<'w> {
    Resource {
        group: &wanted.kind.group,
        version: &wanted.kind.version,
        resource: &wanted.kind.plural,
        namespace,
        name: &wanted.name,
        ..Resource::default()
    }
}

/// Refuses kinds of which there are no copies in other namespaces.
pub(super) fn check_kind(write: RuledWrite<'_>, kind: &HostKind, path: &FieldPath) -> Result<()> {
    let refused = |why: &str| Err(write.invalid([FieldError::invalid(path.clone(), kind.kind.as_str(), why)]));
    if !kind.namespaced {
        return refused("is a kind of the cluster, which no namespace has for itself");
    }
    if kind.group == GROUP {
        return refused("catalogs do not publish what belongs to catalogs: claims would beget claims");
    }
    Ok(())
}

fn not_readable(write: RuledWrite<'_>, account: &ServiceAccountRef, wanted: &Wanted, verb: &str, why: &str) -> Error {
    let (resource, name) = (wanted.kind.resource().to_string(), wanted.name.as_str());
    let message = format!("the service account \"{}\" may not {verb} {resource} \"{name}\"", account.name());
    let told = if why.is_empty() { message.clone() } else { format!("{message} ({why})") };
    let grant = Grant {
        role: &format!("{}-reads-{name}", account.name()),
        namespace: account.namespace(),
        verbs: "get,list,watch",
        resource: &resource,
        resource_name: Some(name),
        to: Grantee::Account(account),
    };
    let cause = Cause { reason: "AccountForbidden".to_owned(), message, field: wanted.path.as_str().to_owned() };
    write.forbidden(format!("{told}; whoever administers the namespace allows it with: {grant}"), vec![cause])
}
