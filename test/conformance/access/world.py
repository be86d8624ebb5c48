"""What the matrix asks, with which credentials, and the world that both agents have before."""
import time

import harness
import recorded

CONFIG = """
acl {
  enabled                  = true
  token_min_expiration_ttl = "1s"
}
"""
# What each token's policy allows in the namespace "default", and beside namespaces.
IN_NAMESPACE = (
    "list-jobs", "parse-job", "read-job", "submit-job", "dispatch-job", "scale-job", "read-job-scaling", "list-scaling-policies",
    "read-scaling-policy", "read-logs", "read-fs", "alloc-lifecycle", "alloc-exec", "alloc-node-exec", "csi-list-volume",
    "csi-read-volume", "csi-mount-volume", "csi-write-volume", "csi-register-plugin", "sentinel-override", "submit-recommendation")
OF_VARIABLES = ("list", "read", "write", "destroy")
POLICIES = {
    **{capability: f'namespace "default" {{ capabilities = ["{capability}"] }}' for capability in IN_NAMESPACE},
    **{"variables-" + capability: f'namespace "default" {{ variables {{ path "app" {{ capabilities = ["{capability}"] }} }} }}'
       for capability in OF_VARIABLES},
    **{f"default-{level}": f'namespace "default" {{ policy = "{level}" }}' for level in ("read", "write", "scale")},
    "everywhere-read": 'namespace "*" { policy = "read" }',
    "everywhere-write": 'namespace "*" { policy = "write" }',
    "default-denied": 'namespace "*" { policy = "write" }\nnamespace "default" { policy = "deny" }',
    "other-write": 'namespace "other" { policy = "write" }',
    "variables-denied": 'namespace "default" { policy = "write"\n variables { path "*" { capabilities = ["write"] }\n'
                        ' path "app" { capabilities = ["deny"] } } }',
    **{f"{kind}-{level}": f'{kind} {{ policy = "{level}" }}' for kind in ("agent", "node", "operator", "quota") for level in ("read", "write", "deny")},
    **{f"plugin-{level}": f'plugin {{ policy = "{level}" }}' for level in ("read", "list", "deny")},
    **{f"pool-{level}": f'node_pool "*" {{ policy = "{level}" }}' for level in ("read", "write", "deny")},
    "pool-delete": 'node_pool "*" { capabilities = ["delete"] }',
    "node-and-jobs": 'node { policy = "read" }\nnamespace "default" { policy = "read" }\nnode_pool "*" { policy = "read" }',
    **{f"mount-{right}": f'namespace "default" {{ capabilities = ["submit-job"] }}\nhost_volume "*" {{ capabilities = ["mount-{right}"] }}'
       for right in ("readonly", "readwrite")},
}
NO_TOKENS = ("unknown", "malformed")
NO_ONE = "00000000-0000-4000-8000-000000000000"


def job(name, namespace="default", kind="service", script="sleep 100000", **more):
    return {"ID": name, "Name": name, "Namespace": namespace, "Type": kind, "Datacenters": ["*"],
            "TaskGroups": [{"Name": "g", "Count": 1, "EphemeralDisk": {"SizeMB": 10},
                            "Tasks": [{"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]}, "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
                                       "Resources": {"CPU": 20, "MemoryMB": 16}}], **more.pop("group", {})}], **more}


def with_volume(name, read_only):
    return job(name, group={"Volumes": {"v": {"Name": "v", "Type": "host", "Source": "none", "ReadOnly": read_only}}})


class World(recorded.World):
    """An agent with ACLs, two namespaces with the same objects, and a token for each policy."""

    def __init__(self, config=CONFIG):
        super().__init__(config)
        self.tokens = {"none": "", "unknown": NO_ONE, "malformed": "abc", "management": self.management}
        self.fill()

    def fill(self):
        self.done("PUT", "/v1/namespace", {"Name": "other"})
        self.done("PUT", "/v1/node/pools", {"Name": "gpu"})
        for namespace in ("default", "other"):
            for one in (job("web", namespace, Update={"MaxParallel": 1, "HealthCheck": "task_states", "MinHealthyTime": 10_000_000, "Canary": 0},
                            group={"Services": [{"Name": "front", "Provider": "nomad", "PortLabel": "8080"}],
                                   "Scaling": {"Enabled": True, "Min": 1, "Max": 3}}),
                        job("still", namespace, Update={"MaxParallel": 0}, group={"Scaling": {"Enabled": True, "Min": 1, "Max": 3}}),
                        job("ended", namespace, "batch", "true"),
                        job("often", namespace, "batch", "true", Periodic={"Enabled": True, "SpecType": "cron", "Spec": "0 0 1 1 *"}),
                        job("with", namespace, "batch", "true", ParameterizedJob={"Payload": "optional"})):
                self.done("PUT", f"/v1/jobs?namespace={namespace}", {"Job": one})
            self.done("PUT", f"/v1/var/app?namespace={namespace}", {"Path": "app", "Items": {"key": "value"}})
        self.done("PUT", "/v1/acl/role", {"Name": "made", "Policies": [{"Name": self.policy("made", POLICIES["list-jobs"])}]})
        self.done("PUT", "/v1/acl/auth-method", {"Name": "made", "Type": "JWT", "TokenLocality": "local", "MaxTokenTTL": "1h",
                                                 "Config": {"JWKSURL": "http://127.0.0.1:1/keys"}})
        for name, rules in POLICIES.items():
            self.tokens[name] = self.token(self.policy(name, rules))
        self.tokens["expired"] = self.token("everywhere-write", ExpirationTTL="1s")
        self.alloc = self.allocation("web", "running")
        self.ended = self.allocation("ended", "complete")
        self.evaluation = self.alloc["EvalID"]
        self.deployment = harness.wait_until(lambda: self.done("GET", "/v1/job/web/deployment"), what="a deployment")["ID"]
        harness.wait_until(lambda: self.done("GET", f"/v1/deployment/{self.deployment}")["Status"] == "successful", what="the deployment's end")
        self.node = self.done("GET", "/v1/nodes")[0]["ID"]
        self.scaling = self.done("GET", "/v1/scaling/policies")[0]["ID"]
        time.sleep(1.1)  # The short token's life.

    def policy(self, name, rules):
        self.done("PUT", f"/v1/acl/policy/{name}", {"Name": name, "Rules": rules})
        return name

    def token(self, policy, **more):
        return self.done("PUT", "/v1/acl/token", {"Name": policy, "Type": "client", "Policies": [policy], **more})["SecretID"]

    def allocation(self, name, status):
        def found():
            return [one for one in self.done("GET", f"/v1/job/{name}/allocations") if one["ClientStatus"] == status]
        return harness.wait_until(found, what=f"the allocation of {name}")[0]

    def operations(self):
        """Method, path and body of each question, in the order that it is asked in; what changes much comes last."""
        web, ended, evaluation, deployment, node = self.alloc["ID"], self.ended["ID"], self.evaluation, self.deployment, self.node

        def both(path):
            yield "GET", path
            yield "GET", path + ("&" if "?" in path else "?") + "namespace=other"
            yield "GET", path + ("&" if "?" in path else "?") + "namespace=*"

        for path in ("/v1/jobs", "/v1/allocations", "/v1/evaluations", "/v1/evaluations/count", "/v1/deployments", "/v1/services",
                     "/v1/scaling/policies", "/v1/vars"):
            yield from both(path)
        for path in ("", "/allocations", "/evaluations", "/summary", "/versions", "/deployments", "/deployment", "/services", "/scale"):
            yield "GET", "/v1/job/web" + path
            yield "GET", f"/v1/job/web{path}?namespace=other"
            yield "GET", "/v1/job/none" + path
        for path in (f"/v1/allocation/{web}", f"/v1/allocation/{NO_ONE}", f"/v1/allocation/{web}/services", f"/v1/evaluation/{evaluation}",
                     f"/v1/evaluation/{NO_ONE}", f"/v1/evaluation/{evaluation}/allocations", f"/v1/deployment/{deployment}",
                     f"/v1/deployment/{NO_ONE}", f"/v1/deployment/allocations/{deployment}", "/v1/service/front", "/v1/service/none",
                     f"/v1/scaling/policy/{self.scaling}", f"/v1/scaling/policy/{NO_ONE}", "/v1/namespaces", "/v1/namespace/default",
                     "/v1/namespace/other", "/v1/namespace/none", "/v1/var/app", "/v1/var/none", "/v1/var/app?namespace=other",
                     f"/v1/client/allocation/{web}/stats", f"/v1/client/allocation/{web}/checks", f"/v1/client/allocation/{NO_ONE}/stats",
                     f"/v1/client/fs/ls/{web}?path=/", f"/v1/client/fs/stat/{web}?path=/", f"/v1/client/fs/cat/{ended}?path=alloc/logs/t.stdout.0",
                     f"/v1/client/fs/logs/{ended}?task=t&type=stdout", f"/v1/client/fs/ls/{NO_ONE}?path=/", "/v1/client/stats",
                     f"/v1/client/stats?node_id={node}", "/v1/client/metadata", "/v1/nodes", f"/v1/node/{node}", f"/v1/node/{NO_ONE}",
                     f"/v1/node/{node}/allocations", "/v1/node/pools", "/v1/node/pool/default", "/v1/node/pool/gpu", "/v1/node/pool/none",
                     "/v1/node/pool/default/nodes", "/v1/node/pool/default/jobs?namespace=*", "/v1/agent/self", "/v1/agent/servers",
                     "/v1/agent/members", "/v1/agent/health", "/v1/metrics", "/v1/status/leader", "/v1/status/peers", "/v1/regions",
                     "/v1/operator/scheduler/configuration", "/v1/operator/autopilot/configuration", "/v1/operator/autopilot/health",
                     "/v1/operator/raft/configuration", "/v1/operator/keyring/keys", "/v1/operator/snapshot",
                     "/v1/acl/policies", "/v1/acl/policy/made", "/v1/acl/policy/read-job", "/v1/acl/policy/none", "/v1/acl/tokens",
                     "/v1/acl/token/self", f"/v1/acl/token/{NO_ONE}", "/v1/acl/roles", "/v1/acl/role/name/made", "/v1/acl/role/name/none",
                     "/v1/acl/auth-methods", "/v1/acl/auth-method/made", "/v1/acl/auth-method/none", "/v1/acl/binding-rules",
                     f"/v1/acl/binding-rule/{NO_ONE}", "/v1/volumes?type=csi", "/v1/plugins?type=csi", "/v1/agent/host"):
            yield "GET", path
        for context in ("jobs", "allocs", "evals", "deployment", "nodes", "namespaces", "vars", "node_pools", "scaling_policy", "all"):
            yield "PUT", "/v1/search", {"Prefix": "", "Context": context}
        yield "PUT", "/v1/search", {"Prefix": "", "Context": "jobs", "Namespace": "other"}
        yield "PUT", "/v1/jobs/parse", {"JobHCL": 'job "a" {}'}
        yield "PUT", "/v1/validate/job", {"Job": job("made")}
        yield "PUT", "/v1/job/web/plan", {"Job": job("web"), "Diff": False}
        yield "PUT", "/v1/job/web/plan", {"Job": job("web"), "PolicyOverride": True}
        yield "PUT", "/v1/jobs", {"Job": job("made")}
        yield "PUT", "/v1/jobs", {"Job": job("made"), "PolicyOverride": True}
        yield "PUT", "/v1/jobs?namespace=other", {"Job": job("made")}
        yield "PUT", "/v1/jobs", {"Job": job("made", "other")}
        yield "PUT", "/v1/jobs", {"Job": with_volume("made-ro", True)}
        yield "PUT", "/v1/jobs", {"Job": with_volume("made-rw", False)}
        yield "PUT", "/v1/job/web/evaluate", {"JobID": "web"}
        yield "PUT", "/v1/job/still/scale", {"Count": 1, "Target": {"Group": "g"}}
        yield "PUT", "/v1/job/none/scale", {"Count": 1, "Target": {"Group": "g"}}
        yield "PUT", "/v1/job/still/revert", {"JobID": "still", "JobVersion": 0}
        yield "PUT", "/v1/job/still/stable", {"JobID": "still", "JobVersion": 0, "Stable": True}
        yield "PUT", "/v1/job/with/dispatch", {}
        yield "PUT", "/v1/job/with/dispatch?namespace=other", {}
        yield "PUT", "/v1/job/none/dispatch", {}
        yield "PUT", "/v1/job/often/periodic/force"
        yield "DELETE", "/v1/job/none"
        yield "DELETE", "/v1/job/none?namespace=other"
        yield "PUT", f"/v1/deployment/fail/{deployment}", {}
        yield "PUT", f"/v1/deployment/fail/{NO_ONE}", {}
        yield "PUT", f"/v1/deployment/unblock/{deployment}", {"DeploymentID": deployment}
        yield "PUT", f"/v1/deployment/pause/{deployment}", {"DeploymentID": deployment, "Pause": True}
        yield "PUT", f"/v1/deployment/promote/{deployment}", {"DeploymentID": deployment, "All": True}
        yield "PUT", f"/v1/deployment/allocation-health/{deployment}", {"DeploymentID": deployment, "HealthyAllocationIDs": [web]}
        yield "DELETE", "/v1/service/none/_nomad-task-none"
        yield "PUT", f"/v1/allocation/{NO_ONE}/stop"
        yield "PUT", f"/v1/allocation/{ended}/stop"
        yield "PUT", f"/v1/client/allocation/{ended}/restart", {}
        yield "PUT", f"/v1/client/allocation/{ended}/signal", {"Signal": "SIGHUP"}
        yield "PUT", f"/v1/client/allocation/{NO_ONE}/restart", {}
        yield "PUT", "/v1/namespace", {"Name": "made"}
        yield "DELETE", "/v1/namespace/none"
        yield "PUT", "/v1/var/app", {"Path": "app", "Items": {"key": "value"}}
        yield "PUT", "/v1/var/none?namespace=other", {"Path": "none", "Items": {"key": "value"}}
        yield "DELETE", "/v1/var/none"
        yield "DELETE", "/v1/var/app?cas=1"
        yield "POST", "/v1/client/metadata", {"Meta": {"made": "yes"}}
        yield "PUT", f"/v1/node/{node}/evaluate"
        yield "PUT", f"/v1/node/{node}/eligibility", {"Eligibility": "eligible"}
        yield "PUT", f"/v1/node/{node}/drain", {"DrainSpec": None, "MarkEligible": True}
        yield "PUT", f"/v1/node/{NO_ONE}/purge"
        yield "PUT", "/v1/node/pools", {"Name": "made"}
        yield "PUT", "/v1/node/pool/made", {"Name": "made"}
        yield "DELETE", "/v1/node/pool/none"
        yield "PUT", "/v1/agent/force-leave?node=none.global"
        yield "PUT", "/v1/agent/join?address=127.0.0.1:1"
        yield "PUT", "/v1/operator/scheduler/configuration", {"SchedulerAlgorithm": "binpack", "PreemptionConfig": {}}
        yield "PUT", "/v1/operator/autopilot/configuration", {"CleanupDeadServers": True}
        yield "DELETE", "/v1/operator/raft/peer?address=127.0.0.1:1"
        yield "DELETE", f"/v1/operator/keyring/key/{NO_ONE}"
        yield "PUT", "/v1/operator/snapshot", "no archive"
        yield "DELETE", "/v1/evaluations", {"EvalIDs": [NO_ONE]}
        yield "PUT", "/v1/acl/bootstrap"
        yield "PUT", "/v1/acl/policy/again", {"Name": "again", "Rules": POLICIES["list-jobs"]}
        yield "DELETE", "/v1/acl/policy/never"
        yield "PUT", "/v1/acl/token", {"Name": "again", "Type": "client", "Policies": ["made"]}
        yield "PUT", "/v1/acl/token", {"Name": "again", "Type": "management"}
        yield "DELETE", f"/v1/acl/token/{NO_ONE}"
        yield "PUT", "/v1/acl/token/onetime"
        yield "PUT", "/v1/acl/token/onetime/exchange", {"OneTimeSecretID": NO_ONE}
        yield "PUT", "/v1/acl/role", {"Name": "made", "Policies": [{"Name": "made"}]}
        yield "DELETE", f"/v1/acl/role/{NO_ONE}"
        yield "PUT", "/v1/acl/auth-method", {"Name": "a b"}
        yield "DELETE", "/v1/acl/auth-method/none"
        yield "PUT", "/v1/acl/binding-rule", {"AuthMethod": "none", "BindType": "policy", "BindName": "a"}
        yield "DELETE", f"/v1/acl/binding-rule/{NO_ONE}"
        yield "PUT", "/v1/acl/login", {"AuthMethodName": "none", "LoginToken": "x"}
        yield "PUT", "/v1/acl/oidc/auth-url", {"AuthMethodName": "none", "RedirectURI": "http://127.0.0.1:4649/oidc/callback", "ClientNonce": "n"}
        for topic in ("Job", "Allocation", "Evaluation", "Deployment", "Service", "Node", "NodePool", "ACLToken", "ACLPolicy", "ACLRole", "*"):
            yield "STREAM", f"/v1/event/stream?topic={topic}"
        yield "STREAM", "/v1/event/stream?topic=Job&namespace=other"
        yield "STREAM", "/v1/event/stream?topic=Job&topic=Node"
        yield "STREAM", "/v1/agent/monitor?log_level=trace"
        yield "PUT", f"/v1/client/allocation/{NO_ONE}/gc"
        yield "PUT", "/v1/operator/keyring/rotate"
        yield "PUT", "/v1/client/gc"
        yield "PUT", "/v1/system/reconcile/summaries"

    def names(self):
        """What ids are called in answers that are kept."""
        return {self.alloc["ID"]: "ALLOC", self.ended["ID"]: "ENDED", self.evaluation: "EVAL", self.deployment: "DEPLOYMENT", self.node: "NODE",
                self.scaling: "SCALING", NO_ONE: "NO_ONE"}
