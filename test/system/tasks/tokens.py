"""Signed tokens, as whoever verifies them by published keys reads them."""
import base64
import hashlib
import json


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def header_of(token):
    return json.loads(unpadded(token.split(".")[0]))


def key_of(keys, token):
    """The one that the token names; None without."""
    return next((key for key in keys if key["kid"] == header_of(token)["kid"]), None)


def verify_rs256(key, token):
    """RFC 8017, 8.2.2, by nothing but arithmetic."""
    signed, _, signature = token.rpartition(".")
    n, e = (int.from_bytes(unpadded(key[name]), "big") for name in ("n", "e"))
    size = (n.bit_length() + 7) // 8
    signature = unpadded(signature)
    prefix = bytes.fromhex("3031300d060960864801650304020105000420")
    digest = prefix + hashlib.sha256(signed.encode()).digest()
    wanted = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    return len(signature) == size and pow(int.from_bytes(signature, "big"), e, n).to_bytes(size, "big") == wanted
