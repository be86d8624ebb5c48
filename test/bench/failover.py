#!/usr/bin/env python3
"""How long writes stop when the leader dies: three servers on one machine, writers on 16 connections,
the leader killed with -9, stopped with SIGSTOP or cut off the network again and again. Reports the
time from the fault to the next acknowledged write, and whether any acknowledged write is missing
afterwards.

    NOMADCTL=build/release/nomadctl python3 test/bench/failover.py [-kills 50] [-writers 16]
                                                                   [-fault kill|stop|partition]

For partitions each server runs in a network namespace of its own, joined by a bridge on which the
writers are too (needs root and iproute2); the leader's link is taken down.
"""
import argparse
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import cluster  # noqa: E402
import harness  # noqa: E402
import separated  # noqa: E402


class Writer(threading.Thread):
    """Registers one small job after the other; keeps what was acknowledged, and when."""

    def __init__(self, number, servers, state, patience):
        super().__init__(daemon=True)
        self.patience = patience
        self.number, self.servers, self.state = number, servers, state
        self.acknowledged = []
        self.at = number % len(servers)
        self.connection = None

    def run(self):
        count = 0
        while not self.state["over"]:
            if self.state["resting"]:
                time.sleep(0.02)
                continue
            job = f"w{self.number}-{count}"
            if self.write(job):
                self.acknowledged.append((job, time.monotonic()))
                count += 1
            else:
                # Who was not answered doesn't know: the next write has another name.
                count += 1
                self.connection = None
                self.at = (self.at + 1) % len(self.servers)
                time.sleep(0.02)

    def write(self, job):
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    self.servers[self.at].host, self.servers[self.at].http, timeout=self.patience)
            self.connection.request("PUT", "/v1/jobs", json.dumps(cluster.small_job(job)))
            answer = self.connection.getresponse()
            answer.read()
            return answer.status == 200
        except (OSError, http.client.HTTPException):
            return False


def strike(nodes, leader, fault):
    """Takes the leader away; what brings it back."""
    if fault == "kill":
        leader.kill9()
        return leader.start
    if fault == "stop":
        leader.process.send_signal(signal.SIGSTOP)
        return lambda: leader.process.send_signal(signal.SIGCONT)
    nodes.connect(leader, False)
    return lambda: nodes.connect(leader, True)


def first_after(writers, moment):
    """The first write acknowledged after `moment`; None until there is one."""
    times = []
    for writer in writers:
        for _, when in reversed(writer.acknowledged[-50:]):
            if when <= moment:
                break
            times.append(when)
    return min(times) if times else None


def wait_until_whole(nodes):
    """A server that starts again has a state to load: while it does, two of three are one short."""
    def is_whole():
        health = nodes.leader().try_get("/v1/operator/autopilot/health")
        return health is not None and health["Healthy"]
    harness.wait_until(is_whole, timeout=60, what="three healthy servers")


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-kills", type=int, default=50)
    parser.add_argument("-writers", type=int, default=16)
    parser.add_argument("-fault", choices=["kill", "stop", "partition"], default="kill")
    parser.add_argument("-rest", type=float, default=1.5, help="seconds of writing between faults")
    arguments = parser.parse_args()
    nodes = separated.SeparatedCluster(3) if arguments.fault == "partition" else cluster.Cluster(3)
    try:
        nodes.start()
        return measure(nodes, arguments)
    finally:
        nodes.destroy()


def measure(nodes, arguments):
    wait_until_whole(nodes)
    state = {"over": False, "resting": False}
    # A leader that stands still breaks no connection: a writer that waits for it would measure itself.
    patience = 2 if arguments.fault == "kill" else 0.25
    writers = [Writer(n, nodes.servers, state, patience) for n in range(arguments.writers)]
    for writer in writers:
        writer.start()
    time.sleep(2)
    gaps = []
    begin = time.monotonic()
    for number in range(arguments.kills):
        leader = nodes.leader()
        time.sleep(random.uniform(0, 0.1))
        moment = time.monotonic()
        restore = strike(nodes, leader, arguments.fault)
        if arguments.fault == "partition":
            moment = time.monotonic()  # the link was still up while `ip` started
        # What was on its way when the leader died does not count: 20 ms.
        found = harness.wait_until(lambda: first_after(writers, moment + 0.02), timeout=60,
                                   interval=0.005, what="a write after the fault")
        gaps.append(found - moment)
        print(f"{number + 1}: {leader.name} gone, {gaps[-1]:.3f} s", flush=True)
        restore()
        state["resting"] = True  # or the state to load grows beyond every patience
        wait_until_whole(nodes)
        state["resting"] = False
        time.sleep(arguments.rest)
    seconds = time.monotonic() - begin
    state["over"] = True
    for writer in writers:
        writer.join(timeout=10)
    acknowledged = [job for writer in writers for job, _ in writer.acknowledged]
    missing = lost(nodes, set(acknowledged))
    print(f"{arguments.kills} faults ({arguments.fault}), {arguments.writers} connections, "
          f"{len(acknowledged)} writes acknowledged in {seconds:.0f} s")
    print("time to the next acknowledged write: "
          f"min {min(gaps):.3f}  p50 {statistics.median(gaps):.3f}  p90 {quantile(gaps, 0.9):.3f}  "
          f"p99 {quantile(gaps, 0.99):.3f}  max {max(gaps):.3f} s")
    print(f"acknowledged writes lost: {len(missing)}", *sorted(missing)[:10])
    return 1 if missing else 0


def lost(nodes, acknowledged):
    """What is missing on any server after a moment of rest."""
    def everywhere():
        seen = [{job["ID"] for job in server.try_get("/v1/jobs?stale=true&prefix=w") or []}
                for server in nodes.servers]
        return acknowledged - set.intersection(*seen)
    for _ in range(20):
        missing = everywhere()
        if not missing:
            return missing
        time.sleep(0.5)
    return missing


if __name__ == "__main__":
    sys.exit(main())
