"""Would the tests notice? Breaks one operator at a time in a deciding folder, builds and runs that
folder's unit tests, and expects one of them to fail.

usage: mutate.py N [-seed S] [-folder F]… [-file PART] [-jobs J]    (./dev mutate N …)

N mutants are drawn with the seed from all code lines of runtime/{raft,scheduler,cluster,workload,
state,security}, or of the folders F, or of the files whose path contains PART. A mutant is one of

    == !=    < <=    > >=    && ||    + -    += -=    ++ --    !x x    true false    0 1

in a line that is not a comment, a string, an include, an assertion or a line of the log. It is killed
when a test fails, crashes or takes ten times as long as before; otherwise it has survived, and is
printed as a diff. One that does not compile is no mutant: another one is drawn. The closing line is
"killed K of N"; less than nine tenths is a failure.

Mutants that change nothing which anybody could see are listed in equivalent.txt, one a line:

    path | the line's text, trimmed | old -> new | why nothing changes

with "old -> new #2" for the second such operator of a line. They are not drawn; an entry whose line
is gone is an error.

All of it happens in build/mutate: `tree` is a copy of the sources (what git knows, with the changes
that are not committed), `build` its build. So the tree itself is never touched, and each run begins
by bringing the copy in line again, however the last one ended.
"""
import argparse
import difflib
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "tidy"))
import deciding  # noqa: E402

HOME = os.path.join(ROOT, "build", "mutate")
TREE, BUILD = os.path.join(HOME, "tree"), os.path.join(HOME, "build")
EQUIVALENT = os.path.join(ROOT, "test", "mutate", "equivalent.txt")
MEMORY = 4 << 30  # of a test: a broken loop may want everything
PATIENCE = 10     # a test that takes so many times as long hangs
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
        return self.path.split("/")[1]

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


def write(path, text):
    """Replaces the file as a whole."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
        f.write(text)
    if os.path.exists(path):
        shutil.copymode(path, path + ".new")
    os.replace(path + ".new", path)


def bring_in_line():
    """Makes `tree` what the sources are now. Files that are the same keep their times."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout
    wanted = {path for path in listed.split("\0") if path and os.path.isfile(os.path.join(ROOT, path))}
    for at, _, names in os.walk(TREE):
        for name in names:
            if os.path.relpath(os.path.join(at, name), TREE) not in wanted:
                os.remove(os.path.join(at, name))
    for path in wanted:
        source, copy = os.path.join(ROOT, path), os.path.join(TREE, path)
        if os.path.exists(copy):
            with open(source, "rb") as a, open(copy, "rb") as b:
                if a.read() == b.read():
                    continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)


def set_up():
    """Configures the build, anew when the project's options are others than the last time."""
    linker = ["-Dcpp_link_args=-fuse-ld=mold"] if shutil.which("mold") else []
    options = ["-Dbuildtype=debug", "-Ddebug=false", "-Db_ndebug=false", "-Dbench=false", *linker]
    wanted = "\n".join([read(os.path.join(TREE, "meson.build")), read(os.path.join(TREE, "meson_options.txt")), *options])
    configured = os.path.join(HOME, "configured")
    if os.path.exists(configured) and read(configured) == wanted:
        return
    shutil.rmtree(BUILD, ignore_errors=True)
    subprocess.run(["meson", "setup", BUILD, TREE, *options], check=True, stdout=sys.stderr)
    write(configured, wanted)


def tests_of(folders):
    """Folder -> [(name, command, environment)] of its unit tests."""
    known = json.loads(subprocess.run(["meson", "introspect", "--tests", BUILD], check=True, capture_output=True,
                                      text=True).stdout)
    found = {folder: [] for folder in folders}
    for test in known:
        program = os.path.relpath(test["cmd"][0], BUILD).split("/")
        if program[:3] == ["test", "unit", "runtime"] and program[3] in found:
            found[program[3]].append((test["name"], test["cmd"], test["env"]))
    return found


def build(tests, jobs):
    programs = sorted({os.path.relpath(cmd[0], BUILD) for _, cmd, _ in tests})
    return subprocess.run(["nice", "-n", "10", "ninja", "-C", BUILD, f"-j{jobs}", *programs], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(tests, timeout):
    """What failed and how, or None."""
    for name, cmd, env in tests:
        child = subprocess.Popen(cmd, cwd=BUILD, env=dict(os.environ, **env), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                 preexec_fn=limit)
        try:
            said = child.communicate(timeout=timeout)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return f"{name}: no end within {timeout:.0f} s"
        if child.returncode:
            case = re.search(r"TEST CASE: +(.*)", said)
            return f"{name}: {case[1].strip() if case else f'exit {child.returncode}'}"
    return None


def try_out(mutant, tests, timeout, jobs):
    """("killed", by what), ("survived", None) or ("stillborn", None)."""
    path = os.path.join(TREE, mutant.path)
    whole = read(path)
    lines = whole.split("\n")
    lines[mutant.number - 1] = mutant.mutated
    write(path, "\n".join(lines))
    try:
        if build(tests, jobs).returncode:
            return "stillborn", None
        failed = run(tests, timeout)
        return ("killed", failed) if failed else ("survived", None)
    finally:
        write(path, whole)


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


def all_mutants(tree):
    everything = []
    for folder in deciding.FOLDERS:
        for at, _, names in sorted(os.walk(os.path.join(tree, "runtime", folder))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(at, name), tree)
                if path.endswith((".cpp", ".hpp")):
                    everything += mutants_of(path, read(os.path.join(tree, path)))
    return everything


def candidates(folders, part):
    everything = all_mutants(TREE)
    listed = equivalents({mutant.key for mutant in everything})
    drawn = [m for m in everything if m.folder in folders and part in m.path and m.key not in listed]
    return drawn, len(listed)


def mutate(wanted, seed, folders, part, jobs):
    bring_in_line()
    set_up()
    drawn, listed = candidates(folders, part)
    folders = sorted({mutant.folder for mutant in drawn})
    tests = tests_of(folders)
    whole = build([test for folder in folders for test in tests[folder]], jobs)
    if whole.returncode:
        sys.exit(whole.stdout[-3000:] + "\nwithout a mutant the tests do not build")
    patience = {}
    for folder in folders:
        begin = time.monotonic()
        failed = run(tests[folder], 600)
        if failed or not tests[folder]:
            sys.exit(f"without a mutant {failed or f'{folder} has no unit tests'}")
        patience[folder] = 10 + PATIENCE * (time.monotonic() - begin)
    print(f"{len(drawn)} mutants of {', '.join(folders)}; {listed} are listed as equivalent; seed {seed}", flush=True)

    random.Random(seed).shuffle(drawn)
    killed, survived, stillborn = 0, [], 0
    for mutant in drawn:
        if killed + len(survived) == wanted:
            break
        begin = time.monotonic()
        outcome, by = try_out(mutant, tests[mutant.folder], patience[mutant.folder], jobs)
        seconds = time.monotonic() - begin
        if outcome == "stillborn":
            stillborn += 1
            continue
        print(f"{outcome:8}  {mutant}  ({seconds:.0f} s)" + (f"  {by}" if by else ""), flush=True)
        if outcome == "killed":
            killed += 1
        else:
            survived.append(mutant)
            print(mutant.diff(), flush=True)
    judged = killed + len(survived)
    print(f"{stillborn} did not compile; seed {seed}")
    print(f"killed {killed} of {judged}")
    return 0 if judged and killed >= ENOUGH * judged else 1


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
    equivalents({mutant.key for mutant in all_mutants(ROOT)})  # or it says which is gone, and ends
    print("2 passed, 0 failed" if found == expected else "1 passed, 1 failed")
    return 0 if found == expected else 1


def main():
    if "--self-test" in sys.argv:
        return self_test()
    options = argparse.ArgumentParser(prog="./dev mutate")
    options.add_argument("number", type=int)
    options.add_argument("-seed", type=int, default=None)
    options.add_argument("-folder", action="append", choices=deciding.FOLDERS)
    options.add_argument("-file", default="", help="only files whose path contains this")
    options.add_argument("-jobs", type=int, default=os.cpu_count())
    chosen = options.parse_args()
    os.makedirs(HOME, exist_ok=True)
    with open(os.path.join(HOME, "lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another run of mutate is under way here")
        seed = random.SystemRandom().randrange(1_000_000) if chosen.seed is None else chosen.seed
        return mutate(chosen.number, seed, chosen.folder or deciding.FOLDERS, chosen.file, chosen.jobs)


if __name__ == "__main__":
    sys.exit(main())
