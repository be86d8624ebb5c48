"""Would the tests notice? Breaks one operator at a time in what decides, runs the unit tests of its folder,
and expects one of them to fail.

usage: mutate.py N [-seed S] [-folder F]… [-file PART [-line L]] [-jobs J] [-build DIR]    (./dev mutate N …)

N mutants are drawn with the seed from all code lines of the folders and files of runtime/ that decide, which
test/tidy/deciding.py lists (so a folder counts by its lines), or of the folders F, or of the files whose
path contains PART, of its line L alone. A mutant is one of

    == !=    < <=    > >=    && ||    + -    += -=    ++ --    !x x    true false    0 1

in a line that is not a comment, a string, an include, an assertion or a line of the log. It is killed
when a test fails, crashes, works four times as long as before or takes ten times as long; otherwise it
has survived, and is printed as a diff. One that does not compile is no mutant: another one is drawn. The closing lines are
what was killed by folder, and "killed K of N"; less than nine tenths is a failure.

Mutants that change nothing which anybody could see are listed in equivalent.txt, one a line:

    path | the line's text, trimmed | old -> new | why nothing changes

with "old -> new #2" for the second such operator of a line. They are not drawn; an entry whose line
is gone is an error.

The unit tests of DIR (build/unity) are brought up to date first. Each mutant is then compiled and linked by itself
in a folder for temporary files (programs.py), J of them side by side, so the tree is never touched; but it is read,
and a run ends when a source changes under it.
"""
import argparse
import collections
import concurrent.futures
import difflib
import fcntl
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import programs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "tidy"))
import deciding  # noqa: E402

EQUIVALENT = os.path.join(ROOT, "test", "mutate", "equivalent.txt")
MEMORY = 4 << 30  # of a test: a broken loop may want everything
PATIENCE = 4      # a test that works so many times as long hangs
ENOUGH = 0.9

FLIPS = [(re.compile(pattern), new) for pattern, new in (
    (r" (==) ", "!="), (r" (!=) ", "=="), (r" (<) ", "<="), (r" (<=) ", "<"), (r" (>) ", ">="), (r" (>=) ", ">"),
    (r" (&&) ", "||"), (r" (\|\|) ", "&&"), (r"(?<![(,=]) (\+) ", "-"), (r"(?<![(,=]) (-) ", "+"),
    (r" (\+=) ", "-="), (r" (-=) ", "+="), (r"(\+\+)", "--"), (r"(--)", "++"), (r"(!)(?=[\w(*])", ""),
    (r"\b(true)\b", "false"), (r"\b(false)\b", "true"), (r"(?<![\w.'])(0)(?![\w.'])", "1"),
    (r"(?<![\w.'])(1)(?![\w.'])", "0"),
)]
# Not mutated: what a template or an operator is called, assertions, lines of the log.
NO_CODE = re.compile(r"^\s*(?:#|template\b|using\b|static_assert\b|friend\b|case \w+:$)|\boperator\b|= default;|= 0;$")
NO_STATEMENT = re.compile(r"\b(?:assert|require|static_assert|NOMAD_ASSERT\w*|CHECK\w*)\s*\(|\blog::\w+\(")


class Mutant:
    def __init__(self, path, number, line, begin, end, new, nth):
        self.path, self.number, self.line = path, number, line
        self.begin, self.end, self.new = begin, end, new
        self.change = f"{line[begin:end]} -> {new or 'nothing'}" + (f" #{nth}" if nth > 1 else "")

    @property
    def folder(self):
        return deciding.folder_of(self.path)

    @property
    def key(self):
        return self.path, self.line.strip(), self.change

    @property
    def mutated(self):
        return self.line[:self.begin] + self.new + self.line[self.end:]

    def diff(self):
        return f"    - {self.line.strip()}\n    + {self.mutated.strip()}"

    def __str__(self):
        return f"{self.path}:{self.number}  {self.change}"


def statement_around(code, at):
    """The text of the statement that the offset is in."""
    begin = max(code.rfind(mark, 0, at) for mark in ";{}") + 1
    ends = [end for end in (code.find(mark, at) for mark in ";{}") if end >= 0]
    return code[begin:min(ends, default=len(code))]


def mutants_of(path, text):
    code = deciding.code_of(text)
    offset = 0
    for number, (line, bare) in enumerate(zip(text.split("\n"), code.split("\n")), 1):
        start, offset = offset, offset + len(bare) + 1
        if NO_CODE.search(bare):
            continue
        for pattern, new in FLIPS:
            for nth, found in enumerate(pattern.finditer(bare), 1):
                if not NO_STATEMENT.search(statement_around(code, start + found.start(1))):
                    yield Mutant(path, number, line, found.start(1), found.end(1), new, nth)


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
        return f.read()


def limit(work):
    resource.setrlimit(resource.RLIMIT_CPU, (work, work + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Changed(Exception):
    """A source is another than when the run began."""


class Run:
    """Mutants against the tests of one build."""

    def __init__(self, build, jobs):
        self.build, self.jobs = build, jobs
        self.patience, self.sources = {}, {}

    def prepare(self, paths):
        """Builds the tests of the sources `paths`, runs them as they are, and remembers what the sources are."""
        tests = {each.path: each for path in paths for each in self.build.programs_of(path)}
        whole = subprocess.run(["ninja", "-C", self.build.directory, f"-j{self.jobs}", *tests], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        if whole.returncode:
            sys.exit(whole.stdout[-3000:] + "\nwithout a mutant the tests do not build")
        self.build.read_includes(tests.values())
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for path, failed, patience in pool.map(self._run_unchanged, tests.values()):
                if failed:
                    sys.exit(f"without a mutant {failed}")
                self.patience[path] = patience
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard", "runtime", "schema",
                                 "test/unit", "test/support"], capture_output=True, text=True, check=True).stdout
        self.sources = {path: self._mark(path) for path in listed.split("\0") if path}

    def _run_unchanged(self, program):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mutate") as folder:
            failed, worked = self._run(program, os.path.join(self.build.directory, program.path), [], (600, 600), folder)
        return program.path, failed, (PATIENCE * (1 + worked), 10 + 10 * (time.monotonic() - begin))

    @staticmethod
    def _mark(path):
        try:
            found = os.stat(os.path.join(ROOT, path))
            return found.st_mtime_ns, found.st_size
        except FileNotFoundError:
            return None

    def try_out(self, mutant):
        """("killed", by what), ("survived", None) or ("stillborn", None)."""
        if changed := [path for path, mark in self.sources.items() if self._mark(path) != mark]:
            raise Changed(f"{changed[0]} has changed since the run began")
        lines = read(os.path.join(ROOT, mutant.path)).split("\n")
        lines[mutant.number - 1] = mutant.mutated
        text, tests = "\n".join(lines), self.build.programs_of(mutant.path)
        with tempfile.TemporaryDirectory(prefix="mutate") as folder:
            made = self.build.make(mutant.path, text, tests, folder)
            if made is None:
                return "stillborn", None
            failed = self._fails(mutant, made, folder)
            return ("killed", failed) if failed else ("survived", None)

    def _fails(self, mutant, made, folder):
        """What failed and how: first in the tests of the source itself, then in all."""
        own = f"--source-file=*/test/unit/{mutant.path[:-4]}_test.cpp"
        for only in ([own], []):
            for program, path in made:
                failed, _ = self._run(program, path, only, self.patience[program.path], folder)
                if failed:
                    return failed
        return None

    def _run(self, program, path, only, patience, folder):
        """(what failed and how, or None; how many seconds it has worked). `patience` has how many it may, and when
        it is to be over."""
        work, wall = patience
        child = subprocess.Popen([path, *program.command[1:], "--abort-after=1", *only], cwd=self.build.directory,
                                 env=dict(os.environ, **program.environment, TMPDIR=folder), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                 preexec_fn=lambda: limit(math.ceil(work)))
        timer = threading.Timer(wall, os.killpg, (child.pid, signal.SIGKILL))
        timer.start()
        said = child.stdout.read().decode(errors="replace")
        _, status, used = os.wait4(child.pid, 0)
        timer.cancel()
        child.stdout.close()
        child.returncode = os.waitstatus_to_exitcode(status)
        worked = used.ru_utime + used.ru_stime
        if child.returncode == -signal.SIGXCPU:
            return f"{program.name}: no end within {work:.0f} s of work", worked
        if child.returncode == -signal.SIGKILL:
            return f"{program.name}: no end within {wall:.0f} s", worked
        return (f"{program.name}: {how_it_failed(said, child.returncode)}" if child.returncode else None), worked


def how_it_failed(said, code):
    """The name of the case that failed, of what doctest has said."""
    error = said.find("ERROR: ")
    cases = re.findall(r"TEST CASE: +(.*)", said[:error] if error >= 0 else said)
    return cases[-1].strip() if cases else f"exit {code}"


def equivalents(sources):
    """The keys of equivalent.txt; ends the program if one of them is out of date."""
    keys = set()
    for number, line in enumerate(read(EQUIVALENT).split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ")]
        where = f"test/mutate/equivalent.txt:{number}"
        if len(parts) != 4 or not parts[3]:
            sys.exit(f"{where}: not \"path | line | old -> new | why\"")
        if tuple(parts[:3]) not in sources:
            sys.exit(f"{where}: there is no such mutant: {' | '.join(parts[:3])}")
        keys.add(tuple(parts[:3]))
    return keys


def all_mutants():
    everything = []
    for at, _, names in sorted(os.walk(os.path.join(ROOT, "runtime"))):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(at, name), ROOT)
            if path.endswith((".cpp", ".hpp")) and deciding.is_deciding(path):
                everything += mutants_of(path, read(os.path.join(ROOT, path)))
    return everything


def candidates(folders, part, line=None):
    everything = all_mutants()
    listed = equivalents({mutant.key for mutant in everything})
    wanted = tuple(f"runtime/{folder}/" for folder in folders) or ("runtime/",)
    drawn = [m for m in everything if m.path.startswith(wanted) and part in m.path and m.key not in listed
             and line in (None, m.number)]
    return drawn, len(listed)


class Tally:
    """The mutants in the order in which they are drawn, and what became of them."""

    def __init__(self, drawn, wanted):
        self.drawn, self.wanted = iter(drawn), wanted
        self.lock = threading.Lock()
        self.open, self.stillborn, self.ended = 0, 0, None
        self.judged = {"killed": collections.Counter(), "survived": collections.Counter()}

    def count(self, outcome):
        return sum(self.judged[outcome].values())

    def next(self):
        """One to be tried now, or None: enough have been, or nothing is left."""
        with self.lock:
            if self.ended or self.count("killed") + self.count("survived") + self.open >= self.wanted:
                return None
            mutant = next(self.drawn, None)
            self.open += mutant is not None
            return mutant

    def add(self, mutant, outcome, by, seconds):
        with self.lock:
            self.open -= 1
            if outcome == "stillborn":
                self.stillborn += 1
                return
            self.judged[outcome][mutant.folder] += 1
            print(f"{outcome:8}  {mutant}  ({seconds:.0f} s)" + (f"  {by}" if by else ""), flush=True)
            if outcome == "survived":
                print(mutant.diff(), flush=True)

    def close(self, seed):
        for folder in sorted(self.judged["killed"].keys() | self.judged["survived"].keys()):
            killed = self.judged["killed"][folder]
            print(f"{folder}: killed {killed} of {killed + self.judged['survived'][folder]}")
        killed, judged = self.count("killed"), self.count("killed") + self.count("survived")
        print(f"{self.stillborn} did not compile; seed {seed}")
        print(f"killed {killed} of {judged}")
        return 0 if judged and killed >= ENOUGH * judged else 1


def try_all(run, tally):
    """Takes one mutant after the other; what ends it ends the others."""
    try:
        while mutant := tally.next():
            begin = time.monotonic()
            outcome, by = run.try_out(mutant)
            tally.add(mutant, outcome, by, time.monotonic() - begin)
    except Exception as error:  # pylint: disable=broad-except
        tally.ended = tally.ended or error


def mutate(wanted, seed, drawn, listed, run):
    folders = sorted({mutant.folder for mutant in drawn})
    print(f"{len(drawn)} mutants of {', '.join(folders)}; {listed} are listed as equivalent; seed {seed}", flush=True)
    run.prepare(sorted({mutant.path for mutant in drawn}))
    random.Random(seed).shuffle(drawn)
    tally = Tally(drawn, wanted)
    workers = [threading.Thread(target=try_all, args=(run, tally)) for _ in range(run.jobs)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    result = tally.close(seed)
    if tally.ended:
        sys.exit(f"ended early: {tally.ended}")
    return result


def self_test():
    text = ("// a == b\nbool f(int a) {\n  log::info(\"x\", \"a == b {}\", a == 1);\n  require(a == 1, \"x\");\n"
            "  if (a == 1 && !g<int>(a)) return true;\n  template_ + 2;\n  log::warn(\n      a < 0);\n}\n")
    found = [(m.number, m.change, m.mutated.strip()) for m in mutants_of("runtime/raft/x.cpp", text)]
    expected = [(5, "== -> !=", "if (a != 1 && !g<int>(a)) return true;"),
                (5, "&& -> ||", "if (a == 1 || !g<int>(a)) return true;"),
                (5, "! -> nothing", "if (a == 1 && g<int>(a)) return true;"),
                (5, "true -> false", "if (a == 1 && !g<int>(a)) return false;"),
                (5, "1 -> 0", "if (a == 0 && !g<int>(a)) return true;"),
                (6, "+ -> -", "template_ - 2;")]
    for line in difflib.unified_diff([str(e) for e in expected], [str(f) for f in found], lineterm=""):
        print(line)
    equivalents({mutant.key for mutant in all_mutants()})  # or it says which is gone, and ends
    wrong = programs.self_test()
    if wrong:
        print(wrong)
    failed = (found != expected) + (wrong is not None)
    print(f"{3 - failed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    options = argparse.ArgumentParser(prog="./dev mutate")
    options.add_argument("number", type=int)
    options.add_argument("-seed", type=int, default=None)
    options.add_argument("-folder", action="append", default=[], help="of runtime/: scheduler, scheduler/placement, …")
    options.add_argument("-file", default="", help="only files whose path contains this")
    options.add_argument("-line", type=int, help="of that file: does its mutant survive still?")
    options.add_argument("-jobs", type=int, default=os.cpu_count())
    options.add_argument("-build", default=os.path.join(ROOT, "build", "unity"), help="a build that is configured")
    chosen = options.parse_args()
    drawn, listed = candidates(chosen.folder, chosen.file, chosen.line)
    if not drawn:
        sys.exit("there is no such mutant")
    os.nice(5)
    with open(os.path.join(chosen.build, "mutate.lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another run of mutate is under way here")
        seed = random.SystemRandom().randrange(1_000_000) if chosen.seed is None else chosen.seed
        run = Run(programs.Build(ROOT, os.path.abspath(chosen.build)), chosen.jobs)
        return mutate(chosen.number, seed, drawn, listed, run)


if __name__ == "__main__":
    sys.exit(main())
