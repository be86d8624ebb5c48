"""Records what the commands about access of a real Nomad say: each with the exchange that it has with the server.

usage: record.py NOMAD ADDRESS OUT

NOMAD is a 1.6.5 binary, ADDRESS the HTTP address of its agent, which has ACLs enabled and was not bootstrapped yet.
OUT becomes a list of runs: the words, what was typed, files, what the command printed, its exit status, and of each
exchange the request and the answer. test/unit/cli/acl/recorded_test.cpp gives the answers to our commands and
compares all else; where ours are known to differ, it says so.
"""
import base64
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

CALLBACK_PORT, PROVIDER_PORT = 14649, 14650
ISSUER = f"http://127.0.0.1:{PROVIDER_PORT}"
exchanges = []
server = ""  # The address that the proxy passes on to.


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes on, and writes down."""

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {"X-Nomad-Token": self.headers.get("X-Nomad-Token", "")}
        request = urllib.request.Request(server + self.path, body or None, headers, method=self.command)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as refused:
            answer = refused
        with answer:
            status, text = answer.status, answer.read()
            index, kind = answer.headers.get("X-Nomad-Index"), answer.headers.get("Content-Type")
        exchanges.append({"method": self.command, "path": self.path, "body": body.decode(),
                          "token": headers["X-Nomad-Token"], "status": status, "answer": text.decode()})
        self.send_response(status)
        for name, value in (("X-Nomad-Index", index), ("Content-Type", kind), ("Content-Length", str(len(text)))):
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = do_POST = do_DELETE = pass_on

    def log_message(self, *_):
        pass


def text64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """An RSA key that signs tokens, by openssl."""

    def __init__(self, folder):
        self.path = folder + "/key.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.path, "2048"], check=True, capture_output=True)
        self.public = self.openssl("rsa", "-in", self.path, "-pubout").decode()
        modulus = self.openssl("rsa", "-in", self.path, "-modulus", "-noout").decode().strip().split("=")[1]
        self.jwks = {"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "e": "AQAB",
                               "n": text64(bytes.fromhex(modulus))}]}

    @staticmethod
    def openssl(*words, **options):
        return subprocess.run(["openssl", *words], check=True, capture_output=True, **options).stdout

    def token(self, **claims):
        now = int(time.time())
        claims = {"iss": ISSUER, "iat": now, "nbf": now, "exp": now + 3600} | claims
        head = {"alg": "RS256", "typ": "JWT", "kid": "one"}
        signed = ".".join(text64(json.dumps(part).encode()) for part in (head, claims))
        return signed + "." + text64(self.openssl("dgst", "-sha256", "-sign", self.path, input=signed.encode()))


class Provider(http.server.BaseHTTPRequestHandler):
    """An OpenID provider where everybody is alice."""
    key = None
    nonce = ""

    def say(self, body):
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/.well-known/openid-configuration":
            self.say({"issuer": ISSUER, "authorization_endpoint": ISSUER + "/authorize", "token_endpoint": ISSUER + "/token",
                      "userinfo_endpoint": ISSUER + "/userinfo", "jwks_uri": ISSUER + "/keys",
                      "id_token_signing_alg_values_supported": ["RS256"], "response_types_supported": ["code"],
                      "subject_types_supported": ["public"]})
        elif url.path == "/keys":
            self.say(Provider.key.jwks)
        elif url.path == "/userinfo":
            self.say({"sub": "alice", "groups": ["engineering"]})
        elif url.path == "/authorize":
            Provider.nonce = query["nonce"]
            self.send_response(302)
            self.send_header("Location", query["redirect_uri"] + "?" + urllib.parse.urlencode({"code": "c0de", "state": query["state"]}))
            self.send_header("Content-Length", "0")
            self.end_headers()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.say({"access_token": "access", "token_type": "Bearer", "expires_in": 3600,
                  "id_token": Provider.key.token(sub="alice", aud="nomad", nonce=Provider.nonce, groups=["engineering"])})

    def log_message(self, *_):
        pass


class Session:
    """Commands that are run one after the other, as they are written down."""

    def __init__(self, program, folder, proxy):
        self.program, self.folder, self.proxy, self.token, self.runs = program, folder, proxy, "", []

    def file(self, name, text):
        with open(f"{self.folder}/{name}", "w") as f:
            f.write(text)

    def run(self, *words, typed="", token=None):
        exchanges.clear()
        files = {}
        for word in words:
            name = word.lstrip("@")
            path = f"{self.folder}/{name}"
            if os.path.isfile(path):
                with open(path) as f:
                    files[name] = f.read()
        token = self.token if token is None else token
        environment = {"PATH": self.folder + "/bin:" + os.environ["PATH"], "HOME": self.folder, "TZ": "UTC",
                       "NOMAD_ADDR": self.proxy, "NOMAD_TOKEN": token}
        done = subprocess.run([self.program, *words], input=typed, text=True, capture_output=True, cwd=self.folder, env=environment)
        self.runs.append({"words": list(words), "typed": typed, "files": files, "token": token, "out": done.stdout,
                          "err": done.stderr, "code": done.returncode, "exchanges": list(exchanges)})
        return done.stdout

    def all_forms(self, *words):
        """The same as text, as JSON and by a template."""
        template = "{{range .}}{{.CreateIndex}} {{end}}" if words[2] == "list" else "{{.CreateIndex}} {{.ModifyIndex}}"
        for flags in ((), ("-json",), ("-t", template)):
            self.run(*self.with_flags(words, flags))

    @staticmethod
    def with_flags(words, flags):
        """The flags come behind the command's name and before what is no flag."""
        return [*words[:3], *flags, *words[3:]]


def served(handler, port=0):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def bootstrap(s):
    s.file("secret", "6c1b6b6e-0f5b-4b2c-9d0f-1f2e3d4c5b6a\n")
    s.run("acl", "token", "self")
    s.run("acl", "policy", "list")
    s.run("acl", "bootstrap", "a", "b")
    s.run("acl", "bootstrap", "missing")
    s.run("acl", "bootstrap", "-", typed="no uuid")
    s.run("acl", "bootstrap", "-json", "-t", "{{.}}", "secret")  # Nomad makes the token all the same
    s.run("acl", "bootstrap", "secret")
    s.token = "6c1b6b6e-0f5b-4b2c-9d0f-1f2e3d4c5b6a"
    s.run("acl", "bootstrap")
    s.run("acl", "bootstrap", "-json", "-", typed=s.token)
    s.run("acl", "token", "self")


def policies(s):
    s.run("acl", "policy", "list")
    s.run("acl", "policy", "list", "-json")
    s.file("reader.hcl", 'namespace "default" {\n  policy = "read"\n}\n')
    s.file("wrong.hcl", 'namespace "default" {\n  capabilities = ["sumbit-job"]\n}\n')
    s.file("torn.hcl", 'namespace "default" {\n  policy = \n')
    s.file("job.json", '{"namespace": {"default": {"capabilities": ["read-job", "list-jobs"]}}, "agent": {"policy": "read"}}')
    s.run("acl", "policy", "apply", "-description", "Reads all that is default", "reader", "reader.hcl")
    s.run("acl", "policy", "apply", "writer", "-", typed='namespace "*" {\n  policy = "write"\n}\n')
    s.run("acl", "policy", "apply", "worker", "job.json")
    s.run("acl", "policy", "apply", "-namespace", "default", "-job", "web", "-group", "api", "-task", "front", "of-web", "reader.hcl")
    s.run("acl", "policy", "apply", "-namespace", "default", "-job", "web", "of-job", "reader.hcl")
    for words in (("-job", "web"), ("-group", "g"), ("-task", "t"), ("-namespace", "default", "-task", "t"), ("-namespace", "default")):
        s.run("acl", "policy", "apply", *words, "wrong", "reader.hcl")
    for words in (("x",), (), ("wrong", "wrong.hcl"), ("torn", "torn.hcl"), ("a b", "reader.hcl"), ("x", "missing"), ("x", "reader.hcl", "y"),
                  ("x", ".")):
        s.run("acl", "policy", "apply", *words)
    s.all_forms("acl", "policy", "list")
    s.run("acl", "policy", "list", "extra")
    for words in (("reader",), ("of-web",), ("of-job",), ("worker",), ("missing",), (), ("a", "b")):
        s.run("acl", "policy", "info", *words)
    s.run("acl", "policy", "delete", "of-job")
    s.run("acl", "policy", "delete", "missing")
    s.run("acl", "policy", "delete")


def roles(s):
    s.run("acl", "role", "list")
    reader = s.run("acl", "role", "create", "-name", "reading", "-description", "May look", "-policy", "writer", "-policy", "reader", "-policy", "reader",
                   "-t", "{{.ID}}").strip()
    for words in (("-name", "bare", "-policy", "reader"), ("-json", "-name", "json", "-policy", "reader"), ("-name", "x"), ("-policy", "reader"), (),
                  ("-name", "reading", "-policy", "reader"), ("-name", "dangling", "-policy", "missing"), ("-name", "a b", "-policy", "reader"),
                  ("-name", "y", "-policy", "reader", "extra")):
        s.run("acl", "role", "create", *words)
    s.all_forms("acl", "role", "list")
    s.all_forms("acl", "role", "info", reader)
    s.run("acl", "role", "info", "-by-name", "reading")
    s.run("acl", "role", "info", "-by-name", "-json", "reading")
    for words in (("-by-name", "missing"), (reader[:8],), ("00000000-0000-0000-0000-000000000000",), (), (reader, "b")):
        s.run("acl", "role", "info", *words)
    s.run("acl", "role", "update", "-description", "May look and work", "-policy", "worker", reader)
    s.run("acl", "role", "update", "-json", "-name", "renamed", reader)
    for words in (("-no-merge", "-name", "reading", "-policy", "reader", reader), ("-no-merge", "-name", "reading", reader),
                  ("-no-merge", "-policy", "reader", reader), (reader,), (), ("-name", "x", "00000000-0000-0000-0000-000000000000"),
                  ("-name", "bare", reader)):
        s.run("acl", "role", "update", *words)
    s.run("acl", "role", "delete")
    s.run("acl", "role", "delete", "00000000-0000-0000-0000-000000000000")
    bare = s.run("acl", "role", "info", "-by-name", "bare").split()[2]
    s.run("acl", "role", "delete", bare)
    return reader


def tokens(s, role):
    s.all_forms("acl", "token", "list")
    accessor = s.run("acl", "token", "create", "-name", "plain", "-policy", "reader", "-policy", "writer", "-t", "{{.AccessorID}}").strip()
    for words in (("-policy", "reader"), ("-name", "roles", "-role-id", role, "-role-name", "json", "-role-name", "json"),
                  ("-name", "short", "-policy", "reader", "-ttl", "1h30m"), ("-name", "m", "-type", "management", "-global"),
                  ("-json", "-name", "j", "-policy", "reader", "-ttl", "90m"), ("-t", "{{.Name}} {{.Policies}}", "-name", "t", "-policy", "reader"),
                  (), ("-type", "wrong", "-policy", "reader"), ("-type", "management", "-policy", "reader"), ("-policy", "reader", "-ttl", "soon"),
                  ("-policy", "reader", "-ttl", "1s"), ("-role-name", "missing"), ("-policy", "missing"), ("extra",),
                  ("-json", "-t", "{{.}}", "-policy", "reader")):
        s.run("acl", "token", "create", *words)
    s.run("acl", "token", "info", accessor)
    for words in ((accessor[:8],), (), ("00000000-0000-0000-0000-000000000000",), (accessor, "b")):
        s.run("acl", "token", "info", *words)
    s.run("acl", "token", "update", "-name", "renamed", "-policy", "reader", accessor)
    for words in ((accessor,), ("-type", "management", accessor), ("-global", accessor), (), ("-name", "x", "00000000-0000-0000-0000-000000000000")):
        s.run("acl", "token", "update", *words)
    s.run("acl", "token", "list", "extra")
    short = s.run("acl", "token", "create", "-policy", "reader", "-t", "{{.SecretID}} {{.AccessorID}}").split()
    s.run("acl", "token", "self", token=short[0])
    s.run("acl", "token", "self", "extra")
    s.run("acl", "token", "self", token="00000000-0000-0000-0000-000000000000")
    s.run("acl", "token", "self", "-token", short[0], token="")
    s.run("acl", "token", "list", token=short[0])
    s.run("acl", "policy", "list", token=short[0])
    s.run("acl", "policy", "info", "writer", token=short[0])
    s.run("acl", "role", "list", token=short[0])
    s.run("acl", "token", "delete", token=short[0])
    s.run("acl", "token", "delete", accessor, token=short[0])
    s.run("acl", "token", "delete", short[1])
    s.run("acl", "token", "delete", short[1])


def auth_methods(s, key):
    config = {"JWTValidationPubKeys": [key.public], "BoundAudiences": ["nomad"], "BoundIssuer": [ISSUER], "SigningAlgs": ["RS256"],
              "ClockSkewLeeway": "1m", "ClaimMappings": {"sub": "user"}, "ListClaimMappings": {"groups": "groups"}}
    s.file("jwt.json", json.dumps(config))
    oidc = {"OIDCDiscoveryURL": ISSUER, "OIDCClientID": "nomad", "OIDCClientSecret": "shh", "BoundAudiences": ["nomad"], "OIDCScopes": ["groups"],
            "AllowedRedirectURIs": [f"http://localhost:{CALLBACK_PORT}/oidc/callback"], "ListClaimMappings": {"groups": "groups"}}
    s.run("acl", "auth-method", "list")
    common = ("-token-locality", "local", "-max-token-ttl", "1h")
    s.run("acl", "auth-method", "create", "-name", "keys", "-type", "jwt", *common, "-default", "-config", "@jwt.json")
    s.run("acl", "auth-method", "create", "-name", "sso", "-type", "OIDC", *common, "-config", "-", typed=json.dumps(oidc))
    s.run("acl", "auth-method", "create", "-json", "-name", "json", "-type", "JWT", "-token-locality", "global", "-max-token-ttl", "90m", "-config",
          json.dumps({"JWKSURL": ISSUER + "/keys"}))
    for words in ((), ("-name", "x"), ("-name", "x", "-token-locality", "both"), ("-name", "x", "-token-locality", "local"),
                  ("-name", "x", *common, "-type", "LDAP"), ("-name", "x", *common, "-type", "JWT"),
                  ("-name", "x", *common, "-type", "JWT", "-config", "@missing"), ("-name", "x", *common, "-type", "JWT", "-config", "{"),
                  ("-name", "x", *common, "-type", "JWT", "-config", "{}"), ("-name", "x", "-max-token-ttl", "soon"),
                  ("-name", "x", *common, "-type", "JWT", "-config", "{}", "extra"), ("-name", "x", "-token-locality", "local", "-max-token-ttl", "100h",
                                                                                     "-type", "JWT", "-config", '{"JWKSURL": "http://127.0.0.1:1"}'),
                  ("-name", "x", *common, "-default", "-type", "JWT", "-config", '{"JWKSURL": "http://127.0.0.1:1"}')):
        s.run("acl", "auth-method", "create", *words)
    s.all_forms("acl", "auth-method", "list")
    s.run("acl", "auth-method", "list", token="")
    s.all_forms("acl", "auth-method", "info", "keys")
    for words in (("json",), ("missing",), ()):
        s.run("acl", "auth-method", "info", *words)
    s.run("acl", "auth-method", "update", "-max-token-ttl", "30m", "-token-locality", "global", "keys")
    s.run("acl", "auth-method", "update", "-json", "-default=false", "keys")
    s.run("acl", "auth-method", "update", "-t", "{{.Type}} {{.MaxTokenTTL}}", "-type", "JWT", "-config", "@jwt.json", "keys")
    for words in (("keys",), ("missing",), ("-type", "LDAP", "keys"), ("-token-locality", "x", "keys"), ("-max-token-ttl", "0s", "keys"), (),
                  ("-config", "{", "keys")):
        s.run("acl", "auth-method", "update", *words)
    s.run("acl", "auth-method", "delete", "json")
    s.run("acl", "auth-method", "delete", "missing")
    s.run("acl", "auth-method", "delete")


def binding_rules(s):
    s.run("acl", "binding-rule", "list")
    rule = s.run("acl", "binding-rule", "create", "-auth-method", "keys", "-description", "Engineers", "-selector", 'engineering in list.groups',
                 "-bind-type", "policy", "-bind-name", "reader", "-t", "{{.ID}}").strip()
    for words in (("-auth-method", "sso", "-selector", 'value.user == "a\\b"', "-bind-type", "management"),
                  ("-json", "-auth-method", "sso", "-bind-type", "role", "-bind-name", "json"), (), ("-auth-method", "keys"),
                  ("-auth-method", "missing", "-bind-type", "policy", "-bind-name", "x"), ("-auth-method", "keys", "-bind-type", "x"),
                  ("-auth-method", "keys", "-bind-type", "policy", "-bind-name", "x", "-selector", "((("), ("-auth-method", "keys", "extra")):
        s.run("acl", "binding-rule", "create", *words)
    s.all_forms("acl", "binding-rule", "list")
    s.all_forms("acl", "binding-rule", "info", rule)
    for words in (("00000000-0000-0000-0000-000000000000",), (rule[:8],), ()):
        s.run("acl", "binding-rule", "info", *words)
    s.run("acl", "binding-rule", "update", "-description", "All of them", rule)
    s.run("acl", "binding-rule", "update", "-json", "-selector", "engineering in list.groups", "-bind-type", "policy", "-bind-name", "worker", rule)
    for words in ((rule,), ("-no-merge", rule), ("-no-merge", "-bind-type", "policy", "-bind-name", "reader", rule), (),
                  ("-description", "x", "00000000-0000-0000-0000-000000000000")):
        s.run("acl", "binding-rule", "update", *words)
    s.run("acl", "binding-rule", "delete")
    s.run("acl", "binding-rule", "delete", "00000000-0000-0000-0000-000000000000")
    spare = s.run("acl", "binding-rule", "create", "-auth-method", "keys", "-bind-type", "policy", "-bind-name", "x", "-t", "{{.ID}}").strip()
    s.run("acl", "binding-rule", "delete", spare)


def logins(s, key):
    token = key.token(sub="alice", aud="nomad", groups=["engineering"])
    s.token = ""
    for words in ((), ("-method", "keys"), ("-method", "missing", "-login-token", token), ("-method", "keys", "-login-token", token),
                  ("-json", "-method", "keys", "-login-token", token), ("-t", "{{.Name}} {{.Policies}}", "-type", "JWT", "-method", "keys", "-login-token", token),
                  ("-method", "keys", "-login-token", "no.jwt.here"), ("-method", "keys", "-login-token", token, "extra"),
                  ("-method", "sso", f"-oidc-callback-addr=localhost:{CALLBACK_PORT}"),
                  ("-json", "-method", "sso", f"-oidc-callback-addr=localhost:{CALLBACK_PORT}"),
                  ("-method", "sso", f"-oidc-callback-addr=localhost:{CALLBACK_PORT + 2}")):
        s.run("login", *words)


def record(program, address):
    """The runs of one session, which begins with a bootstrap."""
    global server
    server = address
    with tempfile.TemporaryDirectory() as folder:
        key = Provider.key = Key(folder)
        served(Provider, PROVIDER_PORT)
        os.mkdir(folder + "/bin")
        with open(folder + "/bin/xdg-open", "w") as f:
            f.write('#!/bin/sh\n(sleep 0.2; curl -s -L -o /dev/null "$1") >/dev/null 2>&1 &\n')
        os.chmod(folder + "/bin/xdg-open", 0o755)
        s = Session(os.path.abspath(program), folder, served(Proxy))
        bootstrap(s)
        policies(s)
        role = roles(s)
        tokens(s, role)
        auth_methods(s, key)
        binding_rules(s)
        logins(s, key)
        return json.loads(json.dumps(s.runs).replace(s.proxy, "http://127.0.0.1:4646"))


def main():
    runs = record(*sys.argv[1:3])
    with open(sys.argv[3], "w") as f:
        f.write(json.dumps(runs, indent=1) + "\n")
    print(len(runs), "runs")


if __name__ == "__main__":
    main()
