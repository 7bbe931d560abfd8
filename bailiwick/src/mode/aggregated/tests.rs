use clap::Parser;

use super::*;
use crate::flags::{Cli, Command};

/// How many requests kube-apiserver takes of one connection at a time, unless it is told otherwise.
const STREAMS: usize = 100;

/// S-20: what is beyond that waits in one line, in which whoever asks most takes the places of all others. So it must never come to
/// that: shares are kept where questions wait for seats.
#[test]
fn one_connection_takes_all_questions_that_are_under_way_and_what_is_followed() {
    let cli = Cli::try_parse_from(["bailiwick", "serve"]).unwrap();
    let Some(Command::Serve(flags)) = cli.command else { panic!("no server") };
    assert!(access_reviews(&flags.mode).max_questions < STREAMS);
    // One more is the watch of whom the cluster believes.
    assert!(token_cache(&flags.mode).max_lookups + 1 < STREAMS);
}
