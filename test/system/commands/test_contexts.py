"""Contexts: clusters by names of the user's own, and which address, namespace and token a command has of them."""
import http.server
import json
import os
import stat
import subprocess
import tempfile
import threading
import unittest

import harness

SECRET = "11111111-2222-3333-4444-555555555555"
ANSWERS = {("GET", "/v1/acl/auth-methods"): [{"Name": "m", "Type": "JWT", "Default": True}],
           ("PUT", "/v1/acl/login"): {"AccessorID": "a", "SecretID": SECRET, "Name": "n", "Type": "client", "Policies": ["p"]},
           ("GET", "/v1/jobs"): []}


class Fake(http.server.BaseHTTPRequestHandler):
    """Remembers who asked for what, with which token."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.path, self.headers.get("X-Nomad-Token")))
        body = json.dumps(ANSWERS[self.command, self.path.split("?")[0]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = answer

    def log_message(self, *_):
        pass


def start_fake(case):
    fake = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
    fake.asked = []
    threading.Thread(target=fake.serve_forever, daemon=True).start()
    case.addCleanup(fake.server_close)
    case.addCleanup(fake.shutdown)
    return fake, f"http://127.0.0.1:{fake.server_port}"


class ContextsTest(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="nomadctl-test-")
        self.addCleanup(harness.clear, self.home)
        self.prod, self.prod_url = start_fake(self)
        self.other, self.other_url = start_fake(self)

    def run_command(self, *words, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOMAD", "XDG"))}
        kept.update({"HOME": self.home, **environment})
        return subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={name: value for name, value in kept.items() if value is not None}, timeout=60)

    def said(self, *words, **environment):
        done = self.run_command(*words, **environment)
        self.assertEqual((0, ""), (done.returncode, done.stderr), words)
        return done.stdout

    def refused(self, *words, **environment):
        done = self.run_command(*words, **environment)
        self.assertEqual((1, ""), (done.returncode, done.stdout), words)
        return done.stderr.replace(self.home, "~").splitlines()[0]

    def add_prod(self, *more):
        return self.said("context", "add", "prod", "-address", self.prod_url, "-namespace", "web", *more)

    def path(self, *parts):
        return os.path.join(self.home, ".config", "nomadctl", *parts)

    def test_the_first_one_is_used_until_another_one_is_chosen(self):
        self.assertEqual('Context "prod" is kept and used.\n', self.add_prod())
        self.assertEqual('Context "dev" is kept.\n', self.said("context", "add", "-address", self.other_url, "dev"))
        self.said("job", "status")
        self.assertEqual([("/v1/jobs?namespace=web", None)], [(path.replace("&meta=true", ""), token) for path, token in self.prod.asked])
        self.assertEqual('Context "dev" is used.\n', self.said("context", "use", "dev"))
        self.said("job", "status")
        self.assertEqual((1, 1), (len(self.prod.asked), len(self.other.asked)))
        self.said("job", "status", "-context", "prod")
        self.said("job", "status", NOMAD_CONTEXT="prod")
        self.assertEqual((3, 1), (len(self.prod.asked), len(self.other.asked)))
        self.assertEqual("No context is used.\n", self.said("context", "use", "-none"))
        self.assertEqual("No context is in use: `context use` chooses one", self.refused("context", "show"))

    def test_lists_and_shows(self):
        self.assertEqual("No contexts\n", self.said("context", "list"))
        self.add_prod("-tls-skip-verify")
        self.said("context", "add", "dev", "-address", self.other_url)
        self.assertEqual(["Name Address Namespace Used", f"dev {self.other_url} <none> -", f"prod {self.prod_url} web *"],
                         [" ".join(line.split()) for line in self.said("context", "list").splitlines()])
        self.assertEqual([("dev", False), ("prod", True)],
                         [(one["Name"], one["Current"]) for one in json.loads(self.said("context", "list", "-json"))])
        self.assertIn(f"Address         = {self.prod_url}\n", self.said("context", "show"))
        self.assertEqual('Context "prod" is gone.\n', self.said("context", "delete", "prod"))
        self.assertEqual('there is no context "prod": `context list` shows those there are', self.refused("context", "show", "prod"))
        self.assertEqual('there is no context "prod": `context list` shows those there are',
                         self.refused("job", "status", "-context=prod"))

    def test_flags_and_the_environment_win(self):
        self.add_prod()
        self.said("job", "status", "-namespace", "mine")
        self.said("job", "status", NOMAD_NAMESPACE="theirs")
        self.assertEqual(["namespace=mine", "namespace=theirs"],
                         [path.split("?")[1].replace("&meta=true", "") for path, _ in self.prod.asked])
        self.said("job", "status", NOMAD_ADDR=self.other_url)
        self.said("job", "status", "-address", self.other_url)
        self.assertEqual([False, False], ["namespace" in path for path, _ in self.other.asked])

    def test_a_login_is_kept_for_its_context_alone(self):
        self.add_prod()
        done = self.run_command("login", "-login-token", "x")
        self.assertEqual((0, 'Commands with the context "prod" have the token from now on.\n'), (done.returncode, done.stderr))
        self.assertEqual(0o600, stat.S_IMODE(os.stat(self.path("tokens", "prod")).st_mode))
        self.assertEqual(0o600, stat.S_IMODE(os.stat(self.path("contexts")).st_mode))
        self.said("job", "status")
        self.assertEqual(SECRET, self.prod.asked[-1][1])
        self.said("job", "status", NOMAD_TOKEN="own")
        self.assertEqual("own", self.prod.asked[-1][1])
        # To another address it does not go, also if the context is named.
        self.said("job", "status", "-context", "prod", NOMAD_ADDR=self.other_url)
        self.assertEqual(None, self.other.asked[-1][1])
        shown = self.said("context", "show")
        self.assertIn("of the last login", shown)
        self.assertNotIn(SECRET, shown)
        # A login elsewhere is not kept for it.
        os.remove(self.path("tokens", "prod"))
        self.run_command("login", "-login-token", "x", "-context", "prod", NOMAD_ADDR=self.other_url)
        self.assertFalse(os.path.exists(self.path("tokens", "prod")))

    def test_a_token_ends_with_its_context_and_its_address(self):
        for change in (("delete", "prod"), ("add", "prod", "-address", self.other_url)):
            self.add_prod()
            self.run_command("login", "-login-token", "x")
            self.assertTrue(os.path.exists(self.path("tokens", "prod")))
            self.said("context", *change)
            self.assertFalse(os.path.exists(self.path("tokens", "prod")))

    def test_what_is_wrong_is_told(self):
        self.add_prod()
        self.run_command("login", "-login-token", "x")
        os.chmod(self.path("tokens", "prod"), 0o644)
        self.assertEqual("~/.config/nomadctl/tokens/prod may be read by others: chmod 600 it, and log in again",
                         self.refused("job", "status"))
        with open(self.path("contexts"), "w") as f:
            f.write("{")
        self.assertTrue(self.refused("job", "status").startswith("~/.config/nomadctl/contexts: byte 1: "))
        self.assertEqual("neither XDG_CONFIG_HOME nor HOME says where contexts are kept",
                         self.refused("context", "list", HOME=None))
        self.assertEqual("-address is missing", self.refused("context", "add", "x"))
        self.assertEqual('invalid address "x": expected http://, https:// or unix://',
                         self.refused("context", "add", "x", "-address", "x"))
        self.assertEqual("This command takes one argument: <name>, or -none", self.refused("context", "use"))
        # Without a home there are no contexts, which is no mistake of a command that names none.
        self.said("job", "status", HOME=None, NOMAD_ADDR=self.prod_url)


if __name__ == "__main__":
    harness.main()
