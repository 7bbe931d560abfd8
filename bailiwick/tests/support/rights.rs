//! What everyone can do, found out by asking and by trying: the measure of whether someone has gained something.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::sleep;

use super::site::{Mode, Person, Site};

/// Who has no credential.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The place of what is in no namespace.
pub(crate) const CLUSTER: &str = "";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
/// How many are measured at the same time.
const AT_ONCE: usize = 8;
/// Between two looks at a cluster that still puts its roles together.
const A_WHILE: Duration = Duration::from_millis(500);

/// How rights are measured.
pub(crate) struct Measure {
    /// Whose: people, whoever has no credential, and the accounts that are acted as.
    pub(crate) subjects: &'static [&'static str],
    /// Where, besides the cluster.
    pub(crate) namespaces: &'static [&'static str],
    /// What is asked for besides the rules: group, resource, name and verb.
    pub(crate) asked: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// What someone tries in a namespace, or in the cluster.
    pub(crate) tried: fn(&str, &str) -> Tried,
    /// What everyone can do at first, alone and behind a cluster, once that is known.
    pub(crate) at_first: [OnceCell<Rights>; 2],
}

/// What someone tries: paths to read from, and what to make where.
pub(crate) struct Tried {
    pub(crate) read: Vec<String>,
    pub(crate) made: Vec<(String, Value)>,
}

/// Someone in a namespace, or in the cluster.
type Cell = (String, String);
/// What each can do.
pub(crate) type Rights = BTreeMap<Cell, BTreeSet<String>>;

/// What everyone could do at first, and what was given and taken since by those who may.
pub(crate) struct Ledger {
    measure: &'static Measure,
    rights: Mutex<Rights>,
}

// === impl Ledger ===

impl Ledger {
    /// Of a site that was just opened, which is the same in every test: nothing is left of one before.
    pub(crate) async fn open(measure: &'static Measure, site: &Site) -> Self {
        let [alone, behind] = &measure.at_first;
        let known = if site.mode == Mode::Alone { alone } else { behind };
        let rights = known.get_or_init(async || measure.settled(site).await).await.clone();
        Self { measure, rights: Mutex::new(rights) }
    }

    /// Someone who may does change what this one can do: until then they have gained nothing, and from then on they have what
    /// they were given.
    pub(crate) async fn when_rights_change(
        &self,
        site: &Site,
        (namespace, who): (&str, &str),
        change: impl Future<Output = ()>,
    ) {
        if !self.measure.subjects.contains(&who) {
            change.await;
            return site.a_moment().await;
        }
        let cell = (who.to_owned(), namespace.to_owned());
        self.check_gain(&cell, &self.measure.of(site, who, namespace).await);
        change.await;
        site.a_moment().await;
        let now = self.measure.of(site, who, namespace).await;
        self.rights.lock().unwrap().insert(cell, now);
    }

    /// I1: whatever anyone can do now they could do before, or were given by someone who may give it.
    pub(crate) async fn nobody_gains(&self, site: &Site) {
        for (cell, now) in self.measure.of_everyone(site).await {
            self.check_gain(&cell, &now);
        }
    }

    fn check_gain(&self, cell: &Cell, now: &BTreeSet<String>) {
        let rights = self.rights.lock().unwrap();
        let gained: Vec<&String> = now.difference(&rights[cell]).collect();
        assert!(gained.is_empty(), "{cell:?} has gained {gained:#?}");
    }
}

// === impl Measure ===

impl Measure {
    /// What everyone can do, once that does not change any more.
    async fn settled(&self, site: &Site) -> Rights {
        let mut rights = self.of_everyone(site).await;
        loop {
            sleep(A_WHILE).await;
            let again = self.of_everyone(site).await;
            if again == rights {
                return rights;
            }
            rights = again;
        }
    }

    /// What everyone can do now: some hundreds of probes.
    async fn of_everyone(&self, site: &Site) -> Rights {
        let places = || self.namespaces.iter().chain([&CLUSTER]);
        let cells = self.subjects.iter().flat_map(|who| places().map(move |place| (*who, *place)));
        stream::iter(cells)
            .map(async |(who, place)| ((who.to_owned(), place.to_owned()), self.of(site, who, place).await))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await
    }

    /// What someone can do in a namespace, or in the cluster.
    async fn of(&self, site: &Site, who: &str, place: &str) -> BTreeSet<String> {
        let person = person(site, who);
        let mut can = self.told(&person, place).await;
        let Tried { read, made } = (self.tried)(place, who);
        for path in read {
            if person.get(&format!("{path}?limit=1")).await.code == 200 {
                can.insert(format!("read {path}"));
            }
        }
        for (path, object) in made {
            if person.post(&format!("{path}?dryRun=All"), &object).await.code == 201 {
                can.insert(format!("make {} at {path}", object["kind"]));
            }
        }
        can
    }

    /// What the host says when it is asked. Whoever may not even ask is told nothing.
    async fn told(&self, person: &Person, place: &str) -> BTreeSet<String> {
        let mut can = BTreeSet::new();
        for (group, resource, name, verb) in self.asked {
            let attributes =
                json!({ "group": group, "resource": resource, "name": name, "verb": verb, "namespace": place });
            let review = review("SelfSubjectAccessReview", json!({ "resourceAttributes": attributes }));
            let answer = person.post(&format!("{REVIEWS}/selfsubjectaccessreviews"), &review).await;
            if answer.code == 201 && answer.json()["status"]["allowed"] == true {
                can.insert(format!("{verb} {resource} {name}"));
            }
        }
        if place == CLUSTER {
            return can;
        }
        let review = review("SelfSubjectRulesReview", json!({ "namespace": place }));
        let answer = person.post(&format!("{REVIEWS}/selfsubjectrulesreviews"), &review).await;
        if answer.code == 201 {
            let status = &answer.json()["status"];
            let rules = ["resourceRules", "nonResourceRules"].into_iter().filter_map(|field| status[field].as_array());
            can.extend(rules.flatten().map(Value::to_string));
        }
        can
    }
}

fn review(kind: &str, spec: Value) -> Value {
    json!({ "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec })
}

fn person(site: &Site, who: &str) -> Person {
    if who == ANONYMOUS {
        return site.user_in(who, &["system:unauthenticated"]);
    }
    let Some(account) = who.strip_prefix("system:serviceaccount:") else { return site.user(who) };
    let namespace = account.split(':').next().unwrap_or_default();
    let all_there = format!("system:serviceaccounts:{namespace}");
    site.user_in(who, &["system:serviceaccounts", &all_there, "system:authenticated"])
}
