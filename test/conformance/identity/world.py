"""What is asked with identities of tasks, and the world that both agents have before."""
import base64
import hashlib
import hmac
import json
import urllib.parse

import harness
import recorded

CONFIG = """
acl {
  enabled = true
}
"""
NO_ONE = "00000000-0000-4000-8000-000000000000"
# Each writes down what it shows, where the management can read it.
SHOW = "printf %s \"$NOMAD_TOKEN\" > $NOMAD_ALLOC_DIR/token-$NOMAD_TASK_NAME; "
FOREVER = SHOW + "sleep 100000"
SHOWN = {"Name": "default", "Audience": ["nomadproject.io"], "Env": True, "File": True}
# Of the tokens below, those that are guesses.
GUESSES = ("unknown-secret", "changed", "cut", "unsigned", "by-a-secret", "foreign", "key-unknown", "points", "no-signature", "ended", "stopped")


def task(name, script=FOREVER, **more):
    return {"Name": name, "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]}, "Identity": SHOWN,
            "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Resources": {"CPU": 20, "MemoryMB": 16}, **more}


def group(name, tasks):
    return {"Name": name, "Count": 1, "EphemeralDisk": {"SizeMB": 10}, "Tasks": tasks,
            "Services": [{"Name": f"front-{name}", "Provider": "nomad", "PortLabel": "8080"}]}


def job(name, groups, namespace="default", kind="service", **more):
    return {"ID": name, "Name": name, "Namespace": namespace, "Type": kind, "Datacenters": ["*"], "TaskGroups": groups, **more}


def encoded(value):
    text = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def decoded(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def forgeries(token):
    """Of one that is good: what nobody may take for it."""
    head, body, signature = token.split(".")
    header, claims = decoded(head), decoded(body)
    by_secret = encoded({**header, "alg": "HS256"}) + "." + body
    mac = hmac.new(b"secret", by_secret.encode(), hashlib.sha256).digest()
    return {"changed": f"{head}.{encoded({**claims, 'nomad_job_id': 'other'})}.{signature}",
            "cut": token[:-8],
            "unsigned": f"{encoded({**header, 'alg': 'none'})}.{body}.",
            "by-a-secret": f"{by_secret}.{encoded(mac)}",
            "foreign": f"{head}.{body}.{encoded(bytes(range(64)))}",
            "key-unknown": f"{encoded({**header, 'kid': NO_ONE})}.{body}.{signature}",
            "no-signature": f"{head}.{body}.",
            "points": ".."}


class World(recorded.World):
    """An agent with ACLs, jobs of all kinds whose tasks show who they are, and variables at each place below nomad/jobs."""

    def __init__(self):
        super().__init__(CONFIG)
        self.tokens["unknown-secret"] = NO_ONE
        self.ids = {}
        self.fill()

    def fill(self):
        self.done("PUT", "/v1/namespace", {"Name": "other"})
        pair = [task("t1"), task("t2")]
        for one in (job("app", [group("g1", pair), group("g2", [task("t1")])]),
                    job("app", [group("g1", [task("t1")])], "other"),
                    job("application", [group("g1", [task("t1")])]),
                    job("trusted", [group("g1", [task("t1"), task("t2")])]),
                    job("stopped", [group("g1", [task("t1")])]),
                    job("ended", [group("g1", [task("t1", SHOW)])], kind="batch"),
                    job("often", [group("g1", [task("t1")])], kind="batch", Periodic={"Enabled": True, "SpecType": "cron", "Spec": "0 0 1 1 *"}),
                    job("with", [group("g1", [task("t1")])], kind="batch", ParameterizedJob={"Payload": "optional"})):
            self.done("PUT", f"/v1/jobs?namespace={one['Namespace']}", {"Job": one})
        self.done("PUT", "/v1/acl/policy/all-of-trusted", {
            "Name": "all-of-trusted", "Rules": 'namespace "default" { capabilities = ["list-jobs"] }',
            "JobACL": {"Namespace": "default", "JobID": "trusted"}})
        self.done("PUT", "/v1/acl/policy/one-of-trusted", {
            "Name": "one-of-trusted", "Rules": 'namespace "default" { capabilities = ["read-job"] }\nnode { policy = "read" }',
            "JobACL": {"Namespace": "default", "JobID": "trusted", "Group": "g1", "Task": "t2"}})
        self.ids["often"] = self.child("/v1/job/often/periodic/force")
        self.ids["with"] = self.child("/v1/job/with/dispatch", {})
        for name, one, namespace, status in (
                ("app", "app", "default", "running"), ("other-app", "app", "other", "running"), ("application", "application", "default", "running"),
                ("trusted", "trusted", "default", "running"), ("stopped", "stopped", "default", "running"), ("ended", "ended", "default", "complete"),
                ("often", self.ids["often"], "default", "running"), ("with", self.ids["with"], "default", "running")):
            for alloc in self.allocations(one, namespace, status):
                self.take(name, alloc)
        self.done("DELETE", "/v1/job/stopped")
        self.allocations("stopped", "default", "complete")
        for path in self.paths():
            self.done("PUT", f"/v1/var/{path}", {"Path": path, "Items": {"at": path}})
        self.done("PUT", "/v1/var/nomad/jobs/app?namespace=other", {"Path": "nomad/jobs/app", "Items": {"at": "other"}})
        self.tokens.update(forgeries(self.tokens["app/g1/t1"]))

    def child(self, path, body=None):
        # It has an evaluation, and by that its job, at once.
        answer = self.done("PUT", path, body)
        return answer.get("DispatchedJobID") or self.done("GET", f"/v1/evaluation/{answer['EvalID']}")["JobID"]

    def allocations(self, name, namespace, status):
        path = f"/v1/job/{urllib.parse.quote(name, safe='')}/allocations?namespace={namespace}"

        def found():
            all_of = self.done("GET", path)
            return all_of if all_of and all(one["ClientStatus"] == status for one in all_of) else None
        return harness.wait_until(found, what=f"allocations of {name}")

    def take(self, name, alloc):
        """The identities of the allocation's tasks."""
        place = f"{name}/{alloc['TaskGroup']}"
        self.ids[place] = alloc["ID"]
        for one in alloc["TaskStates"]:
            def read(one=one):
                answer = self.agent.get(f"/v1/client/fs/cat/{alloc['ID']}?path=alloc/token-{one}&namespace={alloc['Namespace']}")
                return answer.body if answer.status == 200 and answer.body.count(".") == 2 else None
            named = name if name in GUESSES else f"{place}/{one}"
            self.tokens[named] = harness.wait_until(read, what=f"the identity of {place}/{one}")

    def paths(self):
        """Of variables."""
        return ["app", "nomad/jobs", "nomad/jobs/app", "nomad/jobs/app/g1", "nomad/jobs/app/g1/t1", "nomad/jobs/app/g1/t1/deeper",
                "nomad/jobs/app/g1/t2", "nomad/jobs/app/g2", "nomad/jobs/app/g2/t1", "nomad/jobs/application", "nomad/jobs/trusted",
                "nomad/jobs/with", "nomad/jobs/with/g1/t1", "nomad/jobs/" + self.ids["with"], "nomad/jobs/often/g1",
                "nomad/jobs/" + self.ids["often"]]

    def operations(self):
        """Method, path and body of each question, in the order that it is asked in; what changes something comes last."""
        for path in self.paths():
            yield "GET", f"/v1/var/{path}"
        for path in ("nomad/jobs/none", "nomad/jobs/app/none", "nomad/jobs/app?namespace=other"):
            yield "GET", f"/v1/var/{path}"
        for query in ("", "?prefix=nomad/jobs/app", "?prefix=nomad/jobs/app/", "?namespace=other", "?namespace=*", "?prefix=nomad/jobs/with"):
            yield "GET", f"/v1/vars{query}"
        alloc = self.ids["app/g1"]
        for path in ("/v1/jobs", "/v1/jobs?namespace=*", "/v1/job/app", "/v1/job/trusted", "/v1/job/app/allocations", "/v1/allocations",
                     f"/v1/allocation/{alloc}", "/v1/evaluations", "/v1/deployments", "/v1/nodes", "/v1/services", "/v1/services?namespace=other",
                     "/v1/service/front-g1", "/v1/service/front-g1?namespace=other", "/v1/namespaces", "/v1/namespace/default",
                     "/v1/namespace/other", "/v1/node/pools", "/v1/agent/self", "/v1/agent/health", "/v1/agent/members", "/v1/metrics",
                     "/v1/status/leader", "/v1/status/peers", "/v1/regions", "/v1/acl/policies", "/v1/acl/policy/all-of-trusted",
                     "/v1/acl/policy/one-of-trusted", "/v1/acl/tokens", "/v1/acl/token/self", "/v1/acl/roles", "/v1/acl/auth-methods",
                     "/v1/operator/keyring/keys", "/v1/operator/raft/configuration", "/v1/operator/scheduler/configuration",
                     "/v1/client/stats", f"/v1/client/allocation/{alloc}/stats", f"/v1/client/fs/ls/{alloc}?path=/",
                     f"/v1/client/fs/cat/{alloc}?path=t1/secrets/nomad_token", f"/v1/client/fs/logs/{alloc}?task=t1&type=stdout",
                     "/v1/scaling/policies", "/v1/volumes?type=csi", "/v1/plugins?type=csi"):
            yield "GET", path
        for path in ("/v1/agent/health", "/v1/agent/self", "/v1/status/leader", "/v1/jobs", "/v1/var/nomad/jobs/app", "/v1/vars",
                     "/v1/acl/token/self", "/v1/metrics", "/v1/services", "/v1/none", "/ui/"):
            yield "SOCKET", path
        for path in ("nomad/jobs/app", "nomad/jobs/app/g1/t1", "nomad/jobs/app/new", "nomad/jobs/application", "app"):
            yield "PUT", f"/v1/var/{path}", {"Path": path, "Items": {"at": "changed"}}
        yield "DELETE", "/v1/var/nomad/jobs/app/g1/t1"
        yield "PUT", "/v1/jobs", {"Job": job("new", [group("g1", [task("t1")])], kind="batch", ParameterizedJob={"Payload": "optional"})}
        yield "PUT", "/v1/job/with/dispatch", {"JobID": "none"}
        yield "PUT", f"/v1/client/allocation/{NO_ONE}/restart", {}
        yield "DELETE", "/v1/job/none"
        yield "PUT", "/v1/system/gc"
        yield "PUT", "/v1/acl/token", {"Name": "more", "Type": "client", "Policies": ["all-of-trusted"]}
        yield "PUT", "/v1/acl/token/onetime"

    def socket(self):
        """The Task API of task t1."""
        return f"{self.agent.data_dir}/alloc/{self.ids['app/g1']}/t1/secrets"

    def names(self):
        """What ids are called in answers that are kept; the longest first, for children have the names of their parents."""
        named = {one: name.replace("/", "-").upper() for name, one in self.ids.items()}
        return dict(sorted([*named.items(), (NO_ONE, "NO_ONE")], key=lambda pair: -len(pair[0])))
