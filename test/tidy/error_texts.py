"""Every text of an error is reached by a test that reads it as a user would.

Found in the sources of the product: the literals from which an error's text is made (`Error{…}`, what makes
errors, what ends a command or refuses a request, and what a function called `why…`, `problem…` or the like
returns). Each is looked for by its longest piece between two values in what the tests expect, but in the names
of cases and in comments. What no test has is listed in error_texts.txt by class; that list only shrinks.
`tidy.py ROOT --settle` drops the entries that are reached by now; `error_texts.py ROOT` prints how many there
are of each folder, and what none has.
"""
import os
import re
import sys

LIST = "test/tidy/error_texts.txt"
# Why no test has a text: `os`, the system refuses what no test can make it refuse; `never`, a library could
# say so and does not; `open`, nobody has written that test yet.
CLASSES = ("os", "never", "open")
LISTED = 389  # Entries of all classes together. Who writes the tests of some makes it smaller, and nobody greater.
PRODUCT = ("runtime/", "actors/", "cli/")
# What makes an error of its arguments without being declared to return one (those are found by themselves).
MAKERS = {
    "Error", "Refusal", "within", "fail", "fail_at", "refuse", "bad_request", "bad", "misuse", "error_at",
    "quiet_error", "error_without_place", "add_joined", "reject", "fail_character", "call_error", "argument_error",
    "not_found", "at_range", "unsupported", "complain", "invalid", "mistake", "refuse_request", "throw_error"}
# Those whose name says something else elsewhere: where they make errors.
MAKERS_IN = {
    "error": ("runtime/hcl/", "runtime/jobspec/", "runtime/template/"),
    "add": ("runtime/jobspec/validate/", "runtime/cluster/"),
    "at": ("runtime/jobspec/parse/",),
    "first_of": ("runtime/jobspec/validate/",),
    "note": ("runtime/config/",),
    "step": ("runtime/storage/",),
    "number": ("runtime/hcl/functions/",),
    "failed": ("runtime/probe/",),
    "check": ("runtime/artifact/fetcher/",)}
# Names that functions returning an Error share with what is none.
NO_MAKERS = {"find", "error", "take", "io", "of", "at", "end", "check_modify_index"}
SAYS_WHY = re.compile(r"why|problem|refus|mistake|complain|fault|invalid|wrong|expected|_words$")
NAMES_ERRORS = re.compile(r"^(errors?|problems?|mistakes?|complaints?|wrong|faults?|errors_|problems_)$")
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s"]*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:\\.|[^"\\\n])*)"'
    r"|'(?:\\.|[^'\\\n])+'|\#(?:\\\n|[^\n])*|[A-Za-z_]\w*|\d[\w.']*|::|->|\S", re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def unescaped(text):
    text = re.sub(r"\\x([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), text)
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), text, flags=re.S)


class Token(str):
    """A word or sign of a source; what it says, if it is a literal (`says` is None else)."""
    says = None
    line = 0


def tokens_of(source):
    """The tokens of a source without comments; literals that stand beside one another are one."""
    found, line, last = [], 1, 0
    for match in TOKEN.finditer(source):
        line += source.count("\n", last, match.start())
        last = match.start()
        said = match["raw"] if match["raw"] is not None else match["text"]
        if said is None and match[0].startswith(("//", "/*", "#")):
            continue
        token = Token('"' if said is not None else match[0])
        token.line = line
        if said is not None:
            token.says = said if match["raw"] is not None else unescaped(said)
            if found and found[-1].says is not None:
                found[-1].says += token.says
                continue
        found.append(token)
    return found


def closing(tokens, start):
    """The place of the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(tokens)):
        if tokens[at] in ("(", "[", "{"):
            depth += 1
        elif tokens[at] in (")", "]", "}"):
            depth -= 1
            if not depth:
                return at
    return len(tokens)


def pieces(text):
    """What is the same in each text that is made of a literal: the longest part between values and lines."""
    parts = re.split(r"\{[^{}\n]*\}|\n|\t", text.replace("{{", "\1").replace("}}", "\2"))
    parts = [part.replace("\1", "{").replace("\2", "}") for part in parts]
    return max((re.sub(r"^[^\w(]+|[^\w)]+$", "", part) for part in parts), key=len)


def is_text(piece):
    return len(piece) >= 4 and re.search(r"[A-Za-z]{3}", piece) and not re.fullmatch(r"[%\w.-]+", piece) \
        or len(piece) >= 12 and " " in piece


def texts_between(tokens, start, end, constants):
    """The texts that literals between two places make: of each argument the longest, of choices each."""
    found, longest, depth, chosen = [], None, 0, False

    def settle():
        nonlocal longest, chosen
        if longest:
            found.append(longest)
        longest, chosen = None, False

    for at in range(start, end):
        token = tokens[at]
        if token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
        elif token == ";" or (token == "," and depth <= 0):
            settle()
        elif token == "?":
            chosen = True
        said = token.says if token.says is not None else constants.get(token)
        if said is None:
            continue
        piece = pieces(said)
        if not is_text(piece):
            continue
        if chosen and at > start and tokens[at - 1] in ("?", ":"):
            found.append((piece, token.line))
        elif longest is None or len(piece) > len(longest[0]):
            longest = (piece, token.line)
    settle()
    return found


def functions_of(tokens):
    """(name, what stands before it, where its body begins) of the functions of a source."""
    for at, token in enumerate(tokens):
        if token != "{" or at == 0:
            continue
        back = at - 1
        while back > 0 and tokens[back] in ("const", "noexcept", "override", "mutable"):
            back -= 1
        if tokens[back] != ")":
            continue
        depth = 0
        while back >= 0:
            depth += (tokens[back] == ")") - (tokens[back] == "(")
            if not depth:
                break
            back -= 1
        if back > 0 and re.fullmatch(r"[A-Za-z_]\w*", tokens[back - 1]):
            begin = back - 1
            while begin > 0 and tokens[begin - 1] not in (";", "}", "{", ")", ",") and back - begin < 16:
                begin -= 1
            yield tokens[back - 1], list(tokens[begin:back - 1]), at


def makers_of(sources):
    """Names of functions that are declared to return an Error, or perhaps one."""
    found = set()
    for text in sources.values():
        found |= set(re.findall(r"^\s*(?:static |inline |virtual |constexpr )*(?:std::optional<)?Error>? (?:\w+::)*"
                                r"(\w+)\(", text, re.M))
    return found - NO_MAKERS


def found_in(path, source, makers):
    """[(text, line)] of the errors of a source."""
    tokens = tokens_of(source)
    constants = {}
    for at in range(3, len(tokens)):
        if tokens[at].says is not None and tokens[at - 1] in ("=", "{") and tokens[at + 1:at + 2] in (["}"], [";"]) \
                and any(t == "constexpr" for t in tokens[max(0, at - 9):at]):
            constants[str(tokens[at - 2])] = tokens[at].says
    here = {name for name, where in MAKERS_IN.items() if path.startswith(where)} | MAKERS | makers
    regions = []
    for at, token in enumerate(tokens[:-1]):
        following = tokens[at + 1]
        if following in ("(", "{") and token in here and not (
                token in ("add", "error") and at > 1 and re.search(r"log", tokens[at - 2])):
            regions.append((at + 2, closing(tokens, at + 1)))
        elif token == "{" and following == "Errc" or token == "{" and following == "nomad" and tokens[at + 3:at + 4] == ["Errc"]:
            regions.append((at + 1, closing(tokens, at)))
        elif following in ("(",) and token in ("push_back", "emplace_back") and at > 1 \
                and NAMES_ERRORS.match(tokens[at - 2]):
            regions.append((at + 2, closing(tokens, at + 1)))
        elif token == "print" and following == "(" and tokens[at + 2:at + 3] == ["stderr"]:
            regions.append((at + 4, closing(tokens, at + 1)))
    for name, before, at in functions_of(tokens):
        end = closing(tokens, at)
        if "Error" in before and "Result" not in before:
            regions.append((at + 1, end))
        elif SAYS_WHY.search(name) and re.search(r"string|char", " ".join(before)):
            regions += [(place + 1, next((p for p in range(place, end) if tokens[p] == ";"), end))
                        for place in range(at, end) if tokens[place] == "return"]
    texts, done = [], 0
    for start, end in sorted(regions, key=lambda region: (region[0], -region[1])):
        if start >= done:
            texts += texts_between(tokens, start, end, constants)
            done = end
    return texts


def expected_by(path, text):
    """What a test says that it expects."""
    if path.endswith((".cpp", ".hpp")):
        tokens, said, skip = tokens_of(text), [], 0
        for at, token in enumerate(tokens):
            if token in ("TEST_CASE", "SUBCASE", "INFO", "MESSAGE", "TEST_CASE_FIXTURE") and at + 1 < len(tokens):
                skip = closing(tokens, at + 1)
            if token.says is not None and at >= skip:
                said.append(token.says)
        return "\0".join(said)
    if path.endswith(".py"):
        text = re.sub(r"^\s*#[^\n]*", "", text, flags=re.M)
        text = re.sub(r'(["\'])\s*\n?\s*f?\1(?!\1)', "", text)
        return unescaped(text)
    if path.endswith(".json"):
        return unescaped(text).replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&")
    return text


def expectations(root):
    said = []
    for top in ("test", "subprojects"):
        for at, dirs, names in os.walk(os.path.join(root, top)):
            dirs[:] = [name for name in dirs if name not in ("tidy", "corpus", "mutate", "__pycache__")]
            for name in names:
                path = os.path.relpath(os.path.join(at, name), root)
                if top == "subprojects" and "test" not in path:
                    continue
                if re.search(r"\.(cpp|hpp|py|json|err|txt|hcl|nomad|expected|md)$", name):
                    with open(os.path.join(at, name), errors="replace") as f:
                        said.append(expected_by(path, f.read()))
    return "\0".join(said)


def unreached(sources, said):
    """({text: "path"} that no test has, how many texts there are by folder, how many of them are not reached)."""
    makers = makers_of(sources)
    missing, counts, known = {}, {}, {}
    for path, source in sorted(sources.items()):
        folder = "/".join(path.split("/")[:2])
        for text, line in found_in(path, source, makers):
            if text not in known:
                known[text] = text in said
                count = counts.setdefault(folder, [0, 0])
                count[0] += 1
                if not known[text]:
                    count[1] += 1
                    missing[text] = (path, line)
    return missing, counts


def entries_of(listed):
    """({text: (class, path)}, [what is wrong])."""
    entries, wrong = {}, []
    for number, line in enumerate(listed.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        entry = re.fullmatch(r"(\w+) ([\w/.]+): (.+)", line)
        if not entry or entry[1] not in CLASSES:
            wrong.append(f"{LIST}:{number}: not \"class path: text\": {line}")
            continue
        entries[entry[3]] = (entry[1], entry[2])
    return entries, wrong


def judge(sources, said, listed, wanted):
    """(failures, the line that says how many). The list has as many entries as `wanted`."""
    missing, counts = unreached(sources, said)
    entries, failures = entries_of(listed)
    failures += [f"{path}:{line}: no test reads \"{text}\"" for text, (path, line) in missing.items()
                 if text not in entries]
    failures += [f"{LIST}: remove \"{text}\" of {path}: it is reached, or gone"
                 for text, (_, path) in entries.items() if text not in missing]
    if len(entries) < wanted:
        failures.append(f"error_texts.py: {len(entries)} texts are listed, LISTED says {wanted}: lower it")
    elif len(entries) > wanted:
        failures.append(f"{LIST}: {len(entries)} texts are listed, {wanted} at most: write the tests of the new ones")
    every, none = (sum(count[i] for count in counts.values()) for i in (0, 1))
    return failures, f"texts of errors: {every - none} of {every} are read by tests"


def check(root, texts):
    with open(os.path.join(root, LIST)) as f:
        return judge({p: t for p, t in texts.items() if p.startswith(PRODUCT)}, expectations(root), f.read(), LISTED)


def settle(root, texts):
    """Leaves in the list what no test reads yet."""
    missing, _ = unreached({p: t for p, t in texts.items() if p.startswith(PRODUCT)}, expectations(root))
    with open(os.path.join(root, LIST)) as f:
        lines = f.read().split("\n")
    with open(os.path.join(root, LIST), "w") as f:
        f.write("\n".join(line for line in lines if line.startswith("#") or not line
                          or line.split(": ", 1)[-1] in missing))


def self_test():
    source = {"runtime/x.cpp": '// x\nError bad_thing(int a) { return {Errc::io, "the thing is " "bad"}; }\n'
                               'auto y() { return Error{Errc::io, fmt::format("no room for {} here now", 1)}; }\n'
                               'auto z() { return bad_thing("a thing that", b ? "was far too big" : "was far too small"); }\n'
                               'const char* why_not() { return "it is not there"; }\n'
                               'void log() { log.error("nobody reads this line"); }\n'}
    wanted = ["the thing is bad", "here now", "a thing that", "was far too big", "was far too small", "it is not there"]
    wanted[1] = "no room for"
    said = "\0".join(wanted)
    if failures := judge(source, said, "", 0)[0]:
        return f"texts that tests have were missed: {failures}"
    for text in wanted:
        others = "\0".join(other for other in wanted if other != text)
        entry = f"open runtime/x.cpp: {text}\n"
        if len(judge(source, others, "", 0)[0]) != 1:
            return f"nobody missed \"{text}\""
        if judge(source, others, entry, 1)[0]:
            return f"\"{text}\" was refused, which is listed"
        if any(len(judge(source, others, entry, count)[0]) != 1 for count in (0, 2)):
            return "a list that is longer or shorter than it is said to be was let pass"
    if len(judge(source, said, "os runtime/x.cpp: the thing is bad\n", 1)[0]) != 1 \
            or len(judge(source, said, "why runtime/x.cpp: x\n", 0)[0]) != 1:
        return "an entry that nothing needs, or of no class, was let pass"
    for cut in ("auto x() {nomad", "void x() { print("):
        found_in("runtime/x.cpp", cut, set())  # ends early, and harms nobody
    test = 'TEST_CASE("name of a case") { CHECK(x == "one"\n"two"); } // a comment'
    if expected_by("test/x_test.cpp", test) != "onetwo":
        return "what a test expects"
    if expected_by("test/x.py", "x = ('one ' \n  'two')\n") != "x = ('one two')\n":
        return "what a script expects"
    return None


def main(root):
    texts = {}
    for top in PRODUCT:
        for at, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".cpp", ".hpp")):
                    path = os.path.relpath(os.path.join(at, name), root)
                    with open(os.path.join(at, name), errors="replace") as f:
                        texts[path] = f.read()
    missing, counts = unreached(texts, expectations(root))
    for text, (path, line) in missing.items():
        print(f"{path}:{line}: {text}")
    for folder, (every, none) in sorted(counts.items()):
        print(f"{folder}: {every - none} of {every}")
    print(f"{sum(c[0] - c[1] for c in counts.values())} of {sum(c[0] for c in counts.values())} are read by tests")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
