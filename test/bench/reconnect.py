"""How long a client node takes to be back. One server, two clients, real processes on loopback.

    NOMADCTL=build/release/nomadctl python3 test/bench/reconnect.py [rounds]

Three ways of coming back, each to a node that is ready and an allocation that runs: SIGSTOP beyond the
lease and SIGCONT; kill -9 beyond the lease and a new start; kill -9 and an immediate start.
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import cluster  # noqa: E402
import harness  # noqa: E402
from harness import wait_until  # noqa: E402

SECOND = 1_000_000_000


def report(what, seconds):
    seconds.sort()
    middle = seconds[len(seconds) // 2]
    print(f"{what:42} p50 {middle * 1000:7.0f} ms   max {seconds[-1] * 1000:7.0f} ms   "
          f"({len(seconds)} rounds)")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    nodes = cluster.Cluster(1, extra='min_heartbeat_ttl = "2s"\nheartbeat_grace = "1s"').start()
    try:
        nodes.leader()
        client = nodes.add_client()
        server = nodes.servers[0]
        wait_until(lambda: nodes.nodes() == {"c0"}, 60, what="the node")
        job = harness.shell_job("steady", "exec sleep 100000", MaxClientDisconnect=3600 * SECOND)
        assert server.request("PUT", "/v1/jobs", {"Job": job}).status == 200
        alloc = wait_until(lambda: nodes.allocs("steady", "running"), 60, what="the job")[0]

        def is_back():
            return nodes.nodes() == {"c0"} and nodes.allocs("steady", "running")

        def wait_back(since):
            wait_until(is_back, 60, interval=0.002, what="the node's return")
            return time.monotonic() - since

        def wait_away():
            wait_until(lambda: nodes.nodes("disconnected") == {"c0"}
                       and nodes.allocs("steady", "unknown"), 60, what="the absence")

        paused, killed, short = [], [], []
        for _ in range(rounds):
            client.process.send_signal(signal.SIGSTOP)
            wait_away()
            since = time.monotonic()
            client.process.send_signal(signal.SIGCONT)
            paused.append(wait_back(since))

            client.kill9()
            wait_away()
            since = time.monotonic()
            client.start()
            killed.append(wait_back(since))

            client.kill9()
            since = time.monotonic()
            client.start()
            wait_until(lambda: (client.try_get("/v1/agent/self") or {}).get("stats"), 60,
                       interval=0.002, what="the client")
            short.append(time.monotonic() - since)
        report("paused beyond its lease, SIGCONT to ready", paused)
        report("killed, start beyond its lease to ready", killed)
        report("killed, start at once to its API's answer", short)
        assert [a["ID"] for a in nodes.allocs("steady")] == [alloc["ID"]], "it was placed anew"
    finally:
        nodes.destroy()


if __name__ == "__main__":
    main()
