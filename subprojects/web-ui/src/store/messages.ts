// What the worker and the pages say to each other.
import type { Happened } from "../pure/rows.ts";

export type { Happened };

export type Connection = "connecting" | "live" | "reconnecting";

/** From a page. */
export type Asked =
  | { kind: "hello"; region: string }  // also to go on to another region
  | { kind: "token"; token: string }   // empty ends the session
  | { kind: "bye" };

/** To a page. */
export type Told =
  | { kind: "token"; token: string }
  | { kind: "connection"; state: Connection; polls: boolean }
  | { kind: "events"; events: Happened[] }
  | { kind: "stale" };  // events were missed: read again
