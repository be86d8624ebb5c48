"""A websocket client that sends what it is told, also what is forbidden."""
import base64
import json
import os
import socket
import struct
import time
import urllib.parse

TEXT, BINARY, CLOSE, PING, PONG = 0x81, 0x82, 0x88, 0x89, 0x8A


class Ended(Exception):
    """The other side closed the connection."""


def frame(payload, first=TEXT, masked=True, length=None):
    """One frame; `length` is what it claims."""
    length = len(payload) if length is None else length
    bit = 0x80 if masked else 0
    if length < 126:
        head = bytes([first, bit | length])
    elif length < 65536:
        head = bytes([first, bit | 126]) + struct.pack(">H", length)
    else:
        head = bytes([first, bit | 127]) + struct.pack(">Q", length)
    if not masked:
        return head + payload
    key = os.urandom(4)
    mask = (key * (len(payload) // 4 + 1))[:len(payload)]
    mixed = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
    return head + key + mixed.to_bytes(len(payload), "big")


class WebSocket:
    def __init__(self, port, target, headers=None, early=b"", timeout=30, tls=None, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", port))
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="127.0.0.1")
        fields = {"Host": f"127.0.0.1:{port}", "Connection": "Upgrade", "Upgrade": "websocket",
                  "Sec-WebSocket-Version": "13",
                  "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), **(headers or {})}
        head = f"GET {target} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in fields.items())
        self.socket.sendall(head.encode() + b"\r\n" + early)
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.head = head.decode()
        self.status = int(self.head.split()[1])

    def fill(self):
        try:
            got = self.socket.recv(65536)
        except ConnectionResetError:
            got = b""
        if not got:
            raise Ended
        self.buffer += got

    def read(self, count):
        while len(self.buffer) < count:
            self.fill()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, value, **more):
        payload = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.socket.sendall(frame(payload, **more))

    def receive(self):
        """The next frame: its first byte and payload. Frames of a server are whole and not masked."""
        first, second = self.read(2)
        length = second & 0x7F
        if length == 126:
            length = struct.unpack(">H", self.read(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self.read(8))[0]
        assert second & 0x80 == 0 and first & 0x80, (first, second)
        return first, self.read(length)

    def close(self):
        self.socket.close()


class Exec(WebSocket):
    """A session of `alloc exec`."""

    def __init__(self, port, alloc, command, task="task", headers=None, early=b"", timeout=30, tls=None,
                 receive_buffer=None, **query):
        words = command if isinstance(command, str) else json.dumps(command)
        query = {"command": words, "task": task, **query}
        super().__init__(port, f"/v1/client/allocation/{alloc}/exec?" + urllib.parse.urlencode(query),
                         headers, early, timeout, tls, receive_buffer)

    def stdin(self, data):
        self.send({"stdin": {"data": base64.b64encode(data).decode()}})

    def end_stdin(self):
        self.send({"stdin": {"close": True}})

    def collect(self, pause=0):
        """Everything until the close: stdout, stderr, the exit code, and the close's code and reason.
        With `pause`, reads slowly."""
        out, err, code = [], [], None
        while True:
            kind, payload = self.receive()
            if kind == CLOSE:
                close = struct.unpack(">H", payload[:2])[0] if payload else None
                return b"".join(out), b"".join(err), code, (close, payload[2:].decode())
            if kind == PING:
                self.send(payload, first=PONG)
            if kind != TEXT:
                continue
            message = json.loads(payload)
            out.append(base64.b64decode(message.get("stdout", {}).get("data", "")))
            err.append(base64.b64decode(message.get("stderr", {}).get("data", "")))
            if message.get("exited"):
                code = message["result"].get("exit_code", 0)
            if pause:
                time.sleep(pause)

    def wait_for(self, text):
        """stdout until it contains `text`."""
        out = b""
        while text not in out:
            kind, payload = self.receive()
            assert kind == TEXT, (kind, payload)
            out += base64.b64decode(json.loads(payload).get("stdout", {}).get("data", ""))
        return out
