"""What isolated plugins take of an agent: its start with five of them and without, and the memory of a
plugin's idle process.

    NOMADCTL=build/release/cli/nomadctl python3 test/bench/plugins.py LIBRARY...   (name.so, five of them)
"""
import os
import re
import shutil
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from harness import Agent, wait_until  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", 10))


def private_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return sum(int(n) for n in re.findall(r"^Private_\w+: +(\d+) kB", f.read(), re.M))


def start(libraries):
    """A started agent, and how many milliseconds it took until its node was ready."""
    config = ""
    agent = Agent(log_level="WARN")
    if libraries:
        directory = os.path.join(agent.dir, "plugins")
        os.mkdir(directory)
        for library in libraries:
            shutil.copy(library, directory)
        config = f'plugin_dir = "{directory}"\nplugin "webhook" {{\n  config {{\n    url = "http://127.0.0.1:1/"\n  }}\n}}\n'
    with open(agent.config_path, "a") as f:
        f.write(config)
    begin = time.monotonic()
    agent.start(wait=False)
    while True:
        try:
            nodes = agent.get("/v1/nodes")
            if nodes.status == 200 and nodes.json and nodes.json[0]["Status"] == "ready":
                return agent, (time.monotonic() - begin) * 1000
        except OSError:
            pass
        time.sleep(0.001)


def main():
    libraries = sys.argv[1:]
    for what, some in (("without plugins", []), (f"with {len(libraries)} plugins", libraries)):
        times = []
        for round in range(ROUNDS):
            agent, took = start(some)
            times.append(took)
            if some and round == ROUNDS - 1:
                wait_until(lambda: all(p["Status"] == "running" for p in agent.get("/v1/agent/plugins").json), what="the plugins")
                time.sleep(3)
                for plugin in agent.get("/v1/agent/plugins").json:
                    print(f"idle process of {plugin['Name']:<10} {private_kb(plugin['PID']) / 1024:6.2f} MB of its own")
            agent.destroy()
        times.sort()
        print(f"start -> node ready, {what:<18} {statistics.median(times):6.0f} ms (best {times[0]:.0f}, worst {times[-1]:.0f} of {ROUNDS})")


if __name__ == "__main__":
    main()
