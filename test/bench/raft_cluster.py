#!/usr/bin/env python3
"""Three servers on one machine: writes a second through the whole program (HTTP, log, two fsyncs,
apply, answer), their latency at half that rate, fsyncs, and what 1,000 blocking queries cost.

    python3 test/bench/raft_cluster.py build/release [-seconds 5]

The load generator is one process on the same machine; its processor time is printed with each line,
that of the servers beside it.
"""
import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

LIMITS = "limits {\n  http_max_conns_per_client = 2000\n}\n"
BODY = {"Job": {"ID": "w{n}", "Name": "w{n}", "Type": "batch", "Datacenters": ["dc1"],
                "ParameterizedJob": {},
                "TaskGroups": [{"Name": "g", "Count": 1,
                                "Tasks": [{"Name": "t", "Driver": "raw_exec",
                                           "Config": {"command": "/bin/true"}}]}]}}


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        text = f.read()
    return sum(int(n) for n in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB", text, re.M))


class Fsyncs:
    """Counts what the servers make durable, by strace where there is one."""

    def __init__(self, pids):
        self.process = None
        words = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync"]
        for pid in pids:
            words += ["-p", str(pid)]
        try:
            self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, text=True)
            time.sleep(1)
        except FileNotFoundError:
            print("    strace is not there: fsyncs are not counted")

    def count(self):
        if self.process is None:
            return None
        self.process.send_signal(2)
        text = self.process.communicate()[1]
        return sum(int(line.split()[3]) for line in text.splitlines()
                   if line.rstrip().endswith(("fsync", "fdatasync")))


def load(build, leader, connections, seconds, rate=0):
    program = os.path.join(build, "test", "bench", "http_load")
    words = [program, "-c", str(connections), "-t", str(seconds), "-X", "PUT",
             "-b", json.dumps(BODY).replace("w{n}", f"w{time.monotonic_ns()}-{{n}}")]
    if rate:
        words += ["-r", str(rate)]
    done = subprocess.run([*words, f"127.0.0.1:{leader.http}", "/v1/jobs"], capture_output=True,
                          text=True, check=False)
    return (done.stdout + done.stderr).strip()


def writes(build, nodes, seconds):
    for connections in (1, 16, 64):
        leader = nodes.leader()
        before = {s.name: processor_seconds(s.process.pid) for s in nodes.servers}
        line = load(build, leader, connections, seconds)
        used = sum(processor_seconds(s.process.pid) - before[s.name] for s in nodes.servers)
        print(f"{connections} connections: {line}; servers used {used / seconds:.2f} cores")
        reached = float(re.search(r"([\d.]+)\s*(?:requests/s|/s|answers/s)", line).group(1))
        print(f"    at half that rate: {load(build, leader, connections, seconds, int(reached / 2))}")
        fsyncs = Fsyncs([s.process.pid for s in nodes.servers])
        line = load(build, leader, connections, 2)
        count = fsyncs.count()
        if count is not None:
            made = 2 * float(re.search(r"([\d.]+)\s*(?:requests/s|/s|answers/s)", line).group(1))
            print(f"    fsyncs for 1,000 writes, all three servers: {1000 * count / made:.0f} (traced)")


def blocking_queries(nodes, count):
    """Memory of `count` waiting queries at the leader, and until the last one hears of one write."""
    leader = nodes.leader()
    index = int(leader.request("GET", "/v1/jobs?per_page=1").headers["X-Nomad-Index"])
    time.sleep(1)
    before = private_kb(leader.process.pid)
    waiting = []
    for _ in range(count):
        each = socket.create_connection(("127.0.0.1", leader.http))
        each.sendall(f"GET /v1/jobs?per_page=1&index={index}&wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        waiting.append(each)
    time.sleep(1)
    after = private_kb(leader.process.pid)
    begin = time.monotonic()
    answer = leader.request("PUT", "/v1/jobs", {"Job": {**BODY["Job"], "ID": "wake", "Name": "wake"}})
    acknowledged = time.monotonic()
    assert answer.status == 200, answer
    for each in waiting:
        assert each.recv(16) != b""
    last = time.monotonic()
    print(f"{count} blocking queries: {(after - before) / count:.1f} kB each; the last was answered "
          f"{(last - begin) * 1000:.1f} ms after the write was sent, "
          f"{(last - acknowledged) * 1000:.1f} ms after it was acknowledged")
    for each in waiting:
        each.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("-seconds", type=float, default=5)
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    os.environ.setdefault("NOMADCTL", os.path.join(build, "cli", "nomadctl"))
    import cluster  # noqa: E402  (it reads the variable)
    nodes = cluster.Cluster(3, blocks=LIMITS).start()
    try:
        nodes.leader()
        time.sleep(1)
        writes(build, nodes, arguments.seconds)
        blocking_queries(nodes, 1000)
    finally:
        nodes.destroy()


if __name__ == "__main__":
    main()
