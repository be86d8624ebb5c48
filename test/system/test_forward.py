"""Requests reach whoever must serve them, whichever agent is asked: the leader, another region, the
client node of an allocation."""
import http.client
import json
import os
import random
import signal
import time
import unittest

import cluster
import harness
from harness import job, shell_job, wait_until


NOBODY = "00000000-0000-0000-0000-000000000000"


class ForwardTest(cluster.Case):
    count = 3

    def test_writes_and_reads_at_any_server_agree(self):
        agents = [*self.cluster.servers, *self.cluster.clients]
        for number in range(60):
            writer, reader = random.choice(agents), random.choice(agents)
            done = writer.request("PUT", "/v1/jobs", cluster.small_job(f"job-{number}"))
            self.assertEqual(200, done.status, f"{writer.name}: {done}")
            found = reader.request("GET", f"/v1/job/job-{number}")
            self.assertEqual(200, found.status, f"{writer.name} {reader.name}: {found}")
            self.assertEqual("0", found.headers["X-Nomad-LastContact"])
            self.assertEqual("true", found.headers["X-Nomad-KnownLeader"])
            self.assertEqual(done.json["JobModifyIndex"], found.json["JobModifyIndex"])
        listed = [sorted(j["ID"] for j in agent.try_get("/v1/jobs")) for agent in agents]
        self.assertEqual(60, len(listed[0]))
        for each in listed:
            self.assertEqual(listed[0], each)

    def test_answers_are_those_of_the_leader(self):
        follower = self.followers[0]
        for path in ("/v1/job/nobody", "/v1/allocation/nobody", "/v1/jobs?index=x", "/v1/nodes?pretty",
                     "/v1/node/" + "0" * 36, "/v1/evaluations?per_page=1", "/v1/status/peers"):
            here, there = self.leader.request("GET", path), follower.request("GET", path)
            self.assertEqual((here.status, here.body), (there.status, there.body), path)
            self.assertEqual(here.headers.get("Content-Type"), there.headers.get("Content-Type"))
        for body in ("{", {"Job": {}}, {"Job": {"ID": "x"}}):
            here = self.leader.request("PUT", "/v1/jobs", body)
            there = follower.request("PUT", "/v1/jobs", body)
            self.assertEqual((here.status, here.body), (there.status, there.body))

    def test_stale_reads_are_served_where_they_are_asked(self):
        follower = self.followers[0]
        answer = follower.request("GET", "/v1/jobs?stale=true")
        self.assertEqual("true", answer.headers["X-Nomad-KnownLeader"])
        self.leader.kill9()
        self.followers[1].kill9()
        answer = wait_until(lambda: (lambda a: a if a.headers["X-Nomad-KnownLeader"] == "false"
                                     else None)(follower.request("GET", "/v1/jobs?stale=true")),
                            what="a read without a leader")
        self.assertEqual(200, answer.status)
        begin = time.monotonic()
        refused = follower.request("PUT", "/v1/jobs", cluster.small_job("x"), timeout=20)
        self.assertEqual((500, "No cluster leader"), (refused.status, refused.body))
        self.assertLess(time.monotonic() - begin, 10)
        refused = follower.request("GET", "/v1/jobs", timeout=20)
        self.assertEqual((500, "No cluster leader"), (refused.status, refused.body))

    def test_a_blocking_query_at_a_follower_wakes(self):
        self.put(cluster.small_job("watched")["Job"])
        follower = self.followers[0]
        index = follower.request("GET", "/v1/job/watched").index
        connection = http.client.HTTPConnection("127.0.0.1", follower.http, timeout=60)
        connection.request("GET", f"/v1/job/watched?index={index}&wait=5m")
        time.sleep(0.5)
        changed = cluster.small_job("watched")
        changed["Job"]["Priority"] = 77
        self.assertEqual(200, self.followers[1].request("PUT", "/v1/jobs", changed).status)
        answer = connection.getresponse()
        self.assertEqual(77, json.loads(answer.read())["Priority"])
        connection.close()

    def test_no_path_to_an_unknown_region(self):
        for agent in [*self.cluster.servers, self.cluster.clients[0]]:
            for method, path in (("GET", "/v1/jobs"), ("PUT", "/v1/jobs"), ("GET", "/v1/nodes")):
                answer = agent.request(method, path + "?region=nowhere",
                                       cluster.small_job("x") if method == "PUT" else None)
                self.assertEqual((400, "No path to region"), (answer.status, answer.body), path)
            self.assertEqual(200, agent.request("GET", "/v1/agent/self?region=nowhere").status)

    def test_a_refusal_is_the_same_whoever_is_asked(self):
        nobody = "00000000-0000-0000-0000-000000000000"
        enforced = dict(cluster.small_job("x"), EnforceIndex=True, JobModifyIndex=7)
        for status, method, path, body in (
                (400, "GET", "/v1/allocation/nope", None),
                (400, "GET", "/v1/jobs?region=%1B", None),
                (400, "DELETE", "/v1/job/x?purge=%07%ff", None),
                (400, "PUT", "/v1/jobs", {"Job": {"ID": "x"}}),
                (400, "PUT", "/v1/var/b%20c", {"Items": {"a": "b"}}),
                (404, "PUT", "/v1/job/nope/evaluate", {"JobID": "nope"}),
                (404, "GET", f"/v1/client/allocation/{nobody}/stats", None),
                (409, "PUT", "/v1/jobs", enforced)):
            for agent in [*self.cluster.servers, *self.cluster.clients]:
                answer = agent.request(method, path, body)
                told = answer.body if agent is self.cluster.servers[0] else told
                self.assertEqual((status, told), (answer.status, answer.body), (agent.name, path))

    def test_writes_go_on_while_the_leader_changes(self):
        follower = self.followers[0]
        for number in range(10):
            if number == 5:
                self.leader.kill9()
            done = follower.request("PUT", "/v1/jobs", cluster.small_job(f"j{number}"), timeout=20)
            if done.status != 200:  # the one that was under way
                self.assertIn("the request may have been carried out", done.body)
        self.assertEqual(200, follower.request("GET", "/v1/job/j9").status)

    def test_nobody_waits_for_a_leader_that_was_stopped(self):
        self.put(cluster.small_job("seen")["Job"])
        follower = self.followers[0]
        index = follower.request("GET", "/v1/job/seen").index
        blocked = http.client.HTTPConnection("127.0.0.1", follower.http, timeout=60)
        blocked.request("GET", f"/v1/job/seen?index={index}&wait=50s")
        time.sleep(0.3)
        os.kill(self.leader.process.pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            read = follower.request("GET", "/v1/job/seen", timeout=60)
            self.assertEqual(200, read.status, read)
            changed = cluster.small_job("seen")
            changed["Job"]["Priority"] = 78
            # The first write may still go to the stopped leader: then it is refused, and soon.
            wait_until(lambda: follower.request("PUT", "/v1/jobs", changed, timeout=60).status == 200,
                       what="a write")
            self.assertEqual(78, json.loads(blocked.getresponse().read())["Priority"])
            self.assertLess(time.monotonic() - begin, 15)
        finally:
            os.kill(self.leader.process.pid, signal.SIGCONT)
        blocked.close()


class NodeForwardTest(cluster.Case):
    """What is about a client node, asked of everybody."""
    count = 3

    def setUp(self):
        super().setUp()
        script = ("i=0; while [ $i -lt 20000 ]; do echo line-$i; i=$((i+1)); done; "
                  "head -c 3000000 /dev/urandom > $NOMAD_ALLOC_DIR/data; echo ready; sleep 1000")
        self.put(shell_job("talker", script, count=2, Constraints=[
            {"Operand": "distinct_hosts", "RTarget": "true"}]))
        self.allocs = self.wait_for("talker", "running", 2)
        self.agents = [*self.cluster.servers, *self.cluster.clients]
        self.expected = "".join(f"line-{n}\n" for n in range(20000)) + "ready\n"

    def logs(self, agent, alloc, **more):
        query = "".join(f"&{k}={v}" for k, v in more.items())
        return agent.request("GET", f"/v1/client/fs/logs/{alloc['ID']}?task=task&type=stdout"
                                    f"&plain=true{query}", timeout=30)

    def test_logs_and_files_through_every_agent(self):
        self.assertEqual({"c0", "c1"}, {a["NodeName"] for a in self.allocs})
        for alloc in self.allocs:
            wait_until(lambda a=alloc: self.logs(self.leader, a).body == self.expected, timeout=40,
                       what="the whole log")
            sizes = set()
            for agent in self.agents:
                self.assertEqual(self.expected, self.logs(agent, alloc).body, agent.name)
                listed = agent.request("GET", f"/v1/client/fs/ls/{alloc['ID']}?path=alloc")
                self.assertIn("data", {f["Name"] for f in listed.json}, agent.name)
                connection = http.client.HTTPConnection("127.0.0.1", agent.http, timeout=60)
                connection.request("GET", f"/v1/client/fs/cat/{alloc['ID']}?path=alloc/data")
                sizes.add(hash(connection.getresponse().read()))
                connection.close()
            self.assertEqual(1, len(sizes))

    def test_a_followed_log_is_streamed_and_ends_with_its_reader(self):
        alloc = self.allocs[0]
        for agent in self.agents:
            connection = http.client.HTTPConnection("127.0.0.1", agent.http, timeout=30)
            connection.request("GET", f"/v1/client/fs/logs/{alloc['ID']}?task=task&type=stdout"
                                      "&plain=true&follow=true")
            answer = connection.getresponse()
            got = b""
            while not got.endswith(b"ready\n"):
                got += answer.read1(65536)
            self.assertEqual(self.expected, got.decode())
            connection.close()

    def test_actions_and_numbers_through_every_agent(self):
        for alloc in self.allocs:
            node = alloc["NodeID"]
            for agent in self.agents:
                stats = agent.request("GET", f"/v1/client/allocation/{alloc['ID']}/stats")
                self.assertEqual(200, stats.status, f"{agent.name}: {stats}")
                self.assertIn("task", stats.json["Tasks"])
                host = agent.request("GET", f"/v1/client/stats?node_id={node}")
                self.assertEqual(200, host.status, f"{agent.name}: {host}")
                signal = agent.request("PUT", f"/v1/client/allocation/{alloc['ID']}/signal",
                                       {"Task": "task", "Signal": "SIGCONT"})
                self.assertEqual(200, signal.status, f"{agent.name}: {signal}")
                collected = agent.request("GET", f"/v1/client/gc?node_id={node}")
                self.assertEqual(200, collected.status, f"{agent.name}: {collected}")
        alloc = self.allocs[0]
        done = self.followers[0].request("PUT", f"/v1/client/allocation/{alloc['ID']}/restart", {})
        self.assertEqual(200, done.status, done)
        wait_until(lambda: self.leader.try_get(f"/v1/allocation/{alloc['ID']}")["TaskStates"]["task"]
                   ["Restarts"] == 1, what="the restart")

    def test_what_nobody_has(self):
        unknown = "0" * 8 + "-0000-4000-8000-" + "0" * 12
        for agent in self.agents:
            answer = agent.request("GET", f"/v1/client/allocation/{unknown}/stats")
            self.assertEqual(404, answer.status, f"{agent.name}: {answer}")
            answer = agent.request("GET", f"/v1/client/stats?node_id={unknown}")
            self.assertEqual((404, f"Unknown node {unknown}"), (answer.status, answer.body))
        alloc = self.allocs[0]
        client = next(c for c in self.cluster.clients if c.name == alloc["NodeName"])
        client.kill9()
        for agent in self.cluster.servers:
            answer = wait_until(lambda a=agent: (lambda r: r if r.status == 404 else None)(
                a.request("GET", f"/v1/client/allocation/{alloc['ID']}/stats")),
                what="the loss of the connection")
            self.assertEqual("No path to node", answer.body, agent.name)
        self.assertEqual(200, client.start() and wait_until(
            lambda: (lambda r: r.status if r.status == 200 else None)(
                self.leader.request("GET", f"/v1/client/allocation/{alloc['ID']}/stats")),
            timeout=40, what="the node's return"))

    def test_the_log_of_any_agent(self):
        members = {m["Name"]: m for m in self.leader.try_get("/v1/agent/members")["Members"]}
        self.assertEqual(3, len(members))
        asked = self.followers[0]
        targets = [f"server_id={s.name}.global" for s in self.cluster.servers]
        targets += ["server_id=leader", f"node_id={self.allocs[0]['NodeID']}"]
        for target in targets:
            connection = http.client.HTTPConnection("127.0.0.1", asked.http, timeout=10)
            connection.request("GET", f"/v1/agent/monitor?log_level=debug&plain=true&{target}")
            self.assertEqual(200, connection.getresponse().status, target)
            connection.close()
        for target in ("server_id=nobody", f"node_id={NOBODY}"):
            self.assertEqual(404, asked.request("GET", f"/v1/agent/monitor?{target}").status, target)

    def test_the_actors_of_any_agent(self):
        node = self.allocs[0]["NodeID"]
        for agent in self.agents:
            shown = agent.run("operator", "actors", "-node", node)
            self.assertIn("alloc_runner", shown.stdout, f"{agent.name}: {shown}")
            self.assertNotIn("raft_node", shown.stdout)
            for target in ("server_id=nobody", f"node_id={NOBODY}"):
                answer = agent.request("GET", f"/v1/agent/actors?{target}")
                self.assertEqual(404, answer.status, f"{agent.name} {target}: {answer}")
            self.assertIn("raft_node", agent.request("GET", "/v1/agent/actors?server_id=leader").body)


class RegionTest(unittest.TestCase):
    def test_a_request_for_another_region_goes_there(self):
        clusters = {name: cluster.Cluster(1, blocks=f'region = "{name}"') for name in ("eu", "us")}
        for each in clusters.values():
            self.addCleanup(each.destroy)
            each.start()
        eu, us = (each.leader() for each in clusters.values())
        joined = eu.request("PUT", f"/v1/agent/join?address=127.0.0.1:{us.rpc}")
        self.assertEqual(1, joined.json["num_joined"], joined)
        wait_until(lambda: eu.try_get("/v1/regions") == us.try_get("/v1/regions") == ["eu", "us"],
                   what="the regions")
        client = clusters["eu"].add_client(blocks='region = "eu"')
        wait_until(lambda: clusters["eu"].nodes() == {"c0"}, timeout=40, what="the node")

        for agent in (eu, client):
            done = agent.request("PUT", "/v1/jobs?region=us", cluster.small_job(f"by-{agent.name}"))
            self.assertEqual(200, done.status, done)
            self.assertEqual(200, agent.request("GET", f"/v1/job/by-{agent.name}?region=us").status)
            self.assertEqual(404, agent.request("GET", f"/v1/job/by-{agent.name}").status)
            own = cluster.small_job(f"own-{agent.name}")
            own["Job"]["Region"] = "us"
            self.assertEqual(200, agent.request("PUT", "/v1/validate/job", own).status)
            planned = agent.request("PUT", f"/v1/job/own-{agent.name}/plan", own)
            self.assertEqual(200, planned.status, planned)
            done = agent.request("PUT", "/v1/jobs", own)
            self.assertEqual(200, done.status, done)
            self.assertEqual("us", us.request("GET", f"/v1/job/own-{agent.name}").json["Region"])
            self.assertEqual(404, agent.request("GET", f"/v1/job/own-{agent.name}").status)
            own["Job"]["Region"] = "nowhere"
            refused = agent.request("PUT", "/v1/jobs", own)
            self.assertEqual((400, "No path to region"), (refused.status, refused.body))
        self.assertEqual(4, len(us.try_get("/v1/jobs")))
        self.assertEqual([], us.try_get("/v1/nodes"))
        us.kill9()
        wait_until(lambda: eu.request("GET", "/v1/jobs?region=us").body == "No path to region",
                   timeout=30, what="the loss of the region")


if __name__ == "__main__":
    harness.main()
