"""What a linked program is made of, from lld's map. usage: program_size.py MAP [-names COUNT]

A release's map: relink it with `-Wl,-Map=FILE` (`ninja -C build/release -t commands cli/nomadctl | tail -1`).
Tables in Markdown, in bytes: output sections; libraries, each with its code, its tables of unwinding and its
constants; kinds of functions by what they are instances of. With -names, the largest functions, too.
A template that several libraries use counts where the linker found it first. The linker has folded equal functions before.
"""
import argparse
import collections
import re
import subprocess

ROW = re.compile(r"^\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ (\s*)(.*)$")
INPUT = re.compile(r"^(?P<file>.*):\((?P<section>[^()]*)\)$")
# What comes first decides. Names are without parameters.
KINDS = (
    ("std::function's and jthread's wrappers", r"_Function_handler|_Function_base|std::_Bind|thread::_State|move_only_function"),
    ("CAF", r"^(?:[\w:]*\s)?(?:non-virtual thunk to )?caf::|typed_behavior|caf::detail"),
    ("Boost.JSON", r"boost::json::"),
    ("Beast and Asio", r"boost::(?:beast|asio)::"),
    ("other Boost", r"boost::"),
    ("Cap'n Proto's templates", r"^(?:[\w:]*\s)?(?:capnp|kj)::"),
    ("fmt and spdlog", r"^(?:[\w:<>, ]*\s)?(?:fmt|spdlog)::"),
    ("CLI11", r"^(?:[\w:]*\s)?CLI::"),
    ("vectors", r"^(?:[^()]*\s)?std::(?:vector|_Vector_base)<"),
    ("trees and hash tables", r"^(?:[^()]*\s)?std::(?:_Rb_tree|_Hashtable|__detail::|map<|unordered_map<|set<)"),
    ("variants and optionals", r"^(?:[^()]*\s)?std::(?:__detail::__variant|variant|_Variant|_Optional|optional)"),
    ("shared pointers", r"^(?:[^()]*\s)?std::(?:_Sp_|shared_ptr|__shared)"),
    ("other std", r"^(?:[^()]*\s)?std::|^(?:[^()]*\s)?__gnu_cxx::"),
    ("own lambdas", r"\{lambda"),
    ("own templates", r"^nomad::[^()]*<|^[\w:<>*& ]+ nomad::[^()]*<"),
    ("own destructors and copies", r"::~|::([A-Z]\w*)::\1$|::operator=$"),
    ("own functions", r"nomad::"),
)


def read_map(path):
    """(output sections, inputs): name -> bytes, and [(bytes, output section, object, input section)]."""
    outputs, inputs, output = {}, [], None
    with open(path) as f:
        for line in f:
            found = ROW.match(line.rstrip("\n"))
            if not found:
                continue
            size, indent, rest = int(found[1], 16), len(found[2]), found[3]
            if indent == 0:
                output = rest
                outputs[output] = size
            elif indent == 8:
                place = INPUT.match(rest)
                if place and size:
                    inputs.append((size, output, place["file"], place["section"]))
    return outputs, inputs


def library_of(path):
    """The library or target that an object is of: runtime/state/libstate.a(…) is runtime/state: state."""
    found = re.search(r"([\w/.-]*?)/?(?:lib)?([\w-]+)\.(?:a|p)(?:\(|\.p/|/|$)", path)
    if not found:
        return path
    folder = re.sub(r"^.*?(?=(?:runtime|actors|cli|schema|subprojects)(?:/|$))", "", found[1])
    return f"{folder}: {found[2]}"


def demangled(names):
    done = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True)
    return done.stdout.split("\n")


def kind_of(name):
    for kind, pattern in KINDS:
        if re.search(pattern, name):
            return kind
    return "others"


def part_of(output):
    if output.startswith(".text"):
        return "code"
    if output in (".eh_frame", ".gcc_except_table", ".eh_frame_hdr"):
        return "unwinding"
    return "constants and data"


def table(titles, rows):
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for row in rows:
        print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) + " |")
    print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("map")
    parser.add_argument("-names", type=int, default=0)
    arguments = parser.parse_args()
    outputs, inputs = read_map(arguments.map)
    kept = {name: size for name, size in outputs.items() if not name.startswith((".debug", ".symtab", ".strtab", ".shstrtab", ".comment")) and name.startswith(".")}
    table(("section", "bytes"), sorted(((n, s) for n, s in kept.items() if s > 3000), key=lambda row: -row[1]) + [("together", sum(s for n, s in kept.items() if n not in (".bss", ".tbss")))])
    libraries = collections.defaultdict(lambda: collections.Counter())
    for size, output, file, _ in inputs:
        if output in kept and output not in (".bss", ".tbss"):
            libraries[library_of(file)][part_of(output)] += size
    table(("library", "code", "unwinding", "constants and data", "together"),
          [(name, parts["code"], parts["unwinding"], parts["constants and data"], sum(parts.values()))
           for name, parts in sorted(libraries.items(), key=lambda row: -sum(row[1].values()))])
    functions = [(size, section[6:], file) for size, output, file, section in inputs if output == ".text" and section.startswith(".text.")]
    names = demangled([re.sub(r"^(unlikely|startup|exit|hot)\.", "", section) for _, section, _ in functions])
    kinds = collections.defaultdict(lambda: [0, 0])
    for (size, _, _), name in zip(functions, names):
        of_kind = kinds[kind_of(name)]
        of_kind[0] += size
        of_kind[1] += 1
    table(("kind of function", "bytes", "functions"), [(name, *pair) for name, pair in sorted(kinds.items(), key=lambda row: -row[1][0])])
    for (size, _, file), name in sorted(zip(functions, names), key=lambda row: -row[0][0])[:arguments.names]:
        print(f"{size:7} {library_of(file)}  {name[:200]}")


if __name__ == "__main__":
    main()
