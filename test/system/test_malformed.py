"""Requests that are wrong in every way that we could think of, to every route: an answer of 4xx with a
clean text, and an agent that goes on. The routes, their parameters and the fields of their bodies are
read from the sources, so new ones are asked as well. NOMAD_TEST_SEED replays a run."""
import glob
import http.client
import json
import os
import random
import re
import socket
import unicodedata
import unittest
from urllib.parse import quote

import cluster
import harness
from harness import AgentTest, ROOT, job

SEED = int(os.environ.get("NOMAD_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
PER_METHOD = 32

# What is no mistake of the caller: docs/HTTP.md.
ALLOWED = {
    # Of Enterprise alone; and what only the other half of an agent has.
    501: re.compile(r"/v1/(recommendation|operator/license|agent/(servers|join|force-leave)\b)"),
    500: re.compile(r"/v1/agent/health"),  # how load balancers learn of it
}
# Streams and writes that are right however odd they look, or take long.
SPARED = {"address", "index", "wait"}

ODD = ["", "x", "-1", "0", "1.5", "true", "*", "null", "99999999999999999999", "\x07\x1b[31m", "\x00",
       b"\xff\xfe", b"\xc3(", b"\xed\xa0\x80", "\u0085", "\u2028", "ü", "a/b/c", "../..", "..%2f", "\r\nX-Evil: 1", "(((",
       "ID ==", 'ID == "\x01', "\\", "'", '"><script>', "%", "%zz", "%41", "x" * 3000,
       "00000000-0000-0000-0000-000000000000", "0000000-00000-0000-0000-00000000000z", "a" * 36]
ODD_JSON = [None, True, -1, 1.5, 10**30, "", "\x07", "\u0085", "ü", [], {}, [[]], [None], {"\x07": "\x1b"},
            "99999999999999999999", [7], {"ID": 7}]
ODD_BODIES = [b"", b"{", b"null", b"[]", b"7", b'"\x07"', b'{"a":\x1b}', b"\xff\xfe", b'{"\xff":1}', b"{}x",
              b'{"\\ud800":1}', b"[" * 2000, b'{"a":' * 200, b"x" * 50_000, b"\x1f\x8b\x08garbage"]


# As text, for what no encoder of JSON would write.
ODD_TEXTS = ["1e400", "-1e400", "1" * 400, "NaN", "01", "tru", "'a'", '"\x01"', '"\\ud800"', "[" * 70 + "]" * 70,
             '{"a":' * 70 + "1" + "}" * 70, "-0", "0.1e1", '{"a":1,"a":2}', ""]

HOST = "Host: 127.0.0.1\r\n"
TO_JOBS = "PUT /v1/jobs HTTP/1.1\r\n" + HOST
# What is no request, by the status that it gets. None of it may be taken for more than one.
ODD_REQUESTS = {
    400: ["\x00\x01\xff" * 50, "GET /v1/jobs\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
          "GET /v1/jobs HTTP/1.1\nHost: a\n\n", "GET /v1/jobs HTTP/3.0\r\n" + HOST + "\r\n",
          "GET /v1/jobs HTTP/1.1\r\n\r\n", "GET /v1/jo bs HTTP/1.1\r\n" + HOST + "\r\n",
          "GET /v1/job/\x07 HTTP/1.1\r\n" + HOST + "\r\n", "CONNECT a:1 HTTP/1.1\r\n" + HOST + "\r\n",
          "GET /v1/jobs HTTP/1.1\r\n" + HOST + "Host: evil.example\r\n\r\n",
          "GET /v1/jobs HTTP/1.1\r\n" + HOST + "X: a\x00b\r\n\r\n",
          "GET /v1/jobs HTTP/1.1\r\n" + HOST + "none\r\n\r\n",
          TO_JOBS + "Content-Length: -1\r\n\r\n{}", TO_JOBS + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
          TO_JOBS + "Content-Length: 99999999999999999999\r\n\r\n{}",
          TO_JOBS + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          TO_JOBS + "Transfer-Encoding: gzip\r\n\r\n", TO_JOBS + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
          TO_JOBS + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
          TO_JOBS + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n"],
    413: [TO_JOBS + "Content-Length: 99999999999\r\n\r\n{}",
          TO_JOBS + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"],
    431: ["A" * 70_000 + " / HTTP/1.1\r\n" + HOST + "\r\n", "GET /" + "a" * 70_000 + " HTTP/1.1\r\n" + HOST + "\r\n",
          "GET /v1/jobs HTTP/1.1\r\n" + HOST + "".join(f"X-{i}: y\r\n" for i in range(20_000)) + "\r\n"],
}


def places(value, at=()):
    """Where something stands in a JSON value, itself first."""
    yield at
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places(part, at + (name,))


def with_text(value, at, text):
    """The JSON of `value` with `text` at a place."""
    if not at:
        return text
    if isinstance(value, dict):
        parts = (json.dumps(name) + ":" + (with_text(part, at[1:], text) if name == at[0] else json.dumps(part))
                 for name, part in value.items())
        return "{" + ",".join(parts) + "}"
    return "[" + ",".join(with_text(part, at[1:], text) if i == at[0] else json.dumps(part)
                          for i, part in enumerate(value)) + "]"


def escaped(value):
    return quote(value, safe="/*") if not isinstance(value, bytes) else quote(value)


class Surface:
    """What the sources say that requests may hold."""

    def __init__(self):
        self.paths, self.parameters, self.fields = set(), set(), set()
        for name in sorted(glob.glob(os.path.join(ROOT, "actors/api/**/*.cpp"), recursive=True)):
            with open(name) as f:
                self.read(f.read())
        self.paths, self.parameters, self.fields = map(sorted, (self.paths, self.parameters, self.fields))

    def read(self, source):
        self.parameters |= set(re.findall(r'parameter\w*\((?:[\w.()]+, )?"(\w+)"', source))
        self.fields |= set(re.findall(r'fields\.\w+\("(\w+)"', source))
        prefix = None
        for text in re.findall(r'"(/[a-z0-9/_-]+)"', source):
            if text.startswith("/v1/"):
                self.paths.add(text)
                prefix = text if text.endswith("/") else None
            elif prefix:
                self.paths.add(prefix + "*" + text)


class Asking:
    """Asks the agent at `port`, and looks at what it answers. `alloc` is one that runs."""

    connection = None

    def ask(self, method, target, body=b""):
        """Status, headers and, of a refusal, the body. Answers of 2xx may be streams without end."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        self.connection.putrequest(method, target)
        self.connection.putheader("Content-Length", str(len(body)))
        self.connection.endheaders(body)
        answer = self.connection.getresponse()
        text = answer.read() if answer.status >= 300 or answer.getheader("Content-Length") else None
        if text is None or answer.will_close:
            self.connection.close()
            self.connection = None
        return answer.status, answer.headers, text or b""

    def check(self, method, target, body=b""):
        status, headers, text = self.ask(method, target, body)
        what = f"{method} {target[:300]} {body[:300]!r}: {status} {text[:300]!r}"
        if status >= 500:
            self.assertRegex(target, ALLOWED.get(status, "^$"), what)
        for name, value in headers.items():
            self.assertRegex(value, r"\A[\x20-\x7e]*\Z", f"{what}: {name}")
        if status >= 400:
            shown = text.decode()  # it is UTF-8
            self.assertFalse([c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"], what)
        return status

    def odd_target(self, draw, path):
        ids = [*ODD, "web", self.alloc]
        name = escaped(draw.choice(ids))
        target = path.replace("*", name) if "*" in path else path + name if path.endswith("/") else path
        parameters = [p for p in self.surface.parameters if p not in SPARED]
        query = "&".join(f"{draw.choice(parameters)}={escaped(draw.choice(ODD))}"
                         for _ in range(draw.choice([0, 1, 1, 3])))
        return target + ("?" + query if query else "")

    def odd_body(self, draw):
        kind = draw.randrange(4)
        if kind == 0:
            return draw.choice(ODD_BODIES)
        if kind == 1:
            return json.dumps({"Job": self.odd_job(draw)}).encode()
        fields = draw.sample(self.surface.fields, 3)
        return json.dumps({field: draw.choice(ODD_JSON) for field in fields}).encode()

    def odd_job(self, draw):
        """A job with one odd value somewhere."""
        whole = job("odd", count=0)
        at = draw.choice([whole, whole["TaskGroups"][0], whole["TaskGroups"][0]["Tasks"][0]])
        at[draw.choice(list(at))] = draw.choice(ODD_JSON)
        return whole

    def ask_every_route(self, per_method):
        """How often each status came."""
        draw = random.Random(SEED)
        self.assertGreater(len(self.surface.paths), 90)
        counts = {}
        for path in self.surface.paths:
            for method in ("GET", "PUT", "POST", "DELETE"):
                for turn in range(per_method):
                    body = self.odd_body(draw) if method in ("PUT", "POST") else b""
                    status = self.check(method, self.odd_target(draw, path), body)
                    counts[status] = counts.get(status, 0) + 1
                    if status in (405, 501) and turn >= 3:
                        break
        print(dict(sorted(counts.items())), flush=True)
        return counts


class Malformed(Asking, AgentTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.surface = Surface()
        cls.port = cls.agent.port
        cls.agent.register(job("web", count=1))
        cls.alloc = cls.agent.wait_for_allocs("web", "running")[0]["ID"]
        print(f"NOMAD_TEST_SEED={SEED}", flush=True)

    def test_every_route(self):
        counts = self.ask_every_route(PER_METHOD)
        self.assertGreater(counts[400] + counts[404], sum(counts.values()) // 3)
        self.assertIsNone(self.agent.process.poll())
        self.assertEqual(self.agent.get("/v1/jobs").status, 200)

    def test_every_parameter_of_lists(self):
        for path in ("/v1/jobs", "/v1/allocations", "/v1/evaluations", "/v1/nodes", "/v1/vars"):
            for name in self.surface.parameters:
                for value in ODD:
                    if name not in SPARED:
                        self.check("GET", f"{path}?{name}={escaped(value)}")
            for value in ("x", "-1", "1e3", "99999999999999999999", "\x07"):
                self.assertEqual(self.check("GET", f"{path}?index={escaped(value)}"), 400)
                self.assertEqual(self.check("GET", f"{path}?wait={escaped(value)}x"), 400)

    def test_what_is_no_request(self):
        for expected, requests in ODD_REQUESTS.items():
            for request in requests:
                with socket.create_connection(("127.0.0.1", self.agent.port), timeout=20) as peer:
                    answer = b""
                    try:
                        peer.sendall(request.encode("latin-1"))
                        while piece := peer.recv(65536):
                            answer += piece
                    except ConnectionError:
                        pass  # it was closed while we still sent
                statuses = [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3})", answer)]
                self.assertEqual(statuses, [expected], f"{request[:200]!r}: {answer[:300]!r}")

    def test_one_odd_value_at_every_place_of_a_job(self):
        draw = random.Random(SEED)
        whole = job("odd", count=0, Services=[{"Name": "s", "Provider": "nomad", "PortLabel": "p", "Checks": [
            {"Type": "tcp", "Interval": 10**10, "Timeout": 10**9}]}], Networks=[{"DynamicPorts": [{"Label": "p"}]}],
            Constraints=[{"LTarget": "${attr.kernel.name}", "RTarget": "linux", "Operand": "="}], Meta={"a": "b"},
            RestartPolicy={"Attempts": 1, "Delay": 10**9, "Interval": 10**11, "Mode": "fail"})
        self.assertEqual(self.agent.put("/v1/validate/job", {"Job": whole}).json["Error"], "")
        counts = {}
        for at in places(whole):
            odd = [json.dumps(value) for value in draw.sample(ODD_JSON, 6)] + draw.sample(ODD_TEXTS, 4)
            for text in odd:
                body = '{"Job":' + with_text(whole, at, text) + "}"
                path = draw.choice(("/v1/jobs", "/v1/job/odd/plan", "/v1/validate/job"))
                status = self.check("PUT", path, body.encode("latin-1"))
                counts[status] = counts.get(status, 0) + 1
        print(dict(sorted(counts.items())), flush=True)

    def test_numbers_that_nobody_could_write_again(self):
        whole = job("infinite", count=0)
        at = ("TaskGroups", 0, "Tasks", 0, "Config")
        for number in ("1e400", "-1e400", "1" * 400):
            body = '{"Job":' + with_text(whole, at, '{"run_for":' + number + "}") + "}"
            for path in ("/v1/jobs", "/v1/job/infinite/plan", "/v1/validate/job"):
                self.assertEqual(self.check("PUT", path, body.encode()), 400, f"{path} {number[:20]}")

    def test_monitors_that_go_away_unread(self):
        """Each of the agent's threads logs, and so writes to monitors, while their clients are gone."""
        head = "GET /v1/agent/monitor?log_level=debug HTTP/1.1\r\n" + HOST + "\r\n"
        peers = [socket.create_connection(("127.0.0.1", self.agent.port), timeout=20) for _ in range(60)]
        for peer in peers:
            peer.sendall(head.encode())
        for _ in range(300):
            self.agent.get("/v1/job/" + "x" * 500)
        for peer in peers:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # a reset
            peer.close()
            self.assertEqual(self.agent.get("/v1/jobs").status, 200)
        for _ in range(100):
            self.assertEqual(self.agent.get("/v1/jobs").status, 200)

    def test_pages_whose_next_id_no_header_may_hold(self):
        ids = ["page-\u2028a", "page-b%0d%0aX-Evil:1", "page-ü%41"]
        for each in ids:
            self.agent.register(job(each, count=0))
        try:
            found, token = [], ""
            while token is not None:
                page = self.agent.get(f"/v1/jobs?prefix=page-&per_page=1&next_token={quote(token)}")
                self.assertNotIn("X-Evil", page.headers)
                found += [j["ID"] for j in page.json]
                token = page.headers["X-Nomad-NextToken"]
                self.assertRegex(token or "", r"\A[\x20-\x7e]*\Z")
            self.assertEqual(found, sorted(ids))
        finally:
            for each in ids:
                self.agent.request("DELETE", f"/v1/job/{quote(each, safe='')}?purge=true")

    @classmethod
    def tearDownClass(cls):
        for each in cls.agent.get("/v1/jobs").json:
            cls.agent.request("DELETE", f"/v1/job/{quote(each['ID'], safe='')}?purge=true")
        super().tearDownClass()


class ThroughOthers(Asking, unittest.TestCase):
    """The same by way of a server that does not lead, and of a client without a server: what they pass on
    is judged as if it had been asked for where it is served."""

    @classmethod
    def setUpClass(cls):
        cls.surface = Surface()
        cls.group = cluster.Cluster().start()
        cls.addClassCleanup(cls.group.destroy)
        cls.leader = cls.group.leader(timeout=60)
        cls.client = cls.group.add_client()
        harness.wait_until(lambda: cls.group.nodes() == {"c0"}, what="the node")
        answer = cls.leader.request("PUT", "/v1/jobs", {"Job": harness.shell_job("web", "sleep 1000")})
        assert answer.status == 200, answer
        cls.alloc = harness.wait_until(lambda: cls.group.allocs("web", "running"), what="the task")[0]["ID"]

    def test_of_a_follower(self):
        self.port = next(server for server in self.group.servers if server is not self.leader).http
        self.ask_every_route(4)

    def test_of_a_client(self):
        self.port = self.client.http
        self.ask_every_route(4)

    def tearDown(self):
        if self.connection:
            self.connection.close()
        for member in [*self.group.servers, *self.group.clients]:
            self.assertTrue(member.is_running(), member.name)


if __name__ == "__main__":
    harness.main()
