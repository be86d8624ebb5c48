"""What identities of tasks cost. usage: identities.py BUILD_DIR [scenario …] [-pairs N]

  placements     c1m_bench with and without identities in turn: processor time, memory and log of each allocation
  deliveries     one client's 500 allocations, with and without identities in turn, until it has them and has said so: a real
                 client whose tasks are pretended (node-sim), so that no task's start is in the figure
  starts         the same with mock tasks on a node with a disk: directories, files of tokens, sockets and all
  requests       answers a second through one task's socket, by its identity, at several connections
  sockets        1,000 idle ones: memory of each, processor time of all

A pair runs with, and without, directly after each other, in alternating order; figures are medians and of differences.
SIZE="allocations jobs nodes" changes what c1m_bench places. docs/BENCHMARKS.md records what was measured where.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import agent_bench  # noqa: E402
import harness  # noqa: E402
from agent_bench import show  # noqa: E402
from harness import Agent, job, shell_job, wait_until  # noqa: E402

OWN = {"Name": "default", "Env": True, "File": True}


def in_pairs(count, measure):
    """[(without, with)], each what `measure(with_identities)` says."""
    pairs = []
    for number in range(count):
        order = (False, True) if number % 2 == 0 else (True, False)
        got = {with_them: measure(with_them) for with_them in order}
        pairs.append((got[False], got[True]))
    return pairs


def show_pairs(name, pairs, unit):
    plain, with_them = (statistics.median(side) for side in zip(*pairs, strict=True))
    more = statistics.median(b - a for a, b in pairs)
    share = statistics.median(100 * (b - a) / a for a, b in pairs)
    show(name, f"{plain:.2f} {unit} without, {with_them:.2f} with; {more:+.2f} {unit}, {share:+.1f} % (median of {len(pairs)} pairs)")


def placements(build, pairs):
    program = os.path.join(build, "test", "bench", "c1m_bench")
    size = os.environ.get("SIZE", "1000000 1000 5000").split()

    def measure(with_identities):
        done = subprocess.run([program, *(["-identities"] if with_identities else []), *size], capture_output=True, text=True, check=True)
        return [float(re.search(pattern, done.stdout)[1]) for pattern in
                (r"([\d.]+) s of processors", r"(\d+) bytes of memory per", r"(\d+) bytes of log per")]
    figures = in_pairs(pairs, measure)
    for place, (name, unit) in enumerate((("processor time of all placements", "s"), ("memory of an allocation", "bytes"), ("log of an allocation", "bytes"))):
        show_pairs(name, [(plain[place], with_them[place]) for plain, with_them in figures], unit)


def until_running(agent, pairs, what, datacenter="*", count=500):
    """Shows how long `count` allocations of one job take from its registration until the servers know that all run."""
    def measure(with_identities):
        made = job(f"many-{time.monotonic_ns()}", count=count)
        made["Datacenters"] = [datacenter]
        made["TaskGroups"][0]["Tasks"][0]["Identity"] = OWN if with_identities else None
        before = time.monotonic()
        agent.register(made)
        wait_until(lambda: agent_bench.count_running(agent, made["ID"]) >= count, timeout=120, interval=0.002)
        took = 1000 * (time.monotonic() - before)
        agent.request("DELETE", f"/v1/job/{made['ID']}?purge=true")
        wait_until(lambda: agent.get("/v1/metrics").status == 200 and agent_bench.count_running(agent, made["ID"]) == 0, timeout=120)
        time.sleep(3)
        return took
    measure(True)  # what runs for the first time
    show_pairs(f"{count} allocations of one client {what}", in_pairs(pairs, measure), "ms")


def deliveries(build, pairs):
    agent = agent_bench.idle_agent()
    simulator = None
    try:
        rpc = re.search(r"rpc\s+= (\d+)", open(agent.config_path).read())[1]
        simulator = subprocess.Popen([harness.BINARY, "node-sim", "-nodes", "1", "-seed", "1", "-dc", "pretended", "-server", f"127.0.0.1:{rpc}"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: "ready" in [node["Status"] for node in agent.get("/v1/nodes").json if node["Datacenter"] == "pretended"], timeout=60, what="the node")
        until_running(agent, pairs, "until it has them", "pretended")
    finally:
        if simulator:
            simulator.kill()
            simulator.wait()
        agent.destroy()


def starts(build, pairs):
    agent = agent_bench.idle_agent()
    try:
        until_running(agent, pairs, "until all run")
    finally:
        agent.destroy()


def requests(build, pairs):
    agent = Agent(agent_bench.BIG, log_level="WARN").start()
    try:
        made = shell_job("asks", "exec sleep 100000")
        made["TaskGroups"][0]["Tasks"][0]["Identity"] = OWN
        agent.register(made)
        secrets = os.path.join(agent.data_dir, "alloc", agent.wait_for_allocs("asks", "running")[0]["ID"], "task/secrets")
        token = open(os.path.join(secrets, "nomad_token")).read()
        agent.put("/v1/var/nomad/jobs/asks", {"Path": "nomad/jobs/asks", "Items": {"key": "value"}})
        # The path of a socket must be short.
        link = os.path.join(agent.dir, "s")
        os.symlink(secrets, link)
        program = os.path.join(build, "test", "bench", "http_load")
        for path in ("/v1/agent/health", "/v1/var/nomad/jobs/asks", "/v1/status/leader"):
            for connections in (1, 4, 16, 64):
                before = agent_bench.processor_seconds(agent.process.pid)
                done = subprocess.run([program, "-c", str(connections), "-t", "5", "-H", f"X-Nomad-Token: {token}", f"unix:{link}/api.sock", path],
                                      capture_output=True, text=True)
                used = 100 * (agent_bench.processor_seconds(agent.process.pid) - before) / 5
                show(f"{path} by one socket, {connections} connections",
                     f"{done.stdout.strip()}{done.stderr.strip()[:300]}; agent {used:.0f} % of a core")
    finally:
        agent.destroy()


def sockets(build, pairs):
    subprocess.run([os.path.join(build, "test", "bench", "task_socket_bench")], check=True)


SCENARIOS = {one.__name__: one for one in (placements, deliveries, starts, requests, sockets)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("scenario", nargs="*")
    parser.add_argument("-pairs", type=int, default=5)
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    harness.BINARY = os.environ.get("NOMADCTL") or os.path.join(build, "nomadctl")
    for name in options.scenario or SCENARIOS:
        SCENARIOS[name](build, options.pairs)


if __name__ == "__main__":
    main()
