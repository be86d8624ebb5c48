"""Runs the libFuzzer programs of a build over their kept inputs.

usage: run.py BUILD [target] [seconds]      fuzz all targets or one (60 s each)
       run.py BUILD -seeds [target]         renew the committed seeds from all that was found

The committed seeds are in test/fuzz/corpus/<target>; what a run finds that reaches new code is
kept in BUILD/corpus/<target>, from which later runs go on. test/fuzz/cpu_minutes.json sums what
each target has run without a finding since its last one. A finding leaves its input in BUILD/test/fuzz,
sets the target's sum to nothing and fails the run.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
build = sys.argv[1]
programs = os.path.join(build, "test", "fuzz")
ledger = os.path.join(here, "cpu_minutes.json")
seeds_kept = 60
largest_seed = 4096
# Memory that no input of at most 8 KiB may need, sanitizers' own included; and of that at once.
ceiling_mb = {"job": 512, "command": 512}
usual_ceiling_mb = 1024


def program(target):
    return os.path.join(programs, target + "_fuzz")


def seeds_of(target):
    return os.path.join(here, "corpus", target)


def found_by(target):
    path = os.path.join(build, "corpus", target)
    os.makedirs(path, exist_ok=True)
    return path


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_ledger():
    try:
        with open(ledger) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def add_minutes(target, minutes, clean):
    """Two runs may write at a time: each rereads, and the file is replaced whole."""
    sums = read_ledger()
    sums[target] = round(sums.get(target, 0) + minutes, 1) if clean else 0
    with tempfile.NamedTemporaryFile("w", dir=here, delete=False) as file:
        json.dump(dict(sorted(sums.items())), file, indent=2)
        file.write("\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, ledger)
    return sums[target]


def fuzz(target, seconds):
    print(f"==> {target} for {seconds} s", flush=True)
    words = os.path.join(here, target.split("_")[0] + ".dict")
    ceiling = ceiling_mb.get(target, usual_ceiling_mb)
    command = [program(target), found_by(target), seeds_of(target), "-timeout=300",
               f"-rss_limit_mb={ceiling}", f"-malloc_limit_mb={ceiling // 4}",
               # Seconds of the clock, on a machine that may be busy.
               "-max_len=8192", f"-max_total_time={seconds}", "-print_final_stats=1",
               f"-artifact_prefix={programs}/{target}-"]
    if os.path.exists(words):
        command.append("-dict=" + words)
    before = cpu_seconds()
    clean = subprocess.run(command).returncode == 0
    minutes = (cpu_seconds() - before) / 60
    total = add_minutes(target, minutes, clean)
    print(f"{target}: {minutes:.1f} CPU-minutes, {total} in all without a finding", flush=True)
    return clean


def renew_seeds(target):
    """Of the inputs that together reach what all inputs reach, at most `seeds_kept` small ones."""
    with tempfile.TemporaryDirectory() as merged:
        subprocess.run([program(target), "-merge=1", merged, seeds_of(target), found_by(target)], check=True,
                       stderr=subprocess.DEVNULL)
        files = sorted((os.path.getsize(os.path.join(merged, name)), name) for name in os.listdir(merged))
        small = [name for size, name in files if size <= largest_seed]
        step = max(1.0, len(small) / seeds_kept)
        chosen = {small[int(at * step)] for at in range(min(seeds_kept, len(small)))}
        shutil.rmtree(seeds_of(target))
        os.makedirs(seeds_of(target))
        for name in chosen:
            shutil.copy(os.path.join(merged, name), seeds_of(target))
    print(f"{target}: {len(chosen)} seeds of {len(files)} inputs")


def main():
    arguments = sys.argv[2:]
    renew = bool(arguments) and arguments[0] == "-seeds"
    if renew:
        arguments = arguments[1:]
    wanted = arguments[0] if arguments else ""
    seconds = arguments[1] if len(arguments) > 1 else "60"
    targets = sorted(name.removesuffix("_fuzz") for name in os.listdir(programs)
                     if name.endswith("_fuzz") and os.access(os.path.join(programs, name), os.X_OK))
    targets = [name for name in targets if wanted in ("", name)]
    if not targets:
        sys.exit(f'no fuzz target "{wanted}" in {programs}')
    for target in targets:
        os.makedirs(seeds_of(target), exist_ok=True)
    if renew:
        for target in targets:
            renew_seeds(target)
        return
    failed = [target for target in targets if not fuzz(target, seconds)]
    print(f"{len(targets) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
