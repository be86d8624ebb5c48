"""The rules of the tree that a machine can check. usage: tidy.py ROOT [--self-test|--settle]

1. Includes point one way: schema <- runtime <- actors <- cli; inside runtime/ and actors/, at every
   depth, only from a folder to those before it in the meson.build above them. A folder's own files
   come after its subfolders. In actors/client, hooks use nothing of what lies above them.
2. No CAF below actors/.
3. Every header, and every source without a header, starts with a comment that says what it is for.
4. No `catch (...)` that swallows, no TODO without a kind, no path of somebody's machine.
5. Every source is named by a meson.build.
6. Deciding folders have no clock, thread, file or random device (deciding.py).
7. No folder has more than 40 files; the header of an actor starts with its card; each deciding class
   and each entry point that ships has a test of its own; no type is called by a word that is nobody's
   term (house.py).
8. No function has more than 70 lines (functions.py).
9. Links of pages lead somewhere, what they name is there, the first pages are short (papers.py).
10. No function of the product is called by tests alone (unused.py).
11. Unit tests and what they share never sleep: they wait for what they want to see
    (test/support/eventually.hpp).
12. Allocations are read by AllocView; who builds or encodes them by the schema's fields is in allowed.txt
    (house.py).
13. No branch on the text of an error: what has words alone is read into a type by one function, whose
    file is in allowed.txt.
14. Loops over entries and bytes of others, evaluations and actors have a bound that a test names
    (bounds.py, docs/internals/bounds.md).
15. Each text of an error is read by a test, or is listed with why not (error_texts.py, error_texts.txt).
16. Lines of the log have known parts and keys, and messages without ids or names of classes
    (log_lines.py).
17. The web UI's dist/ was made of its sources, which make no HTML or code of text (web_ui.py).
The length of files only warns. What is let pass all the same, and why, is in allowed.txt, which only
shrinks.
"""
import os
import re
import sys

import allowed as allow_list
import bounds
import deciding
import error_texts
import functions
import house
import log_lines
import papers
import unused
import web_ui

MAX_LINES = 600


def folders(root, layer):
    """For `layer` and each folder below it: the names of its subfolders, in the order of the build."""
    found = {}
    for at, _, files in os.walk(os.path.join(root, layer)):
        if "meson.build" in files:
            text = open(os.path.join(at, "meson.build")).read()
            found[os.path.relpath(at, root)] = re.findall(r"^subdir\('(\w+)'\)", text, re.M)
    return found


# Folders that are built with those around them, and may use only those before them here: not what
# lies beside these, either.
INNER = {"actors/client": ["tools", "templates", "volumes", "hooks"]}


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
        if mine[0] == "cli" and theirs[0] == "actors" and path != "cli/agent.cpp" and mine[1] != "node_sim":
            return "only the command agent and the program node_sim may include actors/"
        return None
    if mine[0] not in ("runtime", "actors"):
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


# The text of an error compared or searched, `error.what` or a variable that is called so.
MESSAGE = re.compile(r"\bwhat(?:\(\))?\s*[=!]= *(?:\"|[a-z_]\w*::[a-z])"
                     r"|(?:\.|->|\b)what(?:\(\))?\.(?:find|rfind|starts_with|ends_with|contains|compare)\b"
                     r"|(?:contains|starts_with|ends_with|contains_text)\([^()]*(?:\.|->)what\b")


def reads_message(path, line):
    return path.startswith(("runtime/", "actors/", "cli/")) and MESSAGE.search(line.split("//")[0]) is not None


def check(path, text, built, order, allowed=allow_list.Allowed("")):
    found = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        include = re.match(r'#include "([^"]+)"', line)
        if include:
            why = may_include(path, include[1], order)
            if why and ("include", f"{path} {include[1]}") not in allowed:
                found.append(f"{path}:{number}: {why}")
        if re.match(r"#include <caf/", line) and not path.startswith(("actors/", "test/")):
            found.append(f"{path}:{number}: CAF is for actors/ alone")
        if re.search(r"json::parse\((?:[^(),]|\([^()]*\))*\)", line) and not path.startswith("test/"):
            found.append(f"{path}:{number}: this parser throws, from 32 levels on; parse_json does not")
        if re.search(r"catch *\( *\.\.\. *\) *\{ *\}", line):
            found.append(f"{path}:{number}: an error is swallowed")
        if re.search(r"\bTODO\b(?!\((soon|perf|compat)\): )", line):
            found.append(f"{path}:{number}: a TODO needs a kind: TODO(soon|perf|compat): …")
        if (re.search(r"(?<!\w)::(?:(?:v?fork|posix_spawnp?|clone)\(|syscall\(SYS_(?:clone3?|v?fork)\b)", line) and not path.startswith("test/")
                and path not in ("runtime/host/process/spawn.cpp", "runtime/host/executor/launch.cpp",
                                 "runtime/plugin/sdk/task_logs.cpp")):  # a copy of the plugin, which becomes no program
            found.append(f"{path}:{number}: programs are started by runtime/host/process/spawn")
        if reads_message(path, line) and ("message", path) not in allowed:
            found.append(f"{path}:{number}: a branch on the text of an error; causes are codes and types")
        if path.startswith(("test/unit/", "test/support/")) and re.search(r"\b(sleep_(for|until)|u?sleep|(clock_)?nanosleep) *\(", re.sub(r'"[^"]*"', "", line)):
            found.append(f"{path}:{number}: a test that sleeps; wait for what it wants to see (test/support/eventually.hpp)")
        if house.reads_alloc_fields(path, line) and ("fields", path) not in allowed:
            found.append(f"{path}:{number}: an allocation is read by runtime/object/alloc_view.hpp")
        if re.search(r"/(home|work|farm)/\w+/", line):
            found.append(f"{path}:{number}: a path of somebody's machine")
    head = next((line for line in lines if line.strip() and line.strip() != "#pragma once"), "")
    # A test says what it is for in the names of its cases, a source in its header.
    if not head.startswith(("//", "/*")) and not path.endswith("_test.cpp"):
        if path.endswith(".hpp") or path[:-4] + ".hpp" not in built["files"]:
            found.append(f"{path}:1: starts without saying what it is for")
    if path.endswith(".cpp") and os.path.basename(path) not in built["named"]:
        found.append(f"{path}: no meson.build names it")
    forbidden = list(deciding.check(path, text))
    if forbidden and ("deciding", path) not in allowed:
        found += [f"{path}:{number}: {why}" for number, why in forbidden]
    if house.spawns_actor(path, text):
        missing = house.missing_of_card(text)
        if missing and ("card", path) not in allowed:
            found.append(f"{path}:1: the actor's card does not say {', '.join(missing)}")
    return found


def check_tests(texts, allowed):
    """Failures of the classes and entry points without a test of their own, and a line about all."""
    wanted = sorted(path for path, text in texts.items() if house.wants_test(path, text, texts))
    untested = [path for path in wanted if house.test_of(path) not in texts]
    listed = [path for path in untested if ("mirror", path) in allowed]
    return [f"{path}: there is no {house.test_of(path)}" for path in untested if path not in listed], \
        f"{len(wanted)} deciding classes and entry points: {len(wanted) - len(untested)} have a test of " \
        f"their own, {len(listed)} are listed with a reason"


def check_folders(root, allowed):
    """Failures of the folders that hold too much."""
    files = (os.path.relpath(os.path.join(at, name), root)
             for layer in ("schema", "runtime", "actors", "cli", "test")
             for at, _, names in os.walk(os.path.join(root, layer)) if not at.endswith("__pycache__")
             for name in names)
    return [f"{folder}: {count} files, at most {most}" for folder, count in house.full_folders(files)
            if count > (most := allowed.folder_limit(folder, house.MAX_FILES))]


def check_owners(texts):
    """Failures of the cards that name another policy than the spawn sites beside them."""
    for path, text in texts.items():
        if house.spawns_actor(path, text):
            if differs := house.differs_from_card(text, texts.get(path[:-4] + ".cpp", "")):
                yield f"{path}:1: {differs}"


def check_words(texts):
    """Failures of the names that are nobody's terms."""
    users = {}
    for path, text in texts.items():
        for name, instead in house.house_words(path, text):
            users.setdefault((name, instead), []).append(path)
    return [f"{paths[0]}: {name} is nobody's term, rather {instead}: {', '.join(paths)}"
            for (name, instead), paths in users.items()] \
        + [f"{path}:{line}: {name} is called otherwise: {instead} (docs/internals/words.md)"
           for path, text in texts.items() for line, name, instead in house.old_names(path, text)]


def run(root):
    paths = list(sources(root))
    with open(os.path.join(root, "test/tidy/allowed.txt")) as f:
        list_of_allowed = f.read()
    allowed = allow_list.Allowed(list_of_allowed, root)
    built = {"files": set(paths), "named": set()}
    for at, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if d not in ("build", ".git")]
        if "meson.build" in files:
            text = open(os.path.join(at, "meson.build")).read()
            built["named"].update(os.path.basename(n) for n in re.findall(r"'([^']+\.cpp)'", text))
    order = folders(root, "runtime") | folders(root, "actors") | INNER
    failures, warnings, texts = [], [], {}
    for path in paths:
        with open(os.path.join(root, path), errors="replace") as f:
            texts[path] = f.read()
    long_functions = [line for path in paths for line in functions.too_long(path, texts[path])]
    for path, text in texts.items():
        failures += check(path, text, built, order, allowed)
        count = text.count("\n")
        if count > MAX_LINES:
            warnings.append(f"long: {path}: {count} lines")
    failures += [f"{layer}/{name}: {layer}/meson.build does not name it" for layer in ("runtime", "actors")
                 for name in sorted({path.split("/")[1] for path in paths if path.startswith(layer + "/")})
                 if name not in order[layer]]
    untested, tests = check_tests(texts, allowed)
    failures += untested + check_folders(root, allowed)
    failures += long_functions + check_words(texts) + list(check_owners(texts)) + papers.check(root, texts)
    failures += unused.check(texts, allowed) + bounds.check(root, texts)
    failures += log_lines.check(root, texts)
    failures += web_ui.check(root)
    unread, read = error_texts.check(root, texts)
    failures += unread
    if "--settle" in sys.argv:
        error_texts.settle(root, texts)
        with open(os.path.join(root, "test/tidy/allowed.txt"), "w") as f:
            f.write(allowed.settled(list_of_allowed))
    failures += allowed.wrong + allowed.needless()
    for line in warnings:
        print(line)
    print(tests)
    print(read)
    for line in failures:
        print("tidy:", line)
    failed = {line.split(":")[0] for line in failures}
    print(f"{len(set(paths) - failed)} passed, {len(failed)} failed")
    return 1 if failures else 0


def self_test():
    """Each rule must bite."""
    order = {"runtime": ["base", "state"], "runtime/state": ["rows", "reads"], "actors": ["roles", "server", "client"]} | INNER
    built = {"files": set(), "named": {"x.cpp"}}
    cases = [
        ("cli/x.cpp", "// x\nauto tree = boost::json::parse(to_json(job));\n"),
        ("runtime/base/x.cpp", '// x\n#include "actors/core/actor.hpp"\n'),
        ("runtime/base/x.cpp", '// x\n#include "runtime/state/store.hpp"\n'),
        ("runtime/state/rows/x.cpp", '// x\n#include "runtime/state/reads/read.hpp"\n'),
        ("runtime/state/reads/x.cpp", '// x\n#include "runtime/state/store.hpp"\n'),
        ("runtime/base/x.cpp", '// x\n#include "runtime/state/rows/row.hpp"\n'),
        ("runtime/base/x.cpp", "// x\n#include <caf/actor.hpp>\n"),
        ("runtime/base/x.cpp", "// x\ntry { } catch (...) { }\n"),
        ("runtime/base/x.cpp", "// x\n// TODO: later\n"),
        ("runtime/base/x.cpp", '// x\nif (err.what == "gone") return;\n'),
        ("runtime/base/x.cpp", "// x\nif (what == executor::unknown_request) return;\n"),
        ("actors/base/x.cpp", '// x\nif (tried.error().what.find("EOF") != npos) return;\n'),
        ("cli/x.cpp", '// x\nif (thrown.what().starts_with("no")) return;\n'),
        ("cli/x.cpp", '// x\nif (contains(err.what, "no")) return;\n'),
        ("cli/x.cpp", "// x\nvoid read(schema::Allocation::Reader alloc);\n"),
        ("actors/base/x.cpp", "// x\nif (alloc.getTaskStates().size() > 0) return;\n"),
        ("cli/x.cpp", "// x\nconst auto pid = ::fork();\n"),
        ("test/unit/x.cpp", "// x\nstd::this_thread::sleep_for(1ms);\n"),
        ("test/support/x.cpp", "// x\n::usleep(1);\n"),
        ("runtime/base/x.cpp", "int x;\n"),
        ("runtime/base/y.cpp", "// y\n"),
        ("actors/client/hooks/x.cpp", '// x\n#include "actors/client/plugin_catalog.hpp"\n'),
        ("actors/client/hooks/x.cpp", '// x\n#include "actors/client/task/task_runner.hpp"\n'),
        ("actors/client/tools/x.cpp", '// x\n#include "actors/client/hooks/hook.hpp"\n'),
        ("cli/x.cpp", '// x\n#include "actors/agent/agent.hpp"\n'),
        ("actors/roles/x.cpp", '// x\n#include "actors/server/leader.hpp"\n'),
        ("runtime/state/x.cpp", "// x\n#include <fstream>\n"),
        ("actors/server/x.hpp", "// x\nX spawn_x(int a);\n"),
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
        ("actors/client/hooks/x.cpp", "actors/client/tools/blocking_pool.hpp"),
        ("actors/client/task/x.cpp", "actors/client/hooks/hook.hpp"),
    ]:
        if check(path, f'// x\n#include "{included}"\n', built, order):
            print(f"self-test: {path} was refused {included}")
            return 1
    if check("actors/server/x.cpp", '// x\n#include "actors/roles/x.hpp"\n', built, order) \
            or check(*cases[-3], built, order, allow_list.Allowed(
                "include: actors/roles/x.cpp actors/server/leader.hpp  # why\n")):
        print("self-test: an include that is allowed was refused")
        return 1
    pair = {"runtime/state/x.cpp": "// x", "runtime/state/x.hpp": "// x"}
    if len(check_tests(pair, allow_list.Allowed(""))[0]) != 1 or check_tests(
            pair | {"test/unit/runtime/state/x_test.cpp": ""}, allow_list.Allowed(""))[0]:
        print("self-test: mirrored tests")
        return 1
    for part in (allow_list, bounds, deciding, error_texts, functions, house, log_lines, papers, unused, web_ui):
        problem = part.self_test()
        if problem:
            print(f"self-test: {part.__name__}: {problem}")
            return 1
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv else run(sys.argv[1]))
