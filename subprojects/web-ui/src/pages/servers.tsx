// The servers, their health, and the log of one as it is written.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ActionButton, Check, Confirm, Heading, Panel, SearchBox, Status, Table, Trouble } from "../parts/parts.tsx";
import { plain } from "../pure/ansi.ts";
import { place, setParameter } from "../shell/router.ts";
import { ApiError, request, said, send } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { useWhyNot } from "../store/may.ts";

interface Member {
  Name: string;
  Addr: string;
  Port: number;
  Status: string;
  Tags: Record<string, string>;
}

interface Health {
  Healthy: boolean;
  FailureTolerance: number;
  Servers: { ID: string; Name: string; Healthy: boolean; Leader: boolean; Voter: boolean; LastContact: string; LastIndex: number }[] | null;
}

const every = 5_000;

export function ServersPage(): JSX.Element {
  const members = useData<{ Members: Member[] | null }>("/v1/agent/members", {}, { every });
  const health = useData<Health>("/v1/operator/autopilot/health", {}, { every });
  const leader = useData<string>("/v1/status/leader", {}, { every });
  const watched = members.value?.Members?.find((member) => member.Name === place.value.query.get("monitor")) ?? null;
  const whyNot = useWhyNot("operator-write");
  const [heir, setHeir] = useState<Member | null>(null);
  const [removed, setRemoved] = useState<Member | null>(null);
  const of = (member: Member): NonNullable<Health["Servers"]>[number] | undefined => health.value?.Servers?.find((one) => one.ID === member.Tags["id"]);
  const isLeader = (member: Member): boolean => of(member)?.Leader ?? leader.value === `${member.Tags["rpc_addr"]}:${member.Tags["port"]}`;
  const text = place.value.query.get("filter") ?? "";
  const newest = Math.max(0, ...(health.value?.Servers ?? []).map((one) => one.LastIndex));
  const lagOf = (member: Member): number => newest - (of(member)?.LastIndex ?? newest);  // entries of the log
  return <>
    <Heading title="Servers">Servers</Heading>
    {leader.error ? <p class="trouble" role="alert">No leader: {leader.error.message}. Nothing can be changed until there is one.</p> : null}
    <SearchBox label="Filter servers" value={text} onChange={(value) => setParameter("filter", value)} />
    <Panel data={members} needs="node read">{(value) => <Table name="Servers" inAddress rows={(value.Members ?? []).filter((member) => text === "" || [member.Name, member.Status, member.Addr, member.Tags["region"], member.Tags["dc"], member.Tags["build"]].join(" ").toLowerCase().includes(text.toLowerCase()))} keyOf={(member) => member.Name} columns={[
      { name: "Name", by: (member) => member.Name, cell: (member) => member.Name },
      { name: "Status", by: (member) => member.Status, cell: (member) => <Status value={member.Status} /> },
      { name: "Role", cell: (member) => (isLeader(member) ? "leader" : of(member)?.Voter === false ? "no voter" : "follower") },
      { name: "Address", cell: (member) => `${member.Addr}:${member.Tags["port"] ?? ""}` },
      { name: "Region", by: (member) => member.Tags["region"] ?? "", cell: (member) => member.Tags["region"] },
      { name: "Datacenter", cell: (member) => member.Tags["dc"] },
      { name: "Health", cell: (member) => { const known = of(member); return known ? <Status value={known.Healthy ? "healthy" : "unhealthy"} /> : ""; } },
      { name: "Heard", cell: (member) => of(member)?.LastContact },
      { name: "Raft index", isNumber: true, by: (member) => of(member)?.LastIndex ?? 0, cell: (member) => of(member)?.LastIndex },
      { name: "Lag", isNumber: true, by: lagOf, cell: (member) => (of(member) ? lagOf(member) : "") },
      { name: "Build", cell: (member) => member.Tags["build"] },
      { name: "", cell: (member) => <span class="row-actions"><button type="button" class="plain link" onClick={() => setParameter("monitor", member.Name)} aria-label={`Monitor ${member.Name}`}>monitor</button>
        {member.Status === "alive" && !isLeader(member) && of(member)?.Voter ? <button type="button" class="plain link" disabled={whyNot !== undefined} title={whyNot} aria-label={`Make ${member.Name} leader`} onClick={() => setHeir(member)}>make leader</button> : null}
        {member.Status === "alive" ? null : <button type="button" class="plain link" disabled={whyNot !== undefined} title={whyNot} aria-label={`Remove ${member.Name}`} onClick={() => setRemoved(member)}>remove</button>}</span> },
    ]} />}</Panel>
    {health.value ? <p>{health.value.Healthy ? "All servers are healthy" : "Not all servers are healthy"}; {health.value.FailureTolerance === 0 ? "none may fail" : `${health.value.FailureTolerance} may fail`} before the cluster can decide nothing.</p>
      : <Trouble error={health.error} needs="operator read" />}
    <Confirm name="Transfer leadership" button="Transfer leadership" isOpen={heir !== null} close={() => setHeir(null)} done={`${heir?.Name} leads`}
      act={async () => { await send("PUT", "/v1/operator/raft/transfer-leadership", { id: heir?.Tags["id"] }); leader.reload(); health.reload(); }}>
      <p>{heir?.Name} leads the cluster from now on. Nothing is decided for a moment; what runs goes on.</p></Confirm>
    <Confirm name="Remove server" button="Remove server" kind="danger" isOpen={removed !== null} close={() => setRemoved(null)} done={`${removed?.Name} is no server of the cluster any more`}
      act={async () => { await send("DELETE", "/v1/operator/raft/peer", { id: removed?.Tags["id"] }); members.reload(); }}>
      <p>{removed?.Name} is {removed?.Status}. It has no vote any more, and has to join anew.</p></Confirm>
    {watched ? <Monitor key={watched.Name} member={watched} isLeader={isLeader(watched)} /> : null}
  </>;
}

const most_lines = 2_000;

function Monitor({ member, isLeader }: { member: Member; isLeader: boolean }): JSX.Element {
  const whyNot = useWhyNot("operator-write");
  const [level, setLevel] = useState("info");
  const [text, setText] = useState("");
  const [follows, setFollows] = useState(true);
  const [error, setError] = useState<ApiError>();
  const [, redraw] = useState(0);
  const lines = useRef<string[]>([]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const abort = new AbortController();
    lines.current = [];
    setError(undefined);
    void (async () => {
      try {
        const answer = await request("GET", "/v1/agent/monitor", { log_level: level, plain: "true", server_id: member.Tags["id"] }, undefined, abort.signal);
        const reader = answer.body?.getReader();
        const decoder = new TextDecoder();
        for (let rest = ""; ;) {
          const chunk = await reader?.read();
          if (!chunk || chunk.done) break;
          const parts = (rest + decoder.decode(chunk.value, { stream: true })).split("\n");
          rest = parts.pop() ?? "";
          lines.current.push(...parts.map(plain));
          if (lines.current.length > most_lines) lines.current.splice(0, lines.current.length - most_lines);
          redraw((count) => count + 1);
        }
      } catch (wrong) {
        if (!abort.signal.aborted) setError(wrong instanceof ApiError ? wrong : new ApiError(0, said(wrong)));
      }
    })();
    return () => abort.abort();
  }, [level]);
  useEffect(() => { if (follows && box.current) box.current.scrollTop = box.current.scrollHeight; });
  const shown = text === "" ? lines.current : lines.current.filter((line) => line.toLowerCase().includes(text.toLowerCase()));
  return <section class="panel"><h2>Monitor of {member.Name}</h2>
    <div class="actions">
      <label>Level <select value={level} onChange={(event) => setLevel(event.currentTarget.value)}>{["trace", "debug", "info", "warn", "error"].map((one) => <option>{one}</option>)}</select></label>
      <SearchBox label="Filter lines" value={text} onChange={setText} /><Check label="Follow" checked={follows} onChange={setFollows} />
      <span class="grow" />
      {isLeader ? null : <ActionButton kind="danger" disabled={whyNot !== undefined} why={whyNot} done={`Leadership goes on to ${member.Name}`} act={() => send("PUT", "/v1/operator/raft/transfer-leadership", { id: member.Tags["id"] })}>Make leader</ActionButton>}
    </div>
    <Trouble error={error} needs="agent read" />
    <div class="log" role="log" aria-label="Log of the server" aria-live="off" tabIndex={0} ref={box}>{shown.map((line) => <div class="line">{line}{"\n"}</div>)}
      {shown.length === 0 ? <p class="faint">Nothing at this level yet.</p> : null}</div>
  </section>;
}
