#include "runtime/query/filter_parser.hpp"

#include <doctest/doctest.h>

using namespace nomad::query;

namespace {

std::string repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += text;
  return out;
}

/// The expression written out with all its parentheses.
std::string show(const Expression& node) {
  static const char* const signs[]
      = {"==", "!=", "in", "not in", "empty", "not empty", "matches", "not matches"};
  switch (node.kind) {
    case Expression::Kind::match:
      return node.selector.text() + ' ' + signs[static_cast<int>(node.op)]
             + (node.value.empty() ? "" : " '" + node.value + "'");
    case Expression::Kind::negation:
      return "not (" + show(*node.left) + ')';
    case Expression::Kind::conjunction:
      return '(' + show(*node.left) + " and " + show(*node.right) + ')';
    case Expression::Kind::disjunction:
      return '(' + show(*node.left) + " or " + show(*node.right) + ')';
    case Expression::Kind::any:
    case Expression::Kind::all:
      return (node.kind == Expression::Kind::any ? "any " : "all ") + node.selector.text() + " ["
             + node.element_name + '|' + node.index_name + '|' + node.value_name + "] {"
             + show(*node.left) + '}';
  }
  return "";
}

std::string parse(std::string_view text) {
  const auto parsed = parse_filter(text);
  return parsed ? show(**parsed) : "error: " + parsed.error().what;
}

}  // namespace

TEST_CASE("filter_parser: reads every form of match") {
  const std::pair<const char*, const char*> cases[] = {
      {"A == b", "A == 'b'"},
      {"A==b", "A == 'b'"},
      {"A.b_c/d.0 != 5", "A.b_c/d.0 != '5'"},
      {"Meta[\"a.b\"] == -1.5", "Meta.a.b == '-1.5'"},
      {"Meta[ `x` ] == `a\\nb`", "Meta.x == 'a\\nb'"},
      {"\"/Meta/a.b\" == \"x\\ty\"", "Meta/a.b == 'x\ty'"},
      {"\"/a~1b~0c\" is empty", "a/b~c empty"},
      {"A == \"/var/log\"", "A == '/var/log'"},
      {"A == \"\"", "A =="},
      {"\"v\" in A", "A in 'v'"},
      {"v not in A", "A not in 'v'"},
      {"A contains 7", "A in '7'"},
      {"A not contains \"v\"", "A not in 'v'"},
      {"A is empty", "A empty"},
      {"A  is  not\tempty", "A not empty"},
      {"A matches \"^x+$\"", "A matches '^x+$'"},
      {"A not matches x", "A not matches 'x'"},
      {"any Events as e { e.Message == x }", "any Events [e||] {e.Message == 'x'}"},
      {"all M as k, v { v != x }", "all M [|k|v] {v != 'x'}"},
      {"all M as _, v {v != x}", "all M [||v] {v != 'x'}"},
      {"all M as k, _ {k != x}", "all M [|k|] {k != 'x'}"},
      {"A == \"\\u00e9\\x41\\101\"",
       "A == '\xC3\xA9"
       "AA'"},
  };
  for (const auto& [text, expected] : cases) {
    const auto& shown = text;
    CAPTURE(shown);
    CHECK(parse(text) == expected);
  }
}

TEST_CASE("filter_parser: binds not, and, or as usual, to the right") {
  CHECK(parse("A == 1 or B == 2 and not C == 3") == "(A == '1' or (B == '2' and not (C == '3')))");
  CHECK(parse("(A == 1 or B == 2) and C == 3") == "((A == '1' or B == '2') and C == '3')");
  CHECK(parse("(A == 1) or (B == 2)") == "(A == '1' or B == '2')");
  CHECK(parse("A == 1 and B == 2 and C == 3") == "(A == '1' and (B == '2' and C == '3'))");
  CHECK(parse(" ( ( A == 1 ) ) ") == "A == '1'");
  CHECK(parse("not not A == 1") == "not (not (A == '1'))");
}

TEST_CASE("filter_parser: says where it stopped and what could have stood there") {
  const std::string start
      = "no match found, expected: \"(\", \"-\", \"0\", \"\\\"\", \"`\", \"all\", \"any\", "
        "\"not\", [ \\t\\r\\n], [1-9] or [a-zA-Z]";
  const std::string behind_name
      = "no match found, expected: \"!=\", \".\", \"==\", \"[\", [ \\t\\r\\n] or [a-zA-Z0-9_/]";
  const std::pair<const char*, std::string> cases[] = {
      {"JobType", "1:8 (7): " + behind_name},
      {"foo-bar == 1", "1:4 (3): " + behind_name},
      {"and", "1:4 (3): " + behind_name},
      {"JobType ==",
       "1:11 (10): no match found, expected: \"-\", \"0\", \"\\\"\", \"`\", [ \\t\\r\\n], [1-9] "
       "or [a-zA-Z]"},
      {"JobType == \"a", "1:14 (13): rule \"string\": Unterminated string literal"},
      {"JobType == \"a\" or", "1:18 (17): no match found, expected: [ \\t\\r\\n]"},
      {"(JobType == \"a\"", "1:16 (15): rule \"grouping\": Unmatched parentheses"},
      {"(JobType == \"a\"))", "1:17 (16): no match found, expected: [ \\t\\r\\n] or EOF"},
      {"\"a\" in", "1:7 (6): no match found, expected: [ \\t\\r\\n]"},
      {"\"a\" in 5", "1:8 (7): rule \"match\": Invalid selector"},
      {"JobType[ == 1", "1:10 (9): rule \"index\": Invalid index"},
      {"JobType[5] == 1", "1:9 (8): rule \"index\": Invalid index"},
      {"JobType[\"a\" == 1", "1:13 (12): rule \"index\": Unclosed index expression"},
      {"Priority == 5x", "1:14 (13): rule \"number\": Invalid number literal"},
      {"Priority == 05", "1:14 (13): rule \"number\": Invalid number literal"},
      {"Name == 1e5", "1:10 (9): rule \"number\": Invalid number literal"},
      {"Name == \"a\\q\"", "1:9 (8): rule \"string\": invalid syntax"},
      {"CreateIndex > 5",
       "1:13 (12): no match found, expected: \"!=\", \"==\", \"contains\", \"in\", \"is\", "
       "\"matches\", \"not\" or [ \\t\\r\\n]"},
      {"ID == \"x\" garbage",
       "1:11 (10): no match found, expected: \"and\", \"or\", [ \\t\\r\\n] or EOF"},
      {"Status==\"ready\"or Name is empty",
       "1:16 (15): no match found, expected: [ \\t\\r\\n] or EOF"},
      {"Name is notempty", "1:12 (11): no match found, expected: [ \\t\\r\\n]"},
      {"Status == \"ready\" and (Name == x", "1:33 (32): rule \"grouping\": Unmatched parentheses"},
      {"'' == 1", "1:1 (0): " + start},
      {"   ", "1:4 (3): " + start},
      {"(", "1:2 (1): " + start},
      {")", "1:1 (0): " + start},
      {"\"x\"", "1:4 (3): no match found, expected: [ \\t\\r\\n]"},
      {"A == b\nor C", "2:5 (11): " + behind_name},
  };
  for (const auto& [text, expected] : cases) {
    const auto& shown = text;
    CAPTURE(shown);
    CHECK(parse(text) == "error: " + expected);
  }
}

// Without the bounds this would not end within the test's time limit.
TEST_CASE("filter_parser: nesting is bounded") {
  const std::string deep
      = "error: the expression is nested too deeply: at most 24 levels and 1000 "
        "terms";
  CHECK(parse(repeat("(", 30)) == deep);
  CHECK(parse(repeat("(", 50'000)) == deep);
  CHECK(parse(repeat("(", 30) + "A == b" + repeat(")", 30)) == deep);
  CHECK(parse(repeat("not ", 30) + "A == b") == deep);
  CHECK(parse("A == b" + repeat(" or A == b", 5'000)) == deep);
  CHECK(parse("A == b" + repeat(" and A == b", 5'000)) == deep);
  CHECK(parse(repeat("any A as x { ", 30)) == deep);
  CHECK(parse(repeat("(", 20) + "A == b" + repeat(")", 20)) == "A == 'b'");
  CHECK_FALSE(parse("A == b" + repeat(" or A == b", 400)).starts_with("error"));
  CHECK(parse(repeat("(", 20)).starts_with("error: 1:21 (20): no match found"));
  CHECK(parse(repeat("((A == b", 12)).starts_with("error: 1:9 (8): rule"));
}

TEST_CASE("filter_parser: any bytes end in an answer") {
  const std::string_view pieces[]
      = {"(",   ")",  "\"", "`",     "A",        " ",  "==", "[", "]",   ".",
         "not", "in", "is", "empty", "\xC3\xA9", "\n", "0",  "-", "any", "{"};
  std::uint64_t state = 42;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const auto length = 1 + round % 24;
    for (int i = 0; i < length; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      text += pieces[(state >> 33) % std::size(pieces)];
    }
    const auto parsed = parse_filter(text);
    if (!parsed) REQUIRE_FALSE(parsed.error().what.empty());
  }
}
