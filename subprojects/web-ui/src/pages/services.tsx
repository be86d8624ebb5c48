// Services that tasks have registered, and who offers one.
import type { JSX } from "preact";
import { Heading, Panel, SearchBox, Table } from "../parts/parts.tsx";
import { Checks } from "./checks.tsx";
import { shortId } from "../pure/units.ts";
import { jobLink, link, place, setParameter } from "../shell/router.ts";
import { namespace, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import type { Happened } from "../store/messages.ts";

interface Namespaced {
  Namespace: string;
  Services: { ServiceName: string; Tags: string[] | null }[] | null;
}

interface Instance {
  ID: string;
  ServiceName: string;
  Namespace: string;
  JobID: string;
  AllocID: string;
  NodeID: string;
  Datacenter: string;
  Address: string;
  Port: number;
  Tags: string[] | null;
}

const most_checked = 10;  // allocations whose checks a page asks for

const isService = (event: Happened): boolean => event.topic === "Service";

export function ServicesPage(): JSX.Element {
  const services = useData<Namespaced[]>("/v1/services", { namespace: namespace.value }, { when: isService });
  const text = place.value.query.get("filter") ?? "";
  const rows = (services.value ?? []).flatMap((of) => (of.Services ?? []).map((service) => ({ ...service, ns: of.Namespace }))).filter((one) => one.ServiceName.toLowerCase().includes(text.toLowerCase()));
  return <><Heading title="Services">Services</Heading>
    <SearchBox label="Filter services" value={text} onChange={(value) => setParameter("filter", value)} />
    <Panel data={services} needs="read-job">{() => <>
      <Table name="Services" inAddress rows={rows} keyOf={(one) => one.ns + one.ServiceName} columns={[
        { name: "Service", by: (one) => one.ServiceName, cell: (one) => <a href={`${link("services", one.ServiceName)}?namespace=${word(one.ns)}`}>{one.ServiceName}</a> },
        { name: "Namespace", by: (one) => one.ns, cell: (one) => one.ns },
        { name: "Tags", cell: (one) => one.Tags?.join(", ") }]} />
      {rows.length === 0 ? <p class="faint">No task has registered a service: a service block in a job does.</p> : null}</>}</Panel></>;
}

export function ServicePage(): JSX.Element {
  const { path, query } = place.value;
  const name = path[1] ?? "";
  const ns = query.get("namespace") ?? "default";
  const instances = useData<Instance[]>(`/v1/service/${word(name)}`, { namespace: ns }, { when: isService });
  return <><Heading title={name} back={{ href: "/ui/services", text: "Services" }}>{name}</Heading>
    <Panel title="Instances" data={instances} needs={`read-job in namespace ${ns}`} empty="Nobody offers this service now.">{(all) => <Table name="Instances" rows={all} keyOf={(one) => one.ID} columns={[
      { name: "Address", cell: (one) => (one.Port ? `${one.Address}:${one.Port}` : one.Address) },
      { name: "Job", cell: (one) => <a href={jobLink(one.JobID, one.Namespace)}>{one.JobID}</a> },
      { name: "Allocation", cell: (one) => <a href={link("allocations", one.AllocID)}>{shortId(one.AllocID)}</a> },
      { name: "Client", cell: (one) => <a href={link("clients", one.NodeID)}>{shortId(one.NodeID)}</a> },
      { name: "Datacenter", cell: (one) => one.Datacenter }, { name: "Tags", cell: (one) => one.Tags?.join(", ") }]} />}</Panel>
    {[...new Map((instances.value ?? []).map((one) => [one.AllocID, one])).values()].slice(0, most_checked).map((one) => <Checks key={one.AllocID} alloc={{ ID: one.AllocID, Namespace: one.Namespace }} of={name} />)}</>;
}
