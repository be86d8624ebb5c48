"""What sanitizers find in a program without environment or standard error stands in the files that `./dev suite` looks at.

usage: sanitizer_options_test.py PROGRAM REPORTS   (the program makes mistakes: sanitizer_findings.cpp)
"""
import glob
import os
import subprocess
import sys

program, reports = sys.argv[1:]
done = subprocess.Popen([program], env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
said = done.communicate(timeout=60)[0].decode(errors="replace")
found = ""
for path in glob.glob(os.path.join(reports, f"*.{done.pid}")):
    with open(path) as f:
        found += f.read()
    os.remove(path)
missing = [words for words in ("signed integer overflow", "heap-use-after-free", "sanitizer_findings.cpp") if words not in found]
print(*[f"{words}: in no file of {reports}; printed: {said[:500]!r}" for words in missing], sep="\n")
print(f"{0 if missing else 1} passed, {1 if missing else 0} failed")
sys.exit(1 if missing else 0)
