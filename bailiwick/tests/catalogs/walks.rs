//! Whatever tenants do with catalogs, allowed or not, in whatever order: each request is answered as their rights say, and what
//! must hold for everyone holds all along.

mod model;

use std::collections::BTreeMap;

use bailiwick_test_host::Random;
use serde_json::{Value, json};

use crate::market::{Market, claims, core, entries};
use crate::objects::{API, RBAC, bound, catalog, claim, config_map, entry, list, local, role, secret, uses};
use crate::site::{Person, Site};
use model::{Account, Claim, Content, Entry, Key, Model, PEOPLE, PLACES, Right};

/// How many steps are taken; `BAILIWICK_TEST_CATALOG_STEPS` asks for more of them.
const STEPS_ALONE: usize = 600;
const STEPS_BEHIND: usize = 150;
/// After so many steps it is looked whether all is as it must be.
const BETWEEN_LOOKS: usize = 100;
/// How many there are at most in a place, so that there is not ever more to do.
const MOST_ENTRIES: usize = 4;
const MOST_CLAIMS: usize = 6;
/// What all secrets begin with, as it is written and as it is stored.
const CANARIES: [&str; 2] = ["canary", "Y2FuYXJ5"];

/// D-01 to D-15, I1 to I5: alone.
#[tokio::test]
async fn tenants_get_what_they_may_and_nothing_else() {
    walk(Site::alone().await, STEPS_ALONE).await;
}

/// D-01 to D-15, I1 to I5: behind a cluster, through it and past it.
#[tokio::test(flavor = "multi_thread")]
async fn tenants_of_a_cluster_get_what_they_may_and_nothing_else() {
    walk(Site::behind().await, STEPS_BEHIND).await;
}

async fn walk(site: Site, steps: usize) {
    let number = |name: &str| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let steps = number("BAILIWICK_TEST_CATALOG_STEPS").map_or(steps, |steps| usize::try_from(steps).unwrap());
    let seed = number("BAILIWICK_TEST_SEED").unwrap_or(5);
    println!("seed: {seed}");
    let random = Random::new(seed);
    let mut walk = Walk::begin(Market::open(site).await, random).await;
    for step in 0..steps {
        walk.step().await;
        walk.model.settle();
        if step % BETWEEN_LOOKS == BETWEEN_LOOKS - 1 || step == steps - 1 {
            walk.look().await;
        }
    }
    walk.market.check_invariants().await;
    println!("{steps} steps: {:?}", walk.answers);
    for code in [200, 201, 403, 404, 422] {
        assert!(walk.answers.contains_key(&code), "nobody was ever answered {code}: {:?}", walk.answers);
    }
    assert!(walk.copied > 0, "nothing was ever copied");
}

/// Tenants on their way.
struct Walk {
    market: Market,
    /// The administrator, on each way to the server.
    ways: Vec<Person>,
    model: Model,
    random: Random,
    made: usize,
    /// How many were answered how.
    answers: BTreeMap<u16, usize>,
    /// How many copies of others' Secrets were found.
    copied: usize,
}

// === impl Walk ===

impl Walk {
    /// Everyone edits one of the namespaces, and claims and publishes there. The account `publisher` of each may read Secrets, `maker`
    /// edits, and `weak` may do nothing.
    async fn begin(market: Market, random: Random) -> Self {
        let root = market.root();
        let path = format!("{API}/resourcecatalogs");
        let spec = json!({
            "selector": { "tier": "walk" }, "claimableFrom": { "matchLabels": { "open": "yes" } },
        });
        root.post(&path, &catalog("walk", spec)).await.expect(201);
        let ways = market.site.ways().await;
        let (answers, model) = (BTreeMap::new(), Model::default());
        let mut walk = Self { market, ways, model, random, made: 0, answers, copied: 0 };
        let written = json!({
            "apiGroups": ["catalog.bailiwick.dev"], "verbs": ["*"],
            "resources": ["resourcecatalogentries", "resourcecatalogclaims"],
        });
        let reads = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"] });
        for place in PLACES {
            walk.market.make_namespace(place).await;
            walk.market.make(place, "secrets", &secret("creds", json!({ "password": "canary" }))).await;
            for account in ["publisher", "maker", "weak"] {
                walk.market.account(place, account).await;
            }
            let roles = format!("{RBAC}/namespaces/{place}/roles");
            for (name, rule) in [
                ("write", &written),
                ("reads", &reads),
                ("claim", &uses("claim", "walk")),
                ("publish", &uses("publish", "walk")),
            ] {
                root.post(&roles, &role(name, rule.clone())).await.expect(201);
            }
            let bindings = format!("{RBAC}/namespaces/{place}/rolebindings");
            for (account, role) in [("publisher", "Role/reads"), ("maker", "ClusterRole/edit")] {
                let binding = bound(account, place, role, &format!("ServiceAccount/{account}"));
                root.post(&bindings, &binding).await.expect(201);
            }
            walk.rotate(place).await;
        }
        for (who, place) in PEOPLE.into_iter().zip(PLACES) {
            for right in [Right::Edit, Right::Claim, Right::Publish] {
                walk.set_right(who, place, right).await;
            }
            walk.set_open(place).await;
        }
        walk.market.site.a_moment().await;
        walk.share().await;
        walk.model.settle();
        walk
    }

    /// Everyone publishes their Secret, and has that of a neighbour.
    async fn share(&mut self) {
        let neighbours = PLACES.into_iter().cycle().skip(1);
        for (who, place) in PEOPLE.into_iter().zip(PLACES) {
            let mut object = entry("first", local(&[("Secret", "creds")]));
            object["metadata"]["labels"] = tier(true);
            self.market.user(who).post(&entries(place), &object).await.expect(201);
            let published = Entry { content: Content::Secret, is_selected: true, writer: who };
            self.model.entries.insert((place, "first".to_owned()), published);
        }
        for ((who, place), neighbour) in PEOPLE.into_iter().zip(PLACES).zip(neighbours) {
            let wanted = (neighbour, "first".to_owned());
            self.accepted(&wanted).await;
            let more = json!({
                "catalogName": "walk", "resourceCatalogEntry": { "namespace": wanted.0, "name": wanted.1 },
                "namePrefix": "first-", "keepSynchronized": true,
            });
            self.market.user(who).post(&claims(place), &claim("first", "first", more)).await.expect(201);
            self.market.ready(place, "first").await;
            let claimed = Claim { entry: wanted, account: Account::Maker, writer: who };
            self.model.claims.insert((place, "first".to_owned()), claimed);
        }
    }

    async fn step(&mut self) {
        let place = self.place();
        let who = self.someone(place);
        match self.random.below(100) {
            0..8 => {
                // Not to the last of them.
                let who = PEOPLE[self.random.below(PEOPLE.len() - 1)];
                let right = Right::ALL[self.random.below(Right::ALL.len())];
                // More is given than taken, so that there is something to take.
                if !self.model.may(who, place, right) || self.random.below(3) == 0 {
                    self.set_right(who, place, right).await;
                    self.market.site.a_moment().await;
                }
            }
            8..11 => {
                if !self.model.open.contains(place) || self.random.below(3) == 0 {
                    self.set_open(place).await;
                    self.market.site.a_moment().await;
                }
            }
            11..15 => self.rotate(place).await,
            15..23 => self.publish(who, place).await,
            23..28 => self.relabel().await,
            28..31 => self.withdraw().await,
            31..56 => self.claim(who, place).await,
            56..65 => self.kick().await,
            65..72 => self.give_up().await,
            72..80 => self.read(who, place).await,
            80..90 => self.browse(who, place).await,
            _ => self.forge(who).await,
        }
    }

    /// Someone who edits the place, mostly.
    fn someone(&mut self, place: &'static str) -> &'static str {
        let editors: Vec<_> = PEOPLE.into_iter().filter(|who| self.model.may(who, place, Right::Edit)).collect();
        match self.random.below(4) {
            1.. if !editors.is_empty() => editors[self.random.below(editors.len())],
            _ => PEOPLE[self.random.below(PEOPLE.len())],
        }
    }

    fn place(&mut self) -> &'static str {
        PLACES[self.random.below(PLACES.len())]
    }

    /// Someone, on any way to the server.
    fn on_the_way(&mut self, who: &str) -> Person {
        self.ways[self.random.below(self.ways.len())].acting_as(who)
    }

    fn some_entry(&mut self) -> Option<Key> {
        let count = self.model.entries.len();
        (count > 0).then(|| self.model.entries.keys().nth(self.random.below(count)).unwrap().clone())
    }

    fn some_claim(&mut self) -> Option<Key> {
        let count = self.model.claims.len();
        (count > 0).then(|| self.model.claims.keys().nth(self.random.below(count)).unwrap().clone())
    }

    fn name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}{}", self.made)
    }

    /// Whether it was answered as the model says.
    fn expect(&mut self, what: &str, answer: &crate::client::Answer, expected: u16) -> bool {
        *self.answers.entry(answer.code).or_default() += 1;
        assert_eq!(answer.code, expected, "{what}: {}", answer.text());
        answer.code < 300
    }

    /// Gives someone a right, or takes it.
    async fn set_right(&mut self, who: &'static str, place: &'static str, right: Right) {
        let (root, name) = (self.market.root(), format!("{who}-{}", format!("{right:?}").to_lowercase()));
        let bindings = format!("{RBAC}/namespaces/{place}/rolebindings");
        let is_given = !self.model.may(who, place, right);
        if is_given {
            let role = match right {
                Right::Edit => "ClusterRole/edit",
                Right::Write => "Role/write",
                Right::Claim => "Role/claim",
                Right::Publish => "Role/publish",
            };
            root.post(&bindings, &bound(&name, place, role, &format!("User/{who}"))).await.expect(201);
        } else {
            root.delete(&format!("{bindings}/{name}")).await.expect(200);
        }
        self.model.set(who, place, right, is_given);
    }

    /// Opens the catalog for a place, or closes it.
    async fn set_open(&mut self, place: &'static str) {
        let is_open = self.model.open.insert(place);
        if !is_open {
            self.model.open.remove(place);
        }
        let labels = json!({ "metadata": { "labels": { "open": is_open.then_some("yes") } } });
        self.market.root().merge(&format!("/api/v1/namespaces/{place}"), &labels).await.expect(200);
    }

    /// Another secret takes the place of the one before.
    async fn rotate(&mut self, place: &'static str) {
        let password = self.name(&format!("canary-{place}-"));
        let source = core(place, "secrets", "creds");
        let changed = self.market.root().merge(&source, &json!({ "stringData": { "password": password } })).await;
        let stored = changed.expect(200)["data"]["password"].as_str().unwrap().to_owned();
        self.model.secrets.insert(place, stored);
    }

    async fn publish(&mut self, who: &'static str, place: &'static str) {
        if self.model.entries.keys().filter(|(other, _)| *other == place).count() >= MOST_ENTRIES {
            return;
        }
        let (name, is_selected) = (self.name("e"), self.random.below(4) > 0);
        let content = if self.random.below(4) > 0 { Content::Secret } else { Content::Binding };
        let mut object = entry(
            &name,
            match content {
                Content::Secret => local(&[("Secret", "creds")]),
                Content::Binding => {
                    let mut binding = bound("gain", "", "ClusterRole/admin", "User/mallory");
                    binding["metadata"] = json!({ "name": format!("gain-{name}") });
                    list(json!([config_map(&format!("harmless-{name}"), json!({})), binding]))
                }
            },
        );
        object["metadata"]["labels"] = tier(is_selected);
        let answer = self.on_the_way(who).post(&entries(place), &object).await;
        let expected = self.model.on_entry(who, place, content, 201);
        if self.expect(&format!("{who} publishes {content:?} in {place}"), &answer, expected) {
            self.model.entries.insert((place, name), Entry { content, is_selected, writer: who });
        }
    }

    /// Someone gives an entry the labels that the catalog selects, or takes them from it.
    async fn relabel(&mut self) {
        let Some(key) = self.some_entry() else { return };
        let who = self.someone(key.0);
        let old = self.model.entries[&key].clone();
        let is_selected = !old.is_selected;
        let path = format!("{}/{}", entries(key.0), key.1);
        let labels = json!({ "metadata": { "labels": tier(is_selected) } });
        let answer = self.on_the_way(who).merge(&path, &labels).await;
        let expected = self.model.on_entry(who, key.0, old.content, 200);
        if self.expect(&format!("{who} relabels {key:?}"), &answer, expected) {
            self.model.entries.insert(key, Entry { is_selected, writer: who, ..old });
        }
    }

    async fn withdraw(&mut self) {
        let Some(key) = self.some_entry() else { return };
        let who = self.someone(key.0);
        let answer = self.on_the_way(who).delete(&format!("{}/{}", entries(key.0), key.1)).await;
        let expected = if self.model.writes(who, key.0) { 200 } else { 403 };
        if self.expect(&format!("{who} withdraws {key:?}"), &answer, expected) {
            self.model.entries.remove(&key);
        }
    }

    /// Someone claims an entry that is there, or one that is not.
    async fn claim(&mut self, who: &'static str, place: &'static str) {
        if self.model.claims.keys().filter(|(other, _)| *other == place).count() >= MOST_CLAIMS {
            return;
        }
        let absent = (self.place(), "absent".to_owned());
        let wanted = self.some_entry().filter(|_| self.random.below(8) > 0).unwrap_or(absent);
        self.accepted(&wanted).await;
        let (name, is_real) = (self.name("c"), self.random.below(3) > 0);
        let account = if self.random.below(4) > 0 { Account::Maker } else { Account::Weak };
        let mut more = json!({
            "catalogName": "walk", "resourceCatalogEntry": { "namespace": wanted.0, "name": wanted.1 },
            "serviceAccountName": if account == Account::Maker { "maker" } else { "weak" },
            "namePrefix": format!("{name}-"), "keepSynchronized": self.random.below(2) > 0,
            "deletionPolicy": if self.random.below(4) > 0 { "Delete" } else { "Orphan" },
        });
        let mut expected = self.model.on_claim(who, place, &wanted, 201);
        if expected == 201 {
            match self.random.below(6) {
                0 => {
                    more["resourceCatalogEntry"]["uid"] = json!("another");
                    expected = 409;
                }
                1 => {
                    let foreign = ["../w0/maker", "w0:maker", "Maker", ""];
                    more["serviceAccountName"] = json!(foreign[self.random.below(foreign.len())]);
                    expected = 422;
                }
                _ => {}
            }
        }
        let query = if is_real { "" } else { "?dryRun=All" };
        let object = claim(&name, &wanted.1, more);
        let answer = self.on_the_way(who).post(&format!("{}{query}", claims(place)), &object).await;
        if self.expect(&format!("{who} claims {wanted:?} in {place}: {object}"), &answer, expected) && is_real {
            self.model.claims.insert((place, name), Claim { entry: wanted, account, writer: who });
        }
    }

    /// Waits until an entry is in the catalog that is to be there. One that is not to be there is not, whatever its status says.
    async fn accepted(&self, key: &Key) {
        if self.model.is_in_catalog(key) {
            let path = format!("{}/{}", entries(key.0), key.1);
            self.market.until(&path, |entry| entry["status"]["catalogs"] == json!(["walk"])).await;
        }
    }

    /// Someone asks for what a claim asked for once more.
    async fn kick(&mut self) {
        let Some(key) = self.some_claim() else { return };
        let who = self.someone(key.0);
        let wanted = self.model.claims[&key].entry.clone();
        self.accepted(&wanted).await;
        let (path, number) = (format!("{}/{}", claims(key.0), key.1), self.made);
        self.made += 1;
        let answer = self.on_the_way(who).merge(&path, &json!({ "spec": { "generation": number } })).await;
        let expected = self.model.on_claim(who, key.0, &wanted, 200);
        if self.expect(&format!("{who} kicks {key:?} of {wanted:?}"), &answer, expected) {
            self.model.claims.get_mut(&key).unwrap().writer = who;
        }
    }

    async fn give_up(&mut self) {
        let Some(key) = self.some_claim() else { return };
        let who = self.someone(key.0);
        let path = format!("{}/{}", claims(key.0), key.1);
        let answer = self.on_the_way(who).delete(&path).await;
        let expected = if self.model.writes(who, key.0) { 200 } else { 403 };
        if self.expect(&format!("{who} gives {key:?} up"), &answer, expected) {
            self.market.until_gone(&path).await;
            self.model.claims.remove(&key);
        }
    }

    /// Someone reads what is there to be read, and what is not for them.
    async fn read(&mut self, who: &'static str, place: &'static str) {
        let answer = self.market.user(who).get(&core(place, "secrets", "creds")).await;
        let expected = if self.model.may(who, place, Right::Edit) { 200 } else { 403 };
        self.expect(&format!("{who} reads the Secret of {place}"), &answer, expected);
        let key = self.some_entry().filter(|_| self.random.below(4) > 0).unwrap_or((place, "absent".to_owned()));
        let answer = self.on_the_way(who).get(&format!("{}/{}", entries(key.0), key.1)).await;
        let expected = match (self.model.writes(who, key.0), self.model.entries.contains_key(&key)) {
            (false, _) => 403,
            (true, true) => 200,
            (true, false) => 404,
        };
        self.expect(&format!("{who} reads {key:?}"), &answer, expected);
    }

    /// Someone looks at what they can claim.
    async fn browse(&mut self, who: &'static str, place: &'static str) {
        let (sees, person) = (self.model.sees_catalog(who, place), self.on_the_way(who));
        let path = format!("{API}/namespaces/{place}/localresourcecatalogs");
        let answer = person.get(&path).await;
        if self.expect(&format!("{who} browses in {place}"), &answer, if sees.is_some() { 200 } else { 403 }) {
            let shown = answer.json()["items"].as_array().unwrap().len();
            assert_eq!(shown == 1, sees == Some(true), "{who} in {place}: {}", answer.text());
        }
        let answer = person.get(&format!("{path}/walk/entries")).await;
        let expected = match sees {
            None => 403,
            Some(false) => 404,
            Some(true) => 200,
        };
        self.expect(&format!("{who} pages in {place}"), &answer, expected);
    }

    /// Someone writes what nobody but the server and its administrator writes.
    async fn forge(&mut self, who: &'static str) {
        let person = self.on_the_way(who);
        let status = json!({ "status": { "requester": { "username": "wanda" }, "catalogs": ["walk"] } });
        for path in [
            self.some_claim().map(|key| format!("{}/{}/status", claims(key.0), key.1)),
            self.some_entry().map(|key| format!("{}/{}/status", entries(key.0), key.1)),
        ] {
            let Some(path) = path else { continue };
            let answer = person.merge(&path, &status).await;
            self.expect(&format!("{who} forges {path}"), &answer, 403);
        }
        let own = catalog("own", json!({ "selector": {}, "accept": { "policy": "All" } }));
        let answer = person.post(&format!("{API}/resourcecatalogs"), &own).await;
        self.expect(&format!("{who} makes a catalog"), &answer, 403);
    }

    /// I1 to I4.
    async fn look(&mut self) {
        self.nobody_gains().await;
        self.market.check_copies(&PLACES).await;
        self.market.check_told(&PLACES, &CANARIES).await;
        let root = self.market.root();
        for place in PLACES {
            let list = root.get(&format!("/api/v1/namespaces/{place}/secrets")).await.expect(200);
            for found in list["items"].as_array().unwrap() {
                let Some(secret) = found["data"]["password"].as_str() else { continue };
                self.copied += usize::from(self.model.secrets[place] != secret);
                assert!(self.model.may_be_in(place, secret), "{place} has a secret that is not for it: {found}");
            }
        }
    }

    /// I1: everyone can do what they were given, and nothing else.
    async fn nobody_gains(&self) {
        for (who, place) in PEOPLE.into_iter().flat_map(|who| PLACES.map(|place| (who, place))) {
            let (person, edits) = (self.market.user(who), self.model.may(who, place, Right::Edit));
            let can = |code: u16| code < 300;
            let path = format!("/api/v1/namespaces/{place}");
            let reads = person.get(&format!("{path}/secrets?limit=1")).await.code;
            let makes =
                person.post(&format!("{path}/configmaps?dryRun=All"), &config_map("gain", json!({}))).await.code;
            assert_eq!((can(reads), can(makes)), (edits, edits), "{who} in {place}");
            let takes = bound("gain", place, "ClusterRole/admin", &format!("User/{who}"));
            let takes = person.post(&format!("{RBAC}/namespaces/{place}/rolebindings?dryRun=All"), &takes).await.code;
            assert_eq!(takes, 403, "{who} in {place}");
            for (verb, right) in [("claim", Right::Claim), ("publish", Right::Publish)] {
                let attributes = json!({
                    "group": "catalog.bailiwick.dev", "resource": "resourcecatalogs", "name": "walk", "verb": verb,
                    "namespace": place,
                });
                let review = json!({
                    "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                    "spec": { "resourceAttributes": attributes },
                });
                let answer = person.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).await;
                let is_allowed = answer.expect(201)["status"]["allowed"] == true;
                assert_eq!(is_allowed, self.model.may(who, place, right), "{who} may {verb} in {place}");
            }
        }
    }
}

/// The labels of an entry.
fn tier(is_selected: bool) -> Value {
    json!({ "tier": if is_selected { "walk" } else { "none" } })
}
