// Notifications of the browser: that something of a job which somebody follows here has failed. Nothing is asked for and nothing is shown
// until he clicks on "Notify me". They come while a page of this agent is open, also in a tab that nobody looks at.
import { signal } from "@preact/signals";
import { Failures, isFailure, type Failure } from "../store/failures.ts";
import { get, region, token, word } from "../store/api.ts";
import { onHeard } from "../store/live.ts";
import type { Happened } from "../store/messages.ts";
import type { AllocStub, Deployment } from "../pages/job_types.ts";
import { go } from "./router.ts";

export interface Followed {
  id: string;
  ns: string;
  region: string;  // empty: the agent's own
}

const most_followed = 200;
const most_known = 500;
const pause = 1_000;  // what fails together is said together

function read<T>(name: string): T[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(name) ?? "[]");
    return Array.isArray(kept) ? (kept as T[]) : [];
  } catch {
    return [];
  }
}

function write(name: string, value: readonly unknown[]): void {
  try {
    if (value.length === 0) localStorage.removeItem(name);
    else localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // It holds for this page.
  }
}

export const followed = signal<readonly Followed[]>(read<Followed>("followed jobs"));

function become(all: readonly Followed[]): void {
  followed.value = all.slice(-most_followed);
  write("followed jobs", followed.value);
}

const isSame = (one: Followed, other: Followed): boolean => one.id === other.id && one.ns === other.ns && one.region === other.region;

export function isFollowed(id: string, ns: string): boolean {
  return followed.value.some((one) => isSame(one, { id, ns, region: region.value }));
}

/** Why this browser shows none, in words; undefined if it does, or has not been asked yet. */
export function whyNoNotifications(): string | undefined {
  if (!("Notification" in globalThis)) return "This browser has no notifications";
  if (!isSecureContext) return "Browsers show notifications of pages that come by https or from this machine";
  if (Notification.permission === "denied") return "This browser does not allow this page notifications: its settings of the page can";
  return undefined;
}

/** Only by a click: asks the browser, if it has not been asked yet. */
export async function follow(id: string, ns: string): Promise<void> {
  if (whyNoNotifications() === undefined && Notification.permission === "default") await Notification.requestPermission();
  const why = whyNoNotifications() ?? (Notification.permission === "granted" ? undefined : "The browser was not allowed to show notifications");
  if (why !== undefined) throw new Error(why);
  // What has failed before is no news.
  const path = `/v1/job/${word(id)}`;
  const [allocs, deployments] = await Promise.all([get<AllocStub[]>(`${path}/allocations`, { namespace: ns, task_states: "false" }), get<Deployment[]>(`${path}/deployments`, { namespace: ns })]);
  know([...allocs.value.filter((one) => isFailure(one.ClientStatus)), ...deployments.value.filter((one) => isFailure(one.Status))].map((one) => one.ID));
  become([...followed.value, { id, ns, region: region.value }]);
}

export function unfollow(job: Followed): void {
  become(followed.value.filter((one) => !isSame(one, job)));
}

/** Of these nothing is said any more, in no tab. */
function know(ids: readonly string[]): void {
  write("known failures", [...new Set([...read<string>("known failures"), ...ids])].slice(-most_known));
}

function show(failure: Failure): void {
  if (whyNoNotifications() !== undefined || Notification.permission !== "granted") return;
  // Other tabs say the same with the same tag, which is one notification.
  const shown = new Notification(failure.title, { body: failure.body, tag: `${region.value} ${failure.ns} ${failure.job}` });
  shown.onclick = () => { focus(); go(failure.href); shown.close(); };
}

export function listenForFailures(): void {
  const failures = new Failures();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const say = (): void => {
    timer = undefined;
    const known = new Set(read<string>("known failures"));
    const { told, ids } = failures.take((id) => known.has(id));
    know(ids);
    for (const failure of told) show(failure);
  };
  onHeard((events: Happened[]) => {
    if (followed.value.length === 0) return;
    const wanted = new Set(followed.value.filter((one) => one.region === region.value).map((one) => `${one.ns}/${one.id}`));
    if (failures.add(events.filter((event) => wanted.has(`${event.ns}/${event.job}`)))) timer ??= setTimeout(say, pause);
  });
  addEventListener("storage", ({ key }) => { if (key === "followed jobs" || key === null) followed.value = read<Followed>("followed jobs"); });
  // Who signs out leaves nothing of what he looked at.
  let before = token.value;
  token.subscribe((now) => {
    if (before !== "" && now === "") { become([]); write("known failures", []); }
    before = now;
  });
}
