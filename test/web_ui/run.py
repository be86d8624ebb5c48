"""Runs the web UI's tests: those of its pure parts in node, and its pages in a real browser against a real agent. usage: run.py PROGRAM

Where node, its packages or chromium are missing, what needs them is skipped, and said so. `./dev ui test` installs them.
"""
import os
import re
import shutil
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "subprojects/web-ui")


def missing():
    """What is not installed, in words; "" when everything is."""
    node = shutil.which("node")
    if not node:
        return "node"
    version = int(re.match(r"v(\d+)", subprocess.check_output([node, "--version"], text=True))[1])
    if version < 20:
        return f"node 20 (this is {version})"
    if not os.path.isdir(os.path.join(FOLDER, "node_modules/playwright-core")):
        return "the packages of package-lock.json"
    if not (shutil.which("chromium") or os.environ.get("CHROMIUM")):
        return "chromium"
    return ""


def main(program, *pattern):
    lacking = missing()
    if lacking:
        print(f"SKIPPED: there is no {lacking}; ./dev ui test installs what is missing")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    done = subprocess.run(["node", os.path.join(FOLDER, "test/run.mjs"), os.path.abspath(program), *pattern])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
