"""Runs the recorded session about access with another program and another server, and shows where they say something else.

usage: compare.py NOMADCTL ADDRESS

ADDRESS is the HTTP address of an agent that has ACLs enabled and was not bootstrapped yet; it may be the real one's,
which tells what is the commands' doing and what the server's. Ids, times, indexes and keys are what they are.
"""
import json
import os
import re
import sys

from record import record

HERE = os.path.dirname(os.path.abspath(__file__))
KNOWN = (  # Parts of commands whose difference is wanted, see recorded_test.cpp.
    "acl bootstrap secret", "acl policy apply -namespace default wrong", "acl role info -json", "acl role info -t",
    "acl role info -by-name -json", "-config {", "-max-token-ttl soon", "acl token create -json -t",
    # Our servers say where a policy is wrong, and show nobody a client secret.
    "acl policy apply wrong wrong.hcl", "acl policy apply torn torn.hcl",
    "acl auth-method create -name sso -type OIDC -token-locality local -max-token-ttl 1h -config -")
HINT = "Set NOMAD_TOKEN or -token to a token that may do this"
BROWSER = "The browser is asked to show the provider"


def without_chance(text):
    """JSON in one order, and nothing of what differs from run to run."""
    try:
        text = json.dumps(json.loads(text), indent=1, sort_keys=True)
    except ValueError:
        pass
    for pattern, name in ((r"-----BEGIN[^-]*-----(?:[^-]|\n)*-----END[^-]*-----(?:\\n)?", "PEM"),
                          (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
                          (r"\d{4}-\d\d-\d\d[T ][\d:.]+", "TIME"),
                          (r"(?i)(index(?:: |\": | += ))\d+", r"\1N"),
                          (r"(?m)^(?:\d+ )*\d* ?$", "INDEXES"),
                          (r"JobACL:\(.*", "STRUCTURE")):
        text = re.sub(pattern, name, text)
    lines = [line.strip() for line in text.replace("'nomad ", "'nomadctl ").split("\n")]
    lines = [line for line in lines if line and line != '"ExpirationTime": null,']
    return sorted(lines)  # Lists are in the order of ids, which are made by chance.


def complaint_of(text):
    """In small letters, as the system's texts begin with capitals in ours; without what ours say besides."""
    text = text.split(HINT)[0].split(BROWSER)[0]
    return [line.lower() for line in without_chance(text)]


def main():
    with open(HERE + "/acl.json") as f:
        real = json.load(f)
    ours = record(*sys.argv[1:3])
    differing = 0
    for left, right in zip(real, ours, strict=True):
        line = " ".join(left["words"])
        found = []
        if left["code"] != right["code"]:
            found.append(("exits with", left["code"], right["code"]))
        if without_chance(left["out"]) != without_chance(right["out"]):
            found.append(("prints", left["out"], right["out"]))
        if complaint_of(left["err"]) != complaint_of(right["err"]):
            found.append(("complains", left["err"], right["err"]))
        if not found or any(part in line for part in KNOWN):
            continue
        differing += 1
        print("$", line[:200])
        for what, theirs, own in found:
            print(f"  {what}\n    Nomad: {str(theirs).strip()[:600]}\n    here:  {str(own).strip()[:600]}")
    print(f"{len(ours)} commands, {differing} that differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
