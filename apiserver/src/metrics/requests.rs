//! Requests, counted and timed by what they are about.
//!
//! There is one place for every set of labels, and it is filled when it is first needed. A kind that is new gets places behind
//! those there are, and keeps them: what was counted stays counted when it is gone.
//!
//! ```text
//! targets   0 other · 1 /healthz · 2 /livez · … · organizations · organizations/status · organizations/other · …
//! places    [ target 0: GET "" "" | GET "" All | … | target 1: … ]
//! ```

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use bailiwick_machinery::GroupVersion;
use bailiwick_registry::{Registry, ServedKind};
use http::HeaderMap;

use super::count::Count;
use super::exposition::{Exposition, Type};
use super::histogram::{ANSWER_BYTES, DURATIONS, EVENT_BYTES, Histogram};
use super::labels::{DryRunLabel, Labels, ScopeLabel, VerbLabel};
use crate::request::Request;
use crate::request_info::RequestInfo;
use crate::visit::CLIENT_GONE;

/// What is told of paths that name no resource.
const PATHS: [&str; 10] =
    ["/healthz", "/livez", "/readyz", "/metrics", "/version", "/openapi/v2", "/openapi/v3", "/apis", "/api", "/"];
/// Those that Kubernetes tells without a component.
const HEALTH_PATHS: usize = 3;
/// What no label is for.
const OTHER: &str = "other";
const OTHER_TARGET: usize = 0;
/// Of how many kinds, in each of their versions, requests are told apart. Definitions come and go, and what was counted stays:
/// whoever makes and removes them again and again must not fill the memory.
const MAX_KINDS: usize = 5_000;
/// The codes that are told apart.
const CODES: [(u16, &str); 20] = [
    (200, "200"),
    (201, "201"),
    (202, "202"),
    (400, "400"),
    (401, "401"),
    (403, "403"),
    (404, "404"),
    (405, "405"),
    (406, "406"),
    (409, "409"),
    (410, "410"),
    (413, "413"),
    (415, "415"),
    (422, "422"),
    (429, "429"),
    (CLIENT_GONE, "499"),
    (500, "500"),
    (503, "503"),
    (504, "504"),
    (0, OTHER),
];

/// Requests, by what they are about.
pub(crate) struct RequestMetrics {
    registry: Arc<Registry>,
    table: ArcSwap<Table>,
}

/// What requests have been about so far.
#[derive(Clone, Debug)]
struct Table {
    targets: Vec<Arc<Target>>,
    /// Of each kind, the number of its first target, by its plural.
    kinds: HashMap<String, Vec<usize>>,
    /// Of each target.
    places: Vec<Arc<Places>>,
    watches: Vec<(Arc<Target>, Arc<WatchMetrics>)>,
    max_kinds: usize,
}

type Places = [OnceLock<Box<Series>>; Labels::PER_TARGET];

/// What a request can be about.
#[derive(Clone, Debug)]
struct Target {
    group: String,
    version: String,
    resource: String,
    subresource: String,
    component: &'static str,
}

/// What is counted for one set of labels.
#[derive(Debug)]
struct Series {
    codes: [Count; CODES.len()],
    /// Refused or given up for the server's own sake.
    terminations: [Count; CODES.len()],
    open: OpenCount,
    duration: Histogram<23>,
    /// Without the time spent waiting for a seat.
    served: Histogram<23>,
    answer_bytes: Histogram<7>,
}

/// How many are open: begun, and ended.
#[derive(Debug, Default)]
struct OpenCount {
    begun: Count,
    ended: Count,
}

/// The events that watches of a kind are sent.
#[derive(Debug)]
pub(crate) struct WatchMetrics {
    events: Count,
    bytes: Histogram<8>,
}

/// How a request went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) code: u16,
    pub(crate) took: Duration,
    /// Of that, waiting for a seat.
    pub(crate) waited: Duration,
    pub(crate) bytes: u64,
    /// Whether it was given up for the server's own sake.
    pub(crate) is_terminated: bool,
}

// === impl RequestMetrics ===

impl RequestMetrics {
    /// For the kinds that are served.
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        let mut table = Table::of_paths(MAX_KINDS);
        for kind in registry.kinds().served() {
            table.add(kind);
        }
        Self { registry, table: ArcSwap::from_pointee(table) }
    }

    /// The labels of a request.
    pub(crate) fn labels(&self, request: &Request, headers: &HeaderMap) -> Labels {
        let info = request.info();
        let scope = ScopeLabel::of(info);
        let target = if info.is_resource_request() { self.resource(info) } else { path_target(info.path()) };
        let verb = VerbLabel::of(request, headers, scope);
        Labels { target, verb, scope, dry_run: DryRunLabel::of(request) }
    }

    /// The labels of what cannot even be read.
    pub(crate) fn unreadable() -> Labels {
        let (verb, scope, dry_run) = (VerbLabel::Other, ScopeLabel::None, DryRunLabel::No);
        Labels { target: OTHER_TARGET, verb, scope, dry_run }
    }

    /// A watch begins.
    pub(crate) fn open(&self, labels: Labels) {
        self.with_series(labels, |series| series.open.begun.add(1));
    }

    /// A watch has ended.
    pub(crate) fn close(&self, labels: Labels) {
        self.with_series(labels, |series| series.open.ended.add(1));
    }

    /// A request has been served, one way or another.
    pub(crate) fn served(&self, labels: Labels, served: &Served) {
        self.with_series(labels, |series| series.count(labels, served));
    }

    /// Where the events of a kind's watches are counted.
    pub(crate) fn watch(&self, kind: &ServedKind) -> Arc<WatchMetrics> {
        let gvk = kind.gvk();
        let names = |target: &Target| {
            target.group == gvk.group && target.version == gvk.version && target.resource == kind.kind().names().plural
        };
        let table = self.table.load();
        table.watches.iter().find(|(target, _)| names(target)).map(|(_, watch)| watch.clone()).unwrap_or_default()
    }

    /// Tells all of it.
    pub(super) fn expose(&self, out: &mut Exposition) {
        self.table.load().expose(out);
    }

    fn with_series(&self, labels: Labels, count: impl FnOnce(&Series)) {
        if let Some(places) = self.table.load().places.get(labels.target) {
            count(places[labels.index_in_target()].get_or_init(Box::default));
        }
    }

    /// The target of a resource: its kind's, and the subresource's behind it. What nobody serves has none.
    fn resource(&self, info: &RequestInfo) -> usize {
        if let Some(target) = self.table.load().resource(info) {
            return target;
        }
        if self.table.load().is_full() {
            return OTHER_TARGET;
        }
        let (group, version) = (info.api_group().to_owned(), info.api_version().to_owned());
        let Some(kind) = self.registry.find(&GroupVersion::new(group, version), info.resource()) else {
            return OTHER_TARGET;
        };
        self.table.rcu(|table| {
            let mut table = Table::clone(table);
            // Another request may have been faster.
            if table.resource(info).is_none() {
                table.add(&kind);
            }
            table
        });
        self.table.load().resource(info).unwrap_or(OTHER_TARGET)
    }
}

// === impl Table ===

impl Table {
    /// Only what is no resource.
    fn of_paths(max_kinds: usize) -> Self {
        let mut table =
            Self { targets: Vec::new(), kinds: HashMap::new(), places: Vec::new(), watches: Vec::new(), max_kinds };
        table.push(Target { resource: OTHER.to_owned(), ..Target::empty("apiserver") });
        for (number, path) in PATHS.iter().enumerate() {
            let component = if number < HEALTH_PATHS { "" } else { "apiserver" };
            table.push(Target { subresource: (*path).to_owned(), ..Target::empty(component) });
        }
        table
    }

    fn push(&mut self, target: Target) {
        self.targets.push(Arc::new(target));
        self.places.push(Arc::new([const { OnceLock::new() }; Labels::PER_TARGET]));
    }

    fn is_full(&self) -> bool {
        self.watches.len() >= self.max_kinds
    }

    /// Has places for a kind from now on, if there is room.
    fn add(&mut self, kind: &ServedKind) {
        if self.is_full() {
            return;
        }
        self.kinds.entry(kind.kind().names().plural.to_string()).or_default().push(self.targets.len());
        let main = Target::of(kind);
        self.watches.push((Arc::new(main.clone()), Arc::default()));
        let custom = kind.kind().subresources().iter().map(|subresource| subresource.name());
        for name in ["", "status"].into_iter().chain(custom).chain([OTHER]) {
            self.push(Target { subresource: name.to_owned(), ..main.clone() });
        }
    }

    fn expose(&self, out: &mut Exposition) {
        let places = self.places.iter().enumerate();
        let series: Vec<(Labels, &Series)> = places
            .flat_map(|(target, places)| {
                places.iter().enumerate().filter_map(move |(at, place)| place_of(target, at, place))
            })
            .collect();
        self.expose_counts(out, &series);
        self.expose_times(out, &series);
        self.expose_watches(out);
    }

    fn expose_counts(&self, out: &mut Exposition, series: &[(Labels, &Series)]) {
        let name = "apiserver_request_total";
        out.family(name, Type::Counter, "Requests, by what they are about and the code of their answers.");
        for (labels, series) in series {
            for ((_, code), count) in CODES.iter().zip(&series.codes).filter(|(_, count)| count.get() > 0) {
                self.with_labels(*labels, With::DryRun, &[("code", *code)], |labels| {
                    out.sample(name, labels, count.get());
                });
            }
        }
        let name = "apiserver_request_terminations_total";
        out.family(name, Type::Counter, "Requests that were refused or given up in self-defense.");
        for (labels, series) in series {
            for ((_, code), count) in CODES.iter().zip(&series.terminations).filter(|(_, count)| count.get() > 0) {
                self.with_labels(*labels, With::Main, &[("code", *code)], |labels| {
                    out.sample(name, labels, count.get());
                });
            }
        }
        let name = "apiserver_longrunning_requests";
        out.family(name, Type::Gauge, "Open watches.");
        for (labels, series) in series.iter().filter(|(labels, _)| labels.is_long_running()) {
            let open = series.open.begun.get().saturating_sub(series.open.ended.get());
            self.with_labels(*labels, With::Main, &[], |labels| out.sample(name, labels, open));
        }
    }

    fn expose_times(&self, out: &mut Exposition, series: &[(Labels, &Series)]) {
        let name = "apiserver_request_duration_seconds";
        out.family(name, Type::Histogram, "How long requests took.");
        for (labels, series) in series {
            self.with_labels(*labels, With::DryRun, &[], |labels| out.histogram(name, labels, &series.duration));
        }
        let name = "apiserver_request_sli_duration_seconds";
        out.family(name, Type::Histogram, "How long requests took, without the time they waited for their turn.");
        for (labels, series) in series.iter().filter(|(labels, _)| labels.dry_run == DryRunLabel::No) {
            self.with_labels(*labels, With::Main, &[], |labels| out.histogram(name, labels, &series.served));
        }
        let name = "apiserver_response_sizes";
        out.family(name, Type::Histogram, "Bytes of answers to reads.");
        for (labels, series) in
            series.iter().filter(|(labels, _)| matches!(labels.verb, VerbLabel::Get | VerbLabel::List))
        {
            self.with_labels(*labels, With::Main, &[], |labels| out.histogram(name, labels, &series.answer_bytes));
        }
    }

    fn expose_watches(&self, out: &mut Exposition) {
        let name = "apiserver_watch_events_total";
        out.family(name, Type::Counter, "Events that were sent to watches.");
        for (target, watch) in &self.watches {
            out.sample(name, &target.kind_labels(), watch.events.get());
        }
        let name = "apiserver_watch_events_sizes";
        out.family(name, Type::Histogram, "Bytes of events that were sent to watches.");
        for (target, watch) in &self.watches {
            out.histogram(name, &target.kind_labels(), &watch.bytes);
        }
    }

    fn with_labels(&self, labels: Labels, with: With, more: &[(&str, &str)], then: impl FnOnce(&[(&str, &str)])) {
        let Some(target) = self.targets.get(labels.target) else { return };
        let [group, version, resource] = target.kind_labels();
        let mut all = vec![("verb", labels.verb.as_str())];
        if with == With::DryRun {
            all.push(("dry_run", labels.dry_run.as_str()));
        }
        all.extend([group, version, resource, ("subresource", &target.subresource)]);
        all.extend([("scope", labels.scope.as_str()), ("component", target.component)]);
        all.extend_from_slice(more);
        then(&all);
    }

    /// The target of a resource, if its kind is known.
    fn resource(&self, info: &RequestInfo) -> Option<usize> {
        let of_kind = |first: &&usize| {
            self.targets
                .get(**first)
                .is_some_and(|target| target.group == info.api_group() && target.version == info.api_version())
        };
        let first = self.kinds.get(info.resource()).and_then(|kinds| kinds.iter().find(of_kind))?;
        let rest = self.targets.iter().enumerate().skip(*first);
        let found = rest.take_while(|(at, target)| at == first || !target.subresource.is_empty());
        let mut last = *first;
        for (at, target) in found {
            if target.subresource == info.subresource() {
                return Some(at);
            }
            last = at;
        }
        // The last one is for what a kind does not have.
        Some(last)
    }
}

/// Which labels a family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Main,
    DryRun,
}

fn place_of(target: usize, at: usize, place: &OnceLock<Box<Series>>) -> Option<(Labels, &Series)> {
    Some((Labels::at(target, at), place.get()?))
}

fn path_target(path: &str) -> usize {
    let is = |known: &str| path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    PATHS.iter().position(|known| is(known) && (*known != "/" || path == "/")).map_or(OTHER_TARGET, |at| at + 1)
}

fn code_index(code: u16) -> usize {
    CODES.iter().position(|(known, _)| *known == code).unwrap_or(CODES.len() - 1)
}

// === impl Target ===

impl Target {
    fn empty(component: &'static str) -> Self {
        let nothing = String::new;
        Self { group: nothing(), version: nothing(), resource: nothing(), subresource: nothing(), component }
    }

    fn of(kind: &ServedKind) -> Self {
        let gvk = kind.gvk();
        Self {
            group: gvk.group.to_string(),
            version: gvk.version.to_string(),
            resource: kind.kind().names().plural.to_string(),
            ..Self::empty("apiserver")
        }
    }

    fn kind_labels(&self) -> [(&str, &str); 3] {
        [("group", &self.group), ("version", &self.version), ("resource", &self.resource)]
    }
}

// === impl Series ===

impl Series {
    fn count(&self, labels: Labels, served: &Served) {
        let code = code_index(served.code);
        self.codes[code].add(1);
        if served.is_terminated {
            self.terminations[code].add(1);
        }
        self.duration.observe_duration(served.took);
        if labels.dry_run == DryRunLabel::No {
            self.served.observe_duration(served.took.saturating_sub(served.waited));
        }
        if matches!(labels.verb, VerbLabel::Get | VerbLabel::List) {
            self.answer_bytes.observe(served.bytes);
        }
    }
}

impl Default for Series {
    fn default() -> Self {
        Self {
            codes: Default::default(),
            terminations: Default::default(),
            open: OpenCount::default(),
            duration: Histogram::new(&DURATIONS),
            served: Histogram::new(&DURATIONS),
            answer_bytes: Histogram::new(&ANSWER_BYTES),
        }
    }
}

// === impl WatchMetrics ===

impl WatchMetrics {
    /// An event of so many bytes was sent.
    pub(crate) fn sent(&self, bytes: usize) {
        self.events.add(1);
        self.bytes.observe(bytes as u64);
    }
}

impl Default for WatchMetrics {
    fn default() -> Self {
        Self { events: Count::default(), bytes: Histogram::new(&EVENT_BYTES) }
    }
}

#[cfg(test)]
mod tests;
