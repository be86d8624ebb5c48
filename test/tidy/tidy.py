"""The rules of the tree that a machine can check. usage: tidy.py ROOT [--self-test]

1. Includes point one way: schema <- runtime <- actors <- cli; inside runtime/, at every depth, only
   from a folder to those before it in the meson.build above them. A folder's own files come after
   its subfolders.
2. No CAF below actors/.
3. Every header, and every source without a header, starts with a comment that says what it is for.
4. No `catch (...)` that swallows, no TODO without a kind, no path of somebody's machine.
5. Every source is named by a meson.build. Length only warns.
"""
import os
import re
import sys

MAX_LINES = 400


def folders(root, layer):
    """For `layer` and each folder below it: the names of its subfolders, in the order of the build."""
    found = {}
    for at, _, files in os.walk(os.path.join(root, layer)):
        if "meson.build" in files:
            text = open(os.path.join(at, "meson.build")).read()
            found[os.path.relpath(at, root)] = re.findall(r"^subdir\('(\w+)'\)", text, re.M)
    return found


def sources(root):
    for layer in ("schema", "runtime", "actors", "cli", "test", "subprojects"):
        for at, _, files in os.walk(os.path.join(root, layer)):
            for name in sorted(files):
                if name.endswith((".cpp", ".hpp")):
                    yield os.path.relpath(os.path.join(at, name), root)


def may_include(path, included, order):
    """Why `path` may not include `included`, or None."""
    layers = ["schema", "runtime", "actors", "cli"]
    mine, theirs = path.split("/"), included.split("/")
    if mine[0] not in layers or theirs[0] not in layers:
        return None
    if layers.index(theirs[0]) > layers.index(mine[0]):
        return f"{mine[0]}/ may not include {theirs[0]}/"
    if mine[0] == theirs[0] == "cli" or mine[0] != theirs[0] or mine[0] == "schema":
        if mine[0] == "cli" and theirs[0] == "actors" and not mine[1].startswith(("agent", "node_sim")):
            return "only the commands agent and node-sim may include actors/"
        return None
    if mine[0] != "runtime":
        return None
    depth = 1
    while mine[depth] == theirs[depth] and depth < min(len(mine), len(theirs)) - 1:
        depth += 1
    above = "/".join(mine[:depth])
    known = order.get(above, [])
    if mine[depth] not in known:
        return None
    # A file beside the subfolders comes after them all.
    place = known.index(theirs[depth]) if theirs[depth] in known else len(known)
    if place > known.index(mine[depth]):
        return f"{above}/{mine[depth]} comes before {above}/{theirs[depth]}"
    return None


def check(path, text, built, order):
    found = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        include = re.match(r'#include "([^"]+)"', line)
        if include:
            why = may_include(path, include[1], order)
            if why:
                found.append(f"{path}:{number}: {why}")
        if re.match(r"#include <caf/", line) and not path.startswith(("actors/", "test/")):
            found.append(f"{path}:{number}: CAF is for actors/ alone")
        if re.search(r"catch *\( *\.\.\. *\) *\{ *\}", line):
            found.append(f"{path}:{number}: an error is swallowed")
        if re.search(r"\bTODO\b(?!\((soon|perf|compat)\): )", line):
            found.append(f"{path}:{number}: a TODO needs a kind: TODO(soon|perf|compat): …")
        if re.search(r"/(home|work|farm)/\w+/", line):
            found.append(f"{path}:{number}: a path of somebody's machine")
    head = next((line for line in lines if line.strip() and line.strip() != "#pragma once"), "")
    # A test says what it is for in the names of its cases, a source in its header.
    if not head.startswith(("//", "/*")) and not path.endswith("_test.cpp"):
        if path.endswith(".hpp") or path[:-4] + ".hpp" not in built["files"]:
            found.append(f"{path}:1: starts without saying what it is for")
    if path.endswith(".cpp") and os.path.basename(path) not in built["named"]:
        found.append(f"{path}: no meson.build names it")
    return found


def run(root):
    paths = list(sources(root))
    built = {"files": set(paths), "named": set()}
    for at, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if d not in ("build", ".git")]
        if "meson.build" in files:
            text = open(os.path.join(at, "meson.build")).read()
            built["named"].update(os.path.basename(n) for n in re.findall(r"'([^']+\.cpp)'", text))
    order = folders(root, "runtime")
    failures, warnings = [], []
    for path in paths:
        text = open(os.path.join(root, path), errors="replace").read()
        failures += check(path, text, built, order)
        count = text.count("\n")
        if count > MAX_LINES:
            warnings.append(f"{path}: {count} lines")
    for line in warnings:
        print("long:", line)
    for line in failures:
        print("tidy:", line)
    print(f"{len(paths) - len({f.split(':')[0] for f in failures})} passed, "
          f"{len({f.split(':')[0] for f in failures})} failed")
    return 1 if failures else 0


def self_test():
    """Each rule must bite."""
    order = {"runtime": ["base", "state"], "runtime/state": ["rows", "reads"]}
    built = {"files": set(), "named": {"x.cpp"}}
    cases = [
        ("runtime/base/x.cpp", '// x\n#include "actors/core/actor.hpp"\n'),
        ("runtime/base/x.cpp", '// x\n#include "runtime/state/store.hpp"\n'),
        ("runtime/state/rows/x.cpp", '// x\n#include "runtime/state/reads/read.hpp"\n'),
        ("runtime/state/reads/x.cpp", '// x\n#include "runtime/state/store.hpp"\n'),
        ("runtime/base/x.cpp", '// x\n#include "runtime/state/rows/row.hpp"\n'),
        ("runtime/base/x.cpp", "// x\n#include <caf/actor.hpp>\n"),
        ("runtime/base/x.cpp", "// x\ntry { } catch (...) { }\n"),
        ("runtime/base/x.cpp", "// x\n// TODO: later\n"),
        ("runtime/base/x.cpp", "int x;\n"),
        ("runtime/base/y.cpp", "// y\n"),
        ("cli/x.cpp", '// x\n#include "actors/agent/agent.hpp"\n'),
    ]
    for path, text in cases:
        if not check(path, text, built, order):
            print(f"self-test: nothing found in {path}: {text!r}")
            return 1
    for path, included in [
        ("runtime/state/x.cpp", "runtime/base/ids.hpp"),
        ("runtime/state/x.cpp", "runtime/state/reads/read.hpp"),
        ("runtime/state/reads/x.cpp", "runtime/state/rows/row.hpp"),
        ("runtime/state/reads/x.cpp", "runtime/state/reads/read.hpp"),
        ("runtime/state/reads/x.cpp", "runtime/base/ids.hpp"),
    ]:
        if check(path, f'// x\n#include "{included}"\n', built, order):
            print(f"self-test: {path} was refused {included}")
            return 1
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv else run(sys.argv[1]))
