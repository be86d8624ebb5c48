"""Lines of the log are for operators: a sentence without ids and without names of classes, from a part of the
agent that has a name, with fields whose keys are the same everywhere. Parts and keys are the tables of
docs/internals/telemetry.md, "Log lines"."""
import os
import re

PAGE = "docs/internals/telemetry.md"
LAYERS = ("runtime/", "actors/", "cli/")

CALL = re.compile(r"\b(?:log::(?:trace|debug|info|warn|error|(write))|guarded)\(")
LEVEL = re.compile(r'[^,"]*,')
KEY = re.compile(r'\{"(\w*)",')
TEXT = re.compile(r'"((?:\\.|[^"\\])*)"')
CLASS = re.compile(r"\b(?:[A-Z][a-z]+){2,}\b|\b\w+::\w+|\b[a-z]+_(?:endpoint|watcher|runner|tracker|worker|store)\b")


def calls(text):
    """(line, arguments as they are written) of the calls that write a line."""
    for found in CALL.finditer(text):
        if text.rfind("//", text.rfind("\n", 0, found.start()) + 1, found.start()) >= 0:
            continue
        at, depth = found.end(), 1
        while depth and at < len(text):
            literal = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'').match(text, at)
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at = literal.end() if literal else at + 1
        arguments = text[found.end():at - 1]
        yield text.count("\n", 0, found.start()) + 1, LEVEL.sub("", arguments, count=1) if found[1] else arguments


def told(arguments):
    """(component or None, texts of the message, keys) of a call without its level."""
    start = arguments.find("{{")
    head, fields = (arguments, "") if start < 0 else (arguments[:start], arguments[start:])
    texts, is_named = TEXT.findall(head), head.lstrip().startswith('"')
    return texts[0] if is_named else None, texts[1:] if is_named else texts, KEY.findall(fields)


def table(page, head):
    """The names in the first column of the table that begins with `head`."""
    rows = page[page.find(f"| {head} |"):].split("\n\n")[0].split("\n")[2:] if f"| {head} |" in page else []
    return {name for row in rows if row.startswith("|") for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def wrong_with(arguments, parts, keys):
    """What is wrong with a call."""
    part, message, given = told(arguments)
    if part and part not in parts:
        yield f'"{part}" is no part of the agent'
    for key in given:
        if key not in keys:
            yield f'"{key}" is no key of log lines'
    if "short_id(" in arguments:
        yield "ids are whole in the log"
    for words in message:
        if "{" in words and not words.startswith("ALARM"):
            yield "the message of a log line has no ids: they are fields"
        for name in CLASS.findall(words):
            yield f"\"{name}\" is no operator's word"


def complaints(path, text, parts, keys):
    return [f"{path}:{line}: {why} ({PAGE})" for line, arguments in calls(text)
            for why in wrong_with(arguments, parts, keys)]


def check(root, texts):
    with open(os.path.join(root, PAGE)) as f:
        page = f.read()
    parts, keys = table(page, "part"), table(page, "key")
    product = {path: text for path, text in texts.items() if path.startswith(LAYERS)}
    lines = [told(arguments) for text in product.values() for _, arguments in calls(text)]
    unused = sorted(parts - {part for part, _, _ in lines}) + sorted(keys - {key for line in lines for key in line[2]})
    return [each for path, text in product.items() for each in complaints(path, text, parts, keys)] \
        + [f"{PAGE}: no line of the log has {name}" for name in unused]


def self_test():
    page = "| part | what |\n|---|---|\n| `client` | x |\n\n| key | what |\n|---|---|\n| `alloc`, `error` | x |\n\n"
    if table(page, "part") != {"client"} or table(page, "key") != {"alloc", "error"}:
        return "tables"
    good = 'log::warn("client", "a hook failed (again)", {{"alloc", id(")")}, {"error", err}}); // log::info("no")'
    bad = ('log::info("office", "x");', 'log::info("client", "x", {{"allocation", id}});',
           'log::warn("client", fmt::format("{} failed", id));', 'log::warn("client", "x", {{"alloc", short_id(id)}});',
           'log::error("client", "LinkState ended");', 'log::debug("client", "the task_runner ended");')
    if complaints("a", good, {"client"}, {"alloc", "error"}):
        return "a good line"
    for line in bad:
        if not complaints("a", line, {"client"}, {"alloc", "error"}):
            return line
    write = list(calls('log::write(bad ? high : low, "plugin", said(text), {{"plugin", plugin_}});'))
    if told(write[0][1]) != ("plugin", [], ["plugin"]) or told('component, "an exception"')[0] is not None:
        return "parts that are not literal"
    return None
