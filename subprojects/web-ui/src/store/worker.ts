// The shared worker: one token for all tabs of a browser, and one event stream for those that look at the same region.
import type { Asked, Told } from "./messages.ts";
import { Stream } from "./stream.ts";

interface Watched {
  stream: Stream;
  ports: Set<MessagePort>;
  connection: Told;
}

const regions = new Map<string, Watched>();
const ports = new Set<MessagePort>();
let token = "";

function watched(region: string): Watched {
  const known = regions.get(region);
  if (known) return known;
  const made: Watched = {
    ports: new Set(), connection: { kind: "connection", state: "connecting", polls: false },
    stream: new Stream((told) => {
      if (told.kind === "connection") made.connection = told;
      for (const port of made.ports) port.postMessage(told);
    }, region),
  };
  made.stream.become(token);
  regions.set(region, made);
  // A page says its token at once, if it has one: the stream waits for that word.
  setTimeout(() => made.stream.start(), 20);
  return made;
}

function leave(port: MessagePort, except?: string): void {
  for (const [region, { ports: listening, stream }] of regions) {
    if (region === except || !listening.delete(port) || listening.size > 0) continue;
    stream.end();
    regions.delete(region);
  }
}

function take(port: MessagePort, asked: Asked): void {
  if (asked.kind === "bye") {
    ports.delete(port);
    leave(port);
  } else if (asked.kind === "hello") {
    // Without one there is nothing to say: the page may be getting one just now.
    if (token !== "") port.postMessage({ kind: "token", token } satisfies Told);
    const at = watched(asked.region);
    at.ports.add(port);
    leave(port, asked.region);
    port.postMessage(at.connection);
  } else if (asked.token !== token) {
    token = asked.token;
    for (const one of ports) one.postMessage({ kind: "token", token } satisfies Told);  // also to the page that said it: it may have heard of an older one meanwhile
    for (const { stream } of regions.values()) stream.become(token);
  }
}

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (!port) return;
  ports.add(port);
  port.onmessage = (message: MessageEvent<Asked>) => take(port, message.data);
});
