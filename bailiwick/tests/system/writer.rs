//! Clients that write all the time, and remember what they were told about each write.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::claims::{TIER, VALUE, claim, collection, object};
use crate::client::{Answer, Client, Endpoint};
use crate::history::{Event, History, State, Told};

const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Where writers write.
pub(crate) const NAMESPACES: [&str; 4] = ["north", "east", "south", "west"];
pub(crate) const TIERS: [&str; 2] = ["gold", "silver"];
pub(crate) const CATALOGS: [&str; 2] = ["tools", "books"];
/// How many objects each writer has.
pub(crate) const OBJECTS: u64 = 10;

/// One write that happened.
#[derive(Clone, Debug)]
struct Write {
    told: Told,
    /// As it was afterwards; of a deletion, as it was before.
    state: State,
    /// The answer to a deletion has none.
    revision: Option<u64>,
    /// Whether the server said so. Otherwise the answer was lost, and the object was looked at.
    acknowledged: bool,
}

/// A writer of its own objects, in the namespace of its number.
pub(crate) struct Writer {
    number: usize,
    endpoint: Endpoint,
    client: Option<Client>,
    random: u64,
    writes: u64,
    objects: BTreeMap<String, State>,
    log: Vec<Write>,
}

/// What a writer was told about its writes.
pub(crate) struct Log(Vec<Write>);

// === impl Writer ===

impl Writer {
    pub(crate) fn new(number: usize, endpoint: Endpoint) -> Self {
        // Any odd number will do; each writer has another one.
        let random = 0x9E37_79B9_7F4A_7C15 ^ (number as u64 * 2 + 1);
        Self { number, endpoint, client: None, random, writes: 0, objects: BTreeMap::new(), log: Vec::new() }
    }

    /// Writes at a steady pace until it is told to stop, through everything that happens to the server.
    pub(crate) async fn run(mut self, every: Duration, stop: CancellationToken) -> Log {
        let mut pace = interval(every);
        pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while !stop.is_cancelled() {
            pace.tick().await;
            self.write().await;
        }
        Log(self.log)
    }

    fn namespace(&self) -> &'static str {
        NAMESPACES[self.number % NAMESPACES.len()]
    }

    async fn write(&mut self) {
        let object = self.random() % OBJECTS;
        let name = format!("claim-{}-{object}", self.number);
        self.writes += 1;
        let value = format!("{}-{}", self.number, self.writes);
        match self.objects.get(&name).cloned() {
            None => self.create(name, value).await,
            Some(_) if self.random().is_multiple_of(10) => self.delete(&name).await,
            Some(state) => self.change(state, value).await,
        }
    }

    async fn create(&mut self, name: String, value: String) {
        let state = State {
            namespace: self.namespace().to_owned(),
            tier: self.pick(TIERS),
            catalog: self.pick(CATALOGS),
            name,
            value,
        };
        let body = claim(&state.name, &state.catalog, &state.tier, &state.value);
        let client = self.client().await;
        let answer = client.post(&collection(self.namespace()), &body).await;
        self.note(Told::Added, state, answer.ok(), 201).await;
    }

    async fn change(&mut self, before: State, value: String) {
        let (mut tier, mut catalog) = (before.tier.clone(), before.catalog.clone());
        match self.random() % 4 {
            0 => tier = self.pick(TIERS),
            1 => catalog = self.pick(CATALOGS),
            _ => {}
        }
        let patch = json!({
            "metadata": {"labels": {TIER: tier}, "annotations": {VALUE: value}},
            "spec": {"catalogName": catalog},
        });
        let client = self.client().await;
        let answer = client.merge(&object(self.namespace(), &before.name), &patch).await;
        let state = State { tier, catalog, value, ..before };
        self.note(Told::Modified, state, answer.ok(), 200).await;
    }

    async fn delete(&mut self, name: &str) {
        let before = self.objects[name].clone();
        let client = self.client().await;
        let answer = client.delete(&object(self.namespace(), name)).await;
        self.note(Told::Deleted, before, answer.ok(), 200).await;
    }

    /// Remembers what became of a write.
    async fn note(&mut self, told: Told, state: State, answer: Option<Answer>, success: u16) {
        let revision = match answer {
            Some(answer) if answer.code == success => (told != Told::Deleted).then(|| answer.revision()),
            // The server has told that it did nothing.
            Some(answer) if answer.code == 429 => return,
            Some(answer) if answer.code < 500 => panic!("{told:?} {state:?}: {} {}", answer.code, answer.text()),
            Some(_) | None => return self.find_out(told, state).await,
        };
        match told {
            Told::Deleted => drop(self.objects.remove(&state.name)),
            _ => drop(self.objects.insert(state.name.clone(), state.clone())),
        }
        self.log.push(Write { told, state, revision, acknowledged: true });
    }

    /// Looks whether a write happened whose answer was lost. Nobody else writes this object, so what is found stays true.
    async fn find_out(&mut self, told: Told, state: State) {
        let found = self.look(&state.name).await;
        let (happened, revision) = match (told, &found) {
            (Told::Deleted, found) => (found.is_none(), None),
            (_, Some((revision, found))) => (found.value == state.value, Some(*revision)),
            (_, None) => (false, None),
        };
        match found {
            Some((_, found)) => drop(self.objects.insert(state.name.clone(), found)),
            None => drop(self.objects.remove(&state.name)),
        }
        if happened {
            self.log.push(Write { told, state, revision, acknowledged: false });
        }
    }

    async fn look(&mut self, name: &str) -> Option<(u64, State)> {
        self.client = None;
        loop {
            let client = self.client().await;
            match client.get(&object(self.namespace(), name)).await {
                Ok(answer) if answer.code == 200 => return Some((answer.revision(), State::of(&answer.json()))),
                Ok(answer) if answer.code == 404 => return None,
                _ => {
                    self.client = None;
                    sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    async fn client(&mut self) -> Client {
        loop {
            if let Some(client) = &self.client {
                return client.clone();
            }
            match self.endpoint.connect().await {
                Ok(client) => self.client = Some(client),
                Err(_) => sleep(RETRY_PAUSE).await,
            }
        }
    }

    fn pick(&mut self, from: [&str; 2]) -> String {
        from[usize::from(self.random().is_multiple_of(2))].to_owned()
    }

    /// The same numbers in every run: an xorshift is random enough to choose an object.
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 16
    }
}

// === impl Log ===

impl Log {
    /// How many writes were acknowledged.
    pub(crate) fn acknowledged(&self) -> usize {
        self.0.iter().filter(|write| write.acknowledged).count()
    }

    /// Compares it with a history: every write happened once, in order, and at the version that was told; and nothing else
    /// happened to these objects. Gives the number of events that were compared.
    pub(crate) fn check(&self, history: &History) -> usize {
        let mut writes: BTreeMap<(String, String), Vec<&Write>> = BTreeMap::new();
        for write in &self.0 {
            writes.entry(write.state.key()).or_default().push(write);
        }
        for (key, writes) in writes {
            let mut events = history.events.iter().filter(|event| event.state.key() == key);
            for write in writes {
                let event = events.next();
                assert!(event.is_some_and(|event| write.is(event)), "lost: {write:?}; instead: {event:?}");
            }
            assert_eq!(events.next(), None, "nobody wrote this");
        }
        self.0.len()
    }
}

// === impl Write ===

impl Write {
    fn is(&self, event: &Event) -> bool {
        let at = self.revision.is_none_or(|revision| event.revision == revision);
        at && event.told == self.told && event.state == self.state
    }
}
