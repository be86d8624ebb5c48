"""Runs the libFuzzer programs of a build over their kept inputs.

usage: run.py BUILD [target] [seconds]

New inputs that reach new code are added to test/fuzz/corpus/<target>; a crash leaves its input in
BUILD/test/fuzz and fails the run.
"""
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
programs = os.path.join(sys.argv[1], "test", "fuzz")
wanted = sys.argv[2] if len(sys.argv) > 2 else ""
seconds = sys.argv[3] if len(sys.argv) > 3 else "60"

targets = sorted(name[: -len("_fuzz")] for name in os.listdir(programs)
                 if name.endswith("_fuzz") and os.access(os.path.join(programs, name), os.X_OK))
targets = [name for name in targets if wanted in ("", name)]
if not targets:
    sys.exit(f'no fuzz target "{wanted}" in {programs}')
failed = []
for target in targets:
    corpus = os.path.join(here, "corpus", target)
    os.makedirs(corpus, exist_ok=True)
    print(f"==> {target} for {seconds} s", flush=True)
    done = subprocess.run([os.path.join(programs, target + "_fuzz"), corpus, "-timeout=10",
                           "-rss_limit_mb=1024", f"-max_total_time={seconds}",
                           f"-artifact_prefix={programs}/{target}-"])
    if done.returncode != 0:
        failed.append(target)
print(f"{len(targets) - len(failed)} passed, {len(failed)} failed")
sys.exit(1 if failed else 0)
