"""A task's identities, one for Nomad (Ed25519) and one for others (RS256), over kill -9 of its agent, of the leader and of all
servers, at each step of their renewal: their files always hold ones that are whole, its own, signed by a published key, and
that have not ended for longer than the grace."""
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import cluster
import harness
from harness import needs_failpoints, shell_job, wait_until
from tasks.tokens import header_of, key_of, unpadded, verify_rs256

SECOND = 10 ** 9
TTL = 10
AUDIENCES = {"short": "nomadproject.io", "others": "vault.example"}
ALGORITHMS = {"short": "EdDSA", "others": "RS256"}
# A renewal is due after 0.6 of its life at the latest, so whoever is away for less than the rest takes nothing from the task.
# Here agents and servers are away for some seconds, are asked again within four, and the machine is busy.
GRACE = 15
ED25519_KEY = bytes.fromhex("302a300506032b6570032100")  # What stands before a public key's 32 bytes (RFC 8410).


def is_signed_by(key, token):
    """By the key's one algorithm; that of Ed25519 is OpenSSL's word."""
    if key["alg"] == "RS256":
        return verify_rs256(key, token)
    text, signature = token.rsplit(".", 1)
    with tempfile.TemporaryDirectory() as folder:
        def file(name, content):
            path = os.path.join(folder, name)
            with open(path, "wb") as f:
                f.write(content)
            return path
        done = subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", file("key", ED25519_KEY + unpadded(key["x"])),
             "-rawin", "-in", file("text", text.encode()), "-sigfile", file("signature", unpadded(signature))], capture_output=True, check=False)
    return done.returncode == 0


class Watched:
    """Reads a file again and again, until it is closed."""

    def __init__(self, path):
        self.path, self.seen, self.broken, self.longest_over = path, {}, [], 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.over.wait(0.02):
            with open(self.path) as f:
                token = f.read()
            try:
                claims = json.loads(unpadded(token.split(".")[1]))
                self.seen[token] = claims
                self.longest_over = max(self.longest_over, time.time() - claims["exp"])
            except (IndexError, KeyError, ValueError):
                self.broken.append(token)

    def newest(self):
        return max((claims["iat"] for claims in self.seen.values()), default=0)

    def close(self):
        self.over.set()
        self.thread.join()


class Killed(unittest.TestCase):
    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl")
    @needs_failpoints
    def test_a_task_always_has_one_that_counts(self):
        self.cluster = cluster.Cluster(3)
        self.addCleanup(self.cluster.destroy)
        self.orders = harness.Orders(self.cluster.root)
        os.environ["NOMAD_FAILPOINTS"] = "@" + self.orders.path
        self.addCleanup(os.environ.pop, "NOMAD_FAILPOINTS")
        self.cluster.start().leader()
        client = self.cluster.add_client()
        wait_until(lambda: self.cluster.nodes() == {"c0"}, what="the node")
        alloc = self.register()
        secrets = os.path.join(client.dir, "data/alloc", alloc, "task/secrets")
        files = {name: Watched(os.path.join(secrets, f"nomad_{name}.jwt")) for name in AUDIENCES}
        for each in files.values():
            self.addCleanup(each.close)
        watched = files["short"]

        for step in ("client.identities_asked", "client.identities_signed", "client.before_identities", "client.identities_written",
                     "client.identities_noted"):
            self.dies_at(step, [client], watched)
        self.dies_at("server.identities_signed", self.cluster.servers, watched)
        self.rotate_and_die(watched)
        self.all_die_before_renewal(watched)

        for name, each in files.items():
            each.close()
            self.judge(name, each, alloc)
        state = self.cluster.allocs("shows")[0]["TaskStates"]["task"]
        self.assertEqual(("running", 0), (state["State"], state["Restarts"]))

    def register(self):
        made = shell_job("shows", "exec sleep 100000")
        made["TaskGroups"][0]["Tasks"][0]["Identities"] = [
            {"Name": name, "Audience": [audience], "File": True, "TTL": TTL * SECOND} for name, audience in AUDIENCES.items()]

        def taken():
            return self.cluster.leader().request("PUT", "/v1/jobs", {"Job": made}).status == 200
        wait_until(taken, what="the job")
        return wait_until(lambda: self.cluster.allocs("shows", "running"), what="the task")[0]["ID"]

    def dies_at(self, step, members, watched):
        """The next renewal ends one of them there; it comes back, and there is another renewal."""
        self.orders.say(f"{step}=kill")
        dead = wait_until(lambda: [one for one in members if not one.is_running()], what=f"the end at {step}")
        self.orders.say("")
        self.come_back(dead, watched)

    def rotate_and_die(self, watched):
        leader = self.cluster.leader()
        self.assertEqual(0, leader.run("operator", "root", "keyring", "rotate").returncode)
        leader.kill9()
        self.come_back([leader], watched)

    def all_die_before_renewal(self, watched):
        wait_until(lambda: time.time() - watched.newest() > 0.45 * TTL, what="the time just before a renewal")
        for server in self.cluster.servers:
            server.kill9()
        time.sleep(2)
        self.come_back(self.cluster.servers, watched)

    def come_back(self, dead, watched):
        since = time.time()
        for one in dead:
            one.start()
        wait_until(lambda: watched.newest() > since, what="a renewal after that")

    def judge(self, name, watched, alloc):
        self.assertEqual([], watched.broken)
        self.assertLess(watched.longest_over, GRACE)
        keys = wait_until(lambda: self.cluster.leader().try_get("/.well-known/jwks.json"), what="the published keys")["keys"]
        for token, claims in watched.seen.items():
            self.assertEqual((alloc, "task", f"global:default:shows:group:task:{name}"),
                             (claims["nomad_allocation_id"], claims["nomad_task"], claims["sub"]))
            self.assertEqual(ALGORITHMS[name], header_of(token)["alg"])
            self.assertTrue(is_signed_by(key_of(keys, token), token), claims)
        newest = max(watched.seen, key=lambda token: watched.seen[token]["iat"])
        self.assertFalse(is_signed_by(key_of(keys, newest), newest[:-8] + "AAAAAAAA"))
        self.assertGreater(len({header_of(token)["kid"] for token in watched.seen}), 1, "the rotation")


if __name__ == "__main__":
    harness.main()
