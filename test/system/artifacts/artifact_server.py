"""What artifacts are fetched from in tests: an HTTP server that behaves as each path says, keeps what it was
asked, and speaks enough of S3 to judge signatures."""
import bz2
import gzip
import hashlib
import hmac
import http.server
import io
import lzma
import tarfile
import threading
import time
import urllib.parse
import zipfile

KEYS = {"AKIDTEST": "the/secret+of=it", "AKIDROLE": "secret of a role"}
OBJECTS = {"dist/app/one": b"one", "dist/app/deep/two": b"two & more", "dist/application": b"not of app",
           "dist/f.txt": b"from a bucket"}


def tar(*members, mode="w"):
    """An archive of (name, kind, content or target, mode)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for name, kind, content, bits in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, bits
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname, content = content, b""
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def file_of(name, content=b"hello", bits=0o644):
    return (name, tarfile.REGTYPE, content, bits)


def zipped(*members):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


TREE = (("d", tarfile.DIRTYPE, b"", 0o755), file_of("d/run", b"#!/bin/sh\n", 0o755), file_of("e/f", b"deep"),
        ("d/link", tarfile.SYMTYPE, "../e/f", 0o777))
FILES = {
    "/f": b"hello",
    "/tree.tar": tar(*TREE), "/tree.tar.gz": tar(*TREE, mode="w:gz"), "/tree.tbz2": tar(*TREE, mode="w:bz2"),
    "/tree.txz": tar(*TREE, mode="w:xz"), "/tree.zip": zipped(("d/run", "#!/bin/sh\n"), ("e/f", "deep")),
    "/f.gz": gzip.compress(b"hello"), "/f.bz2": bz2.compress(b"hello"), "/f.xz": lzma.compress(b"hello"),
    "/SUMS": f"{hashlib.sha256(b'hello').hexdigest()}  f\n{'0' * 64}  other\n".encode(),
    "/BAD-SUMS": b"0" * 64 + b"  f\n",
    "/bomb.zip": zipped(("zeros", bytes(60_000_000))), "/bomb.tar.gz": tar(file_of("zeros", bytes(60_000_000)), mode="w:gz"),
    "/many.tar": tar(*(file_of(f"f{i}") for i in range(30))),
    "/absolute.tar": tar(file_of("good"), file_of("/tmp/nomadctl-artifact-escaped")),
    "/up.tar": tar(file_of("good"), file_of("../../escaped")),
    "/up.zip": zipped(("good", "x"), ("../../escaped", "x")),
    "/symlink.tar": tar(file_of("good"), ("link", tarfile.SYMTYPE, "/etc", 0o777), file_of("link/nomadctl-escaped")),
    "/climbing.tar": tar(("link", tarfile.SYMTYPE, "../../../..", 0o777)),
    "/hardlink.tar": tar(("hard", tarfile.LNKTYPE, "/etc/passwd", 0o644)),
    "/device.tar": tar(("dev", tarfile.CHRTYPE, b"", 0o666)), "/fifo.tar": tar(("fifo", tarfile.FIFOTYPE, b"", 0o666)),
    "/setuid.tar": tar(file_of("su", b"#!/bin/sh\n", 0o4755)),
    "/broken.tar.gz": tar(*TREE, mode="w:gz")[:60], "/no.zip": b"this is no archive",
}


def signature_of(method, path, query, headers, names, scope, when, secret):
    """As Amazon's documentation says, worked out once more."""
    def digest(data):
        return hashlib.sha256(data.encode()).hexdigest()

    def keyed(key, data):
        return hmac.new(key, data.encode(), hashlib.sha256).digest()
    pairs = sorted((urllib.parse.quote(k, "-_.~"), urllib.parse.quote(v, "-_.~"))
                   for k, v in urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join([method, path, "&".join(f"{k}={v}" for k, v in pairs),
                           *(f"{n}:{headers[n].strip()}" for n in names), "", ";".join(names),
                           headers["x-amz-content-sha256"]])
    key = ("AWS4" + secret).encode()
    for part in scope:
        key = keyed(key, part)
    return keyed(key, "\n".join(["AWS4-HMAC-SHA256", when, "/".join(scope), digest(canonical)])).hex()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        if self.path == "/role/latest/api/token":
            return self.answer(200, b"proof")
        self.answer(404)

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        self.server.asked.append((self.path, dict(self.headers)))
        for prefix, then in (("/redirect/", self.redirect), ("/bucket", self.bucket), ("/role/", self.role),
                             ("/git/", self.repository)):
            if path.startswith(prefix):
                return then(path)
        special = getattr(self, "get_" + path.strip("/").replace("-", "_").replace(".", "_"), None)
        if special:
            return special()
        if path in FILES:
            return self.answer(200, FILES[path])
        self.answer(404, b"nothing here")

    def redirect(self, _):
        self.answer(302, b"elsewhere", Location=urllib.parse.unquote(self.path[len("/redirect/"):]))

    def get_loop(self):
        self.answer(302, Location="/loop")

    def get_slow(self):
        """One byte a second."""
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(1)

    def get_early(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(b"x" * 10)
        self.close_connection = True

    def get_huge(self):
        self.send_response(200)
        self.send_header("Content-Length", str(10**15))
        self.end_headers()
        while True:
            self.wfile.write(bytes(1 << 20))

    def get_endless(self):
        """It does not say how much comes."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        while True:
            self.wfile.write(bytes(1 << 20))

    def get_large(self):
        self.send_response(200)
        self.send_header("Content-Length", str(60 << 20))
        self.end_headers()
        for _ in range(60):
            self.wfile.write(bytes(1 << 20))

    def get_flaky(self):
        self.server.flaky += 1
        self.answer(500, b"not yet") if self.server.flaky < 3 else self.answer(200, b"at last")

    def get_private(self):
        if self.headers.get("Authorization") != "Basic bWU6cHc=":
            return self.answer(401, b"who are you?")
        self.answer(200, b"for me")

    def repository(self, path):
        try:
            with open(self.server.repositories + path[len("/git"):], "rb") as f:
                return self.answer(200, f.read())
        except OSError:
            self.answer(404)

    # -- buckets ---------------------------------------------------------------------------------------

    def role(self, path):
        if self.headers.get("X-aws-ec2-metadata-token") != "proof":
            return self.answer(401)
        if path.endswith("/security-credentials/"):
            return self.answer(200, b"a-role")
        self.answer(200, b'{"Code": "Success", "AccessKeyId": "AKIDROLE", "SecretAccessKey": "secret of a role", '
                         b'"Token": "session"}')

    def refusal(self):
        """Why the request is not signed as it should be; None if it is."""
        given = self.headers.get("Authorization")
        if given is None:
            return "AccessDenied: not signed"
        parts = dict(part.strip().split("=", 1) for part in given.split(" ", 1)[1].split(","))
        key, *scope = parts["Credential"].split("/")
        if key not in KEYS:
            return "InvalidAccessKeyId: " + key
        if key == "AKIDROLE" and self.headers.get("x-amz-security-token") != "session":
            return "InvalidToken: of the role"
        if scope[1:] != ["eu-test-1", "s3", "aws4_request"]:
            return "AuthorizationHeaderMalformed: " + str(scope)
        split = urllib.parse.urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        wanted = signature_of("GET", split.path, split.query, headers, parts["SignedHeaders"].split(";"), scope,
                              headers["x-amz-date"], KEYS[key])
        return None if parts["Signature"] == wanted else "SignatureDoesNotMatch: The request signature is wrong."

    def bucket(self, path):
        refusal = None if path.startswith("/bucket-open") else self.refusal()
        if refusal:
            code, message = refusal.split(": ", 1)
            return self.answer(403, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())
        _, _, *key = urllib.parse.unquote(path).split("/", 2)
        if not key:
            return self.listing(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query))
        if key[0] not in OBJECTS:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code><Message>It is not there.</Message></Error>")
        self.answer(200, OBJECTS[key[0]])

    def listing(self, query):
        """One key at a time."""
        keys = sorted(k for k in OBJECTS if k.startswith(query["prefix"][0]) and k > query.get("marker", [""])[0])
        contents = "".join(f"<Contents><Key>{k}</Key></Contents>" for k in keys[:1])
        self.answer(200, f"<ListBucketResult><IsTruncated>{str(len(keys) > 1).lower()}</IsTruncated>{contents}"
                         "</ListBucketResult>".encode())


class ArtifactServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, repositories="", tls=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.repositories, self.asked, self.flaky = repositories, [], 0
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # Whoever was asking has gone.

    def times(self, path):
        return sum(asked == path for asked, _ in self.asked)

    def headers_at(self, path):
        return [headers for asked, headers in self.asked if asked == path]

    def end(self):
        self.shutdown()
        self.server_close()
