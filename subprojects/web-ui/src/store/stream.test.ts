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
