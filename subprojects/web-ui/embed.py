"""Writes the files of the web UI into a source. usage: embed.py prebuilt|build|none ROOT OUTPUT_FOLDER

assets.bin has them one behind the other, each compressed; assets.cpp includes it by the assembler, which takes no time, and
has the table of where each begins. The same files give the same bytes. With `build` dist/ is built anew
below OUTPUT_FOLDER, by the packages of package-lock.json; the tree is left as it is.
"""
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
LEFT_OUT = ("MANIFEST",)  # of no use to a browser

SOURCE = """#include "web_ui/assets.hpp"

#include <array>

%s
namespace nomad::web_ui {

std::span<const Asset> assets() {
%s  return table;
}

}  // namespace nomad::web_ui
"""

# A section of its own, so that nothing that stands behind it is misplaced.
BYTES = """asm(".pushsection .rodata.web_ui,\\"a\\",@progbits\\n"
    ".balign 16\\n.globl nomad_web_ui_bytes\\n.hidden nomad_web_ui_bytes\\nnomad_web_ui_bytes:\\n"
    %s
    ".popsection\\n");
extern "C" __attribute__((visibility("hidden"))) const char nomad_web_ui_bytes[];
"""


def build(root, out):
    """The folder of a dist/ that is built anew, in a copy of the sources."""
    work = os.path.join(out, "web-ui-build")
    shutil.rmtree(os.path.join(work, "src"), ignore_errors=True)
    shutil.copytree(root, work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "dist", ".git"))
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--include=dev"], cwd=work, check=True)
    subprocess.run(["node", "build.mjs"], cwd=work, check=True)
    return os.path.join(work, "dist")


def files_of(folder):
    return sorted(name for name in os.listdir(folder) if name not in LEFT_OUT)


def c_text(text):
    return json.dumps(text)


def main(kind, root, out):
    folder = {"prebuilt": lambda: os.path.join(root, "dist"), "build": lambda: build(root, out), "none": lambda: None}[kind]()
    names = files_of(folder) if folder else []
    blob, rows = b"", []
    for name in names:
        with open(os.path.join(folder, name), "rb") as f:
            content = f.read()
        packed = gzip.compress(content, 9, mtime=0)
        rows.append(f"      Asset{{{c_text(name)}, {c_text(TYPES[os.path.splitext(name)[1]])}, "
                    f"{c_text(hashlib.sha256(content).hexdigest()[:20])}, {{nomad_web_ui_bytes + {len(blob)}, {len(packed)}}}}},\n")
        blob += packed
    with open(os.path.join(out, "assets.bin"), "wb") as f:
        f.write(blob)
    path = os.path.abspath(os.path.join(out, "assets.bin"))
    bytes_of = BYTES % c_text(".incbin " + c_text(path) + "\n") if names else ""
    table = f"  static constexpr std::array<Asset, {len(rows)}> table{{" + ("{\n" + "".join(rows) + "  }" if rows else "") + "};\n"
    with open(os.path.join(out, "assets.cpp"), "w") as f:
        f.write(SOURCE % (bytes_of, table.replace("constexpr", "const")))
    read = [os.path.join(folder, name) for name in names + list(LEFT_OUT)] if kind == "prebuilt" else []
    with open(os.path.join(out, "assets.d"), "w") as f:
        f.write("assets.cpp: " + " ".join(path.replace(" ", "\\ ") for path in read) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
