//! Reading ranges: which keys, in which order, in which state, and page by page.

use std::sync::Arc;

use super::fixtures::{before, gadget, gadgets, key, ledger, row, widgets, widgetsets};
use super::session::Session;
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, ListOptions, Page, Record, Store, Values};
use crate::txn::Txn;

/// Namespaces whose order is easily got wrong: `-` and `.` sort before the `/` that ends a namespace.
const NAMESPACES: [&str; 5] = ["a", "a-b", "a.b", "a0", "ab"];

/// Objects in all of them, of two resources whose names begin alike, beside another resource and ledger rows.
async fn populate(session: &mut Session) {
    for namespace in NAMESPACES {
        for name in ["x", "x-y", "x.y", "xy"] {
            session.put(&key(namespace, name), format!("{namespace} {name}")).await;
        }
        session.put(&widgetsets().namespaced(namespace, "x").unwrap(), "set").await;
        session.put(&gadget(namespace), "gadget").await;
    }
    session.put(&row(1), "row").await;
}

/// Every range a caller can name.
fn ranges() -> Vec<Prefix> {
    let mut ranges = vec![Prefix::everything(), ledger().all().clone(), ledger().below(&["rows"]).unwrap()];
    for resource in [widgets(), widgetsets(), gadgets()] {
        ranges.push(resource.all().clone());
        ranges.extend(NAMESPACES.map(|namespace| resource.namespace(namespace).unwrap()));
    }
    ranges
}

fn records(pages: &[Page]) -> Vec<Record> {
    pages.iter().flat_map(|page| page.records.iter().cloned()).collect()
}

fn limit(limit: usize) -> ListOptions {
    ListOptions::latest().limit(limit.try_into().unwrap())
}

/// An empty range is an answer with a revision, from which a watch can go on: in an empty store and in a full one.
pub(super) async fn an_empty_range_has_a_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    assert!(session.check_list(&Prefix::everything(), At::Latest).await >= session.start);
    let revision = session.put(&gadget("a"), "").await;
    let listed = session.check_list(widgets().all(), At::Latest).await;
    assert!(listed >= revision);
    session.put(&key("ns", "a"), "").await;
    session.check_watch(widgets().all(), listed).await;
    session.delete(&key("ns", "a")).await;
    session.check_list(widgets().all(), At::Latest).await;
}

/// A range holds its own keys and no others: no resource, namespace or ledger reaches into another (S-12).
pub(super) async fn ranges_do_not_overlap(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    for range in ranges() {
        session.check_list(&range, At::Latest).await;
    }
    let counts =
        ranges().iter().map(|range| session.model.state(range, session.model.newest()).len()).collect::<Vec<_>>();
    assert_eq!(counts[..4], [31, 1, 1, 20], "the model itself tells the ranges apart");
}

/// Keys are listed in the order of their bytes.
pub(super) async fn the_order_is_that_of_bytes(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    let page = session.store.list(widgets().all(), ListOptions::latest()).await.unwrap();
    let names: Vec<_> = page.records.iter().map(|record| widgets().all().relative(&record.key).unwrap()).collect();
    let first_two_of_each: Vec<_> = names.chunks(4).flat_map(|names| &names[..2]).copied().collect();
    let expected = ["a-b/x", "a-b/x-y", "a.b/x", "a.b/x-y", "a/x", "a/x-y", "a0/x", "a0/x-y", "ab/x", "ab/x-y"];
    assert_eq!(first_two_of_each, expected);
}

/// A list of an old state shows the range as it was, at every revision since the store was empty.
pub(super) async fn exact_shows_the_past(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for (round, namespace) in NAMESPACES.iter().enumerate() {
        session.put(&key(namespace, "x"), "one").await;
        session.put(&key(NAMESPACES[0], "x"), format!("{round}")).await;
        session.put(&gadget("x"), format!("{round}")).await;
        session.delete(&key(namespace, "x")).await;
    }
    for revision in session.model.revisions() {
        for at in [before(revision), revision] {
            for range in [&Prefix::everything(), widgets().all(), &widgets().namespace("a").unwrap()] {
                session.check_list(range, At::Exact(at)).await;
            }
        }
    }
}

/// Before the first write everything is empty, and stays so in the past.
pub(super) async fn before_the_first_write_all_is_empty(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.check_list(&Prefix::everything(), At::Exact(session.start)).await;
    session.put(&key("ns", "a"), "").await;
    session.check_list(&Prefix::everything(), At::Exact(session.start)).await;
    session.check_list(widgets().all(), At::Exact(session.start)).await;
}

/// A list of a state not older than a revision has that revision or a newer one.
pub(super) async fn not_older_than_is_at_least_as_new(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    let newest = session.store.revision().await.unwrap();
    for revision in session.model.revisions().into_iter().chain([session.start, Revision::ZERO, newest]) {
        session.check_list(widgets().all(), At::NotOlderThan(revision)).await;
    }
}

/// A limit cuts the list, and what is said of the rest is exact: below, at and above the number of records.
pub(super) async fn a_limit_says_how_many_remain(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    for range in [widgets().all().clone(), widgets().namespace("a").unwrap(), Prefix::everything()] {
        let all = session.model.state(&range, session.model.newest());
        for n in [1, 2, all.len() - 1, all.len(), all.len() + 1, 100_000] {
            let page = session.store.list(&range, limit(n)).await.unwrap();
            assert_eq!(page.records, all[..n.min(all.len())], "limit {n}");
            assert_eq!(page.remaining, all.len().saturating_sub(n), "limit {n}");
        }
    }
}

/// Pages of whatever size, put together, are the list of the one state they all show.
pub(super) async fn pages_make_up_the_list(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    for range in ranges() {
        let all = session.model.state(&range, session.model.newest());
        for n in [1, 2, 3, 7, 20] {
            let pages = session.pages(&range, At::Latest, n).await.unwrap();
            assert_eq!(records(&pages), all, "pages of {n} of {range:?}");
            assert_eq!(pages.len(), all.len().div_ceil(n).max(1), "pages of {n} of {range:?}");
        }
    }
}

/// While keys before, behind and at the mark are written, the following pages still show the state of the first.
pub(super) async fn pages_keep_their_state(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    let range = widgets().all().clone();
    let mut pages: Vec<Page> = Vec::new();
    while pages.last().is_none_or(|page| page.remaining > 0) {
        let options = session.next_page(At::Latest, pages.last(), 3);
        pages.push(session.store.list(&range, options).await.unwrap());
        let mark = pages.last().unwrap().records.last().unwrap().key.clone();
        session.delete(&mark).await;
        session.put(&key("a-a", &format!("{}", pages.len())), "before").await;
        session.put(&key("zz", &format!("{}", pages.len())), "behind").await;
        let changed = session.model.state(&range, session.model.newest()).last().unwrap().key.clone();
        session.put(&changed, "changed").await;
    }
    let first = &pages[0];
    assert!(pages.iter().all(|page| page.revision == first.revision));
    assert_eq!(records(&pages), session.model.state(&range, first.revision));
    session.check_list(&range, At::Latest).await;
}

/// Pages of an old state count what remained then.
pub(super) async fn pages_of_the_past(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    let then = session.model.newest();
    for namespace in NAMESPACES {
        session.delete(&key(namespace, "x")).await;
        session.put(&key(namespace, "new"), "").await;
    }
    session.put(&key("zz", "new"), "").await;
    let pages = session.pages(widgets().all(), At::Exact(then), 6).await.unwrap();
    assert_eq!(pages[0].remaining, 14);
    assert_eq!(records(&pages), session.model.state(widgets().all(), then));
}

/// A list begins behind a key, whether that key exists, existed or never did; behind the last there is nothing.
pub(super) async fn a_list_begins_behind_a_key(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    session.delete(&key("a", "x")).await;
    let all = session.model.state(widgets().all(), session.model.newest());
    for mark in [key("a", "x"), key("a", "w"), key("a", "xy"), key("a-b", "x"), key("ab", "xy"), key("zz", "z")] {
        let page = session.store.list(widgets().all(), ListOptions::latest().after(mark.clone())).await.unwrap();
        let expected: Vec<_> = all.iter().filter(|record| record.key > mark).cloned().collect();
        assert_eq!((page.records, page.remaining), (expected, 0), "after {mark}");
        let page = session.store.list(widgets().all(), limit(2).after(mark.clone())).await.unwrap();
        let behind = all.iter().filter(|record| record.key > mark).count();
        assert_eq!((page.records.len(), page.remaining), (behind.min(2), behind.saturating_sub(2)), "after {mark}");
    }
}

/// A mark outside the range neither widens nor shifts it: before it all is listed, behind it nothing.
pub(super) async fn a_mark_outside_the_range(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    let list = async |mark: Key| {
        let page = session.store.list(widgets().all(), ListOptions::latest().after(mark)).await.unwrap();
        assert!(page.revision >= session.model.newest());
        page.records
    };
    let all = session.model.state(widgets().all(), session.model.newest());
    assert_eq!(list(gadget("a")).await, all);
    assert_eq!(list(row(1)).await, all);
    assert_eq!(list(widgetsets().object("a").unwrap()).await, []);
}

/// A range of more records than one answer of an engine may hold is still listed whole, and in pages.
pub(super) async fn a_range_of_many_records(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for hundred in 0..13 {
        let rows = hundred * 100..(hundred + 1) * 100;
        session.commit(rows.fold(Txn::new(), |txn, number| txn.create(row(number), format!("{number}")))).await;
    }
    session.check_list(ledger().all(), At::Latest).await;
    let pages = session.pages(ledger().all(), At::Latest, 500).await.unwrap();
    assert_eq!(pages.iter().map(|page| page.remaining).collect::<Vec<_>>(), [800, 300, 0]);
    assert_eq!(records(&pages), session.model.state(ledger().all(), session.model.newest()));
}

/// A list without values is the same list with less in it.
pub(super) async fn values_can_be_left_out(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    let full = session.store.list(widgets().all(), limit(5)).await.unwrap();
    let options = ListOptions { values: Values::Omitted, ..limit(5) };
    let bare = session.store.list(widgets().all(), options).await.unwrap();
    assert!(full.records.iter().any(|record| !record.value.is_empty()));
    assert!(bare.records.iter().all(|record| record.value.is_empty()));
    let places = |page: &Page| page.records.iter().map(|r| (r.key.clone(), r.revision)).collect::<Vec<_>>();
    assert_eq!((places(&bare), bare.remaining), (places(&full), full.remaining));
}

/// On a healthy store asking for damage changes nothing.
pub(super) async fn nothing_is_damaged(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    populate(&mut session).await;
    let options = ListOptions { values: Values::Whole, ..limit(5) };
    let page = session.store.list(widgets().all(), options).await.unwrap();
    assert_eq!((page.records.len(), page.remaining, page.damaged), (5, 15, Vec::new()));
}
