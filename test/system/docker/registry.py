"""A registry of images of the test's own (Docker's Registry HTTP API, version 2): one image of one layer, by any name and
tag. It may want a user, and hold a layer back.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import tarfile
import threading

from apart import BUSYBOX

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def layer(more):
    """The archive of a busybox, some links to it, and a file of `more` bytes that no other image has."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for directory in ("bin", "tmp"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        tar.add(BUSYBOX, "bin/busybox")
        for applet in ("sh", "sleep", "cat", "echo"):
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        filler = tarfile.TarInfo("tmp/filler")
        filler.size = more
        tar.addfile(filler, io.BytesIO(os.urandom(more)))
    return archive.getvalue()


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Registry(http.server.ThreadingHTTPServer):
    """Listens at a free port of 127.0.0.1, which engines ask without TLS."""
    daemon_threads = True

    def __init__(self, login=None, more=100_000):
        super().__init__(("127.0.0.1", 0), Handler)
        self.login = login  # "user:password"; whoever has none is refused
        self.gate = threading.Event()  # all but the first piece of a layer comes when it is set
        self.gate.set()
        self.layers = 0     # how often the layer was asked for
        archive = layer(more)
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"], "Cmd": ["sh"]},
                             "rootfs": {"type": "layers", "diff_ids": [digest(archive)]}}).encode()
        self.layer = digest(archive)
        self.blobs = {digest(config): config, self.layer: archive}
        self.manifest = json.dumps({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": digest(config)},
            "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar", "size": len(archive), "digest": self.layer}]}).encode()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        registry = self.server
        wanted = registry.login and "Basic " + base64.b64encode(registry.login.encode()).decode()
        if wanted and self.headers.get("Authorization") != wanted:
            return self.send(401, b'{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}', with_body,
                             {"WWW-Authenticate": 'Basic realm="test"'})
        if self.path == "/v2/":
            return self.send(200, b"{}", with_body)
        kind, what = self.path.rsplit("/", 2)[1:]
        if kind == "manifests" and "missing" not in self.path:
            return self.send(200, registry.manifest, with_body, {"Content-Type": MANIFEST, "Docker-Content-Digest": digest(registry.manifest)})
        if kind == "blobs" and what in registry.blobs:
            return self.send(200, registry.blobs[what], with_body, {"Content-Type": "application/octet-stream"}, what == registry.layer)
        return self.send(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}', with_body)

    def send(self, status, body, with_body, headers=None, is_layer=False):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if not with_body:
            return
        if is_layer:
            self.server.layers += 1
        try:
            for at in range(0, len(body), 64 * 1024):
                if is_layer and at > 0:
                    self.server.gate.wait()
                self.wfile.write(body[at:at + 64 * 1024])
        except OSError:
            self.close_connection = True  # the engine wants no more of it
