// Whether the token may do something: what a button says before it is pressed. The agent decides all the same.
import { token } from "./api.ts";
import { useData } from "./data.ts";

/** Why not, in words; undefined if it may, or if nobody can tell before. */
export function useWhyNot(capability: string, ns?: string): string | undefined {
  // Without a token it is not known whether the agent asks for one.
  const explained = useData<{ Allowed: boolean }>(token.value === "" ? null : "/v1/acl/explain", { capability, namespace: ns });
  if (explained.value === undefined || explained.value.Allowed) return undefined;
  return `This needs ${capability}${ns === undefined ? "" : ` in namespace ${ns}`}`;
}
