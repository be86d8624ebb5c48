// What of a job has failed, of the events that come, as one message for each job.
import { plain } from "../pure/ansi.ts";
import type { AllocRow, DeploymentRow, Happened } from "../pure/rows.ts";
import { shortId } from "../pure/units.ts";

export interface Failure {
  job: string;
  ns: string;
  title: string;
  body: string;
  href: string;
}

const ends: Record<string, string> = { failed: "failed", lost: "was lost" };
/** Of an allocation, or of a deployment. */
export function isFailure(status: string): boolean {
  return status in ends;
}

const longest = 300;  // of a body

interface Found {
  id: string;
  event: Happened;
  text: string;
  isDeployment: boolean;
}

function foundOf(event: Happened): Found | null {
  if (event.topic === "Allocation") {
    const alloc = event.row as AllocRow | null;
    const end = ends[alloc?.ClientStatus ?? ""];
    return alloc && end ? { id: alloc.ID, event, text: `${alloc.Name} ${end} on ${alloc.NodeName || shortId(alloc.NodeID)}`, isDeployment: false } : null;
  }
  if (event.topic !== "Deployment") return null;
  const deployment = event.row as DeploymentRow | null;
  return deployment?.Status === "failed" ? { id: deployment.ID, event, text: deployment.StatusDescription || "It is not healthy in time", isDeployment: true } : null;
}

/** Gathers failures; each is told once. */
export class Failures {
  private found = new Map<string, Found>();

  /** Whether one was among the events. */
  add(events: readonly Happened[]): boolean {
    let isAny = false;
    for (const event of events) {
      const found = foundOf(event);
      if (!found) continue;
      this.found.set(found.id, found);
      isAny = true;
    }
    return isAny;
  }

  /** One message for each job, of what nobody has been told yet; and what it is about. */
  take(isKnown: (id: string) => boolean): { told: Failure[]; ids: string[] } {
    const news = [...this.found.values()].filter((one) => !isKnown(one.id));
    this.found.clear();
    const jobs = new Map<string, Found[]>();
    for (const one of news) {
      const key = `${one.event.ns}/${one.event.job}`;
      jobs.set(key, [...(jobs.get(key) ?? []), one]);
    }
    return { told: [...jobs.values()].map(messageOf), ids: news.map((one) => one.id) };
  }
}

function messageOf(all: Found[]): Failure {
  const deployment = all.find((one) => one.isDeployment);
  const allocs = all.filter((one) => !one.isDeployment);
  const { job, ns } = (all[0] as Found).event;
  const what = deployment ? "the deployment failed" : allocs.length === 1 ? "an allocation failed" : `${allocs.length} allocations failed`;
  const at = `/ui/jobs/${encodeURIComponent(job)}@${encodeURIComponent(ns)}`;
  const [only] = allocs;
  return { job, ns, title: plain(`${job}: ${what}`), body: plain((deployment ? [deployment, ...allocs] : allocs).map((one) => one.text).join("\n")).slice(0, longest),
    href: deployment ? `${at}/deployments` : allocs.length === 1 && only ? `/ui/allocations/${only.id}` : at };
}
