"""Test programs with a mutant in them, without a build of their own: what the mutant is in is compiled with the
command that a finished build has for it, and comes first when the test program is linked once more. So a mutant
costs one source and one link, nothing in the tree or in the build is written, and several are tried side by side.

A source of a build in groups (unity) is taken out of its group: compiled alone, it defines everything again that
its group's object defines too, and linkers take the first (-z muldefs), also for calls within the group. That is the
mutant exactly, but for what a compiler has put into its callers (so builds that optimize have it compiled with its
whole group), and for variables that several sources know and that are set up as the program starts, which the group
would set up once more (likewise). A header takes along every object that includes it.
"""
import json
import os
import re
import shlex
import subprocess


def ask(command, cwd):
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def sources_of_group(text):
    """What a group of meson's includes, as it names it."""
    return re.findall(r"^#include<(.*)>$", text, re.M)


class Program:
    """A test program: how it is linked, and the objects of which it consists."""

    def __init__(self, name, path, command, environment, link, archives):
        self.name, self.path, self.command, self.environment = name, path, command, environment
        self.link = [*link]
        self.objects = {word for word in link if word.endswith(".o")}
        for word in link:
            self.objects.update(archives.get(word, ()))

    def linked_with(self, replaced, output):
        """The command that links it as `output`; `replaced` has for an object the one that counts instead, and
        whether that is all of it."""
        link, first = [], []
        for word in self.link:
            new, is_whole = replaced.get(word, (None, False))
            if new and is_whole:
                link.append(new)
                continue
            if new:
                first.append(new)
            link.append(word)
        inside = [new for old, (new, _) in replaced.items() if old in self.objects and old not in self.link]
        at = link.index("-o")
        return [*link[:at], "-o", output, *first, *inside, *link[at + 2:], "-Wl,-z,muldefs"]


class Build:
    """A finished build in `directory` of the tree in `root`, and the unit tests of runtime/ that it has."""

    def __init__(self, root, directory):
        self.root, self.directory = root, directory
        known = json.loads(ask(["meson", "introspect", "--tests"], directory))
        links = {one["output"]: shlex.split(one["command"]) for one in self._commands("cpp_LINKER")}
        archives = {one["output"]: [word for word in shlex.split(one["command"]) if word.endswith(".o")]
                    for one in self._commands("STATIC_LINKER")}
        self.programs = []
        for test in known:
            path = os.path.relpath(test["cmd"][0], directory)
            if path.startswith("test/unit/runtime/"):
                self.programs.append(Program(test["name"], path, test["cmd"], test["env"], links[path], archives))
        self.compiles, self.objects_of = {}, {}
        with open(os.path.join(directory, "compile_commands.json"), encoding="utf-8") as f:
            for one in json.load(f):
                self.compiles[one["output"]] = self._bare(one)
                for source in self._sources(one["file"]):
                    self.objects_of.setdefault(source, []).append(one["output"])
        self.includes = {}

    def _commands(self, rule):
        return json.loads(ask(["ninja", "-t", "compdb", rule], self.directory))

    def _inside(self, path):
        return os.path.relpath(os.path.join(self.directory, path), self.root)

    def _sources(self, file):
        if not re.search(r"-unity\d+\.cpp$", file):
            return [self._inside(file)]
        with open(os.path.join(self.directory, file), encoding="utf-8") as f:
            return [self._inside(source) for source in sources_of_group(f.read())]

    def _bare(self, one):
        """(command without output and list of dependencies, source)"""
        words, kept = iter(shlex.split(one["command"])), []
        for word in words:
            if word in ("-MQ", "-MF", "-MT", "-o", "-c"):
                next(words)
            elif word not in ("ccache", "-MD", "-MMD"):
                kept.append(word)
        return kept, one["file"]

    def programs_of(self, path):
        """The programs whose folder is that of the source `path` or above or below it, the nearest first."""
        folder = os.path.dirname(path)
        top = "/".join(folder.split("/")[:2])
        near = [program for program in self.programs if program.path.startswith(f"test/unit/{top}/")]
        return sorted(near, key=lambda program: -len(os.path.commonpath([f"test/unit/{folder}", program.path])))

    def read_includes(self, programs):
        """What the objects of the programs include; once they are built, and before `make`."""
        objects = sorted(set().union(*(program.objects for program in programs)))
        self.includes = {each: set() for each in objects}
        current = set()
        for line in ask(["ninja", "-t", "deps", *objects], self.directory).split("\n"):
            if not line.startswith(" "):
                current = self.includes.get(line.split(":")[0], set())
            elif "/runtime/" in line:
                current.add(self._inside(line.strip()))

    def make(self, path, text, programs, work):
        """Links those of `programs` whose objects have `text` as the source `path` in them, in the folder `work`.
        [(program, its path)], or None if it does not compile."""
        objects = set().union(*(program.objects for program in programs))
        is_header = path.endswith(".hpp")
        touched = sorted(each for each in objects if path in self.includes[each]) if is_header else \
            [each for each in self.objects_of.get(path, ()) if each in objects]
        mutant = os.path.join(work, "overlay" if is_header else "", path)
        os.makedirs(os.path.dirname(mutant), exist_ok=True)
        with open(mutant, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
            f.write(text)
        replaced = {}
        for number, each in enumerate(touched):
            new = os.path.join(work, f"{number}.o")
            is_whole = is_header or self._is_alone(each) or "-O0" not in self.compiles[each][0]
            if not self._compile(each, path, mutant, new, is_whole):
                return None
            if not is_whole and self._shares_variables(new):
                is_whole = True
                if not self._compile(each, path, mutant, new, is_whole):
                    return None
            replaced[each] = (new, is_whole)
        made = []
        for program in programs:
            ours = {old: new for old, new in replaced.items() if old in program.objects}
            if ours:
                output = os.path.join(work, os.path.basename(program.path))
                link = subprocess.run(program.linked_with(ours, output), cwd=self.directory, capture_output=True, text=True)
                if link.returncode:
                    raise RuntimeError(f"{program.path} does not link: {link.stderr[-2000:]}")
                made.append((program, output))
        return made

    def _is_alone(self, compiled):
        return len(self._sources(self.compiles[compiled][1])) == 1

    def _compile(self, compiled, path, mutant, output, whole):
        command, file = self.compiles[compiled]
        source = os.path.join(self.directory, file)
        if not path.endswith(".hpp"):
            parts = [os.path.join(self.root, part) for part in self._sources(file)]
            own = os.path.join(self.root, path)
            with open(output + ".cpp", "w", encoding="utf-8") as f:
                f.writelines(f"#include<{mutant if part == own else part}>\n"
                             for part in (parts if whole else [own]))
            source = output + ".cpp"
        beside = ["-iquote", os.path.join(os.path.dirname(output), "overlay"),
                  "-iquote", os.path.dirname(os.path.join(self.root, path))]
        return subprocess.run([*command, *beside, "-c", source, "-o", output], cwd=self.directory,
                              capture_output=True).returncode == 0

    def _shares_variables(self, compiled):
        names = ask(["nm", "--defined-only", "--extern-only", "--format=posix", compiled], self.directory)
        return any(line.split(" ")[1] == "B" for line in names.split("\n") if " " in line)


def self_test():
    """What is wrong, or None."""
    if sources_of_group("// made\n#include</r/a.cpp>\n#include</r/b.cpp>\n") != ["/r/a.cpp", "/r/b.cpp"]:
        return "the sources of a group"
    link = ["c++", "-o", "x/x_test", "x/test.o", "-Wl,--start-group", "liba.a", "libb.a"]
    program = Program("x", "x/x_test", ["x/x_test"], {}, link, {"liba.a": ["a/0.o", "a/1.o"], "libb.a": ["b/0.o"]})
    if program.objects != {"x/test.o", "a/0.o", "a/1.o", "b/0.o"}:
        return "the objects of a program"
    made = program.linked_with({"a/1.o": ("w/0.o", False), "x/test.o": ("w/1.o", True), "c/0.o": ("w/2.o", False)}, "w/x")
    if made != ["c++", "-o", "w/x", "w/0.o", "w/1.o", *link[4:], "-Wl,-z,muldefs"]:
        return f"a link: {made}"
    return None
