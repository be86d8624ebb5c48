import { strict as assert } from "node:assert";
import { test } from "node:test";
import { Stream } from "./stream.ts";

const longest_first_pause = 250 * 1.25;

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Every request fails; what tokens they had. */
function refuse(): string[] {
  const tokens: string[] = [];
  globalThis.fetch = (_, options) => {
    tokens.push((options?.headers as Record<string, string>)["X-Nomad-Token"] ?? "");
    return Promise.reject(new Error("refused"));
  };
  return tokens;
}

test("a stream that ends during its pause is not opened again", async () => {
  const tokens = refuse();
  const stream = new Stream(() => undefined);
  stream.become("secret");
  stream.start();
  await sleep(20);
  assert.deepEqual(tokens, ["secret"]);
  stream.end();
  await sleep(longest_first_pause * 2);
  assert.deepEqual(tokens, ["secret"]);
});

test("nor is one that has ended before it was started", async () => {
  const tokens = refuse();
  const stream = new Stream(() => undefined);
  stream.end();
  stream.start();
  await sleep(20);
  assert.deepEqual(tokens, []);
});

test("another token is tried at once, whatever the pause", async () => {
  const tokens = refuse();
  const stream = new Stream(() => undefined);
  stream.start();
  await sleep(20);
  stream.become("other");
  await sleep(20);
  assert.deepEqual(tokens, ["", "other"]);
  stream.end();
});

test("a stream that ends while it is read is not opened again, and tells nothing", async () => {
  const told: string[] = [];
  let opened = 0;
  globalThis.fetch = (_, options) => {
    opened += 1;
    const body = new ReadableStream<Uint8Array>({ start: (way) => options?.signal?.addEventListener("abort", () => way.error(new Error("aborted"))) });
    return Promise.resolve(new Response(body));
  };
  const stream = new Stream((one) => told.push(one.kind === "connection" ? one.state : one.kind));
  stream.start();
  await sleep(20);
  stream.end();
  await sleep(longest_first_pause * 2);
  assert.equal(opened, 1);
  assert.deepEqual(told, ["live"]);
});

/** A websocket whose other end is the test. */
class Socket {
  sent: string[] = [];
  isClosed = false;
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor(readonly path: string) {}

  send(text: string): void { this.sent.push(text); }

  close(): void {
    if (!this.isClosed) setTimeout(() => this.onclose?.(), 0);
    this.isClosed = true;
  }
}

/** What it says of itself, and the sockets that it opens. */
function dialled(): { told: string[]; sockets: Socket[]; stream: Stream } {
  const told: string[] = [];
  const sockets: Socket[] = [];
  const stream = new Stream((one) => told.push(one.kind === "connection" ? one.state : one.kind === "events" ? one.events.map((event) => event.key).join() : one.kind), "", (path) => {
    const made = new Socket(path);
    sockets.push(made);
    return made as unknown as WebSocket;
  });
  return { told, sockets, stream };
}

const changed = (key: string, index: number): string => JSON.stringify({ Index: index, Events: [{ Topic: "Job", Type: "JobRegistered", Key: key, Namespace: "default", FilterKeys: [], Index: index, Payload: null }] });

test("a websocket says its token first, and no request is made beside it", async () => {
  const tokens = refuse();
  const { told, sockets, stream } = dialled();
  stream.become("secret");
  stream.start();
  await sleep(20);
  const [socket] = sockets;
  socket?.onopen?.();
  assert.deepEqual(told, [], "it is not known yet whether the token may");
  socket?.onmessage?.({ data: "{}\n" });
  socket?.onmessage?.({ data: `${changed("a", 7)}\n${changed("b", 8)}\n` });
  await sleep(20);
  assert.deepEqual(socket?.sent, ['{"version":1,"auth_token":"secret"}']);
  assert.match(socket?.path ?? "", /^\/v1\/event\/stream\?.*index=0.*&ws_handshake=true$/);
  assert.deepEqual(told, ["live", "a,b"]);
  socket?.close();
  await sleep(longest_first_pause + 50);
  assert.match(sockets[1]?.path ?? "", /index=8/, "it goes on where it was");
  assert.deepEqual(tokens, []);
  stream.end();
});

test("a websocket that is not let in is asked for as an answer, whose status says why", async () => {
  const paths: string[] = [];
  globalThis.fetch = (path) => { paths.push(String(path)); return Promise.resolve(new Response("Permission denied", { status: 403 })); };
  const { told, sockets, stream } = dialled();
  stream.start();
  await sleep(20);
  sockets[0]?.onopen?.();
  sockets[0]?.close();
  await sleep(120);
  assert.equal(paths.length, 1);
  assert.match(sockets[0]?.path ?? "", /topic=\*/);
  assert.match(sockets[1]?.path ?? "", /topic=Job&/, "less is asked for then");
  assert.ok(!told.includes("live"));
  stream.end();
});

test("where no websocket comes through, the stream is the body of an answer", async () => {
  globalThis.fetch = () => Promise.resolve(new Response(new ReadableStream<Uint8Array>({ start: (way) => way.enqueue(new TextEncoder().encode(`${changed("c", 9)}\n`)) })));
  const { told, sockets, stream } = dialled();
  stream.start();
  await sleep(20);
  sockets[0]?.close();
  await sleep(50);
  assert.deepEqual(told, ["live", "c"]);
  stream.end();
});

test("a websocket of a token that is not used any more tells nothing", async () => {
  const { told, sockets, stream } = dialled();
  stream.become("one");
  stream.start();
  await sleep(20);
  stream.become("two");
  sockets[0]?.onmessage?.({ data: `${changed("secret", 7)}\n` });
  await sleep(150);
  assert.ok(sockets[0]?.isClosed);
  assert.ok(!told.includes("live") && !told.includes("secret"));
  stream.end();
});
