#!/usr/bin/env python3
"""Tries the mutants that `cargo mutants` lists, but builds them all at once.

All of them are put into one copy of the source, each behind a question whether it is its turn. That is built once, and the
tests are run for each, the quick ones first and only those that come to where it is, until one fails. What is missed so is tried
with all tests. What cannot be put in so, or does not build, is listed at the end for `cargo mutants` itself.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import tree_sitter_rust
from tree_sitter import Language, Parser

PARSER = Parser(Language(tree_sitter_rust.language()))
# How often the build is tried, each time without what broke it the last time.
MAX_BUILDS = 20
# How much longer than without a mutant the tests may take, and at least, in seconds.
PATIENCE, MIN_PATIENCE = 5, 30
# Tests that take no longer, in seconds, are run before the others.
QUICK = 0.25
# How long a test may take that nothing is known about, in seconds.
MAX_TEST = 900
# Each program is built once and runs for seconds: what is quick to build wins.
QUICKLY = ["--config=profile.dev.debug=false", "--config=profile.dev.package.bailiwick-apiserver.opt-level=0"]
TURN = """
/// Whose turn it is, and who was asked about.
pub(crate) mod mutant_turn {
    use std::io::Write as _;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    type Asked = (std::fs::File, Vec<AtomicBool>);

    static TURN: LazyLock<u32> = LazyLock::new(|| {
        std::env::var("MUTANT").ok().and_then(|turn| turn.parse().ok()).unwrap_or(0)
    });
    static ASKED: LazyLock<Option<Asked>> = LazyLock::new(|| {
        let file = std::fs::OpenOptions::new().append(true).open(std::env::var_os("MUTANTS_ASKED")?).ok()?;
        Some((file, (0..=MOST).map(|_| AtomicBool::new(false)).collect()))
    });
    pub(crate) fn is(number: u32) -> bool {
        if let Some((file, asked)) = &*ASKED {
            if !asked[number as usize].swap(true, Ordering::Relaxed) {
                let _ = (&*file).write_all(format!("{number}\\n").as_bytes());
            }
        }
        *TURN == number
    }
}
"""


def is_turn(number):
    return f"crate::mutant_turn::is({number})"


class Site:
    """A place in a file, and the mutants of it: what stands there becomes a choice between them and what stood there."""

    def __init__(self, start, end, kind):
        self.start, self.end, self.kind = start, end, kind
        self.mutants = []  # (number, what stands there then)


class File:
    def __init__(self, path):
        self.path = path
        self.source = path.read_bytes()
        self.tree = PARSER.parse(self.source)
        self.lines = [0]
        for offset, byte in enumerate(self.source):
            if byte == 10:
                self.lines.append(offset + 1)
        self.sites = {}
        self.ranges = []  # (start, end, numbers, whether it is what one mutant puts there) in what was written
        self.end = ""

    def offset(self, place):
        """Columns count characters, from one."""
        line = self.source[self.lines[place["line"] - 1]:].split(b"\n", 1)[0].decode()
        return self.lines[place["line"] - 1] + len(line[: place["column"] - 1].encode())

    def node(self, start, end, wanted):
        """The smallest node around a range for which something holds."""
        node = self.tree.root_node.descendant_for_byte_range(start, max(start, end - 1))
        while node is not None and not wanted(node):
            node = node.parent
        return node

    def text(self, start, end):
        return self.source[start:end].decode()

    def site(self, start, end, kind):
        return self.sites.setdefault((start, end, kind), Site(start, end, kind))

    def is_or_beside_let(self, mutant):
        """Whether it puts an `||` beside a `let`, which no compiler takes."""
        at = self.offset(mutant["span"]["start"])
        node = self.tree.root_node.descendant_for_byte_range(at, at + 1)
        return mutant["replacement"] == "||" and node.parent is not None and node.parent.type == "let_chain"

    def add(self, number, mutant):
        """Puts a mutant into its place. False if that cannot be done."""
        span = mutant["span"]
        start, end = self.offset(span["start"]), self.offset(span["end"])
        replacement, genre = mutant["replacement"], mutant["genre"]
        if genre == "FnValue":
            returns = (mutant["function"]["return_type"] or "").removeprefix("-> ")
            is_iterator = returns.startswith("impl Iterator")
            if "impl " in returns and not is_iterator:
                return False
            is_body = lambda node: node.type == "block" and node.parent.type == "function_item"
            body = self.node(start, end, is_body)
            if body is None:
                return False
            header = self.text(body.parent.start_byte, body.start_byte)
            if "const fn" in header:
                return False
            if is_iterator:
                self.site(body.start_byte, body.end_byte, "iterator").mutants.append((number, replacement))
                return True
            value = "return;" if replacement == "()" else f"return {replacement};"
            site = self.site(body.start_byte + 1, body.start_byte + 1, "body")
            site.mutants.append((number, value))
            return True
        if genre in ("BinaryOperator", "UnaryOperator"):
            kinds = ("binary_expression", "compound_assignment_expr", "unary_expression")
            node = self.node(start, end, lambda node: node.type in kinds)
            if node is None or holds_let(node):
                return False
            if not any(child.start_byte == start for child in node.children):
                return False
            other = self.text(node.start_byte, start) + replacement + " " + self.text(end, node.end_byte)
            self.site(node.start_byte, node.end_byte, "expression").mutants.append((number, other))
            return True
        if genre == "MatchArmGuard":
            node = self.node(start, end, lambda node: node.start_byte <= start and node.end_byte >= end)
            if node is None or holds_let(node):
                return False
            self.site(start, end, "expression").mutants.append((number, replacement))
            return True
        if genre == "StructField":
            node = self.node(start, end, lambda node: node.type == "struct_expression")
            if node is None:
                return False
            other = self.text(node.start_byte, start) + self.text(end, node.end_byte)
            self.site(node.start_byte, node.end_byte, "expression").mutants.append((number, other))
            return True
        if genre == "MatchArm":
            arm = self.node(start, end, lambda node: node.type == "match_arm")
            if arm is None:
                return False
            pattern = arm.child_by_field_name("pattern")
            guard = pattern.child_by_field_name("condition")
            if guard is None:
                self.site(pattern.end_byte, pattern.end_byte, "arm").mutants.append((number, ""))
            elif holds_let(guard):
                return False
            else:
                self.site(guard.start_byte, guard.end_byte, "guard").mutants.append((number, ""))
            return True
        return False

    def write(self, left_out):
        """Writes the file with all mutants but those that are left out."""
        sites = []
        for site in self.sites.values():
            mutants = [mutant for mutant in site.mutants if mutant[0] not in left_out]
            if mutants:
                sites.append((site, mutants))
        # Outer ones first.
        sites.sort(key=lambda found: (found[0].start, -found[0].end))
        self.out, self.ranges = [], []
        self.length = 0
        self.emit_range(0, len(self.source), sites)
        self.put(self.end)
        self.path.write_bytes(b"".join(self.out))

    def put(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.out.append(data)
        self.length += len(data)

    def emit_range(self, start, end, sites):
        position = start
        while sites:
            site, mutants = sites[0]
            inner = [found for found in sites[1:] if found[0].start >= site.start and found[0].end <= site.end]
            if site.start == site.end:
                inner = []
            sites = [found for found in sites[1:] if found not in inner]
            self.put(self.source[position:site.start])
            self.emit(site, mutants, inner)
            position = site.end
        self.put(self.source[position:end])

    def emit(self, site, mutants, inner):
        begin = self.length
        numbers = [number for number, _ in mutants]
        none_of = " && ".join(f"!{is_turn(number)}" for number in numbers)
        if site.kind == "body":
            for number, value in mutants:
                self.put(f" if {is_turn(number)} ")
                branch = self.length
                self.put(f"{{ {value} }}")
                self.ranges.append((branch, self.length, [number], True))
        elif site.kind == "iterator":
            # What these return is of one type, which is made one for all.
            self.put("{ let it: Box<dyn Iterator<Item = _> + '_> = ")
            for number, other in mutants:
                self.put(f"if {is_turn(number)} ")
                branch = self.length
                self.put(f"{{ Box::new({other}) }} else ")
                self.ranges.append((branch, self.length, [number], True))
            self.put("{ Box::new(")
            self.emit_range(site.start, site.end, inner)
            self.put(") }; it }")
        elif site.kind == "arm":
            self.put(f" if {none_of}")
        elif site.kind == "guard":
            self.put(f"{none_of} && (")
            self.emit_range(site.start, site.end, inner)
            self.put(")")
        else:
            self.put("(")
            for number, other in mutants:
                self.put(f"if {is_turn(number)} ")
                branch = self.length
                self.put(f"{{ {other} }} else ")
                self.ranges.append((branch, self.length, [number], True))
            self.put("{ ")
            self.emit_range(site.start, site.end, inner)
            self.put(" })")
        self.ranges.append((begin, self.length, numbers, False))

    def blamed(self, start, end):
        """The mutants in the smallest range around a place in what was written; else those of the function around it. And
        whether the place is in what the mutant itself puts there."""
        around = [found for found in self.ranges if found[0] <= start and end <= found[1]]
        if around:
            smallest = min(around, key=lambda found: found[1] - found[0])
            return smallest[2], smallest[3]
        tree = PARSER.parse(self.path.read_bytes())
        node = tree.root_node.descendant_for_byte_range(start, start)
        while node is not None and node.type != "function_item":
            node = node.parent
        if node is None:
            return [], False
        inside = [found for found in self.ranges if node.start_byte <= found[0] and found[1] <= node.end_byte]
        return [number for found in inside for number in found[2]], False


def holds_let(node):
    return node.type == "let_condition" or any(holds_let(child) for child in node.children)


def cargo(tree, arguments, **options):
    return subprocess.run(["cargo", *arguments], cwd=tree, capture_output=True, text=True, **options)


def copy(root, tree):
    """Copies what git knows of, with the lints that would refuse mutants taken out."""
    shutil.rmtree(tree, ignore_errors=True)
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True)
    for name in filter(None, tracked.stdout.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, tree / name, follow_symlinks=False)
    manifest = tree / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace('"deny"', '"allow"'))


def build(tree, arguments):
    """The test programs, or the errors."""
    done = cargo(tree, ["test", "--no-run", "--locked", *QUICKLY, "--message-format=json", *arguments])
    programs, errors = [], []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message.get("executable") and message["profile"]["test"]:
            programs.append((message["executable"], pathlib.Path(message["manifest_path"]).parent))
        if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            errors.append(message["message"])
    if done.returncode != 0 and not errors:
        sys.exit(done.stderr)
    return programs, errors


def run(program, folder, arguments, environment, patience):
    """What the tests of a program say, up to the first that fails: the verdict, and which test it was."""
    process = subprocess.Popen(
        [program, *arguments], cwd=folder, env=dict(os.environ, RUST_BACKTRACE="0", **environment),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
        start_new_session=True,
    )
    late = threading.Event()

    def end():
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def give_up():
        late.set()
        end()

    timer = threading.Timer(patience, give_up)
    timer.start()
    failed = None
    for line in process.stdout:
        found = re.match(r"test (\S+).* \.\.\. FAILED", line)
        if found:
            failed = found[1]
            end()
            break
    process.stdout.close()
    code = process.wait()
    timer.cancel()
    if failed is not None:
        return "caught", failed
    if late.is_set():
        return "timeout", pathlib.Path(program).name
    if code != 0:
        return "caught", pathlib.Path(program).name
    return "MISSED", None


class Test:
    """A test, how long it takes, and the mutants that it comes to."""

    def __init__(self, program, folder, name):
        self.program, self.folder, self.name = program, folder, name

    def try_alone(self):
        """Whether it passes without a mutant, twice at most: other things may keep the machine busy."""
        for _ in range(2):
            with tempfile.NamedTemporaryFile("r") as asked:
                begun = time.monotonic()
                environment = {"MUTANT": "0", "MUTANTS_ASKED": asked.name}
                verdict, _ = run(self.program, self.folder, ["--exact", self.name], environment, MAX_TEST)
                self.seconds = time.monotonic() - begun
                self.mutants = {int(line) for line in asked}
            if verdict == "MISSED":
                return True
        return False


def tests_of(programs, skipped):
    for program, folder in programs:
        listed = subprocess.run([program, "--list", "--format=terse"], cwd=folder, capture_output=True, text=True, check=True)
        for line in listed.stdout.splitlines():
            name, _, kind = line.rpartition(": ")
            if kind == "test" and name not in skipped:
                yield Test(program, folder, name)


def attempt(number, tests, programs, skipped):
    """What becomes of a mutant, by which test, and how long that took."""
    begun = time.monotonic()
    environment = {"MUTANT": str(number)}
    coming = [test for test in tests if number in test.mutants]
    rounds = {}
    for test in coming:
        rounds.setdefault((test.seconds > QUICK, test.program, test.folder), []).append(test)
    for (_, program, folder), chosen in sorted(rounds.items(), key=lambda found: (found[0][0], sum(t.seconds for t in found[1]))):
        patience = max(MIN_PATIENCE, PATIENCE * sum(test.seconds for test in chosen))
        names = [test.name for test in chosen]
        verdict, by = run(program, folder, ["--exact", *names], environment, patience)
        if verdict != "MISSED":
            return verdict, by, time.monotonic() - begun
    # What is left to chance may come elsewhere with a mutant, or among other tests.
    for program, folder in programs if coming else []:
        arguments = ["--exact", *(argument for name in skipped for argument in ("--skip", name))]
        patience = max(MIN_PATIENCE, PATIENCE * sum(test.seconds for test in tests if test.program == program))
        verdict, by = run(program, folder, arguments, environment, patience)
        if verdict != "MISSED":
            return verdict, by, time.monotonic() - begun
    return "MISSED", f"{len(coming)} tests that come to it", time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", action="append", required=True, help="whose mutants, and whose tests")
    parser.add_argument("--re", default="", help="only mutants whose names, as they are listed, this expression finds")
    parser.add_argument("--test", action="append", default=[], help="tests of these names, beside those of the library")
    parser.add_argument("--skip", action="append", default=[], help="the whole name of a test that is not run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tree", required=True, help="a folder for the copy of the source; what is in it goes")
    parser.add_argument("--report", help="a file for what became of each")
    options = parser.parse_args()
    root = pathlib.Path(cargo(".", ["locate-project", "--workspace", "--message-format=plain"]).stdout.strip()).parent
    packages = [argument for name in options.package for argument in ("--package", name)]
    listed = cargo(root, ["mutants", "--list", "--json", *packages])
    if listed.returncode != 0:
        sys.exit(listed.stderr)
    # Its own choice of files only adds to that of its configuration.
    mutants = [mutant for mutant in json.loads(listed.stdout) if re.search(options.re, mutant["name"])]
    tree = pathlib.Path(options.tree)
    copy(root, tree)
    turn = TURN.replace("MOST", str(len(mutants)))
    sources, left_out, unviable = {}, set(), set()
    for number, mutant in enumerate(mutants, 1):
        path = tree / mutant["file"]
        source = sources.setdefault(path, File(path))
        library = tree / pathlib.Path(mutant["file"]).parts[0] / "src/lib.rs"
        sources.setdefault(library, File(library)).end = turn
        if source.is_or_beside_let(mutant):
            unviable.add(number)
            left_out.add(number)
        elif not source.add(number, mutant):
            left_out.add(number)
    arguments = [*packages, "--lib", *(argument for name in options.test for argument in ("--test", name))]
    for _ in range(MAX_BUILDS):
        for source in sources.values():
            source.write(left_out)
        programs, errors = build(tree, arguments)
        if not errors:
            break
        blamed = set()
        for error in errors:
            for span in error["spans"]:
                source = sources.get(tree / span["file_name"])
                if source is not None and span["is_primary"]:
                    numbers, by_itself = source.blamed(span["byte_start"], span["byte_end"])
                    blamed.update(numbers)
                    if by_itself:
                        unviable.update(numbers)
        print(f"{len(errors)} errors; without {len(blamed)} more", file=sys.stderr)
        if not blamed - left_out:
            sys.exit("\n".join(error["rendered"] for error in errors[:5]))
        left_out |= blamed
    tests = list(tests_of(programs, options.skip))
    with ThreadPoolExecutor(options.jobs) as pool:
        passed = list(pool.map(Test.try_alone, tests))
    failing = [test.name for test, passes in zip(tests, passed) if not passes]
    if failing:
        print(f"left out, for they fail without a mutant: {', '.join(failing)}", file=sys.stderr)
    skipped = [*options.skip, *failing]
    tests = [test for test in tests if test.name not in skipped]
    tried = [(number, mutant) for number, mutant in enumerate(mutants, 1) if number not in left_out]
    took = sum(test.seconds for test in tests)
    without = f"{len(unviable)} unviable, {len(left_out - unviable)} left out"
    print(f"{len(tried)} mutants, {without}; {len(tests)} tests, which take {took:.1f} s", file=sys.stderr, flush=True)
    counts = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = pool.map(lambda found: attempt(found[0], tests, programs, skipped), tried)
        report = open(options.report, "w") if options.report else sys.stdout
        for (_, mutant), (verdict, by, seconds) in zip(tried, verdicts):
            counts[verdict] = counts.get(verdict, 0) + 1
            print(f"{verdict} {seconds:.1f}s {mutant['name']} ({by})", file=report, flush=True)
            if verdict == "MISSED":
                print(f"MISSED {mutant['name']} ({by})", file=sys.stderr, flush=True)
        for number in sorted(left_out):
            what = "unviable" if number in unviable else "left out"
            print(f"{what} {mutants[number - 1]['name']}", file=report, flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())), file=sys.stderr)


main()
