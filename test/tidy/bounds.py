"""What the product does for as long as somebody else likes has a bound that a test names.

Found in the sources: loops over the entries of a folder, reads of bytes that others wrote, reads to
the end of a stream, whatever evaluates templates, expressions, filters or patterns, and the kinds of
actors. Each file (each actor) with some of them has a row in docs/internals/bounds.md, which says how
many there are, by which constants they are bounded (one of them in the file or in what it includes),
and which test shows it. A new one without a row
fails, a row for what is gone, and one whose constant or test does not exist.
"""
import os
import re

PAGE = "docs/internals/bounds.md"

KINDS = {
    "entries": re.compile(r"::readdir\(|::getdents|\b(?:recursive_)?directory_iterator\b(?:(?: \w+)?[{(]|\s*$)"),
    "bytes": re.compile(r"(?<![\w>])::(?:read|pread|readv|preadv|recv|recvmsg|recvfrom|fread)\(|std::getline\(|\.gcount\(\)"),
    "whole": re.compile(r"istreambuf_iterator|<< *\w*file\w*\.rdbuf\(\)|ifstream\{[^}]*\}\.rdbuf\(\)"),
    "work": re.compile(r"\bRE2::(?:\w*Match|\w*Consume|GlobalReplace|Replace|Extract)\(|(?:\.|->)Match\("
                       r"|\bWork \w+\{|\bEvalBudget \w+[;{]|\bparsed->render\("),
    "actor": re.compile(r'static constexpr const char\* name = "(\w+)"'),
}


def code_lines(text):
    return [re.sub(r'//.*', "", line) for line in text.split("\n")]


def found_in(path, text):
    """{(kind, what): how many} of a product source; what is the path, of an actor its name."""
    found = {}
    text = "\n".join(code_lines(text))
    text = re.sub(r"(static constexpr const char\* name)\s*=\s*", r"\1 = ", text)
    for kind, pattern in KINDS.items():
        if kind == "actor":
            if path.startswith("actors/"):
                for name in pattern.findall(text):
                    found[kind, name] = 1
            continue
        count = sum(len(pattern.findall(line)) for line in text.split("\n"))
        if count:
            found[kind, path] = count
    return found


def rows_of(page):
    """[(kind, what, count, constants, tests)] of the page's tables."""
    rows = []
    for line in page.split("\n"):
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] in KINDS:
            for what, times in re.findall(r"`([^`]+)`(?: ×(\d+))?", cells[1]):
                rows.append((cells[0], what, int(times or 1), re.findall(r"`([^`]+)`", cells[2]), cells[3]))
    return rows


def wrong_test(cell, texts):
    """Why the cell of a row names no test that exists; None if it does."""
    files = re.findall(r"`([\w/.]+)`", cell)
    if not files:
        return "names no test"
    for name in files:
        if name not in texts:
            return f"there is no {name}"
    for case in re.findall(r'"([^"]+)"', cell):
        wanted = case.removesuffix("…").strip()
        if not any(wanted in re.sub(r'"\s*\n\s*"', "", texts[name]) for name in files):
            return f"no case of {', '.join(files)} is called \"{case}\""
    return None


def check(root, texts):
    with open(os.path.join(root, PAGE)) as f:
        page = f.read()
    tests = dict(texts)
    for at, _, names in os.walk(os.path.join(root, "test")):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(at, name), errors="replace") as f:
                    tests[os.path.relpath(os.path.join(at, name), root)] = f.read()
    return judge({p: t for p, t in texts.items() if p.startswith(("runtime/", "actors/", "cli/"))}, page, tests)


def words_near(products):
    """path -> the words of a source, of its header, and of the headers that these include."""
    own = {path: set(re.findall(r"\w+", text)) for path, text in products.items()}
    includes = {path: re.findall(r'#include "([^"]+)"', text) for path, text in products.items()}

    def near(path):
        files = {path} | set(includes.get(path, ()))
        files |= set(includes.get(re.sub(r"\.cpp$", ".hpp", path), ()))
        return set().union(*(own[file] for file in files if file in own))

    return near


def judge(products, page, tests):
    found = {}
    for path, text in products.items():
        found |= found_in(path, text)
    words = words_near(products)
    everywhere = set().union(*(words(path) for path in products))
    failures, listed = [], set()
    for kind, what, count, constants, test in rows_of(page):
        if (kind, what) in listed:
            failures.append(f"{PAGE}: {kind} of {what} has two rows")
        listed.add((kind, what))
        if found.get((kind, what)) != count:
            failures.append(f"{PAGE}: {kind} of {what}: the row says {count}, there are {found.get((kind, what), 0)}")
        if not constants:
            failures.append(f"{PAGE}: {kind} of {what} names no bound")
        names = {constant.split("::")[-1] for constant in constants}
        if gone := names - everywhere:
            failures.append(f"{PAGE}: {kind} of {what}: no source has {', '.join(sorted(gone))}")
        elif kind != "actor" and names and not names & words(what):  # a mailbox is bounded by who sends
            failures.append(f"{PAGE}: {kind} of {what}: neither it nor what it includes has {', '.join(sorted(names))}")
        if why := wrong_test(test, tests):
            failures.append(f"{PAGE}: {kind} of {what}: {why}")
    for kind, what in sorted(found.keys() - listed):
        failures.append(f"{what}: {kind} without a bound in {PAGE}")
    return failures


def self_test():
    source = {"runtime/x.cpp": "constexpr int most = 1;\nwhile (::readdir(x)) {}\n::read(0, b, most);\n"
                               "  Work work{most};\nstd::string s{std::istreambuf_iterator<char>{file}, {}};\n",
              "actors/y.cpp": "struct Y {\n  static constexpr const char* name =\n      \"y_actor\";\n};\n"}
    tests = {"test/unit/x_test.cpp": 'TEST_CASE("x: ends")'}
    rows = [f"| {kind} | `{what}` | `most` | `test/unit/x_test.cpp`: \"x: ends\" |"
            for kind, what in (("entries", "runtime/x.cpp"), ("bytes", "runtime/x.cpp"), ("whole", "runtime/x.cpp"),
                               ("work", "runtime/x.cpp"), ("actor", "y_actor"))]
    if judge(source, "\n".join(rows), tests):
        return f"a page that is right was refused: {judge(source, chr(10).join(rows), tests)}"
    for at in range(len(rows)):
        if len(judge(source, "\n".join(rows[:at] + rows[at + 1:]), tests)) != 1:
            return f"nothing was missed without {rows[at]}"
    for said in ("| open | `y_actor` | one owner |", "| actor | `y_actor` | one owner | none yet |"):
        if not judge(source, "\n".join(rows[:-1] + [said]), tests):
            return f"an actor without a bound was let pass: {said}"
    if not judge(source | {"runtime/y.cpp": "int far;"}, rows[0].replace("most", "far"), tests):
        return "a bound of a source that has nothing to do with it was let pass"
    for old, new in (("`most`", "`gone`"), ("`most`", "much"), ("x_test.cpp`", "z_test.cpp`"), ("ends\"", "goes on\""),
                     ("runtime/x.cpp` |", "runtime/x.cpp` ×2 |")):
        if not judge(source, "\n".join(rows).replace(old, new, 1), tests):
            return f"{new} instead of {old} was let pass"
    return None
