"""One secret in each kind of object that can carry one. What is a secret to everybody is found nowhere: not in logs,
events, processes, debug bundles, metrics, the audit log, nor on the servers' disk and in snapshots; what a job
says openly is found in its job and what is made of it alone."""
import base64
import glob
import gzip
import http.client
import io
import json
import os
import resource
import signal
import stat
import subprocess
import tarfile
import tempfile
import time
import unittest
import uuid
import zlib

import cluster
import harness
from guarded import GuardedAgent
from harness import processes_of

CONFIG = """
{tls}
enable_debug = true
keyring "file" {{
  active = true
  path   = "{wrapping_key}"
}}
keyring "transit" {{
  active   = false
  address  = "http://127.0.0.1:1"
  token    = "{vault_token}"
  key_name = "nomad"
}}
acl {{
  replication_token = "{replication_token}"
}}
server {{
  encrypt = "{encrypt}"
}}
audit {{
  enabled = true
  sink "main" {{
    type               = "file"
    delivery_guarantee = "enforced"
    format             = "json"
    path               = "{audit}"
  }}
}}
telemetry {{
  prometheus_metrics         = true
  publish_allocation_metrics = true
  publish_node_metrics       = true
}}
"""


def opened(name, data):
    """The bytes, and whatever is packed in them, as often as they are."""
    yield name, data
    if data[:2] == b"\x1f\x8b":
        try:
            yield from opened(name + " (unpacked)", gzip.decompress(data))
        except (OSError, EOFError, zlib.error):
            return
    if data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if member.isfile():
                    yield from opened(f"{name}: {member.name}", archive.extractfile(member).read())


def files_below(folder, without=()):
    """Those of the folder, or itself if it is a file."""
    for path in [folder] if os.path.isfile(folder) else glob.glob(folder + "/**", recursive=True):
        if os.path.isfile(path) and not any(part in path for part in without):
            with open(path, "rb") as f:
                yield path, f.read()


class CanaryTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.pki = cluster.Pki()
        cls.addClassCleanup(cls.pki.destroy)
        cls.secrets = {name: base64.b64encode(os.urandom(32)).decode() for name in ("encrypt key", "gossip key", "wrapping key")}
        cls.secrets |= {name: str(uuid.uuid4()) for name in ("replication token", "Vault token")}
        cls.agent = GuardedAgent(log_level="TRACE")
        wrapping_key = cls.agent.dir + "/wrapping.key"
        with open(os.open(wrapping_key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(cls.secrets["wrapping key"] + "\n")
        with open(cls.agent.config_path, "a") as f:
            f.write(CONFIG.format(tls=cls.pki.config("server"), audit=cls.agent.dir + "/audit/audit.log",
                                  encrypt=cls.secrets["encrypt key"], wrapping_key=wrapping_key,
                                  vault_token=cls.secrets["Vault token"],
                                  replication_token=cls.secrets["replication token"]))
        with open(f"{cls.pki.dir}/global-server-nomad-key.pem") as f:
            cls.secrets["TLS key"] = f.read().splitlines()[1]
        cls.agent.start()
        cls.secrets["first token"] = cls.agent.token
        cls.addClassCleanup(cls.agent.destroy)

    def canary(self, name):
        """A new secret of that name: a word that nothing else makes."""
        return self.secrets.setdefault(name, f"canary-{name.replace(' ', '-')}-{uuid.uuid4().hex}")

    def ask(self, method, path, body=None, status=200, token=None):
        answer = self.agent.request(method, path, body, headers={"X-Nomad-Token": token or self.agent.token})
        self.assertEqual(status, answer.status, (method, path.split("?")[0], answer))
        return answer

    # -- what carries one --------------------------------------------------------------------------

    def put_access(self):
        self.agent.make_policy("p", 'namespace "default" { policy = "write" }')
        made = self.agent.make_token(Name="t", Policies=["p"])
        self.secrets["client token"] = token = made["SecretID"]
        one_time = self.ask("PUT", "/v1/acl/token/onetime", token=token).json["OneTimeToken"]["OneTimeSecretID"]
        self.secrets["one-time token"] = one_time
        used = self.ask("PUT", "/v1/acl/token/onetime", token=token).json["OneTimeToken"]["OneTimeSecretID"]
        self.secrets["used one-time token"] = used
        self.ask("PUT", "/v1/acl/token/onetime/exchange", {"OneTimeSecretID": used})
        self.ask("PUT", "/v1/acl/auth-method", {
            "Name": "sso", "Type": "OIDC", "TokenLocality": "local", "MaxTokenTTL": int(600e9),
            "Config": {"OIDCDiscoveryURL": "http://127.0.0.1:1", "OIDCClientID": "nomad",
                       "OIDCClientSecret": self.canary("OIDC client secret"),
                       "AllowedRedirectURIs": ["http://localhost:4649/oidc/callback"]}})
        self.ask("PUT", "/v1/acl/auth-method", {
            "Name": "ci", "Type": "JWT", "TokenLocality": "local", "MaxTokenTTL": int(600e9),
            "Config": {"JWKSURL": "http://127.0.0.1:1/keys"}})

    def make_mistakes(self):
        """Secrets where they do not belong, in requests that fail."""
        token = self.secrets["client token"]
        self.agent.get("/v1/jobs", headers={"X-Nomad-Token": self.canary("wrong token")})
        self.agent.get("/v1/jobs", headers={"Authorization": f"Bearer {self.canary('wrong bearer')}"})
        self.ask("PUT", "/v1/acl/auth-method/sso", '{"Name":"sso","Config":{"OIDCClientSecret":"%s"'
                 % self.canary("half a secret"), status=400)
        parts = [base64.urlsafe_b64encode(text.encode()).decode().rstrip("=") for text in (
            '{"alg":"RS256"}', json.dumps({"sub": self.canary("claim")}), "0" * 256)]
        self.secrets["login token"] = ".".join(parts)
        answer = self.agent.put("/v1/acl/login", {"AuthMethodName": "ci", "LoginToken": self.secrets["login token"]})
        self.assertGreaterEqual(answer.status, 400)
        self.agent.put("/v1/acl/oidc/complete-auth", {
            "AuthMethodName": "sso", "ClientNonce": self.canary("nonce"), "Code": self.canary("code"),
            "State": self.canary("state"), "RedirectURI": "http://localhost:4649/oidc/callback"})
        self.secrets["bootstrap secret"] = str(uuid.uuid4())
        answer = self.agent.put("/v1/acl/bootstrap", {"BootstrapSecret": self.secrets["bootstrap secret"]})
        self.assertGreaterEqual(answer.status, 400)
        self.assertGreaterEqual(self.agent.put("/v1/agent/keyring/use", {"Key": self.canary("no gossip key")}).status, 400)
        self.assertGreaterEqual(self.ask_for_lock("renew", self.canary("no lock"), 409).status, 400)
        self.ask("PUT", "/v1/var/broken", '{"Items":{"k":"%s"' % self.canary("half a variable"), status=400)
        self.ask("PUT", "/v1/var/app/db?cas=7", {"Items": {"password": self.canary("variable in conflict")}}, status=409)
        # For an accessor.
        self.agent.get(f"/v1/acl/token/{token}")
        self.agent.request("DELETE", f"/v1/acl/token/{token}")
        self.agent.get("/v1/acl/token/" + token, headers={"X-Nomad-Token": token})
        # For any other id, in paths and queries that may exist or not.
        newest = self.ask("PUT", "/v1/acl/token/onetime", token=token).json["OneTimeToken"]["OneTimeSecretID"]
        self.secrets["newest one-time token"] = newest
        for secret in (token, newest):
            for path in ("acl/token/onetime/", "acl/token/onetime/exchange/", "acl/policy/", "job/", "node/", "var/", "nothing/",
                         "allocation/", "client/fs/ls/", "client/allocation/", "search?prefix=", "jobs?prefix=", "jobs?namespace="):
                self.agent.request("DELETE", f"/v1/{path}{secret}", headers={"X-Nomad-Token": self.secrets["wrong token"]})
                self.agent.get(f"/v1/{path}{secret}")
        # By command: in words of the command line, and by the environment.
        self.agent.run("acl", "token", "self", f"-token={token}")
        self.agent.run("var", "get", "-namespace=none", "app/db", token=token)

    def put_variable(self):
        self.ask("PUT", "/v1/var/app/db", {"Items": {"password": self.canary("variable")}})
        self.ask("PUT", "/v1/var/nomad/jobs/open", {"Items": {"password": self.canary("variable of a job")}})

    def ask_for_lock(self, operation, lock_id, status=200):
        return self.ask("PUT", f"/v1/var/app/locked?lock-{operation}", {"Lock": {"ID": lock_id}}, status=status)

    def put_keys(self):
        """What others than a server's own disk give: a gossip key by the API, and a lock."""
        self.ask("PUT", "/v1/agent/keyring/install", {"Key": self.secrets["gossip key"]})
        self.lock_id = self.ask("PUT", "/v1/var/app/locked?lock-acquire", {"Lock": {"TTL": "600s"}}).json["Lock"]["ID"]
        self.ask_for_lock("renew", self.lock_id)

    def run_job(self):
        """What a job says openly, and what its task is given."""
        self.open = {name: f"open-{name.replace(' ', '-')}-{uuid.uuid4().hex}" for name in (
            "env", "meta", "template", "artifact header", "artifact option", "docker password")}
        made = harness.shell_job("open", "exec sleep 600")
        made["Meta"] = {"vault": self.open["meta"]}
        task = made["TaskGroups"][0]["Tasks"][0]
        task["Env"] = {"PASSWORD": self.open["env"]}
        task["Identity"] = {"Env": True, "File": True}
        task["Templates"] = [{"DestPath": "secrets/env", "Envvars": True,
                              "EmbeddedTmpl": "OPEN=%s\nDB={{with nomadVar \"nomad/jobs/open\"}}{{.password}}{{end}}\n"
                                              % self.open["template"]}]
        self.agent.register(made)
        alloc = self.agent.wait_for_allocs("open", "running")[0]["ID"]
        with open(f"{self.agent.data_dir}/alloc/{alloc}/task/secrets/nomad_token") as f:
            self.secrets["identity"] = f.read()
        self.agent.get(f"/v1/job/{self.secrets['identity']}/plan")
        fetched = harness.shell_job("fetched", "true", kind="batch")
        task = fetched["TaskGroups"][0]["Tasks"][0]
        task["Artifacts"] = [{"GetterSource": "http://127.0.0.1:1/x",
                              "GetterHeaders": {"Authorization": self.open["artifact header"]},
                              "GetterOptions": {"checksum": "md5:" + self.open["artifact option"]}}]
        self.agent.put("/v1/jobs", {"Job": fetched})
        docked = harness.job("docked", "docker", {"image": "x", "auth": [{
            "username": "u", "password": self.open["docker password"]}]}, kind="batch")
        self.assertEqual(200, self.agent.put("/v1/jobs", {"Job": docked}).status)

    # -- where it is looked for --------------------------------------------------------------------

    def events(self):
        """All that the stream has."""
        connection = http.client.HTTPConnection("127.0.0.1", self.agent.port, timeout=3)
        connection.request("GET", "/v1/event/stream?topic=*&index=1&namespace=*", headers={"X-Nomad-Token": self.agent.token})
        answer, got = connection.getresponse(), b""
        end = time.monotonic() + 2
        try:
            while time.monotonic() < end:
                got += answer.read1()
        except TimeoutError:
            pass
        connection.close()
        self.assertIn(b'"Topic":"ACLAuthMethod"', got)
        return got

    def answers(self):
        for path in ("/v1/metrics", "/v1/metrics?format=prometheus", "/v1/agent/self", "/v1/agent/members",
                     "/v1/operator/actors", "/v1/agent/host", "/v1/acl/auth-methods", "/v1/acl/auth-method/sso",
                     "/v1/acl/tokens", "/v1/vars?namespace=*", "/v1/nodes?resources=true", "/v1/operator/keyring/keys"):
            yield path, self.agent.get(path).body.encode()
        yield "events", self.events()

    def processes(self):
        """The agent by its words and its environment, all others by their words."""
        for pid in processes_of(self.agent.dir):
            for name in ("cmdline", "environ") if pid == self.agent.process.pid else ("cmdline",):
                with open(f"/proc/{pid}/{name}", "rb") as f:
                    yield f"/proc/{pid}/{name}", f.read()

    def bundle(self):
        folder = os.path.join(self.agent.dir, "debug")
        os.makedirs(folder)
        self.agent.run("operator", "debug", "-duration=2s", "-interval=1s", "-log-level=TRACE", f"-output={folder}",
                       check=True, timeout=120)
        found = list(files_below(folder))
        self.assertGreater(len(found), 5)
        return found

    def snapshot(self):
        path = os.path.join(self.agent.dir, "saved.snap")
        self.agent.run("operator", "snapshot", "save", path, check=True)
        with open(path, "rb") as f:
            return path, f.read()

    def found(self, places, secrets):
        return sorted({(name, where) for place, data in places for where, part in opened(place, data)
                       for name, secret in secrets.items() if secret.encode() in part})

    def test_it_is_found_nowhere(self):
        self.put_access()
        self.put_variable()
        self.put_keys()
        self.run_job()
        self.make_mistakes()
        told = [*self.answers(), *self.processes(), *self.bundle()]
        told += [(path, data) for path, data in files_below(self.agent.dir + "/audit")]
        told.append(("the agent's log", self.agent.log().encode()))
        self.assertEqual([], self.found(told, self.secrets))
        for place, word in (("the agent's log", "/v1/acl/login"), ("audit.log", "/v1/acl/login"), ("events", '"open"'),
                            ("/cmdline", "agent.hcl"), ("/debug/", "raw_exec"), ("/v1/metrics", "open"),
                            ("/v1/agent/self", '"config"')):
            looked = [(where, data) for where, data in told if place in where]
            self.assertTrue(self.found(looked, {word: word}), f"{place} shows {word}, if it is looked for rightly")

        # A lock's id is part of its variable's row, and shown to those who manage; nobody else sees it.
        self.assertEqual([], self.found([(place, data) for place, data in told if place != "/v1/vars?namespace=*"],
                                        {"lock": self.lock_id}))

        # What stays on a server's disk; its configuration and the keys, which are there to be read, apart. A task's
        # folder is what it is given.
        kept = [*files_below(self.agent.data_dir, without=("/keystore/", "/serf.keyring", "/alloc/")), self.snapshot()]
        keyring = self.agent.data_dir + "/server/serf.keyring"
        self.assertTrue(self.found([next(files_below(keyring))], {"gossip key": self.secrets["gossip key"]}))
        self.assertEqual(0o600, stat.S_IMODE(os.stat(keyring).st_mode))
        self.assertTrue(self.found(kept, {"env": self.open["env"]}), "what is open is there, if it is looked for rightly")
        self.assertEqual([], self.found(kept, self.secrets))

        # What a job says openly is with those who read the job, and nowhere else.
        told = [(place, data) for place, data in told if place != "events"]
        self.assertEqual([], self.found(told, self.open))

    def test_that_an_agent_dies_leaves_no_memory_behind(self):
        limit = resource.getrlimit(resource.RLIMIT_CORE)
        if 0 <= limit[1] < 1 << 20:
            self.skipTest("needs a limit of core files that can be raised")
        agent = GuardedAgent(log_level="TRACE")
        self.addCleanup(agent.destroy)
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, limit[1]))
        try:
            with tempfile.TemporaryDirectory() as place:
                other = subprocess.Popen(["sh", "-c", "kill -SEGV $$"], cwd=place)
                if self.end_of(other) != os.CLD_DUMPED:
                    self.skipTest("this machine makes no core files")
            agent.start()
        finally:
            resource.setrlimit(resource.RLIMIT_CORE, limit)
        agent.process.send_signal(signal.SIGSEGV)
        self.assertEqual(os.CLD_KILLED, self.end_of(agent.process), "it leaves no core file")
        self.assertEqual(-signal.SIGSEGV, agent.process.returncode)
        self.assertNotIn(agent.token, agent.log())

    @staticmethod
    def end_of(process):
        """How it ended: CLD_DUMPED with a core file, CLD_KILLED without."""
        how = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT).si_code
        process.wait(30)
        return how


if __name__ == "__main__":
    harness.main()
