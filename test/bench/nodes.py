#!/usr/bin/env python3
"""Thousands of simulated client nodes (`nomadctl node-sim`) against real servers on this machine.

    NOMADCTL=build/release/cli/nomadctl python3 test/bench/nodes.py [scenario …] [-nodes 5000]
                                                                 [-sync-nodes 1000] [-seconds 60]

Scenarios, all of them without a name:
    rest      one server, default settings: registration, heartbeats, processor time and memory per node
    beats     one server that wants each node's heartbeat every second
    updates   one server, allocations that end all the time: updates, entries of the log, scheduling
    sync      -sync-nodes nodes, chatty tasks, prioritised sync and none: entries, times of ClientStatus
    big       one server, one job of 50,000 allocations: placed, run, stopped; a write beside it each 50 ms
    failover  three servers, the leader killed: all nodes armed again, no live one marked down, and
              all of them down after the simulator was killed
Prints figures with their units; table.py records them.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import cluster  # noqa: E402
import harness  # noqa: E402

REPORT = re.compile(
    r"(?P<at>[\d.]+) s: (?P<nodes>\d+) nodes, (?P<allocs>\d+) allocations; (?P<beats>[\d.]+) heartbeats/s "
    r"\(p99 (?P<beat_p99>[\d.]+) ms\), (?P<missed>\d+) missed, (?P<failures>\d+) failures; "
    r"(?P<updates>[\d.]+) updates/s in (?P<batches>[\d.]+) batches/s; (?P<changes>\d+) status changes "
    r"\(p50 (?P<p50>[\d.]+) ms, p99 (?P<p99>[\d.]+) ms\); (?P<mb>[\d.]+) MB, (?P<kb>[\d.]+) kB per node")
TICKS = os.sysconf("SC_CLK_TCK")


class Simulator:
    """One node-sim process; what it prints is read when asked for."""

    def __init__(self, servers, nodes, *more, report="2s"):
        self.out = os.path.join(servers[0].dir, f"node-sim-{time.monotonic_ns()}.out")
        words = [harness.BINARY, "node-sim", "-nodes", str(nodes), "-seed", "1", "-report", report, *more]
        for server in servers:
            words += ["-server", f"127.0.0.1:{server.rpc}"]
        print("   ", " ".join(["nomadctl", *words[1:]]), flush=True)
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def reports(self):
        with open(self.out, errors="replace") as f:
            return [{k: float(v) for k, v in m.groupdict().items()} for m in REPORT.finditer(f.read())]

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def private_mb(process):
    with open(f"/proc/{process.pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Private")) / 1e3


def log_index(server):
    return int(server.request("GET", "/v1/agent/self").json["stats"]["raft"]["last_log_index"])


def node_statuses(servers):
    """How many nodes there are of each status, by the first server that says."""
    for server in servers:
        nodes = server.try_get("/v1/nodes") if server.is_running() else None
        if nodes is not None:
            found = {}
            for node in nodes:
                found[node["Status"]] = found.get(node["Status"], 0) + 1
            return found
    return {}


def wait_for_ready(servers, count, patience=300):
    harness.wait_until(lambda: node_statuses(servers).get("ready") == count, timeout=patience,
                       interval=0.25, what=f"{count} ready nodes")


def register(server, job_id, count):
    """A batch job whose allocations the simulator ends; the nodes' processors bound how many run."""
    task = {"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "1s"},
            "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Resources": {"CPU": 100, "MemoryMB": 50}}
    group = {"Name": "g", "Count": count, "EphemeralDisk": {"SizeMB": 10}, "Tasks": [task],
             "ReschedulePolicy": {"Attempts": 0, "Unlimited": False}}
    job = {"ID": job_id, "Name": job_id, "Type": "batch", "Datacenters": ["dc1"], "TaskGroups": [group]}
    answer = server.request("PUT", "/v1/jobs", {"Job": job}, timeout=60)
    assert answer.status == 200, answer


class Run:
    """Servers with a simulator, measured between two moments."""

    def __init__(self, count, nodes, *words, extra="", report="2s"):
        self.cluster = cluster.Cluster(count, extra=extra).start()
        self.simulator = None
        try:
            self.leader = self.cluster.leader()
            time.sleep(2)
            self.empty_mb = private_mb(self.leader.process)
            self.simulator = Simulator(self.cluster.servers, nodes, *words, report=report)
            begin = time.monotonic()
            wait_for_ready(self.cluster.servers, nodes)
            self.registered_in = time.monotonic() - begin
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, problem, *_):
        if problem:
            print(f"    the servers' logs are kept in {self.cluster.keep_logs()}", flush=True)
        self.close()

    def close(self):
        if self.simulator:
            self.simulator.stop(signal.SIGKILL)
        self.cluster.destroy()

    def measure(self, seconds):
        """Prints and returns what happened within `seconds`."""
        known = len(self.simulator.reports())
        before = (time.monotonic(), processor_seconds(self.leader.process),
                  processor_seconds(self.simulator.process), log_index(self.leader))
        time.sleep(seconds)
        took = time.monotonic() - before[0]
        found = {"server": (processor_seconds(self.leader.process) - before[1]) / took * 100,
                 "simulator": (processor_seconds(self.simulator.process) - before[2]) / took * 100,
                 "entries": (log_index(self.leader) - before[3]) / took}
        reports = self.simulator.reports()[known:]
        for name in ("beats", "updates", "batches"):
            found[name] = sum(r[name] for r in reports) / max(len(reports), 1)
        for name in ("beat_p99", "p99"):
            found[name] = sorted(r[name] for r in reports)[len(reports) // 2] if reports else 0
        for name in ("missed", "failures", "changes"):
            found[name] = sum(r[name] for r in reports)
        found["simulator_kb"] = reports[-1]["kb"] if reports else 0
        print(f"    {took:.0f} s: {found['beats']:.1f} heartbeats/s (p99 {found['beat_p99']:.1f} ms), "
              f"{found['missed']:.0f} missed, {found['failures']:.0f} failures; {found['updates']:.1f} updates/s "
              f"in {found['batches']:.1f} reports/s, {found['entries']:.1f} log entries/s; "
              f"{found['changes']:.0f} status changes (p99 {found['p99']:.0f} ms); "
              f"{found['server']:.0f} % of a core in the server, {found['simulator']:.0f} % in the simulator",
              flush=True)
        return found


def rest(arguments):
    with Run(1, arguments.nodes) as run:
        print(f"    {arguments.nodes} nodes ready after {run.registered_in:.1f} s")
        run.measure(arguments.seconds)
        grown = private_mb(run.leader.process) - run.empty_mb
        print(f"    private memory of the server: {run.empty_mb:.1f} MB empty, {grown * 1e3 / arguments.nodes:.1f} "
              f"kB more per node; of the simulator {run.simulator.reports()[-1]['kb']:.1f} kB per node")


def beats(arguments):
    with Run(1, arguments.nodes, extra='  min_heartbeat_ttl = "1s"\n  max_heartbeats_per_second = 1000000') as run:
        run.measure(arguments.seconds)
        print(f"    statuses at the end: {node_statuses(run.cluster.servers)}")


def updates(arguments):
    words = ("-run-time", "1s", "-run-spread", "4s")
    with Run(1, arguments.nodes, *words) as run:
        for number in range(4):
            register(run.leader, f"wave-{number}", arguments.nodes)
        begin = time.monotonic()
        last = begin
        changes = 0
        while time.monotonic() - begin < 180:
            news = run.measure(5)["changes"]
            if news == 0 and changes > 0:
                break
            changes += news
            last = time.monotonic()
        print(f"    {changes:.0f} status changes of {4 * arguments.nodes} allocations, which run and end, in "
              f"{last - begin:.0f} s, {changes / (last - begin):.0f}/s; statuses: {node_statuses(run.cluster.servers)}")


def sync(arguments):
    words = ["-event-interval", "300ms", "-run-time", "2s", "-run-spread", "60s"]
    entries = {}
    for name, more in (("prioritised", []), ("all alike", ["-all-alike"])):
        with Run(1, arguments.sync_nodes, *words, *more, report="1h") as run:
            first = log_index(run.leader)
            register(run.leader, "chatty", 4 * arguments.sync_nodes)
            time.sleep(66)  # all have ended by then
            entries[name] = log_index(run.leader) - first
            run.simulator.stop()  # it reports about all of its time then
            found = run.simulator.reports()[-1]
            seconds = found["at"]
            print(f"    {name}: {entries[name]} log entries, {found['updates'] * seconds:.0f} updates in "
                  f"{found['batches'] * seconds:.0f} reports; {found['changes']:.0f} changes of ClientStatus at the "
                  f"server within {found['p50']:.0f} ms (p50), {found['p99']:.0f} ms (p99); "
                  f"{found['failures']:.0f} failures")
    saved = 1 - entries["prioritised"] / entries["all alike"]
    print(f"    saved entries: {saved * 100:.0f} %")


def allocations(server, job_id):
    """How many allocations of the job there are, by desired status and client status."""
    found = {}
    for alloc in server.request("GET", f"/v1/job/{job_id}/allocations", timeout=60).json:
        key = (alloc["DesiredStatus"], alloc["ClientStatus"])
        found[key] = found.get(key, 0) + 1
    return found


class WritesBeside:
    """A small write each 50 ms, from a thread of its own; the longest time to an answer in ms."""

    def __init__(self, server):
        self.server, self.longest, self.over = server, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.wait(0.05):
            begin = time.monotonic()
            self.server.request("PUT", "/v1/var/beside", {"Path": "beside", "Items": {"a": "b"}}, timeout=60)
            self.longest = max(self.longest, (time.monotonic() - begin) * 1e3)

    def stop(self):
        self.over.set()
        self.thread.join()
        return self.longest


def big(arguments):
    count = 50_000
    with Run(1, arguments.nodes, report="1h") as run:
        server = run.leader
        task = {"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "1h"},
                "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Resources": {"CPU": 10, "MemoryMB": 10}}
        group = {"Name": "g", "Count": count, "EphemeralDisk": {"SizeMB": 10}, "Tasks": [task]}
        job = {"ID": "big", "Name": "big", "Type": "service", "Datacenters": ["dc1"], "TaskGroups": [group]}
        for what, method, path, body, is_done in (
                ("placed and running", "PUT", "/v1/jobs", {"Job": job},
                 lambda found: found.get(("run", "running")) == count),
                ("stopped", "DELETE", "/v1/job/big", None,
                 lambda found: sum(n for (wanted, _), n in found.items() if wanted == "stop") == count)):
            beside, first, begin = WritesBeside(server), log_index(server), time.monotonic()
            answer = server.request(method, path, body, timeout=60)
            assert answer.status == 200, answer
            eval_id = answer.json["EvalID"]
            harness.wait_until(lambda: server.request("GET", f"/v1/evaluation/{eval_id}").json["Status"] == "complete",
                               timeout=300, interval=0.1, what="the evaluation's end")
            decided = time.monotonic() - begin
            harness.wait_until(lambda: is_done(allocations(server, "big")), timeout=300, interval=1,
                               what=f"{count} allocations {what}")
            print(f"    {count} allocations on {arguments.nodes} nodes: evaluation complete after {decided:.1f} s, all "
                  f"{what} within {time.monotonic() - begin:.0f} s, {log_index(server) - first} log entries; longest "
                  f"write beside it {beside.stop():.0f} ms", flush=True)


def failover(arguments):
    extra = ('  min_heartbeat_ttl = "5s"\n  max_heartbeats_per_second = 500\n  heartbeat_grace = "10s"\n'
             '  failover_heartbeat_ttl = "30s"')
    with Run(3, arguments.nodes, extra=extra) as run:
        servers, worst = run.cluster.servers, 0
        for number in range(3):
            leader = run.cluster.leader()
            begin = time.monotonic()
            leader.kill9()
            new = run.cluster.leader()
            print(f"    kill {number + 1}: another leader after {time.monotonic() - begin:.2f} s")
            leader.start()
            while time.monotonic() - begin < 45:  # beyond the leases that a new leader grants
                statuses = node_statuses([new])
                worst = max(worst, sum(n for s, n in statuses.items() if s != "ready"))
                time.sleep(0.5)
        reports = run.simulator.reports()
        print(f"    live nodes that were not ready at any look: {worst}; leases said to be missed: "
              f"{sum(r['missed'] for r in reports):.0f}; statuses: {node_statuses(servers)}")
        run.simulator.stop(signal.SIGKILL)
        begin = time.monotonic()
        harness.wait_until(lambda: node_statuses(servers).get("down") == arguments.nodes, timeout=120,
                           interval=0.5, what="the end of all leases")
        print(f"    all {arguments.nodes} nodes down {time.monotonic() - begin:.0f} s after the simulator was killed")


SCENARIOS = {"rest": rest, "beats": beats, "updates": updates, "sync": sync, "big": big, "failover": failover}


def main():
    parser = argparse.ArgumentParser(prefix_chars="-", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="scenario")
    parser.add_argument("-nodes", type=int, default=5000)
    parser.add_argument("-sync-nodes", type=int, default=1000)
    parser.add_argument("-seconds", type=float, default=60)
    arguments = parser.parse_args()
    for name in arguments.scenarios or SCENARIOS:
        print(f"== {name}", flush=True)
        SCENARIOS[name](arguments)


if __name__ == "__main__":
    main()
