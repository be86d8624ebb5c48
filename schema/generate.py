"""Compiles schemas to C++ and touches only the outputs that have changed, so that a change of one schema
rebuilds what includes that one. usage: generate.py CAPNP SOURCE_DIR OUTPUT_DIR SCHEMA..."""
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile

capnp, source, output = sys.argv[1:4]
with tempfile.TemporaryDirectory(dir=output) as fresh:
    subprocess.run([capnp, "compile", "-oc++:" + fresh, "--src-prefix=" + source, *sys.argv[4:]], check=True)
    for name in os.listdir(fresh):
        made, kept = os.path.join(fresh, name), os.path.join(output, name)
        if not os.path.exists(kept) or not filecmp.cmp(made, kept, shallow=False):
            shutil.move(made, kept)
