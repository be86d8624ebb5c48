"""An agent with access control, and its first token."""
import os

import harness
from harness import wait_until

ACL = """
acl {
  enabled                  = true
  token_min_expiration_ttl = "1s"
}
"""


class GuardedAgent(harness.Agent):
    """Its requests show the first token, unless they name another one."""

    def __init__(self, config="", **kwargs):
        super().__init__(ACL + config, **kwargs)

    def start(self, wait=True, flags=()):
        super().start(wait=False, flags=flags)
        if not self.token:
            first = wait_until(self.bootstrap, what="the first token")
            self.token, self.accessor = first["SecretID"], first["AccessorID"]
        if wait:
            wait_until(self.is_ready, what="the node's readiness")
        return self

    def good(self, method, path, body=None):
        """The JSON of an answer that must be good."""
        answer = self.request(method, path, body)
        assert answer.status == 200, (method, path, answer)
        return answer.json if answer.body else None

    def make_policy(self, name, rules):
        self.good("PUT", f"/v1/acl/policy/{name}", {"Name": name, "Rules": rules})

    def make_token(self, **token):
        return self.good("PUT", "/v1/acl/token", {"Type": "client", **token})

    def run(self, *words, token=None, **kwargs):
        os.environ["NOMAD_TOKEN"] = token or self.token
        try:
            return super().run(*words, **kwargs)
        finally:
            del os.environ["NOMAD_TOKEN"]
