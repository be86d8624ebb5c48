"""The examples of docs/CONTRIBUTING.md are compiled and their tests run, as they stand there.

usage: examples.py SOURCES BUILD | --self-test

What a block is, its first line says, behind the language:

    ```cpp file=PATH               a file that the example adds
    ```diff file=PATH              a change of a file: below "@@ text" stand the lines that follow the first line
                                   of the file with this text: "+" adds one, "-" removes one, " " is there
    ```cpp same=PATH#MARK          what the file has between "// [MARK]" and "// [/MARK]", which the suite compiles anyway
    ```sh                          commands: each verb of ./dev, command and flag of nomadctl, and file is known

"only=applied" behind a file's path: it is put together and not compiled. The text above a block names its file.
All files are put into a folder of the build, never among the sources, and compiled by the flags of the target that
the deepest meson.build above them makes; each test program is linked anew with what the examples add to it, and runs
the test cases that stand in the page. All examples together are one tree, so one may use another.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PAGES_OF_COMMANDS = ("docs/CONTRIBUTING.md", "README.md", "docs/security.md")
PAGE = "docs/CONTRIBUTING.md"


class Wrong(Exception):
    """What a reader of the page would stumble over."""


def blocks(text):
    """Line, language, attributes, body and the prose above, of each fenced block."""
    prose, inside = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if inside is None and line.startswith("```"):
            words = line[3:].split()
            inside = (number, words[0] if words else "", dict(word.split("=", 1) for word in words[1:]), [])
        elif inside is not None and line == "```":
            yield inside[0], inside[1], inside[2], "\n".join(inside[3]) + "\n", "\n".join(prose)
            prose, inside = [], None
        else:
            (prose if inside is None else inside[3]).append(line)


def patched(text, diff):
    """`text` with the hunks of `diff` in it."""
    lines, at = text.split("\n"), None
    for hunk_line in diff.rstrip("\n").split("\n"):
        if hunk_line.startswith("@@"):
            wanted = hunk_line[2:].strip()
            at = next((n + 1 for n, line in enumerate(lines) if wanted in line), None)
            if at is None:
                raise Wrong(f"no line has {wanted!r}")
            continue
        if at is None:
            raise Wrong("a change begins with @@ and a text of the line before it")
        sign, rest = hunk_line[:1], hunk_line[1:]
        if sign == "+":
            lines.insert(at, rest)
            at += 1
        elif at < len(lines) and sign in ("-", " ") and lines[at] == rest:
            if sign == "-":
                del lines[at]
            else:
                at += 1
        else:
            raise Wrong(f"{hunk_line!r} is not what follows")
    return "\n".join(lines)


def marked(text, mark):
    found = re.search(rf"^// \[{mark}\]\n(.*?)^// \[/{mark}\]$", text, re.M | re.S)
    if not found:
        raise Wrong(f"nothing is marked // [{mark}]")
    return found[1]


class Tree:
    """The files that the examples make and change, below `at`; what is not there is as in the sources. What is
    only put together lies apart, where no compiler looks."""

    def __init__(self, root, at):
        self.root, self.at, self.apart, self.compiled, self.cases = root, at, at + "-applied", [], []
        for folder in (self.at, self.apart):
            shutil.rmtree(folder, ignore_errors=True)

    def read(self, path, *more):
        for base in (*more, self.at, self.root):
            if os.path.exists(os.path.join(base, path)):
                with open(os.path.join(base, path)) as f:
                    return f.read()
        raise Wrong(f"there is no {path}")

    @staticmethod
    def write(base, path, text):
        os.makedirs(os.path.dirname(os.path.join(base, path)), exist_ok=True)
        with open(os.path.join(base, path), "w") as f:
            f.write(text)

    def take(self, language, attributes, body, prose):
        if "same" in attributes:
            path, _, mark = attributes["same"].partition("#")
            if marked(self.read(path), mark).strip() != body.strip():
                raise Wrong(f"the block differs from {path} between the marks [{mark}]")
            return
        path = attributes.get("file")
        if not path:
            raise Wrong("the block says neither file= nor same=")
        if f"`{path}`" not in prose and f"`{os.path.basename(path)}`" not in prose:
            raise Wrong(f"the text above does not name {path}")
        apart = attributes.get("only") == "applied"
        base = self.apart if apart else self.at
        if language == "diff":
            self.write(base, path, patched(self.read(path, base), body))
        elif os.path.exists(os.path.join(self.root, path)):
            raise Wrong(f"{path} is there already")
        else:
            self.write(base, path, body)
        if apart:
            return
        if path.endswith(".cpp") and path not in self.compiled:
            self.compiled.append(path)
        self.cases += [(path, case) for case in re.findall(r'TEST_CASE(?:_FIXTURE)?\((?:[^"]*, )?"([^"]*)"\)', body)]

    def listed(self):
        """Each new source is named by the meson.build that is nearest above it, as the examples leave it."""
        for path in self.compiled:
            folder = os.path.dirname(path)
            while not os.path.exists(os.path.join(self.root, folder, "meson.build")):
                folder = os.path.dirname(folder)
            name = os.path.relpath(path, folder)
            if f"'{name}'" not in self.read(os.path.join(folder, "meson.build")):
                raise Wrong(f"{folder}/meson.build does not list {name}")


class Build:
    """Compiles and links as the build folder does."""

    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        with open(os.path.join(folder, "meson-info/intro-targets.json")) as f:
            self.targets = [target for target in json.load(f) if target["type"] in ("executable", "static library")]

    def target_of(self, path):
        folder = os.path.dirname(path)
        while folder:
            at = os.path.join(self.root, folder, "meson.build")
            for target in self.targets:
                if os.path.realpath(target["defined_in"]) == os.path.realpath(at) and (
                        target["name"].endswith("_test") or not path.startswith("test/")):
                    return target
            folder = os.path.dirname(folder)
        raise Wrong(f"no target of the build has sources beside {path}")

    def run(self, command):
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def compile(self, tree, path):
        """The object, made with the headers of the examples before those of the sources."""
        how = next(how for how in self.target_of(path)["target_sources"] if how.get("language") == "cpp")
        made = os.path.join(tree.at, path)
        code, said = self.run([*how["compiler"], "-I" + tree.at, *how["parameters"], "-fdiagnostics-color=never",
                               "-c", made, "-o", made + ".o"])
        if code:
            raise Wrong(f"{path} does not compile:\n{said}")
        return made + ".o"

    def link(self, program, objects, at):
        """What the program is linked of, with `objects` before: a function that both have is theirs."""
        filename = os.path.relpath(program["filename"][0], self.folder)
        code, said = self.run(["ninja", "-t", "commands", filename])
        command = shlex.split(said.strip().split("\n")[-1])
        if code or "-o" not in command:
            raise Wrong(f"how {program['name']} is linked can't be read:\n{said[-500:]}")
        where = command.index("-o")
        command[where + 1:where + 2] = [at, *objects, "-Wl,--allow-multiple-definition"]
        code, said = self.run(command)
        if code:
            raise Wrong(f"{program['name']} does not link:\n{said[-3000:]}")
        return at


def run_cases(program, cases):
    """A comma separates names in doctest's filter, so it may be any character here."""
    done = subprocess.run([program, "-nc", *["-tc=" + ",".join(case.replace(",", "?") for case in cases)]],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    counted = re.search(r"test cases: +(\d+) \| +(\d+) passed", done.stdout)
    if done.returncode or not counted or int(counted[2]) != len(cases):
        raise Wrong(f"{', '.join(cases)}: not passed:\n{done.stdout[-3000:]}")


def check_command(root, folder, line, commands, verbs):
    """A line of a shell block: what its first words name must be known."""
    line = line.split(" #")[0].strip().rstrip("&").strip()
    words = shlex.split(line)
    while words and re.match(r"\w+=", words[0]):
        words.pop(0)
    if not words:
        return
    for word in words:
        if re.match(r"(examples|docs|test|schema|cli|actors|runtime)/", word) and not os.path.exists(os.path.join(root, word)):
            raise Wrong(f"{line}: there is no {word}")
    if words[0] == "./dev" and (len(words) > 1 and words[1] not in verbs):
        raise Wrong(f"{line}: ./dev help does not know {words[1]}")
    if os.path.basename(words[0]) != "nomadctl":
        return
    name = next((" ".join(words[1:n]) for n in range(len(words), 1, -1) if " ".join(words[1:n]) in commands), None)
    if not name:
        raise Wrong(f"{line}: nomadctl has no such command")
    flags = [word.split("=")[0] for word in words[1:] if re.match(r"-[a-z]", word)]
    if flags:
        said = subprocess.run([os.path.join(folder, "cli/nomadctl"), *name.split(), "-help"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        for flag in flags:
            if not re.search(rf"(?<![\w-]){re.escape(flag)}\b", said):
                raise Wrong(f"{line}: {name} has no flag {flag}")


def check_commands(root, folder):
    with open(os.path.join(root, "cli/commands.def")) as f:
        commands = re.findall(r'^COMMAND\("([^"]+)"', f.read(), re.M)
    said = subprocess.run([os.path.join(root, "dev"), "help"], stdout=subprocess.PIPE, text=True).stdout
    verbs = set(re.findall(r"^\./dev ([\w-]+)", said, re.M)) | {"help"}
    count = 0
    for page in PAGES_OF_COMMANDS:
        with open(os.path.join(root, page)) as f:
            text = f.read()
        lines = [(number, line) for number, language, _, body, _ in blocks(text) if language == "sh"
                 for line in body.split("\n")]
        lines += [(text.count("\n", 0, found.start()) + 1, found[1])
                  for found in re.finditer(r"`(\./dev [^`A-Z]+)`", text)]
        for number, line in lines:
            try:
                check_command(root, folder, line, commands, verbs)
            except Wrong as wrong:
                raise Wrong(f"{page}:{number}: {wrong}") from None
            count += 1
    return count


def run(root, folder):
    tree, build = Tree(root, os.path.join(folder, "contributing")), Build(root, folder)
    with open(os.path.join(root, PAGE)) as f:
        text = f.read()
    taken = 0
    for number, language, attributes, body, prose in blocks(text):
        if language == "sh":
            continue
        try:
            tree.take(language, attributes, body, prose)
        except Wrong as wrong:
            raise Wrong(f"{PAGE}:{number}: {wrong}") from None
        taken += 1
    tree.listed()
    with ThreadPoolExecutor(2) as pool:
        objects = dict(zip(tree.compiled, pool.map(lambda path: build.compile(tree, path), tree.compiled)))
    programs = {}
    for path, case in tree.cases:
        program = build.target_of(path)
        programs.setdefault(program["name"], (program, []))[1].append(case)
    for name, (program, cases) in programs.items():
        tests = [made for path, made in objects.items() if path.startswith("test/")
                 and build.target_of(path)["name"] == name]
        layer = os.path.dirname(os.path.relpath(program["defined_in"], os.path.join(build.root, "test/unit")))
        added = [made for path, made in objects.items() if path.startswith(layer + "/")]
        run_cases(build.link(program, tests + added, os.path.join(tree.at, name)), cases)
    commands = check_commands(root, folder)
    print(f"{taken} blocks, {len(objects)} sources compiled, {len(tree.cases)} test cases passed, {commands} commands known")
    return 0


def self_test():
    page = "`a/b.cpp`:\n```cpp file=a/b.cpp\nint x;\n```\ntext\n```sh\n./dev test\n```\n"
    found = list(blocks(page))
    assert [(one[0], one[1], one[2], one[3]) for one in found] == [
        (2, "cpp", {"file": "a/b.cpp"}, "int x;\n"), (6, "sh", {}, "./dev test\n")], found
    assert "`a/b.cpp`" in found[0][4] and found[1][4] == "text"
    assert patched("a\nb\nc\nd\n", "@@ a\n b\n-c\n+e\n+f\n@@ d\n+g\n") == "a\nb\ne\nf\nd\ng\n"
    for diff in ("@@ nothing\n+x", "+x", "@@ a\n-x", "@@ a\n x"):
        try:
            patched("a\nb\n", diff)
        except Wrong:
            continue
        raise AssertionError(diff)
    assert marked("x\n// [m]\nint y;\n// [/m]\n", "m") == "int y;\n"
    for line in ("./dev nothing", "nomadctl nothing", "cat examples/nothing"):
        try:
            check_command("/", "/", line, {"job run"}, {"test"})
        except Wrong:
            continue
        raise AssertionError(line)
    check_command("/", "/", "A=1 nomadctl job run x   # why", {"job run"}, {"test"})
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    # The compiler's cache does not see that a header now lies in an earlier folder.
    os.environ["CCACHE_DISABLE"] = "1"
    try:
        sys.exit(self_test() if "--self-test" in sys.argv else run(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))
    except Wrong as wrong:
        print(wrong)
        sys.exit(1)
