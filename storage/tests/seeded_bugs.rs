//! The suite proves itself: stores with one bug each, and the case that finds it. A suite that has never failed has
//! not been tested.
//!
//! Time is paused: what waits for something that does not come gives up at once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use bailiwick_storage::testing::{Backend, Reference, case, first_failure};
use bailiwick_storage::{Fault, Faults, Revision};

#[path = "seeded_bugs/mistaken.rs"]
mod mistaken;

#[path = "support/backends.rs"]
mod backends;

use backends::{Cached, InEtcd, InFolder};
use mistaken::{Mistake, Mistaken};

fn reference(faults: Faults) -> Reference {
    Reference::new(Revision::new(1_000), 1, faults)
}

/// Runs one case; returns what it failed with. The task runs on this thread, so that what it prints is captured.
async fn run(backend: impl Backend, name: &str) -> Result<(), tokio::task::JoinError> {
    let (group, name) = name.split_once("::").expect("a case is named group::name");
    let case = case(group, name);
    tokio::spawn(async move { case.run(&backend).await }).await
}

/// The faults that every store can have, on a store without a disk. Those of the disk and of restarts are for engines.
mod faults {
    use super::*;

    async fn check_found(fault: Fault) {
        let faults = Faults::default();
        faults.set(fault);
        let failure = first_failure(|| reference(faults.clone())).await;
        assert!(failure.is_some(), "no case finds {fault:?}");
        println!("{fault:?} is found by {failure:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn drop_event() {
        check_found(Fault::DropEvent).await;
    }

    #[tokio::test(start_paused = true)]
    async fn repeat_event() {
        check_found(Fault::RepeatEvent).await;
    }

    #[tokio::test(start_paused = true)]
    async fn miss_delete() {
        check_found(Fault::MissDelete).await;
    }

    #[tokio::test(start_paused = true)]
    async fn stale_read() {
        check_found(Fault::StaleRead).await;
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_fault_nothing_is_found() {
        assert!(first_failure(|| reference(Faults::default())).await.is_none());
    }
}

/// Mistakes at the border of a store that is right inside, each with the case that must find it.
macro_rules! mistakes {
    ($($name:ident: $mistake:ident => $($case:literal),+;)*) => {
        mod mistakes {
            use super::*;

            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                for name in [$($case),+] {
                    let right = run(Mistaken::new(reference(Faults::default()), None), name).await;
                    assert!(right.is_ok(), "{name} fails on a store without a mistake: {right:?}");
                    let wrong = run(Mistaken::new(reference(Faults::default()), Some(Mistake::$mistake)), name).await;
                    assert!(wrong.is_err_and(|error| error.is_panic()), "{name} does not find the mistake");
                }
            })*
        }
    };
}

mistakes! {
    // Writes.
    conflicts_are_swallowed: SwallowConflicts => "create_update_delete::create_refuses_a_key_that_exists",
        "create_update_delete::delete_refuses_an_absent_key", "concurrency::counting_is_exact",
        "concurrency::only_one_creates", "concurrency::only_one_of_update_and_delete",
        "create_update_delete::a_condition_guards_absence", "create_update_delete::a_condition_guards_a_revision",
        "create_update_delete::a_conflict_anywhere_writes_nothing";
    conflicts_do_not_say_when: ForgetActual => "create_update_delete::update_refuses_a_stale_revision",
        "create_update_delete::delete_refuses_a_stale_revision", "create_update_delete::create_after_delete";
    limits_are_not_checked: SwallowInvalid => "limits::a_hundred_operations", "limits::a_hundred_conditions",
        "limits::a_value_of_a_mebibyte", "limits::a_transaction_of_the_largest_size",
        "limits::what_makes_no_sense_is_refused", "limits::two_objects_of_one_resource_are_refused";
    a_commit_returns_the_revision_before: ReturnRevisionBefore => "create_update_delete::create_stores_a_record",
        "create_update_delete::revisions_increase_across_keys", "create_update_delete::a_transaction_has_one_revision";
    an_empty_value_is_a_deletion: EmptyIsAbsent => "create_update_delete::values_are_kept_byte_for_byte";
    // Reads.
    the_past_is_the_present: ExactIsLatest => "get::exact_shows_the_past", "list::exact_shows_the_past",
        "list::before_the_first_write_all_is_empty", "list::pages_keep_their_state", "list::pages_of_the_past",
        "concurrency::replay_from_any_revision", "concurrency::random_reads_match_the_model";
    the_future_is_the_present: FutureIsLatest => "get::a_revision_far_ahead_is_an_error";
    absence_has_no_revision: AbsenceWithoutRevision => "get::an_absent_key_has_a_revision",
        "list::an_empty_range_has_a_revision";
    lists_are_backwards: Backwards => "list::the_order_is_that_of_bytes", "list::ranges_do_not_overlap";
    the_rest_is_not_counted: RemainingIsOne => "list::a_limit_says_how_many_remain",
        "list::a_range_of_many_records", "list::nothing_is_damaged";
    the_mark_is_ignored: IgnoreAfter => "list::a_list_begins_behind_a_key", "list::a_mark_outside_the_range",
        "list::pages_make_up_the_list";
    reads_are_late: ReadBehind => "concurrency::others_see_what_was_written", "concurrency::revisions_follow_time",
        "get::latest_sees_every_write";
    reads_run_ahead: ClaimTooNew => "get::any_state_was_true_once", "concurrency::list_then_watch_is_the_whole_story";
    not_older_means_exactly: NotOlderIsExact => "compaction::not_older_than_the_forgotten";
    not_older_is_older: NotOlderIsOlder => "get::not_older_than_is_at_least_as_new",
        "list::not_older_than_is_at_least_as_new", "get::a_revision_about_to_come_is_waited_for";
    a_list_is_of_two_states: TearLists => "concurrency::a_list_is_one_state";
    // Watches.
    a_revision_is_cut_in_two: SplitRevisions => "watch::a_revision_comes_whole";
    progress_is_one_too_high: ProgressTooHigh => "watch::progress_does_not_run_ahead",
        "watch::resumes_from_every_batch", "watch::delivers_what_comes";
    progress_is_not_answered: IgnoreProgress => "watch::progress_reaches_the_store",
        "watch::progress_is_answered_when_idle";
    a_watch_begins_one_late: BeginLate => "watch::replays_the_past", "watch::resumes_from_every_revision",
        "watch::opening_in_the_middle_misses_nothing", "watch::watchers_agree";
    a_watch_begins_now: BeginNow => "watch::replays_the_past", "watch::from_zero_on",
        "watch::a_future_revision_is_waited_for";
    a_watch_has_no_range: WatchEverything => "watch::filters_by_range", "limits::an_object_with_many_rows";
    a_dropped_next_loses: LoseOnDrop => "watch::a_dropped_next_loses_nothing";
    a_full_queue_loses: LoseWhenSlow => "watch::a_slow_watcher_misses_nothing";
    deletions_look_like_writes: DeleteIsPut => "watch::deletions_are_events", "compaction::just_before_a_deletion";
    // Compaction.
    nothing_is_forgotten: CompactNothing => "compaction::forgets_what_is_older", "compaction::pages_expire",
        "watch::an_expired_revision_delivers_nothing";
    too_much_is_forgotten: CompactAll => "compaction::forgets_what_is_older", "compaction::just_before_a_deletion";
    an_expired_watch_skips: SkipExpired => "compaction::at_a_deletion", "compaction::forgets_what_is_older",
        "compaction::a_watch_that_fell_behind", "compaction::under_load_there_is_no_hole";
    an_expired_list_shows_another_state: ExpiredIsOldest => "compaction::pages_expire",
        "compaction::again_and_again";
    the_future_is_forgotten: CompactFuture => "compaction::the_future_is_not_forgotten";
    a_compaction_ends_watches: CompactionEndsWatches => "compaction::a_watch_that_kept_up_goes_on";
}

/// The faults of the real engines and of the cache. Those of the disk and of restarts are with the tests of the disk.
mod engines {
    use bailiwick_storage::cache::OnDifference;

    use super::*;

    fn with(fault: Fault) -> Faults {
        let faults = Faults::default();
        faults.set(fault);
        faults
    }

    async fn check_found<B: Backend>(fault: Fault, backend: impl Fn(Faults) -> B) {
        let failure = first_failure(|| backend(with(fault))).await;
        println!("{fault:?} is found by {failure:?}");
        assert!(failure.is_some(), "no case finds {fault:?}");
    }

    /// A cache whose mistakes the cases must find by themselves, without the audit.
    fn cached(faults: Faults) -> impl Backend {
        let store = InFolder::new(&Faults::default());
        Cached { on_difference: OnDifference::Report, faults, ..Cached::new(store) }
    }

    #[tokio::test]
    async fn an_embedded_watch_that_drops_an_event() {
        check_found(Fault::DropEvent, |faults| InFolder::new(&faults)).await;
    }

    #[tokio::test]
    async fn an_embedded_watch_that_repeats_an_event() {
        check_found(Fault::RepeatEvent, |faults| InFolder::new(&faults)).await;
    }

    #[tokio::test]
    async fn a_cache_that_misses_a_deletion() {
        check_found(Fault::MissDelete, cached).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_cache_that_reads_stale() {
        check_found(Fault::StaleRead, cached).await;
    }

    #[tokio::test]
    async fn an_etcd_watch_that_drops_an_event() {
        check_found(Fault::DropEvent, |faults| InEtcd { faults }).await;
    }

    #[tokio::test]
    async fn an_etcd_watch_that_repeats_an_event() {
        check_found(Fault::RepeatEvent, |faults| InEtcd { faults }).await;
    }
}
