// The shared worker: one event stream and one token for all tabs of a browser.
import type { Asked, Told } from "./messages.ts";
import { Stream } from "./stream.ts";

const ports = new Set<MessagePort>();
let token = "";
let connection: Told = { kind: "connection", state: "connecting", polls: false };

const stream = new Stream((told) => {
  if (told.kind === "connection") connection = told;
  tellAll(told);
});

function tellAll(told: Told): void {
  for (const port of ports) port.postMessage(told);
}

function take(port: MessagePort, asked: Asked): void {
  if (asked.kind === "bye") {
    ports.delete(port);
  } else if (asked.kind === "hello") {
    // Without one there is nothing to say: the page may be getting one just now.
    if (token !== "") port.postMessage({ kind: "token", token } satisfies Told);
    port.postMessage(connection);
  } else if (asked.token !== token) {
    token = asked.token;
    tellAll({ kind: "token", token });  // also to the page that said it: it may have heard of an older one meanwhile
    stream.become(token);
  }
}

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (!port) return;
  ports.add(port);
  port.onmessage = (message: MessageEvent<Asked>) => take(port, message.data);
  // A page says its token at once, if it has one: the stream waits for that word.
  setTimeout(() => stream.start(), 20);
});
