"""Versions of a job and their tags, by the commands and over the log of three servers."""
import json
import unittest

import cluster
import harness
from harness import shell_job, wait_until


def versions_of(agent, job):
    return agent.request("GET", f"/v1/job/{job}/versions").json["Versions"]


def tags_of(agent, job):
    return {v["Version"]: v["VersionTag"]["Name"] for v in versions_of(agent, job) if "VersionTag" in v}


class VersionsTest(harness.AgentTest):
    def change(self, name, priority):
        made = shell_job(name, "exec sleep 1000", count=0)
        made["Priority"] = priority
        self.agent.register(made)

    def test_a_tagged_version_is_kept_compared_and_gone_back_to(self):
        for priority in (10, 20):
            self.change("web", priority)
        done = self.agent.run("job", "tag", "apply", "-name", "golden", "-description", "it works", "web", check=True)
        self.assertEqual('Job version 1 tagged with name "golden"\n', done.stdout)
        for priority in range(30, 40):
            self.change("web", priority)
        self.assertEqual({1: "golden"}, tags_of(self.agent, "web"))
        self.assertEqual([11, 10, 9, 8, 7, 6, 1], [v["Version"] for v in versions_of(self.agent, "web")])
        history = self.agent.run("job", "history", "-p", "-diff-tag", "golden", "-version", "11", "web", check=True).stdout
        self.assertIn('+/- Priority: "20" => "39"', history)
        self.assertIn("Tag Description = it works", self.agent.run("job", "history", "web", check=True).stdout)

        self.agent.run("job", "revert", "-detach", "web", "golden", check=True)
        self.assertEqual(20, self.agent.get("/v1/job/web").json["Priority"])
        self.assertEqual({1: "golden"}, tags_of(self.agent, "web"))
        done = self.agent.run("job", "tag", "unset", "-name", "golden", "web", check=True)
        self.assertEqual('Tag "golden" removed from job "web"\n', done.stdout)
        self.assertNotIn(1, [v["Version"] for v in versions_of(self.agent, "web")])

    def test_a_stopped_job_with_a_tag_outlives_the_collector(self):
        for name in ("kept", "gone"):
            self.change(name, 10)
        self.agent.run("job", "tag", "apply", "-name", "golden", "kept", check=True)
        for name in ("kept", "gone"):
            self.agent.run("job", "stop", "-detach", name, check=True)
        self.assertEqual({0: "golden"}, tags_of(self.agent, "kept"))

        def collected():
            self.agent.put("/v1/system/gc")
            return self.agent.get("/v1/job/gone").status == 404
        wait_until(collected, what="the collection")
        self.assertEqual(200, self.agent.get("/v1/job/kept").status)
        self.agent.run("job", "start", "-detach", "kept", check=True)
        self.assertEqual({0: "golden"}, tags_of(self.agent, "kept"))

    def test_links_and_a_description_are_kept(self):
        made = shell_job("shown", "exec sleep 1000", count=0)
        made["UI"] = {"Description": "what it does", "Links": [{"Label": "docs", "URL": "https://docs.example"}]}
        self.agent.register(made)
        stored = self.agent.get("/v1/job/shown").json["UI"]
        self.assertEqual({"Description": "what it does", "Links": [{"Label": "docs", "Url": "https://docs.example"}]}, stored)
        printed = json.loads(self.agent.run("job", "inspect", "shown", check=True).stdout)["Job"]["UI"]
        self.assertEqual([{"Label": "docs", "URL": "https://docs.example"}], printed["Links"])


class ServersTest(unittest.TestCase):
    def test_all_servers_keep_what_has_a_tag(self):
        servers = cluster.Cluster(3).start()
        self.addCleanup(servers.destroy)
        leader = servers.leader()
        for priority in range(10, 18):
            made = shell_job("web", "exec sleep 1000", count=0)
            made["Priority"] = priority
            self.assertEqual(200, leader.request("PUT", "/v1/jobs", {"Job": made}).status)
            if priority == 10:
                answer = next(s for s in servers.servers if s is not leader).request(
                    "PUT", "/v1/job/web/versions/golden/tag", {"Latest": True})
                self.assertEqual(200, answer.status, answer)

        def is_there(server):
            versions = (server.try_get("/v1/job/web/versions?stale") or {}).get("Versions") or []
            return [v["Version"] for v in versions] == [7, 6, 5, 4, 3, 2, 0] and "VersionTag" in versions[-1]
        for server in servers.servers:
            wait_until(lambda s=server: is_there(s), what="the versions")
        servers.servers[0].kill9()
        servers.servers[0].start()
        wait_until(lambda: is_there(servers.servers[0]), what="the versions after a restart")


if __name__ == "__main__":
    harness.main()
