"""The rules of pages: links lead somewhere, named files are there, and what newcomers read is short.

A page is any .md file of the tree. Relative links, and the anchors behind them, must exist; so must what a
page of docs/internals or docs/ARCHITECTURE.md names in backquotes by its whole path, and each page of
docs/ that a source names. A fenced block that says "from=PATH" stands there, line by line. Rows of tables are read on screens: a longer one is prose.
"""
import os
import re

LONGEST_ROW = 420
LONGEST = {
    "README.md": 120,
    "docs/ARCHITECTURE.md": 350,
    "docs/ROADMAP.md": 80,
    "docs/CONTRIBUTING.md": 460,
}
EXAMPLES = ("docs/CONTRIBUTING.md", "docs/plugins.md")  # name files that their reader is to make


def pages(root):
    """Path and text of each page."""
    for at, dirs, files in os.walk(root):
        dirs[:] = sorted(d for d in dirs if d not in ("build", ".git", "subprojects", "data"))
        for name in sorted(files):
            if name.endswith(".md"):
                with open(os.path.join(at, name)) as f:
                    yield os.path.relpath(os.path.join(at, name), root), f.read()


def prose(text):
    """Without fenced blocks, which hold no links and no headings."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def anchors(text):
    """What headings of a page are called behind a '#'."""
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", prose(text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = 1
        unique = name
        while unique in found:
            unique, count = f"{name}-{count}", count + 1
        found.add(unique)
    return found


def is_there(root, named):
    """A file or folder, whole or without its ending; a pattern counts by the folder before it."""
    named = re.split(r"[*<{…]", named)[0].rstrip("/") if re.search(r"[*<{…]", named) else named.rstrip("/")
    if os.path.exists(os.path.join(root, named)) or any(
            os.path.exists(os.path.join(root, named + end)) for end in (".hpp", ".cpp", ".py", ".capnp")):
        return True
    return os.path.isdir(os.path.join(root, os.path.dirname(named))) and any(
        name.startswith(os.path.basename(named)) for name in os.listdir(os.path.join(root, os.path.dirname(named))))


def check_page(root, path, text, known):
    """`known` has the anchors of each page."""
    wrong = []
    lines = text.count("\n")
    if lines > LONGEST.get(path, lines):
        wrong.append(f"{path}: {lines} lines, {LONGEST[path]} at most")
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("|") and len(line) > LONGEST_ROW:
            wrong.append(f"{path}: line {number} is a row of {len(line)} characters, {LONGEST_ROW} at most")
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"\w+:", target):
            continue
        to, _, anchor = target.partition("#")
        at = os.path.normpath(os.path.join(os.path.dirname(path), to)) if to else path
        if not os.path.exists(os.path.join(root, at)):
            wrong.append(f"{path}: {target} leads nowhere")
        elif anchor and at in known and anchor not in known[at]:
            wrong.append(f"{path}: {at} has no heading #{anchor}")
    for source, block in re.findall(r"^```\w+ from=(\S+)\n(.*?)^```$", text, re.M | re.S):
        if not os.path.exists(os.path.join(root, source)) or block not in open(os.path.join(root, source)).read():
            wrong.append(f"{path}: a block is not what {source} says")
    if path.startswith("docs/") and path not in EXAMPLES:
        for named in re.findall(r"`((?:schema|runtime|actors|cli|test|docs|examples|subprojects)/[^`\s]+)`", prose(text)):
            if not is_there(root, named.split(":")[0]):
                wrong.append(f"{path}: there is no {named}")
    return wrong


def check(root, texts):
    """`texts` has what each source says."""
    all_pages = dict(pages(root))
    known = {path: anchors(text) for path, text in all_pages.items()}
    wrong = [line for path, text in all_pages.items() for line in check_page(root, path, text, known)]
    for path, text in texts.items():
        for named, anchor in re.findall(r"\b(docs/[\w/-]+\.md)(?:#([\w-]+))?", text):
            if named not in all_pages or anchor and anchor not in known[named]:
                wrong.append(f"{path}: there is no {named}{'#' + anchor if anchor else ''}")
    return wrong


def self_test():
    known = {"docs/A.md": anchors("# One `two`'s, three\n```\n# no heading\n```\n## One\n## One\n")}
    if known["docs/A.md"] != {"one-twos-three", "one", "one-1"}:
        return f"anchors: {known}"
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    for path, text in [
        ("docs/x.md", "[a](nothing.md)"),
        ("docs/x.md", "[a](#nothing)"),
        ("docs/x.md", "| " + "a" * LONGEST_ROW + " |"),
        ("docs/internals/x.md", "`test/tidy/nothing.py`"),
        ("docs/x.md", "```cpp from=test/tidy/papers.py\nnothing like it\n```\n"),
        ("README.md", "\n" * (LONGEST["README.md"] + 1)),
    ]:
        if not check_page(root, path, text, {path: set()}):
            return f"nothing found in {path}: {text[:40]!r}"
    for path, text in [
        ("docs/x.md", "```\n[a](nothing.md)\n```\n[b](https://x.org/y#z) [c](HTTP.md) `test/tidy/papers.py`"),
        ("docs/internals/x.md", "`test/tidy/papers` and `test/data/<kind>/…`"),
    ]:
        if check_page(root, path, text, {path: set()}):
            return f"{path}: {check_page(root, path, text, {path: set()})}"
    return None
