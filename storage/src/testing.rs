//! The contract suite: what [`Store`] promises, as cases that every engine and the cache must pass.
//!
//! [`contract_suite!`](crate::contract_suite) makes one test of each case; [`cases`] gives the same cases as data, so
//! that a store with a seeded bug can be shown to fail some ([`failures`]). A case gets a fresh, empty store, assumes
//! nothing about how it works, and panics when a promise is broken.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this module is tests: a broken promise is a panic")]

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::task::{self, JoinSet};

use crate::store::Store;

mod compaction;
mod concurrency;
mod create_update_delete;
mod fixtures;
mod follower;
mod get;
mod history;
mod limits;
mod list;
mod model;
mod reference;
pub mod sealed;
mod sequence;
mod session;
mod sim_disk;
mod watch;

pub use fixtures::{Random, gadget, gadgets, key, ledger, row, soon, widgets, widgetsets};
pub use follower::Follower;
pub use history::{Call, History};
pub use model::Model;
pub use reference::Reference;
pub use sequence::Sequence;
pub use session::Session;
pub use sim_disk::{Failure as DiskFailure, Image, Operation, SimDisk};

/// The longest a case may take. Most take milliseconds; those that wait for a revision that never comes, seconds.
const CASE_LIMIT: Duration = Duration::from_secs(120);

/// How many cases [`failures`] runs side by side.
const SIDE_BY_SIDE: usize = 16;

/// Where a case gets its store from. It lives as long as the case, so it may own a directory or a process.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// A store without keys that nobody else writes to. Its revision may be any and may move by itself. It must keep
    /// 2,000 revisions and all of the last two minutes until it is told to forget them, so turn automatic compaction
    /// off.
    async fn open(&self) -> Arc<dyn Store>;
}

/// One promise of the contract.
#[derive(Clone, Copy)]
pub struct Case {
    /// What the promise is about; a file of this module.
    pub group: &'static str,
    /// What is promised.
    pub name: &'static str,
    body: fn(Arc<dyn Store>) -> Running,
}

/// A case that did not pass.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The case, as `group::name`.
    pub case: String,
    /// What it panicked with.
    pub message: String,
}

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

// === impl Case ===

impl Case {
    /// Runs the case on a fresh store. Panics if the store breaks the promise.
    pub async fn run(&self, backend: &dyn Backend) {
        let store = backend.open().await;
        let finished = tokio::time::timeout(CASE_LIMIT, (self.body)(store)).await;
        assert!(finished.is_ok(), "{self:?} did not finish within {CASE_LIMIT:?}");
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.group, self.name)
    }
}

/// The case with this name. Panics if there is none.
pub fn case(group: &str, name: &str) -> &'static Case {
    let found = cases().iter().find(|case| case.group == group && case.name == name);
    found.unwrap_or_else(|| panic!("there is no case {group}::{name}"))
}

/// Runs every case, each on a backend of its own, and returns those that failed.
pub async fn failures<B: Backend>(backend: impl Fn() -> B) -> Vec<Failure> {
    let mut running = Suite::start(backend);
    let mut failures = Vec::new();
    while let Some(failure) = running.next_failure().await {
        failures.push(failure);
    }
    failures
}

/// Runs the cases until one fails: enough to know that a seeded bug is found.
pub async fn first_failure<B: Backend>(backend: impl Fn() -> B) -> Option<Failure> {
    Suite::start(backend).next_failure().await
}

/// Cases that run side by side; the rest is stopped when this is dropped.
struct Suite {
    running: JoinSet<()>,
    cases: HashMap<task::Id, &'static Case>,
}

impl Suite {
    fn start<B: Backend>(backend: impl Fn() -> B) -> Self {
        let places = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let mut suite = Self { running: JoinSet::new(), cases: HashMap::new() };
        for case in cases() {
            let (backend, places) = (backend(), places.clone());
            let handle = suite.running.spawn(async move {
                let _place = places.acquire().await.expect("the semaphore is never closed");
                case.run(&backend).await;
            });
            suite.cases.insert(handle.id(), case);
        }
        suite
    }

    async fn next_failure(&mut self) -> Option<Failure> {
        loop {
            if let Err(error) = self.running.join_next_with_id().await? {
                let case = format!("{:?}", self.cases[&error.id()]);
                return Some(Failure { case, message: message(error.into_panic().as_ref()) });
            }
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}

/// Makes one test of each case of the contract. Takes an expression that makes a [`Backend`]; the place must be a
/// module of its own.
///
/// ```text
/// mod embedded {
///     bailiwick_storage::contract_suite!(super::InDirectory::new());
/// }
/// ```
#[macro_export]
macro_rules! contract_suite {
    ($backend:expr) => {
        fn backend() -> impl $crate::testing::Backend {
            $backend
        }
        $crate::__contract_cases! { __contract_tests }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract_tests {
    ($($group:ident { $($name:ident)* })*) => {
        $(mod $group {
            $(#[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::testing::case(stringify!($group), stringify!($name)).run(&super::backend()).await;
            })*
        })*
    };
}

macro_rules! __contract_table {
    ($($group:ident { $($name:ident)* })*) => {
        /// Every case of the contract.
        pub fn cases() -> &'static [Case] {
            &[$($(Case {
                group: stringify!($group),
                name: stringify!($name),
                body: |store| Box::pin($group::$name(store)),
            },)*)*]
        }
    };
}

/// The list of cases, handed to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __contract_cases {
    ($then:ident) => {
        $crate::__contract_cases! { @ $crate::$then }
    };
    (@ $($then:tt)+) => {
        $($then)+! {
            create_update_delete {
                create_stores_a_record
                create_refuses_a_key_that_exists
                update_replaces_the_value
                update_refuses_a_stale_revision
                update_refuses_an_absent_key
                delete_removes_the_key
                delete_refuses_a_stale_revision
                delete_refuses_an_absent_key
                create_after_delete
                a_transaction_has_one_revision
                a_conflict_anywhere_writes_nothing
                a_condition_guards_absence
                a_condition_guards_a_revision
                revisions_increase_across_keys
                refused_writes_leave_no_trace
                an_equal_value_is_still_a_write
                values_are_kept_byte_for_byte
            }
            get {
                latest_sees_every_write
                an_absent_key_has_a_revision
                exact_shows_the_past
                not_older_than_is_at_least_as_new
                a_revision_about_to_come_is_waited_for
                a_revision_far_ahead_is_an_error
                any_state_was_true_once
            }
            list {
                an_empty_range_has_a_revision
                ranges_do_not_overlap
                the_order_is_that_of_bytes
                exact_shows_the_past
                before_the_first_write_all_is_empty
                not_older_than_is_at_least_as_new
                a_limit_says_how_many_remain
                pages_make_up_the_list
                pages_keep_their_state
                pages_of_the_past
                a_list_begins_behind_a_key
                a_mark_outside_the_range
                a_range_of_many_records
                nothing_is_damaged
                values_can_be_left_out
            }
            watch {
                delivers_what_comes
                replays_the_past
                from_zero_on
                resumes_from_every_revision
                resumes_from_every_batch
                a_revision_comes_whole
                filters_by_range
                deletions_are_events
                progress_reaches_the_store
                progress_is_answered_when_idle
                progress_does_not_run_ahead
                a_future_revision_is_waited_for
                watchers_agree
                a_slow_watcher_misses_nothing
                a_dropped_next_loses_nothing
                dropped_watches_harm_nobody
                opening_in_the_middle_misses_nothing
                an_expired_revision_delivers_nothing
            }
            compaction {
                forgets_what_is_older
                keeps_what_exists
                at_the_newest_revision
                at_a_deletion
                just_before_a_deletion
                the_deleted_stay_deleted
                pages_expire
                not_older_than_the_forgotten
                again_and_again
                the_future_is_not_forgotten
                a_watch_that_kept_up_goes_on
                a_watch_that_fell_behind
                under_load_there_is_no_hole
            }
            concurrency {
                counting_is_exact
                only_one_creates
                only_one_of_update_and_delete
                others_see_what_was_written
                revisions_follow_time
                a_list_is_one_state
                list_then_watch_is_the_whole_story
                replay_from_any_revision
                random_reads_match_the_model
            }
            limits {
                a_hundred_operations
                a_hundred_conditions
                a_value_of_a_mebibyte
                a_transaction_of_the_largest_size
                what_makes_no_sense_is_refused
                two_objects_of_one_resource_are_refused
                an_object_with_many_rows
                the_longest_names
                answers_larger_than_a_message
            }
        }
    };
}

crate::__contract_cases! { @ __contract_table }
