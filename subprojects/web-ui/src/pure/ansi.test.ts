import { strict as assert } from "node:assert";
import { test } from "node:test";
import { ansi, plain } from "./ansi.ts";

test("colours become classes, and end", () => {
  assert.deepEqual(ansi("a\x1b[31mb\x1b[1mc\x1b[0md"), [
    { text: "a", classes: "" }, { text: "b", classes: "ansi-red" }, { text: "c", classes: "ansi-red bold" }, { text: "d", classes: "" }]);
});

test("nothing steers a terminal, or turns the text round", () => {
  assert.equal(plain("\x1b]0;title\x07a\x1b[2Jb\x1b[?25lc\u202ed\u2066e\x00\x07f"), "abcdef");
  assert.deepEqual(ansi("<b>&amp;</b>"), [{ text: "<b>&amp;</b>", classes: "" }]);
});

test("a line of a megabyte is cut", () => {
  const text = ansi("x".repeat(1_000_000)).map((piece) => piece.text).join("");
  assert.ok(text.length < 10_100);
  assert.ok(text.endsWith("990000 more characters"));
});
