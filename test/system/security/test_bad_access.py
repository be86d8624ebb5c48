"""What access control is sent that it cannot take: huge policies and tokens, names that are none, three first tokens at
once. Each is told so, nothing is half done, and others go on."""
import base64
import http.client
import json
import threading
import unittest

import cluster
import harness
from guarded import GuardedAgent
from harness import wait_until

CONTROL = "a\u001b[2Jb"


def part(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


class BadAccessTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # So that the bounds of access control itself are met, too.
        cls.agent = GuardedAgent("limits {\n  text_max_kb = 4096\n}\n").start()
        cls.addClassCleanup(cls.agent.destroy)
        cls.agent.make_policy("good", 'namespace "default" { policy = "read" }')
        cls.agent.good("PUT", "/v1/acl/auth-method", {
            "Name": "ci", "Type": "JWT", "TokenLocality": "local", "MaxTokenTTL": int(600e9),
            "Config": {"JWKSURL": "http://127.0.0.1:1/keys"}})

    def kept(self):
        """All that access control has."""
        return {path: self.agent.get(path).body for path in (
            "/v1/acl/policies", "/v1/acl/tokens", "/v1/acl/roles", "/v1/acl/auth-methods", "/v1/acl/binding-rules",
            "/v1/namespaces")}

    def refused(self, status, says, method, path, body=None, headers=None):
        before = self.kept()
        answer = self.agent.request(method, path, body, headers=headers)
        self.assertEqual(status, answer.status, (path[:80], answer))
        self.assertIn(says, answer.body)
        self.assertLess(len(answer.body), 4096, "an answer does not send back what was sent")
        self.assertEqual(before, self.kept())

    def test_policies_without_end(self):
        def put(rules):
            return ("PUT", "/v1/acl/policy/big", {"Name": "big", "Rules": rules})
        rule = 'namespace "n%d" { policy = "read" }\n'
        self.refused(400, "more than 524288 are not allowed", *put("# comment\n" * 110_000))
        self.refused(400, "more than 524288 are not allowed", *put("".join(rule % n for n in range(100_000))))
        self.refused(400, "more than 10000 rules", *put("".join('node_pool "%d" {policy="read"}\n' % n for n in range(10_001))))
        self.refused(400, "failed to parse rules", *put('namespace "x" {' * 10_000))
        self.refused(400, "failed to parse rules", *put('{"a":' + "[" * 100_000))
        self.assertEqual(404, self.agent.get("/v1/acl/policy/big").status)

    def test_names_that_are_none(self):
        for path, body in (("/v1/acl/policy/a%1B%5B2Jb", {"Name": CONTROL, "Rules": 'node { policy = "read" }'}),
                           ("/v1/acl/role", {"Name": CONTROL, "Policies": [{"Name": "good"}]}),
                           ("/v1/acl/auth-method", {"Name": CONTROL, "Type": "JWT", "TokenLocality": "local",
                                                    "MaxTokenTTL": int(600e9)}),
                           ("/v1/namespace", {"Name": CONTROL})):
            self.refused(400, "nvalid name", "PUT", path, body)
        self.refused(400, "token name too long", "PUT", "/v1/acl/token",
                     {"Name": "x" * 1_000_000, "Type": "client", "Policies": ["good"]})
        self.assertNotIn("\033", self.agent.log())

    def test_a_name_of_a_token_does_not_write_to_the_terminal(self):
        made = self.agent.make_token(Name=CONTROL + "\nforged", Policies=["good"])
        self.addCleanup(self.agent.good, "DELETE", "/v1/acl/token/" + made["AccessorID"])
        for words in (("acl", "token", "list"), ("acl", "token", "info", made["AccessorID"])):
            shown = self.agent.run(*words, check=True).stdout
            self.assertNotIn("\033", shown)
            self.assertNotIn("\nforged", shown)
        for line in self.agent.log().splitlines():
            self.assertNotIn("\033", line)

    def test_tokens_of_a_megabyte(self):
        huge = "x" * 1_000_000
        for headers in ({"X-Nomad-Token": huge}, {"Authorization": f"Bearer {huge}"}):
            try:
                answer = self.agent.get("/v1/jobs", headers=headers)
                self.assertEqual(431, answer.status, answer)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it hung up before all was sent
        self.refused(403, "Permission denied", "PUT", "/v1/acl/token/onetime/exchange", {"OneTimeSecretID": huge})
        self.refused(400, "invalid acl token", "PUT", "/v1/acl/bootstrap", {"BootstrapSecret": huge})
        self.refused(500, "UUID must be 36 characters", "GET", "/v1/acl/token/" + "x" * 5000)  # as Nomad
        self.refused(401, "unable to validate provided token", "PUT", "/v1/acl/login",
                     {"AuthMethodName": "ci", "LoginToken": huge})

    def test_signed_tokens_with_huge_parts(self):
        claims = part('{"sub":"x"}')
        for token in (f"{part(json.dumps({'alg': 'RS256', 'kid': 'k' * 20_000}))}.{claims}.AAAA",
                      f"{part(json.dumps({'alg': 'RS256', 'x5c': ['A' * 700_000]}))}.{claims}.AAAA",
                      f"{part(json.dumps({'alg': 'RS256'}))}.{part(json.dumps({'sub': 'x' * 900_000}))}.AAAA",
                      f"{part('{' * 5000)}.{claims}.AAAA", "." * 900_000):
            self.refused(401, "unable to validate provided token", "PUT", "/v1/acl/login",
                         {"AuthMethodName": "ci", "LoginToken": token})


class FirstTokenTest(unittest.TestCase):
    def test_of_three_servers_that_are_asked_at_once_one_gives_it(self):
        servers = cluster.Cluster(3, blocks="acl {\n  enabled = true\n}\n").start()
        self.addCleanup(servers.destroy)
        wait_until(lambda: all(s.try_get("/v1/status/leader") for s in servers.servers), what="a leader")
        barrier, answers = threading.Barrier(6), []

        def ask(server):
            barrier.wait()
            answers.append(server.request("PUT", "/v1/acl/bootstrap", timeout=60))
        threads = [threading.Thread(target=ask, args=(s,)) for s in servers.servers * 2]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        made = [answer for answer in answers if answer.status == 200]
        self.assertEqual((6, 1), (len(answers), len(made)), answers)
        for answer in answers:
            if answer.status != 200:
                self.assertEqual(400, answer.status, answer)
                self.assertIn("ACL bootstrap already done", answer.body)
        headers = {"X-Nomad-Token": made[0].json["SecretID"]}
        for server in servers.servers:
            connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=30)
            connection.request("GET", "/v1/acl/tokens", headers=headers)
            answer = connection.getresponse()
            self.assertEqual((200, 1), (answer.status, len(json.loads(answer.read()))))
            connection.close()


if __name__ == "__main__":
    harness.main()
