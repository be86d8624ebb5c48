import { strict as assert } from "node:assert";
import { test } from "node:test";
import { LogLines, markOf, searchOf } from "./lines.ts";

test("lines come in pieces", () => {
  const lines = new LogLines();
  lines.add("a\nb");
  lines.add("c\r\nd");
  assert.equal(lines.end - lines.begin, 3);
  assert.deepEqual([0, 1, 2].map((number) => lines.line(number)), ["a", "bc", "d"]);
});

test("only the newest are kept, under their numbers", () => {
  const lines = new LogLines(100);
  for (let number = 0; number < 1_000; number += 1) lines.add(`${number}\n`);
  assert.ok(lines.end - lines.begin <= 110);
  assert.equal(lines.line(999), "999");
  assert.equal(lines.line(lines.begin), String(lines.begin));
});

test("of long lines fewer are kept", () => {
  const lines = new LogLines(100, 1_000);
  lines.search("7");
  for (let number = 0; number < 30; number += 1) lines.add(`${String(number).padStart(100, "-")}\n`);
  assert.ok(lines.end - lines.begin <= 11);
  assert.equal(lines.line(29).slice(-2), "29");
  assert.deepEqual(lines.found, [27]);
  lines.clear();
  lines.add("short\n");
  assert.equal(lines.line(0), "short");
});

test("a search finds what is there and what comes", () => {
  const lines = new LogLines();
  lines.add("one\n\x1b[31mTwo\x1b[0m\n");
  lines.search("/t.o/");
  lines.add("two\nthree\n");
  assert.deepEqual(lines.found, [1, 2]);
  lines.search("(");
  assert.deepEqual(lines.found, []);
});

test("a line without end is cut", () => {
  const lines = new LogLines();
  for (let piece = 0; piece < 30; piece += 1) lines.add("x".repeat(100_000));
  assert.ok(lines.end > 2);
});

test("what a search box means", () => {
  assert.equal(searchOf(""), null);
  assert.ok(searchOf("/5\\d\\d/")?.test("504"));
  assert.ok(!searchOf("5.4")?.test("504"));
  assert.ok(searchOf("/[/")?.test("/[/"));
});

test("several places are one log, each with its own unfinished line", () => {
  const lines = new LogLines();
  lines.add("one\ntw", "stdout");
  lines.add("oops\n", "stderr");
  lines.add("o\nthr", "stdout");
  assert.deepEqual(Array.from({ length: lines.end }, (_, at) => `${lines.label(at)}:${lines.line(at)}`), ["stdout:one", "stderr:oops", "stdout:two", "stdout:thr"]);
  assert.equal(lines.text(), "stdout one\nstderr oops\nstdout two\nstdout thr");
});

test("hits with the lines around them, each once", () => {
  const lines = new LogLines();
  lines.add(Array.from({ length: 20 }, (_, at) => `line ${at}${[3, 5, 15].includes(at) ? " hit" : ""}\n`).join(""));
  lines.search("hit");
  assert.deepEqual(lines.around(0), [3, 5, 15]);
  assert.deepEqual(lines.around(2), [1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 16, 17]);
});

test("one place of several is forgotten, and what the search has found in the others stays", () => {
  const lines = new LogLines();
  lines.search("hit");
  lines.add("a hit\nb\nunfini", "stdout");
  lines.add("c\nd hit\nrest", "stderr");
  lines.clear((label) => label === "stdout");
  assert.equal(lines.text(), "stderr c\nstderr d hit\nstderr rest");
  assert.deepEqual(lines.found.map((number) => lines.line(number)), ["d hit"]);
  lines.add("a hit\n", "stdout");
  assert.deepEqual(lines.found.map((number) => lines.label(number)), ["stderr", "stdout"]);
  lines.clear();
  assert.equal(lines.text(), "");
  assert.deepEqual([lines.begin, lines.end, lines.found.length], [0, 0, 0]);
});

test("a line has a mark of its own for links", () => {
  assert.match(markOf("GET /pay 504"), /^[0-9a-f]{8}$/);
  assert.notEqual(markOf("GET /pay 504"), markOf("GET /pay 505"));
  assert.equal(markOf(""), "811c9dc5");
});
