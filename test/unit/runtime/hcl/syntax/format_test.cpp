#include "runtime/hcl/syntax/format.hpp"

#include <random>

#include <doctest/doctest.h>

#include "runtime/hcl/syntax/lexer.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "test/unit/runtime/hcl/cases.hpp"

namespace nomad::hcl {

namespace {

/// A text without what may be changed: the space between tokens.
std::vector<std::string> tokens(const std::string& text) {
  std::vector<std::string> out;
  for (const Token& token : lex(text, Syntax::native))
    out.push_back(text.substr(token.begin, token.end - token.begin));
  return out;
}

/// Random texts, mostly valid: bodies of attributes, blocks and comments with careless spacing.
class Generator {
public:
  explicit Generator(std::uint32_t seed) : random_{seed} {}

  std::string body(int depth) {
    std::string out;
    for (int i = pick(4); i >= 0; --i)
      out += space() + item(depth) + ending();
    return out;
  }

private:
  int pick(int below) { return std::uniform_int_distribution{0, below - 1}(random_); }

  std::string space() {
    const char blank = pick(5) == 0 ? '\t' : ' ';
    return std::string(static_cast<std::size_t>(pick(4)), blank);
  }

  std::string ending() {
    static const char* const endings[] = {"\n", "\n", "\n\n", " # c\n", "// d\n", "\n\n\n", "\r\n"};
    return space() + endings[pick(7)];
  }

  std::string name() {
    static const char* const names[] = {"a", "bb", "ccc-d", "é", "for_each", "in"};
    return names[pick(6)];
  }

  std::string item(int depth) {
    switch (pick(depth > 3 ? 2 : 4)) {
      case 0:
        return "# comment";
      case 1:
        return name() + space() + "=" + space() + expression(depth);
      case 2:
        return name() + space() + "\"l\"" + space() + "{\n" + body(depth + 1) + space() + "}";
      default:
        return name() + space() + "{" + space() + "}";
    }
  }

  std::string expression(int depth) {
    const auto inner = [&] { return expression(depth + 1); };
    switch (pick(depth > 6 ? 4 : 14)) {
      case 0:
        return "1";
      case 1:
        return "\"x ${" + space() + "y" + space() + "} z\"";
      case 2:
        return "var.l" + space() + "." + space() + "0";
      case 3:
        return "null";
      case 4:
        return "[" + space() + inner() + space() + "," + space() + inner() + "]";
      case 5:
        return "{\n" + space() + name() + space() + "=" + inner() + "\n" + space() + "}";
      case 6:
        return "f(" + space() + inner() + space() + ")";
      case 7:
        return inner() + space() + "+" + space() + inner();
      case 8:
        return "-" + space() + inner();
      case 9:
        return "(" + space() + inner() + " ? " + inner() + space() + ":" + inner() + ")";
      case 10:
        return "[for x in" + space() + "[" + inner() + "]" + space() + ":" + "x]";
      case 11:
        return "<<EOT\n  kept   as is\nEOT";
      case 12:
        return "!" + space() + "true";
      default:
        return "a" + space() + "[" + space() + inner() + "]";
    }
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("format: layouts are the reference's") {
  const std::string table = load_data("format.txt");
  std::size_t cases = 0;
  for (std::size_t at = table.find('\n') + 1; at < table.size(); ++cases) {
    const std::size_t middle = table.find("---\n", at);
    const std::size_t end = table.find("===\n", middle);
    const std::string input = table.substr(at, middle - at);
    CAPTURE(input);
    CHECK(format(input) == table.substr(middle + 4, end - middle - 4));
    at = end + 4;
  }
  CHECK(cases > 20);
}

TEST_CASE("format: a second run changes nothing, and tokens stay what they are") {
  int valid = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    const std::string text = Generator{seed}.body(0);
    CAPTURE(seed);
    CAPTURE(text);
    valid += parse("f", text).ok() ? 1 : 0;
    const std::string once = format(text);
    CHECK(tokens(once) == tokens(text));
    CHECK(format(once) == once);
  }
  CHECK(valid > 200);
}

TEST_CASE("format: dots that would read as a fraction keep their spaces") {
  CHECK(format("a = x . 0 . 1\n") == "a = x . 0 . 1\n");
  CHECK(format("a = x . 0\n") == "a = x.0\n");
}

TEST_CASE("format: what does not parse comes back unchanged") {
  CHECK(format("a=  [1\n") == "a=  [1\n");
  CHECK(format("") == "");
}

TEST_CASE("format: a layout out of proportion is not made") {
  std::string text = std::string(100'000, 'x') + "=1\n";
  for (int i = 0; i < 10'000; ++i)
    text += "a" + std::to_string(i) + "=1\n";

  CHECK(format(text) == text);
}

}  // namespace nomad::hcl
