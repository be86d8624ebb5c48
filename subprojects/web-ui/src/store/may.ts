// Whether the token may do something: what a button says before it is pressed. The agent decides all the same.
import { token } from "./api.ts";
import { useKept } from "./data.ts";

interface Self {
  config?: { ACL?: { Enabled?: boolean } };
}

/** Whether the agent asks for rights; undefined while that is not known. Who may not read the agent has met access control. */
export function useEnforced(): boolean | undefined {
  const self = useKept<Self>("/v1/agent/self");
  return self.error?.status === 403 ? true : self.value?.config?.ACL?.Enabled;
}

/** Why not, in words; undefined if it may, or if nobody can tell before. */
export function useWhyNot(capability: string, ns?: string, path?: string): string | undefined {
  const isEnforced = useEnforced();
  const explained = useKept<{ Allowed: boolean }>(isEnforced ? "/v1/acl/explain" : null, { capability, namespace: ns, path });
  if (explained.value === undefined || explained.value.Allowed) return undefined;
  const needed = capability === "management" ? "a management token" : capability;
  return `This needs ${needed}${path === undefined ? "" : ` for ${path}`}${ns === undefined ? "" : ` in namespace ${ns}`}${token.value === "" ? ": sign in" : ""}`;
}
