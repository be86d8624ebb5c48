"""HTTP at a Unix socket, as a task asks its agent."""
import http.client
import os
import socket

from harness import Reply


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        folder = os.open(os.path.dirname(self.path), os.O_PATH | os.O_DIRECTORY)  # long paths, too
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{os.path.basename(self.path)}")
        finally:
            os.close(folder)


def ask(path, target, token=None, method="GET", body=None):
    connection = Connection(path)
    try:
        connection.request(method, target, body, {"X-Nomad-Token": token} if token else {})
        answer = connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read().decode(errors="replace"))
    finally:
        connection.close()
