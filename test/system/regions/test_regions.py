"""Two regions: what holds in all is written in the authoritative one, whoever is asked, and comes to the
other; what is a region's own stays there."""
import http.client
import json
import time
import unittest

import cluster
import harness
from harness import wait_until

READ_JOBS = 'namespace "*" { policy = "read" }'


def ask(agent, method, path, body=None, token=""):
    connection = http.client.HTTPConnection(agent.host, agent.http, timeout=20)
    try:
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"X-Nomad-Token": token} if token else {})
        answer = connection.getresponse()
        return harness.Reply(answer.status, answer.headers, answer.read().decode(errors="replace"))
    finally:
        connection.close()


class Regions(unittest.TestCase):
    """The authoritative region "eu", and "us"."""
    acl = True

    def setUp(self):
        self.enabled = "acl {\n  enabled = true\n%s\n}\n" if self.acl else "%s"
        self.eu_cluster = self.start("eu", self.enabled % "")
        self.eu = self.eu_cluster.leader()
        self.token = ""
        if self.acl:
            made = ask(self.eu, "PUT", "/v1/acl/bootstrap")
            self.assertEqual(200, made.status, made)
            self.token = made.json["SecretID"]
        self.us_cluster = self.start(
            "us", self.enabled % (f'  replication_token = "{self.token}"' if self.acl else ""),
            join=self.eu)
        self.us = self.us_cluster.leader()
        wait_until(lambda: self.us.try_get("/v1/regions") == ["eu", "us"], what="the regions")
        # Whoever asks before copying has begun waits for more than what he asks for.
        self.ask(self.eu, "PUT", "/v1/namespace/first", {"Name": "first"})
        self.comes("/v1/namespace/first")

    def start(self, region, blocks, join=None, authority="eu"):
        made = cluster.Cluster(1, extra=f'  authoritative_region = "{authority}"',
                               blocks=f'region = "{region}"\n{blocks}')
        if join:
            path = made.servers[0].config_path
            with open(path) as f:
                text = f.read()
            with open(path, "w") as f:
                f.write(text.replace("retry_join     = [", f'retry_join     = ["127.0.0.1:{join.rpc}", '))
        self.addCleanup(made.destroy)
        return made.start()

    def ask(self, agent, method, path, body=None, token=None, status=200):
        answer = ask(agent, method, path, body, self.token if token is None else token)
        self.assertEqual(status, answer.status, f"{method} {path}: {answer}")
        return answer

    def comes(self, path, token=None, agent=None):
        token = self.token if token is None else token
        wait_until(lambda: ask(agent or self.us, "GET", path, token=token).status == 200,
                   what=f"{path} in the other region")

    def goes(self, path, token=None):
        token = self.token if token is None else token
        wait_until(lambda: ask(self.us, "GET", path, token=token).status in (403, 404),
                   what=f"the end of {path} in the other region")


class WithAccess(Regions):
    def test_what_holds_in_all_comes_and_goes(self):
        made = {"/v1/acl/policy/readers": {"Name": "readers", "Rules": READ_JOBS},
                "/v1/namespace/shop": {"Name": "shop"},
                "/v1/node/pool/gpu": {"Name": "gpu"},
                "/v1/acl/auth-method/corp": {
                    "Name": "corp", "Type": "JWT", "TokenLocality": "global", "MaxTokenTTL": "1h",
                    "Config": {"JWKSURL": "http://127.0.0.1:9/keys"}}}
        for path, body in made.items():
            # One half is asked of the region that has to pass it on.
            self.ask(self.us if "pool" in path or "policy" in path else self.eu, "PUT", path, body)
            self.assertEqual(200, ask(self.eu, "GET", path, token=self.token).status, path)
            self.comes(path)
        role = self.ask(self.us, "PUT", "/v1/acl/role",
                        {"Name": "all", "Policies": [{"Name": "readers"}]}).json
        rule = self.ask(self.eu, "PUT", "/v1/acl/binding-rule",
                        {"AuthMethod": "corp", "BindType": "role", "BindName": "all"}).json
        made = {**made, f"/v1/acl/role/{role['ID']}": None, f"/v1/acl/binding-rule/{rule['ID']}": None}
        for path in made:
            self.comes(path)

        token = self.ask(self.us, "PUT", "/v1/acl/token", {
            "Name": "t", "Type": "client", "Global": True, "Roles": [{"ID": role["ID"]}]}).json
        self.assertEqual(200, ask(self.eu, "GET", "/v1/jobs", token=token["SecretID"]).status)
        self.comes("/v1/jobs", token["SecretID"])
        there = self.ask(self.us, "GET", f"/v1/acl/token/{token['AccessorID']}").json
        self.assertEqual(token["SecretID"], there["SecretID"])
        self.assertEqual((token["Hash"], True), (there["Hash"], there["Global"]))
        self.ask(self.us, "PUT", f"/v1/acl/token/{token['AccessorID']}",
                 {"AccessorID": token["AccessorID"], "Name": "renamed", "Type": "client", "Global": True,
                  "Policies": ["readers"]})
        wait_until(lambda: self.ask(self.us, "GET", f"/v1/acl/token/{token['AccessorID']}")
                   .json["Name"] == "renamed", what="the new name")

        self.ask(self.us, "DELETE", f"/v1/acl/token/{token['AccessorID']}")
        self.assertEqual(403, ask(self.eu, "GET", "/v1/jobs", token=token["SecretID"]).status)
        self.goes("/v1/jobs", token["SecretID"])
        for path in made:
            self.ask(self.us, "DELETE", path)
            self.goes(path)

    def test_whoever_is_asked_by_whatever_region(self):
        """What a region passes on to the authority comes there, though it names that region."""
        key = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9\n" \
              "q9UU8I5mEovUf86QZ7kOBIjJwqnzD1omageEHWwHdBO6B+dFabmdT9POxg==\n-----END PUBLIC KEY-----\n"
        self.ask(self.us, "PUT", "/v1/acl/auth-method/corp?region=us", {
            "Name": "corp", "Type": "JWT", "TokenLocality": "global", "MaxTokenTTL": "1h",
            "Config": {"JWTValidationPubKeys": [key]}})
        self.comes("/v1/acl/auth-method/corp")
        for agent in (self.us, self.eu):
            for region in ("us", "eu"):
                path = f"/v1/acl/token%s?region={region}&stale"
                made = self.ask(agent, "PUT", path % "", {"Name": "t", "Type": "management", "Global": True}).json
                named = "/" + made["AccessorID"]
                self.assertEqual(200, ask(self.eu, "GET", "/v1/acl/token/self", token=made["SecretID"]).status)
                self.comes("/v1/acl/token" + named)
                self.ask(agent, "PUT", path % named, {**made, "Name": "renamed"})
                self.ask(agent, "DELETE", path % named)
                self.assertEqual(403, ask(self.eu, "GET", "/v1/jobs", token=made["SecretID"]).status)
                answer = ask(agent, "PUT", f"/v1/acl/login?region={region}",
                             {"AuthMethodName": "corp", "LoginToken": "x.y.z"})
                self.assertEqual(401, answer.status, answer)

    def test_a_local_token_is_one_of_its_own_region(self):
        self.ask(self.eu, "PUT", "/v1/acl/policy/readers", {"Name": "readers", "Rules": READ_JOBS})
        self.comes("/v1/acl/policy/readers")
        local = self.ask(self.us, "PUT", "/v1/acl/token",
                         {"Name": "l", "Type": "client", "Policies": ["readers"]}).json
        secret = local["SecretID"]
        self.assertFalse(local["Global"])
        for agent in (self.eu, self.us):
            self.assertEqual(200, ask(agent, "GET", "/v1/jobs?region=us", token=secret).status)
            self.assertEqual(403, ask(agent, "GET", "/v1/jobs?region=eu", token=secret).status)
        self.ask(self.us, "DELETE", f"/v1/acl/token/{local['AccessorID']}")
        self.assertEqual(403, ask(self.us, "GET", "/v1/jobs", token=secret).status)
        # Bootstrap is the authoritative region's, which has had it.
        self.assertIn("ACL bootstrap already done", ask(self.us, "PUT", "/v1/acl/bootstrap").body)
        # Nobody writes what holds in all by rights of this region alone.
        manager = self.ask(self.us, "PUT", "/v1/acl/token", {"Name": "m", "Type": "management"}).json
        self.ask(self.us, "PUT", "/v1/acl/policy/own", {"Name": "own", "Rules": READ_JOBS},
                 token=manager["SecretID"], status=403)
        self.ask(self.us, "PUT", "/v1/namespace/own", {"Name": "own"}, token=manager["SecretID"],
                 status=403)

    def test_the_authority_goes_and_comes_back(self):
        self.ask(self.eu, "PUT", "/v1/acl/policy/before", {"Name": "before", "Rules": READ_JOBS})
        self.comes("/v1/acl/policy/before")
        self.eu.kill9()
        time.sleep(1)
        self.ask(self.us, "GET", "/v1/acl/policy/before")
        self.eu.start()
        self.eu_cluster.leader()
        wait_until(lambda: ask(self.eu, "DELETE", "/v1/acl/policy/before",
                               token=self.token).status == 200, what="the deletion")
        self.ask(self.eu, "PUT", "/v1/acl/policy/after", {"Name": "after", "Rules": READ_JOBS})
        self.goes("/v1/acl/policy/before")
        self.comes("/v1/acl/policy/after")
        gauges = {gauge["Name"]: gauge["Value"] for gauge in
                  self.ask(self.us, "GET", "/v1/metrics").json["Gauges"]
                  if gauge["Labels"].get("kind") == "acl_policies"}
        self.assertIn("nomad.nomad.replication.lag_seconds", gauges)

    def test_a_token_that_is_refused_is_said(self):
        other = self.start("asia", self.enabled % '  replication_token = "0"', join=self.eu)
        wait_until(lambda: "it refuses acl.replication_token" in other.servers[0].log(), timeout=30,
                   what="the refusal")
        self.assertEqual(403, ask(other.leader(), "GET", "/v1/acl/policies",
                                  token=self.token).status)


class WithoutAccess(Regions):
    acl = False

    def test_nothing_is_copied_from_a_region_that_copies(self):
        other = self.start("asia", "", join=self.eu, authority="us")
        wait_until(lambda: 'it answers: this region copies from region "eu"' in other.servers[0].log(),
                   what="the refusal")

    def test_namespaces_and_pools_come_and_go(self):
        self.ask(self.us, "PUT", "/v1/namespace", {"Name": "shop", "Description": "d"})
        self.ask(self.eu, "PUT", "/v1/node/pools", {"Name": "gpu"})
        for path in ("/v1/namespace/shop", "/v1/node/pool/gpu"):
            self.comes(path)
            self.ask(self.us, "DELETE", path)
            self.goes(path)


if __name__ == "__main__":
    harness.main()
