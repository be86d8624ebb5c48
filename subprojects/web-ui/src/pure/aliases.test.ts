import { strict as assert } from "node:assert";
import { test } from "node:test";
import { aliasOf } from "./aliases.ts";

const of = (path: string): string | null => {
  const alias = aliasOf(path.split("/"));
  return alias && [alias.path.join("/"), ...Object.entries(alias.query).map(([name, value]) => `${name}=${value}`)].join(" ");
};

test("addresses of Nomad's UI that have another name here", () => {
  const pairs: [string, string][] = [["allocations/a/fs", "allocations/a/files path=/"], ["allocations/a/web/fs/local/x", "allocations/a/web/files path=/web/local/x"], ["allocations/a/fs/alloc/logs", "allocations/a/files path=/alloc/logs"],
    ["jobs/web@default/clients", "jobs/web@default/allocations"], ["jobs/web@default/dispatch", "jobs/web@default dispatch=true"], ["jobs/run/templates", "jobs/run"], ["servers/a.global/monitor", "servers monitor=a.global"],
    ["clients/n/monitor", "clients/n"], ["variables/path/nomad/jobs", "variables path=nomad/jobs"], ["policies/dev", "access/policies"], ["access-control/roles", "access/roles"], ["administration", "access/namespaces"], ["exec/web", "jobs/web"]];
  for (const [from, wanted] of pairs) assert.equal(of(from), wanted);
});

test("what is the same here stays", () => {
  for (const path of ["", "jobs", "jobs/run", "jobs/web@default/versions", "jobs/web@default/front", "allocations/a", "allocations/a/web/logs", "exec/web/front/server", "variables/var/a/b@default", "clients/n", "servers", "what"]) assert.equal(of(path), null);
});
