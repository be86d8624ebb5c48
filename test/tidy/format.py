"""Whether every source is formatted as .clang-format says. usage: format.py ROOT

Looks at what git tracks, or in a tree without git at all sources. Prints the places that clang-format
would change; `./dev fmt` changes them.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import tidy

PORTION = 20  # files that one clang-format is given


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--", "*.cpp", "*.hpp"],
                            capture_output=True, text=True)
    paths = [path for path in listed.stdout.split("\0") if path] if listed.returncode == 0 else []
    return [path for path in paths or tidy.sources(root) if os.path.exists(os.path.join(root, path))]


def complaints(root, paths):
    """What clang-format would change in `paths`, as it says so."""
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths], cwd=root, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def run(root):
    paths = tracked(root)
    portions = [paths[at:at + PORTION] for at in range(0, len(paths), PORTION)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = "".join(pool.map(lambda portion: complaints(root, portion), portions))
    wrong = {line.split(":")[0] for line in said.split("\n") if ": error: " in line}
    print(said, end="")
    print(f"{len(paths) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if said or not paths else 0


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1]))
    except FileNotFoundError as missing:
        sys.exit(f"{missing.filename} is not installed")
