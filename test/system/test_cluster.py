"""Three server processes on loopback: they found a cluster, elect, replicate, survive."""
import signal
import time
import unittest

import cluster
import harness
from harness import wait_until


class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.cluster = cluster.Cluster(3).start()
        self.addCleanup(self.cluster.destroy)
        self.servers = self.cluster.servers
        try:
            self.cluster.leader()
        except AssertionError:
            for server in self.servers:
                print(server.name, server.log()[-2000:])
            raise

    def jobs(self, server):
        return {job["ID"] for job in server.try_get("/v1/jobs?stale=true") or []}

    def test_three_servers_found_one_cluster(self):
        leader = self.cluster.leader()
        for server in self.servers:
            members = server.try_get("/v1/agent/members")["Members"]
            self.assertEqual(["s0.global", "s1.global", "s2.global"],
                             sorted(m["Name"] for m in members))
            self.assertEqual({"alive"}, {m["Status"] for m in members})
        peers = leader.try_get("/v1/operator/raft/configuration")["Servers"]
        self.assertEqual(3, len(peers))
        self.assertEqual([True] * 3, [p["Voter"] for p in peers])
        self.assertEqual([leader.name + ".global"], [p["Node"] for p in peers if p["Leader"]])
        self.assertEqual(1, sum("founding the cluster" in s.log() for s in self.servers))

    def test_writes_reach_all_and_survive_the_leader(self):
        names = set()
        for number in range(20):
            cluster.register(self.servers, f"before-{number}", 0)
            names.add(f"before-{number}")
        leader = self.cluster.leader()
        leader.kill9()
        begin = time.monotonic()
        cluster.register(self.cluster.running(), "after", 0)
        names.add("after")
        self.assertLess(time.monotonic() - begin, 10)
        for server in self.cluster.running():
            wait_until(lambda s=server: self.jobs(s) == names, what=f"{server.name}'s jobs")
        leader.start()
        wait_until(lambda: self.jobs(leader) == names, timeout=30, what="the old leader's jobs")

    def test_stale_reads_say_how_old_they_are(self):
        wait_until(lambda: self.cluster.leader().try_get("/v1/jobs") is not None,
                   what="a read of the leader")
        leader = self.cluster.leader()
        follower = next(s for s in self.servers if s is not leader)
        answer = follower.request("GET", "/v1/jobs?stale=true")
        self.assertEqual(200, answer.status, answer)
        self.assertEqual("true", answer.headers["X-Nomad-KnownLeader"])
        self.assertLess(int(answer.headers["X-Nomad-LastContact"]), 2_000)
        self.assertEqual("0", leader.request("GET", "/v1/jobs").headers["X-Nomad-LastContact"])

    def test_leadership_is_handed_over(self):
        leader = self.cluster.leader()
        done = leader.run("operator", "raft", "transfer-leadership")
        self.assertEqual(0, done.returncode, done.stderr)
        wait_until(lambda: self.cluster.leader_now() not in (None, leader), what="another leader")
        # A leader that is stopped hands over before it goes.
        leader = self.cluster.leader()
        begin = time.monotonic()
        leader.stop(signal.SIGINT)
        self.cluster.leader(timeout=5)
        self.assertLess(time.monotonic() - begin, 5)

    def test_a_dead_server_is_seen_and_named(self):
        leader = self.cluster.leader()
        dead = next(s for s in self.servers if s is not leader)
        dead.kill9()

        def status_of_dead():
            members = (leader.try_get("/v1/agent/members") or {}).get("Members", [])
            return {m["Name"]: m["Status"] for m in members}.get(dead.name + ".global")

        wait_until(lambda: status_of_dead() == "failed", timeout=30, what="the failure")
        self.assertEqual(429, leader.request("GET", "/v1/operator/autopilot/health").status)
        dead.start()
        wait_until(lambda: status_of_dead() == "alive", timeout=40, what="the return")
        wait_until(lambda: leader.request("GET", "/v1/operator/autopilot/health").status == 200,
                   timeout=30, what="health")
        listed = leader.run("operator", "raft", "list-peers")
        self.assertEqual(0, listed.returncode, listed.stderr)
        self.assertEqual(4, len(listed.stdout.strip().splitlines()), listed.stdout)

    def test_a_removed_server_stays_out(self):
        leader = self.cluster.leader()
        gone = next(s for s in self.servers if s is not leader)
        peers = leader.try_get("/v1/operator/raft/configuration")["Servers"]
        peer_id = next(p["ID"] for p in peers if p["Node"] == gone.name + ".global")
        done = leader.run("operator", "raft", "remove-peer", "-peer-id", peer_id)
        self.assertEqual(0, done.returncode, done.stderr)
        time.sleep(3)  # autopilot has looked a few times
        peers = leader.try_get("/v1/operator/raft/configuration")["Servers"]
        self.assertEqual(2, len(peers))
        wait_until(lambda: "was removed from the cluster" in gone.log(), what="the line in its log")
        cluster.register(self.servers, "still-writes", 0)


class LeavingTest(unittest.TestCase):
    def test_servers_leave_one_by_one_down_to_a_single_one(self):
        servers = cluster.Cluster(3, blocks="leave_on_interrupt = true\n").start()
        self.addCleanup(servers.destroy)
        for others_left in (2, 1):
            goes = servers.leader()  # it has to hand over first
            goes.process.send_signal(signal.SIGINT)
            goes.process.wait(20)

            def said_by(other):
                return [line.split(" status=")[-1] for line in other.log().splitlines()
                        if f"membership: the status of a server has changed: peer={goes.name}.global" in line]
            for other in servers.running():
                wait_until(lambda: said_by(other)[-2:] == ["leaving", "left"],
                           what=f"both lines in the log of {other.name}: {said_by(other)}")
            peers = servers.leader().try_get("/v1/status/peers")
            self.assertEqual(others_left, len(peers), peers)
            self.assertNotIn("was removed from the cluster", goes.log())


if __name__ == "__main__":
    harness.main()
