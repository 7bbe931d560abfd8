//! Scripts by chance, which upstream's packages play at the same time: `tests/oracle/apply` makes them of a seed, and tells
//! what came of each step.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, thread};

use super::rules::has_blanks;
use super::script::{Kind, Step, Texts, stored};
use super::*;
use crate::apply::managed::entries;

/// How many objects are applied, if nobody says otherwise.
const APPLIES: usize = 100_000;
/// How many scripts are played at the same time: as many as the least machine has cores.
const STREAMS: usize = 2;
/// Seeds of streams are so far apart that they never meet. Go's generator takes 31 bits of them.
const SEEDS_OF_A_STREAM: u64 = 1 << 24;

/// One line of a stream: a kind, and what is done to objects of it.
#[derive(Deserialize)]
struct Played {
    seed: u64,
    versions: Map<String, Value>,
    status: bool,
    scripts: Vec<Vec<Step>>,
}

/// What has been seen.
#[derive(Default)]
struct Seen {
    differences: Differences,
    applied: usize,
    conflicts: usize,
    refused: usize,
    again: usize,
    left: usize,
}

/// The program that plays scripts with upstream's packages. It is built with the flags of the servers of `tests/host`,
/// so that Go need not compile again what they have in common.
fn player(folder: &Path) -> PathBuf {
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/oracle");
    let program = folder.join("apply");
    let mut build = Command::new("go");
    build.current_dir(oracle).args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath"]);
    let output = build.arg("-o").arg(&program).arg("./apply").env("CGO_ENABLED", "0").env("GOWORK", "off").output();
    let output = output.unwrap_or_else(|error| panic!("cannot run go: {error}; install it and put it on the path"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn number(variable: &str, default: usize) -> usize {
    env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// A seed of its own for each run would find more, and would fail for those who have changed nothing. A longer run has
/// `BAILIWICK_TEST_APPLIES=2000000` and another `BAILIWICK_TEST_SEED`.
#[test]
fn scripts_by_chance_end_as_they_do_upstream() {
    let folder = tempfile::tempdir().unwrap();
    let program = player(folder.path());
    let applies = number("BAILIWICK_TEST_APPLIES", APPLIES);
    let seed = number("BAILIWICK_TEST_SEED", 1) as u64;
    let seen: Vec<Seen> = thread::scope(|scope| {
        let play = |i| play(&program, seed + i as u64 * SEEDS_OF_A_STREAM, applies.div_ceil(STREAMS));
        let streams: Vec<_> = (0..STREAMS).map(|i| scope.spawn(move || play(i))).collect();
        streams.into_iter().map(|stream| stream.join().unwrap()).collect()
    });
    let sum = |count: fn(&Seen) -> usize| seen.iter().map(count).sum::<usize>();
    let (applied, conflicts, refused) = (sum(|s| s.applied), sum(|s| s.conflicts), sum(|s| s.refused));
    let (again, left) = (sum(|s| s.again), sum(|s| s.left));
    println!("{applied} applied, {conflicts} conflicts, {refused} refused; {again} again, {left} left to others");
    assert!(applied + conflicts + refused >= applies);
    for enough in [applied / 2, conflicts * 4, refused * 8, again * 4, left * 16] {
        assert!(enough >= applies / 4, "too few of a sort");
    }
    let differences = seen.into_iter().map(|seen| seen.differences);
    let all = differences.fold(Differences::default(), |mut all, some| {
        all.count += some.count;
        all.notes.extend(some.notes);
        all
    });
    all.finish(3 * applies);
}

fn play(program: &Path, seed: u64, applies: usize) -> Seen {
    let mut command = Command::new(program);
    command.arg(seed.to_string()).arg(applies.to_string());
    // Collecting garbage now and then costs a third of its time.
    command.env("GOGC", "400").env("GOMAXPROCS", "1").stdout(Stdio::piped());
    let mut player = command.spawn().unwrap();
    let mut seen = Seen::default();
    for line in BufReader::new(player.stdout.take().unwrap()).lines() {
        let played: Played = serde_json::from_str(&line.unwrap()).unwrap();
        let noted = seen.differences.notes.len();
        seen.replay(&played);
        if let Some(note) = seen.differences.notes.get_mut(noted) {
            note.push_str(&format!("\n  of     {}", json!(played.versions)));
        }
    }
    assert!(player.wait().unwrap().success());
    seen
}

// === impl Seen ===

impl Seen {
    fn replay(&mut self, played: &Played) {
        let kind = Kind::new(&played.versions, played.status);
        for (i, steps) in played.scripts.iter().enumerate() {
            let name = format!("seed {} script {i}", played.seed);
            kind.replay(&name, steps, Texts::OneOfSeveral, &mut self.differences);
            for step in steps.iter().filter(|step| step.operation == "apply") {
                match &step.result {
                    Some(result) => {
                        self.applied += 1;
                        // What a write does not change is not owned, and comes and goes; here it would be stored.
                        let whole = step.subresource.is_empty() && step.object.get("status").is_none();
                        if whole || !played.status {
                            self.check_rules(&kind, step, &stored(result), &name);
                        }
                    }
                    None if step.error.starts_with("Apply failed with") => self.conflicts += 1,
                    None => self.refused += 1,
                }
            }
        }
    }

    /// Applying once more changes nothing; and what another one has applied too stays when the first one lets go of it.
    fn check_rules(&mut self, kind: &Kind, step: &Step, result: &Object, name: &str) {
        let applied = object(&step.object);
        // An annotation that says what was applied changes with what is applied.
        let annotated = result.metadata().annotation(last_applied::ANNOTATION).is_some();
        if has_blanks_in_content(result) || has_blanks_in_content(&applied) || entries(result).is_none() || annotated {
            return;
        }
        let apply = |live: &Object, applied: &Object, manager: &str| {
            let writer = Writer { manager, subresource: &step.subresource, time: START + 3600 };
            let options = ApplyOptions { writer, force: true };
            let applied = kind.field_manager(&step.version).apply(Some(live), applied, options);
            applied.unwrap_or_else(|error| panic!("{name}: {error}: {}", step.object))
        };
        let again = apply(result, &applied, &step.manager);
        self.differences.compare_values("again", &name, again.as_value(), result.as_value());
        self.again += 1;

        let shared = apply(&again, &applied, OTHER);
        let let_go = apply(&shared, &bare(&applied), &step.manager);
        let owned = |object: &Object| {
            let entries = object.metadata().get("managedFields").and_then(Value::as_array).cloned();
            entries.into_iter().flatten().find(|entry| entry["manager"] == OTHER)
        };
        let Some(before) = owned(&shared) else { return };
        self.differences.compare_values("left", &name, &json!(owned(&let_go)), &before);
        let kept = apply(&let_go, &applied, OTHER);
        self.differences.compare_values("left", &name, kept.as_value(), let_go.as_value());
        self.left += 1;
    }
}

/// Someone who applies the same as others.
const OTHER: &str = "other";

/// An object that says of itself which one it is, and no more.
fn bare(object: &Object) -> Object {
    let mut bare = Object::default();
    if let Some(gvk) = object.gvk() {
        bare.set_gvk(&gvk);
    }
    for field in ["name", "namespace"] {
        if let Some(value) = object.metadata().get(field) {
            bare.metadata_mut().insert(field.to_owned(), value.clone());
        }
    }
    bare
}

/// Whether something is null or empty that someone may own.
fn has_blanks_in_content(object: &Object) -> bool {
    let mut content = object.clone();
    content.metadata_mut().remove("managedFields");
    has_blanks(content.as_value())
}
