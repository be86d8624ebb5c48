"""TLS of HTTP and RPC, and what strangers on the RPC port get: a closed door and a line in the log."""
import http.client
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import time
import unittest

import cluster
import harness
from harness import shell_job, wait_until


def tls_block(pki, role, http="false", verify_client="false", hostname="true"):
    return (pki.config(role).rstrip().rstrip("}").replace(
        "verify_server_hostname = true", f"verify_server_hostname = {hostname}")
        + f"  http = {http}\n  verify_https_client = {verify_client}\n}}\n")


def frame(kind, flags, stream, payload):
    """As runtime/net/rpc/rpc_frame.hpp has them."""
    return struct.pack("<HBBBBHII", 0x4E52, 1, kind, 1, flags, 0, stream, len(payload)) + payload


def read_frame(connection):
    def read(size):
        got = b""
        while len(got) < size:
            piece = connection.recv(size - len(got))
            if not piece:
                raise AssertionError("the connection was closed without a word")
            got += piece
        return got
    _, _, kind, _, _, _, stream, length = struct.unpack("<HBBBBHII", read(16))
    return kind, stream, read(length)


class HttpsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pki = cluster.Pki()
        cls.addClassCleanup(cls.pki.destroy)
        cls.pki.config("server")
        cls.pki.run("cert", "create", "-cli")
        cls.cluster = cluster.Cluster(1, blocks=tls_block(cls.pki, "server", "true", "true"))
        cls.addClassCleanup(cls.cluster.destroy)
        cls.server = cls.cluster.start().servers[0]
        wait_until(lambda: cls.nomadctl("server", "members").returncode == 0, timeout=30,
                   what="the agent over https")

    @classmethod
    def nomadctl(cls, *words, server=None, **environment):
        server = server or cls.server
        given = {**os.environ, "NOMAD_ADDR": f"https://127.0.0.1:{server.http}",
                 "NOMAD_CACERT": f"{cls.pki.dir}/nomad-agent-ca.pem",
                 "NOMAD_CLIENT_CERT": f"{cls.pki.dir}/global-cli-nomad.pem",
                 "NOMAD_CLIENT_KEY": f"{cls.pki.dir}/global-cli-nomad-key.pem", **environment}
        return subprocess.run([harness.BINARY, *words], capture_output=True, text=True, env=given,
                              timeout=30)

    def connect(self, with_certificate=True):
        context = ssl.create_default_context(cafile=f"{self.pki.dir}/nomad-agent-ca.pem")
        if with_certificate:
            context.load_cert_chain(f"{self.pki.dir}/global-cli-nomad.pem",
                                    f"{self.pki.dir}/global-cli-nomad-key.pem")
        return http.client.HTTPSConnection("127.0.0.1", self.server.http, timeout=20,
                                           context=context)

    def test_large_bodies_both_ways_on_one_connection(self):
        connection = self.connect()
        for number in range(30):
            made = cluster.small_job(f"job-{number}")
            made["Job"]["Meta"] = {"filler": "x" * 300_000}
            connection.request("PUT", "/v1/jobs", json.dumps(made))
            answer = connection.getresponse()
            self.assertEqual(200, answer.status, answer.read())
            answer.read()
            connection.request("GET", f"/v1/job/job-{number}")
            answer = connection.getresponse()
            self.assertGreater(len(answer.read()), 300_000)
        connection.close()

    def test_pipelined_requests(self):
        connection = self.connect()
        connection.connect()
        connection.sock.sendall(b"GET /v1/status/leader HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        got = b""
        while got.count(b"HTTP/1.1 200") < 50:
            piece = connection.sock.recv(65536)
            self.assertTrue(piece, got[-300:])
            got += piece
        connection.close()

    def test_who_has_no_certificate_is_refused(self):
        with self.assertRaises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
            connection = self.connect(with_certificate=False)
            connection.request("GET", "/v1/jobs")
            connection.getresponse()
        done = self.nomadctl("server", "members", NOMAD_CLIENT_CERT="", NOMAD_CLIENT_KEY="")
        self.assertEqual(1, done.returncode)
        self.assertEqual(0, self.nomadctl("server", "members").returncode)

    def test_plain_http_gets_nothing_and_half_handshakes_disturb_nobody(self):
        held = []
        for _ in range(20):
            held.append(socket.create_connection(("127.0.0.1", self.server.http), timeout=20))
            held[-1].sendall(b"\x16\x03\x01")
        with socket.create_connection(("127.0.0.1", self.server.http), timeout=20) as plain:
            plain.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(b"HTTP/1.0 400 Bad Request\r\n\r\n"
                             b"Client sent an HTTP request to an HTTPS server.\n", plain.recv(4096))
        done = self.nomadctl("node", "status", NOMAD_ADDR=f"http://127.0.0.1:{self.server.http}")
        self.assertIn("Client sent an HTTP request to an HTTPS server", done.stderr)
        done = self.nomadctl("node", "status", NOMAD_CACERT="/nowhere/ca.pem")
        self.assertIn("/nowhere/ca.pem: No such file or directory", done.stderr)
        self.assertEqual(0, self.nomadctl("server", "members").returncode)
        for each in held:
            each.settimeout(20)
            try:
                while each.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            each.close()

    def test_the_command_line_checks_the_name_and_the_authority(self):
        wrong = self.nomadctl("server", "members", NOMAD_CACERT="")
        self.assertEqual(1, wrong.returncode)
        self.assertIn("certificate verify failed", wrong.stderr)
        self.assertNotIn("NOMAD_TOKEN", wrong.stderr)  # no token helps against a certificate
        self.assertEqual(0, self.nomadctl("server", "members", NOMAD_CACERT="",
                                          NOMAD_SKIP_VERIFY="true").returncode)
        wrong = self.nomadctl("server", "members", NOMAD_TLS_SERVER_NAME="other.example")
        self.assertIn("hostname mismatch", wrong.stderr.lower())
        self.assertEqual(0, self.nomadctl("server", "members",
                                          NOMAD_TLS_SERVER_NAME="server.global.nomad").returncode)
        missing = self.nomadctl("server", "members", NOMAD_CACERT="/nowhere.pem")
        self.assertIn("/nowhere.pem", missing.stderr)

    def test_sighup_changes_the_certificate(self):
        name = f"{self.pki.dir}/global-server-nomad"

        def shown():
            return ssl.get_server_certificate(("127.0.0.1", self.server.http))
        with open(name + ".pem") as f:
            before = f.read()
        os.remove(name + ".pem")
        os.remove(name + "-key.pem")
        self.pki.run("cert", "create", "-server")
        self.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the certificates have been read again" in self.server.log(),
                   what="the reload")
        with open(name + ".pem") as f:
            self.assertNotEqual(before, f.read())
        self.assertEqual(0, self.nomadctl("server", "members").returncode)


class StrangersTest(cluster.Case):
    """Who must not get in through the RPC port of a secured server."""
    tls = True

    def refused(self, line, add):
        begin = len(self.server.log())
        add()
        wait_until(lambda: line in self.server.log()[begin:], timeout=30, what=f"{line!r} in the log")
        self.assertEqual({"c0", "c1"}, self.cluster.nodes())
        self.assertEqual(2, len(self.server.try_get("/v1/nodes")))
        self.assertTrue(self.server.is_running())

    def test_certificates_decide_who_is_what(self):
        other = cluster.Pki()
        self.addCleanup(other.destroy)
        self.refused("TLS handshake", lambda: self.cluster.add_client(blocks=other.config("client")))
        # A certificate of a client never makes a server.
        stranger = cluster.Server(self.cluster.root, "stranger",
                                  [self.server.rpc, harness.free_port()], 1, 1,
                                  blocks=self.secured("client"))
        self.cluster.servers.append(stranger)
        self.refused("its certificate is for client.global.nomad", stranger.start)
        stranger.kill9()
        self.assertEqual(1, len(self.server.try_get("/v1/agent/members")["Members"]))
        # Nor does one of another region make a client of this one.
        self.pki.run("cert", "create", "-client", "-region", "eu")
        block = self.secured("client").replace("global-client-nomad", "eu-client-nomad")
        self.refused('a client of region "eu" where this is "global"',
                     lambda: self.cluster.add_client(blocks=block + 'region = "eu"\n'))

    def call(self, connection, method, stream):
        """What a request of that method, which carries nothing, is answered: the frame's kind, its
        payload."""
        request = struct.pack("<HHII", method, 0, 5000, 0)
        connection.sendall(frame(kind=2, flags=3, stream=stream, payload=request))
        while True:
            kind, of, payload = read_frame(connection)
            if of == stream:
                return kind, payload

    def test_a_client_calls_what_clients_may(self):
        """Each method of servers among themselves, by a certificate of a client of this region."""
        context = ssl.create_default_context(cafile=f"{self.pki.dir}/nomad-agent-ca.pem")
        context.check_hostname = False
        context.load_cert_chain(f"{self.pki.dir}/global-client-nomad.pem",
                                f"{self.pki.dir}/global-client-nomad-key.pem")
        plain = socket.create_connection(("127.0.0.1", self.server.rpc), timeout=20)
        with context.wrap_socket(plain) as connection:
            hello = struct.pack("<HHBBBB", 1, 1, 2, 0, len("global"), 1) + b"globalx"
            connection.sendall(frame(kind=1, flags=0, stream=0, payload=hello))
            for stream, method in enumerate((10, 11, 12, 13, 14, 20, 21, 22, 42, 46, 51)):
                kind, payload = self.call(connection, method, 2 * stream + 1)
                if method in (11, 14, 42, 51):  # which this server serves nobody
                    self.assertIn(b"can't find method", payload, method)
                else:
                    self.assertEqual((4, b"Permission denied"), (kind, payload[1:]), method)
            # What clients may ask is looked at: nothing was asked.
            kind, payload = self.call(connection, 40, 101)
            self.assertNotIn(b"Permission denied", payload)
        self.assertIn("it may not call that", self.server.log())

    def test_noise_and_silence(self):
        held = [socket.create_connection(("127.0.0.1", self.server.rpc), timeout=20)
                for _ in range(50)]
        for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\0" + os.urandom(4096), b"\x52\x4e\x01" * 100):
            self.is_sent_away(noise, "TLS handshake: ")
        self.put(shell_job("unimpressed", "sleep 1000"))
        self.wait_for("unimpressed", "running", 1)
        begin = time.monotonic()
        for each in held:  # half-open ones are ended
            try:
                self.assertEqual(b"", each.recv(4096))
            except ConnectionResetError:
                pass
            self.log_says_of(each.getsockname()[1], "no complete handshake in time")
            each.close()
        self.assertLess(time.monotonic() - begin, 20)


if __name__ == "__main__":
    harness.main()
