// HCL1 as a tree: blocks and settings, and the place of the first mistake.
#include "runtime/hcl/syntax/hcl1_parser.hpp"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/random.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/eval.hpp"

using namespace nomad;
using namespace nomad::hcl;

namespace {

std::string shown(const Value& value) {
  if (value.is_bool()) return value.as_bool() ? "true" : "false";
  if (value.is_string()) return quote(value.as_string());
  if (value.is_number()) return fmt::format("{}", value.as_number().to_double());
  std::string out;
  if (value.is_sequence()) {
    for (const auto& element : value.elements())
      out += (out.empty() ? "" : ", ") + shown(element);
    return "[" + out + "]";
  }
  for (const auto& [name, content] : value.entries())
    out += (out.empty() ? "" : ", ") + name + ": " + shown(content);
  return "(" + out + ")";
}

std::string shown(const BodyNode& body) {
  std::string out;
  for (const auto& attribute : body.attributes)
    out += (out.empty() ? "" : "; ") + std::string{attribute.name} + " = "
           + shown(evaluate(*attribute.expr, nullptr).value);
  for (const auto* block : body.blocks) {
    out += (out.empty() ? "" : "; ") + std::string{block->type};
    for (const auto label : block->labels)
      out += " " + quote(label);
    out += " {" + shown(*block->body) + "}";
  }
  return out;
}

std::string read(std::string text) {
  const auto parsed = parse_hcl1("f", std::move(text));
  if (parsed.ok()) return shown(*parsed.file->body());
  const auto& mistake = parsed.diagnostics.front();
  const auto at = mistake.subject->start;
  return fmt::format("f:{},{}: {}", at.line, at.column, mistake.detail);
}

}  // namespace

TEST_CASE("hcl1: settings of one name, of which the last counts, are all there for who asks") {
  const auto* text = "a = 1 b { c = [1] c = [2] c = 3 } a = 2";
  CHECK(read(text) == "a = 2; b {c = 3}");
  const auto all = parse_repeating_hcl1("f", text);
  REQUIRE(all.ok());
  CHECK(shown(*all.file->body()) == "a = 1; a = 2; b {c = [1]; c = [2]; c = 3}");
}

TEST_CASE("hcl1: what HCL2 refuses") {
  struct Case {
    const char* text;
    const char* tree;
  };

  for (const auto& [text, tree] : {
           Case{R"(options { "driver.raw_exec.enable" = "1" })",
                R"(options {driver.raw_exec.enable = "1"})"},
           Case{"ports { http = 1 rpc = 2, serf = 3 }", "ports {http = 1; rpc = 2; serf = 3}"},
           Case{"server {\n  enabled = true }", "server {enabled = true}"},
           Case{"meta { rack.number = 7 }", "meta {rack.number = 7}"},
           Case{R"("server" "join" { a = [1, "two", true,] })",
                R"(server "join" {a = [1, "two", true]})"},
           Case{R"(check { a = 1 } check { a = 2 })", "check {a = 1}; check {a = 2}"},
           Case{"a = 1\na = 2", "a = 2"},
           Case{"a = [1] b = 1 a = [2, 3] a = []", "a = [1, 2, 3]; b = 1"},
           Case{"a = [1] a = 2 a = [3]", "a = [3]"},
           Case{"a = { b = { c = [] } }", "a {b {c = []}}"},
           Case{R"(a = [{ b = 1, c { d = 2 }, e "f" { } }])",
                "a = [(b: 1, c: [(d: 2)], e: [(f: [()])])]"},
           Case{"a=-5 b=0x1f c=010 d=1.5 e=2e3 f=0.5",
                "a = -5; b = 31; c = 8; d = 1.5; e = 2000; f = 0.5"},
           Case{R"(a = "x\n\"y\" ${file("z")} {}")", R"(a = "x\n\"y\" ${file(\"z\")} {}")"},
           Case{R"(a = "\u00e9\x41\a")", "a = \"\u00e9A\\a\""},
           Case{"# one\n// two\n/* three\n */ a = 1 # four", "a = 1"},
           Case{"a = <<END\n  x\n y\n END\nb = <<-END\n  x\n   y\n  END\n",
                R"(a = "  x\n y\n "; b = "x\n y\n")"},
           Case{"\xEF\xBB\xBF"
                "a = 1",
                "a = 1"},
           Case{"", ""},
       })
    CHECK(read(text) == tree);
}

TEST_CASE("hcl1: mistakes are named with their place") {
  CHECK(read("a = ") == "f:1,5: expected a value");
  CHECK(read("a {\n b = 1") == "f:2,7: expected a closing brace");
  CHECK(read("a b = 1") == "f:1,5: expected a block");
  CHECK(read("a") == "f:1,2: expected \"=\" or a block");
  CHECK(read("x = 1\n}") == "f:2,1: expected a key");
  CHECK(read("a = [1 2]") == "f:1,8: expected a comma or a closing bracket");
  CHECK(read("a = \"b\nc\"").ends_with("a string does not end"));
  CHECK(read("a = \"\\q\"").ends_with("an escape that means nothing"));
  CHECK(read("a = 12abc").ends_with("not a number"));
  CHECK(read("a = <<E\nx").ends_with("a heredoc does not end"));
  CHECK(read("a = 09").ends_with("not a number"));
  CHECK(read("a = \"\xff\"").ends_with("expected UTF-8"));
  CHECK(read("/* a").ends_with("a comment does not end"));
  CHECK(read(std::string(5000, '[')).find("expected") != std::string::npos);
  std::string deep = "a = ";
  for (int i = 0; i < 5000; ++i)
    deep += "[";
  CHECK(read(deep).find("nested too deeply") != std::string::npos);
  std::string labels = "a = [{ b";
  for (int i = 0; i < 5000; ++i)
    labels += " \"c\"";
  CHECK(read(labels + " {} }]").find("nested too deeply") != std::string::npos);
  std::string many;
  for (int i = 0; i < 300'000; ++i)
    many += "a=1 ";
  CHECK(read(many).find("too many settings") != std::string::npos);
  std::string blocks;
  for (int i = 0; i < 5000; ++i)
    blocks += "a {";
  CHECK(read(blocks).ends_with(": blocks are nested too deeply"));
  CHECK(read("a = <<END x\nEND\n") == "f:1,10: expected a line break after the mark of a heredoc");
}

TEST_CASE("hcl1: no text makes the reader fail otherwise than by an error") {
  const std::string pieces[] = {"a", "\"b\"", "=",  "{", "}", "[",  "]",  ",",  "\n",   "1",
                                "-", "0x",    "<<", "E", "#", "/*", "\\", "${", "true", " "};
  Random random{20};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto length = random.below(12); length > 0; --length)
      text += pieces[random.below(std::size(pieces))];
    const auto parsed = parse_hcl1("f", text);
    CHECK_MESSAGE((parsed.ok() || !parsed.diagnostics.front().detail.empty()), text);
  }
}
