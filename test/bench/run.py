"""Runs the benchmarks and prints figures with their units. usage: run.py BUILD_DIR [name …]

Names: agent (the whole program, see agent_bench.py), and every *_bench program of the build.
Benchmarks print; they assert nothing. docs/BENCHMARKS.md records what was measured where.
"""
import os
import subprocess
import sys

import agent_bench


def main():
    build, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    folder = os.path.join(build, "test", "bench")
    programs = sorted(n for n in os.listdir(folder) if n.endswith("_bench"))
    if not wanted or any(name == "agent" or name.startswith("agent.") for name in wanted):
        only = [name[6:] for name in wanted if name.startswith("agent.")]
        agent_bench.run(build, only)
    for name in programs:
        if wanted and name not in wanted and name.removesuffix("_bench") not in wanted:
            continue
        print(f"== {name}", flush=True)
        environment = dict(os.environ, NOMADCTL_EXECUTOR=os.path.join(
            build, "runtime/host/executor/nomadctl-executor"), NOMADCTL_ARTIFACT=os.path.join(
            build, "runtime/artifact/fetcher/nomadctl-artifact"), NOMADCTL_PLUGIN_HOST=os.path.join(
            build, "runtime/plugin/process/nomadctl-plugin-host"), NOMADCTL_PLUGIN=os.path.join(
            build, "test/system/plugins/probe.so"))
        subprocess.run([os.path.join(folder, name)], env=environment, check=False)


if __name__ == "__main__":
    main()
