// What the worker and the pages say to each other.

export interface Happened {
  Topic: string;
  Type: string;
  Key: string;
  Namespace: string;
  FilterKeys: string[] | null;
  Index: number;
  Payload: Record<string, unknown> | null;
}

export type Connection = "connecting" | "live" | "reconnecting";

/** From a page. */
export type Asked =
  | { kind: "hello" }
  | { kind: "token"; token: string }  // null ends the session
  | { kind: "bye" };

/** To a page. */
export type Told =
  | { kind: "token"; token: string }
  | { kind: "connection"; state: Connection; polls: boolean }
  | { kind: "events"; events: Happened[] }
  | { kind: "stale" };  // events were missed: read again
