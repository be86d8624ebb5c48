"""Identities of tasks as others verify them, by the published keys alone: PyJWT, Go's go-jose and OpenSSL, and one
that keeps key sets while the keys rotate. What is not installed is skipped, and says so; `./dev nightly` downloads it."""
import base64
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness
from cluster import Cluster
from harness import Agent, wait_until
from plugins.go_modules import excuse, go_program, probe
from tasks.test_identities import SECOND, claims_of, identified
from tasks.tokens import header_of, key_of, unpadded, verify_rs256

# Whether there is time for more, and downloads are wanted.
IS_NIGHT = os.environ.get("NOMADCTL_NIGHTLY") == "1"
PYTHON_PACKAGES = ("PyJWT==2.9.0", "cryptography==43.0.3")
# Seconds that a token may have ended for while agents and servers are away and the machine is busy.
GRACE = 15
ISSUER = "https://nomad.example"
AUDIENCE = "vault.example"


def changed(token):
    """Another claim under the same signature."""
    header, claims, signature = token.split(".")
    other = json.dumps(dict(json.loads(unpadded(claims)), nomad_job_id="other")).encode()
    return ".".join((header, base64.urlsafe_b64encode(other).decode().rstrip("="), signature))


class Beside:
    """Takes a step again and again beside what is in its `with`, which raises at its end what a step has raised."""

    def __init__(self, step, pause):
        self.step, self.pause, self.problem = step, pause, None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            while not self.over.wait(self.pause):
                self.step()
        except Exception as problem:
            self.problem = problem

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if self.problem:
            raise self.problem


class BesideTest(unittest.TestCase):
    def test_what_fails_beside_is_raised(self):
        failed = threading.Event()

        def step():
            failed.set()
            raise ValueError("a step")
        with self.assertRaisesRegex(ValueError, "a step"), Beside(step, 0):
            self.assertTrue(failed.wait(30))


class Verifiers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(f'server {{\n  oidc_issuer = "{ISSUER}"\n}}\n').start()
        cls.addClassCleanup(cls.agent.destroy)
        cls.dir = tempfile.mkdtemp(prefix="nomadctl-verifiers-")
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.agent.register(identified("shown", "exec sleep 1000", {
            "Name": "vault", "Audience": [AUDIENCE], "File": True, "TTL": 3600 * SECOND}, default={"File": True}))
        alloc = cls.agent.wait_for_allocs("shown", "running")[0]["ID"]
        secrets = os.path.join(cls.agent.data_dir, "alloc", alloc, "task/secrets")
        cls.vault = open(secrets + "/nomad_vault.jwt").read()
        cls.own = open(secrets + "/nomad_token").read()
        cls.keys = cls.agent.get("/.well-known/jwks.json").json["keys"]

    def file(self, name, content):
        path = os.path.join(self.dir, name)
        with open(path, "w" if isinstance(content, str) else "wb") as f:
            f.write(content)
        return path

    def test_each_identity_is_signed_as_whom_it_is_for_needs_it(self):
        self.assertEqual(("RS256", "EdDSA"), (header_of(self.vault)["alg"], header_of(self.own)["alg"]))
        for token in (self.vault, self.own):
            self.assertEqual(header_of(token)["alg"], key_of(self.keys, token)["alg"])
        self.assertTrue(verify_rs256(key_of(self.keys, self.vault), self.vault))
        self.assertFalse(verify_rs256(key_of(self.keys, self.vault), changed(self.vault)))
        found = self.agent.get("/.well-known/openid-configuration").json
        self.assertEqual((ISSUER, ["RS256", "EdDSA"]), (found["issuer"], found["id_token_signing_alg_values_supported"]))
        self.assertEqual(ISSUER, claims_of(self.vault)["iss"])

    def test_the_issuers_name_is_known_to_an_agent_on_loopback(self):
        host = ISSUER.split("/")[2]
        for name, status in ((host, 200), ("evil.example", 403)):
            for page in ("jwks.json", "openid-configuration"):
                answer = self.agent.request("GET", f"/.well-known/{page}", headers={"Host": name})
                self.assertEqual(status, answer.status, (name, page))

    def path_of_pyjwt(self):
        """The PYTHONPATH where it is: "" if it is installed."""
        if subprocess.run([sys.executable, "-c", "import cryptography; from jwt import PyJWKClient"],
                          capture_output=True, timeout=60, env=dict(os.environ, PYTHONPATH="")).returncode == 0:
            return ""
        if not IS_NIGHT:
            self.skipTest("PyJWT with cryptography is not installed; NOMADCTL_NIGHTLY=1 downloads it")
        place = os.path.join(self.dir, "python")
        made = self.run_within(300, [sys.executable, "-m", "pip", "install", "--quiet", "--target", place, *PYTHON_PACKAGES])
        if made.returncode != 0:
            self.skipTest(f"{' '.join(PYTHON_PACKAGES)} can't be installed: {made.stderr[-300:]}")
        return place

    def run_within(self, seconds, words, **how):
        """The outcome of a download or build; a skip if it takes longer."""
        try:
            return subprocess.run(words, capture_output=True, text=True, timeout=seconds, **how)
        except subprocess.TimeoutExpired:
            self.skipTest(f"{words[:4]} took longer than {seconds} s")

    def test_pyjwt(self):
        path = self.path_of_pyjwt()
        asked = subprocess.run([sys.executable, "-c", """
import sys, jwt
client = jwt.PyJWKClient(sys.argv[1])
for token, algorithm, audience in zip(sys.argv[2::3], sys.argv[3::3], sys.argv[4::3]):
    try:
        key = client.get_signing_key_from_jwt(token).key
        claims = jwt.decode(token, key, algorithms=[algorithm], audience=audience or None,
                            options={"require": ["iat", "nbf"], "verify_aud": bool(audience)})
        print("fine", claims["nomad_job_id"])
    except jwt.PyJWTError as problem:
        print(type(problem).__name__)
""", f"http://127.0.0.1:{self.agent.port}/.well-known/jwks.json",
                               self.vault, "RS256", AUDIENCE, self.own, "EdDSA", "", self.vault, "RS256", "other.example",
                               changed(self.vault), "RS256", AUDIENCE, self.vault, "HS256", AUDIENCE],
                               capture_output=True, text=True, timeout=60, env=dict(os.environ, PYTHONPATH=path))
        self.assertEqual("", asked.stderr)
        self.assertEqual(["fine shown", "fine shown", "InvalidAudienceError", "InvalidSignatureError", "InvalidAlgorithmError"],
                         asked.stdout.splitlines())

    def test_go_jose(self):
        verifier = self.go_verifier()
        keys = self.file("set.json", json.dumps({"keys": self.keys}))

        def asked(token, audience):
            answer = subprocess.run([verifier, keys, token, audience], capture_output=True, text=True, timeout=30)
            return answer.returncode, answer.stdout.strip()
        self.assertEqual((0, "global:default:shown:group:task:vault"), asked(self.vault, AUDIENCE))
        self.assertEqual((0, ""), asked(self.own, ""))
        self.assertEqual(1, asked(self.vault, "other.example")[0])
        self.assertEqual(1, asked(changed(self.vault), AUDIENCE)[0])
        self.assertEqual(1, asked(changed(self.own), "")[0])

    def go_verifier(self):
        """Its program, of modules that are there; at night they are fetched."""
        go = go_program()
        if not go:
            self.skipTest("there is no Go (golang-go)")
        source = shutil.copytree(os.path.join(os.path.dirname(os.path.abspath(__file__)), "go_jose"), os.path.join(self.dir, "go"))
        verifier = os.path.join(self.dir, "verifier")
        env = dict(os.environ, GOTOOLCHAIN="local", GOWORK="off", CGO_ENABLED="0")
        if not IS_NIGHT:
            env["GOPROXY"] = "off"
        made = self.run_within(400, ["nice", "-n", "5", go, "build", "-o", verifier, "."], cwd=source, env=env)
        if made.returncode == 0:
            return verifier
        if not IS_NIGHT and "module lookup disabled by GOPROXY=off" in made.stderr:
            self.skipTest("go-jose is not among the modules here; NOMADCTL_NIGHTLY=1 fetches it")
        version = self.run_within(60, [go, "env", "GOVERSION"], cwd="/", env=env).stdout.strip()
        with open(os.path.join(source, "go.mod")) as f:
            wanted = re.search(r"^go (\S+)", f.read(), re.M).group(1)
        if why := excuse(made.stderr, wanted, version, lambda: probe(go, env) if IS_NIGHT else None):
            self.skipTest(why)
        self.fail(made.stderr[-3000:])

    def test_openssl(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl")

        def openssl(*words):
            return subprocess.run(["openssl", *words], capture_output=True, text=True, timeout=30)
        rsa = key_of(self.keys, self.vault)
        numbers = {name: unpadded(rsa[name]).hex() for name in ("n", "e")}
        made = self.file("rsa.conf", "asn1=SEQUENCE:key\n[key]\nalgorithm=SEQUENCE:kind\nbits=BITWRAP,SEQUENCE:numbers\n"
                         f"[kind]\nid=OID:rsaEncryption\nnone=NULL\n[numbers]\nn=INTEGER:0x{numbers['n']}\ne=INTEGER:0x{numbers['e']}\n")
        der = os.path.join(self.dir, "rsa.der")
        self.assertEqual(0, openssl("asn1parse", "-genconf", made, "-noout", "-out", der).returncode)
        self.assertIn("(2048 bit)", openssl("pkey", "-pubin", "-inform", "DER", "-in", der, "-noout", "-text").stdout)
        pem = os.path.join(self.dir, "rsa.pem")
        openssl("pkey", "-pubin", "-inform", "DER", "-in", der, "-out", pem)
        ed25519 = self.file("ed25519.der", bytes.fromhex("302a300506032b6570032100") + unpadded(key_of(self.keys, self.own)["x"]))
        for token, fine in ((self.vault, True), (changed(self.vault), False), (self.own, True), (changed(self.own), False)):
            signed, _, signature = token.rpartition(".")
            data, proof = self.file("signed", signed), self.file("signature", unpadded(signature))
            if header_of(token)["alg"] == "RS256":
                answer = openssl("dgst", "-sha256", "-verify", pem, "-signature", proof, data)
            else:
                answer = openssl("pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", ed25519, "-rawin", "-in", data, "-sigfile", proof)
            self.assertEqual(fine, answer.returncode == 0, answer.stdout + answer.stderr)


class Rotated(unittest.TestCase):
    """A verifier that keeps each key set for half of the time that the next key is known before it signs."""
    ROTATIONS = 20 if IS_NIGHT else 5
    KNOWN_BEFORE = 2.0

    def setUp(self):
        self.agent = Agent().start()
        self.addCleanup(self.agent.destroy)
        self.keys, self.read_at = [], 0.0
        self.seen, self.refused, self.signers = set(), [], set()

    def kept(self):
        if time.monotonic() > self.read_at + self.KNOWN_BEFORE / 2:
            self.read_at = time.monotonic()  # As old as the question.
            self.keys = self.agent.get("/.well-known/jwks.json").json["keys"]
        return self.keys

    def judge(self, token):
        if token in self.seen:
            return
        key = key_of(self.kept(), token)
        if key is None or not verify_rs256(key, token):
            self.refused.append((header_of(token), [key["kid"] for key in self.keys]))
        self.seen.add(token)
        self.signers.add(header_of(token)["kid"])

    def look(self):
        for path in glob.glob(os.path.join(self.agent.data_dir, "alloc/*/task/secrets/nomad_db*.jwt")):
            with open(path) as f:
                self.judge(f.read())

    def active(self):
        return next(key["KeyID"] for key in self.agent.get("/v1/operator/keyring/keys").json if key["State"] == "active")

    def test_nothing_is_refused_while_keys_rotate(self):
        self.agent.register(identified("named", "exec sleep 1000", *(
            {"Name": f"db{i}", "Audience": ["db.example"], "File": True, "TTL": 3 * SECOND} for i in range(8))))
        self.agent.wait_for_allocs("named", "running")
        with Beside(self.look, 0.05):
            for _ in range(self.ROTATIONS):
                before = self.active()
                done = self.agent.run("operator", "root", "keyring", "rotate", "-prepublish", f"{self.KNOWN_BEFORE}s")
                self.assertEqual(0, done.returncode, done.stderr)
                wait_until(lambda known=before: self.active() != known, what="the next key")
            last = self.active()
            wait_until(lambda: any(kid.startswith(last) for kid in self.signers), what="a token of the last key")
        self.assertEqual([], self.refused)
        self.assertGreater(len(self.signers), self.ROTATIONS / 2, "keys that have signed anything")
        self.assertGreater(len(self.seen), 5 * self.ROTATIONS)


class Killed(unittest.TestCase):
    """Whoever leads signs by the same keys, and every server publishes them."""

    def setUp(self):
        self.cluster = Cluster(3).start()
        self.addCleanup(self.cluster.destroy)

    def keys(self, server):
        found = server.try_get("/.well-known/jwks.json?stale")
        return found and found["keys"]

    def test_a_token_of_the_next_leader_verifies_by_keys_of_the_last(self):
        leader = self.cluster.leader()
        self.cluster.add_client()
        wait_until(lambda: self.cluster.nodes(), what="the node")
        leader.request("PUT", "/v1/jobs", {"Job": identified(
            "named", "exec sleep 1000",
            {"Name": "db", "Audience": ["db.example"], "File": True, "TTL": 20 * SECOND},
            {"Name": "vault", "Audience": ["vault.example"], "File": True})})
        alloc = wait_until(lambda: self.cluster.allocs("named", "running"), timeout=60, what="the task")[0]["ID"]
        secrets = os.path.join(self.cluster.clients[0].dir, "data/alloc", alloc, "task/secrets")

        def token(name):
            with open(f"{secrets}/nomad_{name}.jwt") as f:
                return f.read()
        keys = wait_until(lambda: self.keys(leader), what="the keys")
        for server in self.cluster.servers:
            wait_until(lambda s=server: self.keys(s) == keys, what=f"the same keys at {server.name}")
        first, lasting = token("db"), token("vault")
        leader.kill9()
        self.cluster.leader()

        def is_renewed():
            self.assertGreater(claims_of(token("db"))["exp"] + GRACE, time.time(), "one that has ended")
            return token("db") != first
        wait_until(is_renewed, timeout=60, what="a renewal by the next leader")
        for each in (first, token("db"), lasting):
            self.assertTrue(verify_rs256(key_of(keys, each), each))
        self.cluster.clients[0].kill9()
        last = token("db")
        self.cluster.clients[0].start()
        wait_until(lambda: token("db") != last, what="a renewal by the next agent")
        self.assertGreater(claims_of(token("db"))["iat"], claims_of(last)["iat"])
        self.assertTrue(verify_rs256(key_of(keys, token("db")), token("db")))
        self.assertEqual(lasting, token("vault"))


if __name__ == "__main__":
    harness.main()
