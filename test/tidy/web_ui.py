"""The rules of subprojects/web-ui, for trees without node: dist/ was made of the sources that are here, and nothing in them can make
HTML or code of text. Files are as long, and folders as full, as elsewhere.
"""
import hashlib
import os
import re

FOLDER = "subprojects/web-ui"
MADE_OF = ("build.mjs", "package.json", "package-lock.json", "tsconfig.json")
MAX_LINES = 600
MAX_FILES = 40
# What makes a document or a program of a text.
UNSAFE = re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|DOMParser|createContextualFragment|srcdoc)\b"
                    r"|\beval\(|new Function\(|setTimeout\(\s*[\"'`]")
FOREIGN = re.compile(r"(?:src|href|fetch\(|import\()\s*=?\s*[\"'`](?:https?:)?//")


def below(folder):
    return [os.path.join(at, name) for at, dirs, names in os.walk(folder) for name in names]


def hash_of_sources(folder):
    """As build.mjs counts it."""
    sources = [path for path in below(os.path.join(folder, "src")) if not path.endswith(".test.ts")]
    sources += [os.path.join(folder, name) for name in MADE_OF]
    total = hashlib.sha256()
    for path in sorted(sources):
        total.update(os.path.relpath(path, folder).encode() + b"\0")
        with open(path, "rb") as f:
            total.update(f.read())
    return total.hexdigest()


def complaints_of(path, text):
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines, at most {MAX_LINES}"
    if path.endswith((".ts", ".tsx", ".mjs", ".css")) and not path.endswith(".test.ts") and not lines[0].startswith(("//", "/*")):
        yield f"{path}:1: starts without saying what it is for"
    for number, line in enumerate(lines, 1):
        if UNSAFE.search(line):
            yield f"{path}:{number}: a text becomes a document or a program"
        if FOREIGN.search(line):
            yield f"{path}:{number}: something of another origin"


def check_dist(folder):
    """What of dist/ is not as its MANIFEST and the sources say."""
    dist = os.path.join(folder, "dist")
    with open(os.path.join(dist, "MANIFEST")) as f:
        first, *rows = f.read().rstrip("\n").split("\n")
    if first != f"sources {hash_of_sources(folder)}":
        yield "dist/ was not made of these sources: run ./dev ui build"
    said = {}
    for row in rows:
        digest, size, name = row.split(" ", 2)
        said[name] = (digest, int(size))
    for name in sorted(said.keys() | set(os.listdir(dist)) - {"MANIFEST"}):
        path = os.path.join(dist, name)
        if name not in said or not os.path.exists(path):
            yield f"dist/{name}: in MANIFEST or there, but not both"
            continue
        with open(path, "rb") as f:
            content = f.read()
        if said[name] != (hashlib.sha256(content).hexdigest(), len(content)):
            yield f"dist/{name}: not as MANIFEST says"


def check(root):
    folder = os.path.join(root, FOLDER)
    if not os.path.isdir(folder):
        return []
    found = [f"{FOLDER}: {line}" for line in check_dist(folder)]
    files = [path for part in ("src", "test") for path in below(os.path.join(folder, part))]
    for path in sorted(files):
        with open(path, errors="replace") as f:
            found += complaints_of(os.path.relpath(path, root), f.read())
    counts = {}
    for path in files:
        counts[os.path.dirname(path)] = counts.get(os.path.dirname(path), 0) + 1
    return found + [f"{os.path.relpath(at, root)}: {count} files, at most {MAX_FILES}" for at, count in counts.items() if count > MAX_FILES]


def self_test():
    for text in ("element.innerHTML = text;", "eval(text)", 'import("https://x.example/a.js")', "x\n"):
        if not list(complaints_of("a.ts", "// a\n" * (text != "x\n") + text)):
            return f"nothing found in {text!r}"
    return next((f"found {line}" for line in complaints_of("a.ts", "// a\nconst a = `${b}`;\n")), None)
