#!/usr/bin/env python3
"""Tries the mutants that `cargo mutants` lists, but builds them all at once.

All of them are put into one copy of the source, each behind a question whether it is its turn. That is built once, and the
tests are run once for each. What cannot be put in so, or does not build, is listed at the end for `cargo mutants` itself.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import tree_sitter_rust
from tree_sitter import Language, Parser

PARSER = Parser(Language(tree_sitter_rust.language()))
# How often the build is tried, each time without what broke it the last time.
MAX_BUILDS = 20
# How much longer than without a mutant the tests may take, and at least, in seconds.
PATIENCE, MIN_PATIENCE = 5, 30
TURN = """
/// Whose turn it is.
pub(crate) mod mutant_turn {
    static TURN: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        std::env::var("MUTANT").ok().and_then(|turn| turn.parse().ok()).unwrap_or(0)
    });
    pub(crate) fn is(number: u32) -> bool {
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
        self.ranges = []  # (start, end, numbers) in what was written
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

    def add(self, number, mutant):
        """Puts a mutant into its place. False if that cannot be done."""
        span = mutant["span"]
        start, end = self.offset(span["start"]), self.offset(span["end"])
        replacement, genre = mutant["replacement"], mutant["genre"]
        if genre == "FnValue":
            if "impl " in (mutant["function"]["return_type"] or ""):
                return False
            is_body = lambda node: node.type == "block" and node.parent.type == "function_item"
            body = self.node(start, end, is_body)
            if body is None:
                return False
            header = self.text(body.parent.start_byte, body.start_byte)
            if "const fn" in header:
                return False
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
                branch = self.length
                self.put(f" if {is_turn(number)} {{ {value} }}")
                self.ranges.append((branch, self.length, [number]))
        elif site.kind == "arm":
            self.put(f" if {none_of}")
        elif site.kind == "guard":
            self.put(f"{none_of} && (")
            self.emit_range(site.start, site.end, inner)
            self.put(")")
        else:
            self.put("(")
            for number, other in mutants:
                branch = self.length
                self.put(f"if {is_turn(number)} {{ {other} }} else ")
                self.ranges.append((branch, self.length, [number]))
            self.put("{ ")
            self.emit_range(site.start, site.end, inner)
            self.put(" })")
        self.ranges.append((begin, self.length, numbers))

    def blamed(self, start, end):
        """The mutants in the smallest range around a place in what was written; else those of the function around it."""
        around = [found for found in self.ranges if found[0] <= start and end <= found[1]]
        if around:
            return min(around, key=lambda found: found[1] - found[0])[2]
        tree = PARSER.parse(self.path.read_bytes())
        node = tree.root_node.descendant_for_byte_range(start, start)
        while node is not None and node.type != "function_item":
            node = node.parent
        if node is None:
            return []
        inside = [found for found in self.ranges if node.start_byte <= found[0] and found[1] <= node.end_byte]
        return [number for found in inside for number in found[2]]


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
    done = cargo(tree, ["test", "--no-run", "--locked", "--message-format=json", *arguments])
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


def run(programs, number, patience):
    """Whether a test notices, by which program, and how long that took."""
    environment = dict(os.environ, MUTANT=str(number), RUST_BACKTRACE="0")
    begun = time.monotonic()
    for program, folder in programs:
        try:
            done = subprocess.run(
                [program], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL, timeout=patience,
            )
        except subprocess.TimeoutExpired:
            return "timeout", time.monotonic() - begun
        if done.returncode != 0:
            return "caught", time.monotonic() - begun
    return "MISSED", time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", action="append", required=True, help="whose mutants, and whose tests")
    parser.add_argument("--file", action="append", default=[], help="only mutants of these files")
    parser.add_argument("--test", action="append", default=[], help="tests of these names, beside those of the library")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tree", required=True, help="a folder for the copy of the source; what is in it goes")
    parser.add_argument("--report", help="a file for what became of each")
    options = parser.parse_args()
    root = pathlib.Path(cargo(".", ["locate-project", "--workspace", "--message-format=plain"]).stdout.strip()).parent
    files = [argument for name in options.file for argument in ("--file", name)]
    packages = [argument for name in options.package for argument in ("--package", name)]
    listed = cargo(root, ["mutants", "--list", "--json", *packages, *files])
    if listed.returncode != 0:
        sys.exit(listed.stderr)
    mutants = json.loads(listed.stdout)
    tree = pathlib.Path(options.tree)
    copy(root, tree)
    sources, left_out = {}, set()
    for number, mutant in enumerate(mutants, 1):
        path = tree / mutant["file"]
        source = sources.setdefault(path, File(path))
        library = tree / pathlib.Path(mutant["file"]).parts[0] / "src/lib.rs"
        sources.setdefault(library, File(library)).end = TURN
        if not source.add(number, mutant):
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
                    blamed.update(source.blamed(span["byte_start"], span["byte_end"]))
        print(f"{len(errors)} errors; without {len(blamed)} more", file=sys.stderr)
        if not blamed - left_out:
            sys.exit("\n".join(error["rendered"] for error in errors[:5]))
        left_out |= blamed
    begun = time.monotonic()
    verdict, _ = run(programs, 0, 3600)
    if verdict != "MISSED":
        sys.exit("the tests fail without a mutant")
    took = time.monotonic() - begun
    patience = max(MIN_PATIENCE, PATIENCE * took)
    tried = [(number, mutant) for number, mutant in enumerate(mutants, 1) if number not in left_out]
    print(f"{len(tried)} mutants, {len(left_out)} left out; the tests take {took:.1f} s", file=sys.stderr)
    counts = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = pool.map(lambda found: run(programs, found[0], patience), tried)
        report = open(options.report, "w") if options.report else sys.stdout
        for (_, mutant), (verdict, seconds) in zip(tried, verdicts):
            counts[verdict] = counts.get(verdict, 0) + 1
            print(f"{verdict} {seconds:.1f}s {mutant['name']}", file=report, flush=True)
            if verdict == "MISSED":
                print(f"MISSED {mutant['name']}", file=sys.stderr)
        for number in sorted(left_out):
            print(f"left out {mutants[number - 1]['name']}", file=report, flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())), file=sys.stderr)


main()
