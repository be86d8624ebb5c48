"""Deliberate mistakes, for tests to find, which the product's sources do not know of.

usage: mistakes.py header OUT LIST…             the enum Mistake, with what is made now
       mistakes.py sources ROOT LIST IN… OUT…   copies of all sources that the list names, with its mistakes
       mistakes.py --self-test                  also whether the lists fit the sources

A list has for each mistake its name and what is wrong, and below it the places in the product's sources, a line
each; what is indented further goes on with the line above:

    vote_twice: Grants every up-to-date candidate of a term.
      path | the line's text, trimmed | old -> new
      path | the line's text, trimmed | then statements

The line must be in the file once, `old` once in the line. In the copy it is an expression in parentheses that is
`new` while the thread's `mistake` is this one; the statements are executed after the line. So one build holds all of
them. A mistake without places is made by the tests' own code, which looks at `mistake` as the copies do. If a place is
gone, the copy cannot be made, and the list has to follow the algorithm.
"""
import os
import re
import sys

MADE = "::nomad::test::mistake == ::nomad::test::Mistake::"
HEADER = """// Made by test/mistakes/mistakes.py. The deliberate mistakes that tests must find.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nomad::test {{

enum class Mistake : std::uint8_t {{
  none,
{enumerators}}};

constexpr std::string_view name_of(Mistake mistake) {{
  constexpr std::array<std::string_view, {count}> names{{
      "none", {names}}};
  return names[static_cast<std::size_t>(mistake)];
}}

{lists}
/// The one that this thread makes now.
inline constinit thread_local Mistake mistake = Mistake::none;

/// Makes one for as long as it lives.
class Making {{
public:
  explicit Making(Mistake made) {{ mistake = made; }}

  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

  ~Making() {{ mistake = Mistake::none; }}
}};

}}  // namespace nomad::test
"""


class Refused(Exception):
    pass


class Place:
    def __init__(self, where, mistake, path, line, change):
        self.where, self.mistake, self.path, self.line = f"{where}: {mistake}", mistake, path, line
        self.then = change.removeprefix("then ") if change.startswith("then ") else None
        self.old, arrow, self.new = change.partition(" -> ")
        if self.then is None and not (arrow and self.old and self.new):
            raise Refused(f"{self.where}: not \"path | line | old -> new\" or \"path | line | then statements\"")


def parse(name, text):
    """[(mistake, what is wrong)], [Place]"""
    mistakes, places, joined = [], [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("    ") and joined:
            joined[-1] = joined[-1][0], f"{joined[-1][1]} {line.strip()}"
        else:
            joined.append((number, line.rstrip()))
    for number, line in joined:
        where = f"{name}:{number}"
        head = re.fullmatch(r"(\w+): (.+)", line)
        parts = line.strip().split(" | ")
        if head:
            mistakes.append((head[1], head[2]))
        elif line.startswith("  ") and mistakes and len(parts) == 3:
            places.append(Place(where, mistakes[-1][0], *parts))
        else:
            raise Refused(f"{where}: neither \"name: what is wrong\" nor a place of the mistake above")
    return mistakes, places


def mistaken(path, text, places):
    """The source with the mistakes that are made at these places."""
    lines = text.split("\n")
    edits = []
    for place in places:
        found = [at for at, line in enumerate(lines) if line.strip() == place.line]
        if len(found) != 1:
            raise Refused(f"{place.where}: {path} has {len(found)} lines \"{place.line}\"")
        line = lines[found[0]]
        made = f"{MADE}{place.mistake}"
        if place.then is not None:
            edits.append((found[0], len(line), len(line), f" if ({made}) {{ {place.then} }}"))
            continue
        stands = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(place.old)}(?!\w)", line)]
        if len(stands) != 1:
            raise Refused(f"{place.where}: \"{place.old}\" is {len(stands)} times in \"{place.line}\"")
        edits.append((found[0], *stands[0], f"({made} ? ({place.new}) : ({place.old}))"))
    for at, begin, end, new in sorted(edits, reverse=True):
        lines[at] = lines[at][:begin] + new + lines[at][end:]
    return f'#include "test/mistakes/mistake.hpp"\n#line 1 "{path}"\n' + "\n".join(lines)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def parse_file(path):
    return parse(os.path.join("test/mistakes", os.path.basename(path)), read(path))


def write(path, text):
    """What stays the same keeps its time, so that it is not compiled again."""
    if not os.path.exists(path) or read(path) != text:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def header(out, lists):
    names, enumerators, arrays = [], "", ""
    for path in lists:
        mistakes, _ = parse_file(path)
        enumerators += "".join(f"  {name},  ///< {wrong}\n" for name, wrong in mistakes)
        names += [name for name, _ in mistakes]
        arrays += "/// Those of {0}.txt.\ninline constexpr std::array {0}_mistakes{{\n    {1}}};\n\n".format(
            os.path.splitext(os.path.basename(path))[0], ", ".join(f"Mistake::{name}" for name, _ in mistakes))
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Refused(f"there are two mistakes {', '.join(sorted(twice))}")
    write(out, HEADER.format(enumerators=enumerators, names=", ".join(f'"{name}"' for name in names),
                             count=len(names) + 1, lists=arrays))


def sources(root, path, ins, outs):
    _, places = parse_file(path)
    given = [os.path.relpath(source, root) for source in ins]
    named = {place.path for place in places}
    if named != set(given):
        raise Refused(f"test/mistakes/meson.build: {', '.join(sorted(named ^ set(given)))}: "
                      f"the sources of {os.path.basename(path)} are {', '.join(sorted(named))}")
    for source, out in zip(given, outs):
        text = read(os.path.join(root, source))
        write(out, mistaken(source, text, [place for place in places if place.path == source]))


def self_test():
    text = "a: Wrong.\n  x.cpp | if (b && c) d();\n    | b -> true\n  x.cpp | e(); | then f(); g();\nh: By a device.\n"
    mistakes, places = parse("l", text)
    assert mistakes == [("a", "Wrong."), ("h", "By a device.")]
    source = "  if (b && c) d();\n  e();\n"
    assert mistaken("x.cpp", source, places).split("\n")[2:] == [
        f"  if (({MADE}a ? (true) : (b)) && c) d();", f"  e(); if ({MADE}a) {{ f(); g(); }}", ""]
    passed = 2
    for wrong, why in [(text.replace("c)", "c )"), "has 0 lines"), (text.replace("| b", "| q"), "is 0 times in"),
                       (text.replace("b -> true", "b"), "not \"path"), (text.replace(" | e();", ""), "neither")]:
        try:
            mistaken("x.cpp", source, parse("l", wrong)[1])
            print(f"not refused: {wrong}")
        except Refused as err:
            passed += why in str(err) and "l:" in str(err)
    return passed == 6


def fits_the_tree():
    here = os.path.dirname(os.path.abspath(__file__))
    for name in sorted(os.listdir(here)):
        if name.endswith(".txt"):
            _, places = parse_file(os.path.join(here, name))
            for path in {place.path for place in places}:
                mistaken(path, read(os.path.join(here, "../..", path)), [each for each in places if each.path == path])
    return True


def main(arguments):
    try:
        if arguments == ["--self-test"]:
            passed = self_test() + fits_the_tree()
            print(f"{passed} passed, {2 - passed} failed")
            return 0 if passed == 2 else 1
        if arguments[0] == "header":
            header(arguments[1], arguments[2:])
        else:
            half = 3 + (len(arguments) - 3) // 2
            sources(arguments[1], arguments[2], arguments[3:half], arguments[half:])
        return 0
    except Refused as err:
        print(err, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
