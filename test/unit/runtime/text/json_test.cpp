#include "runtime/text/json.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace nomad;

namespace {

/// Shows what is read: arrays in brackets, objects in braces, both as they come.
struct Shower {
  using Value = std::string;
  using Array = std::vector<std::string>;
  using Object = std::vector<std::string>;

  Result<void> begin(int) { return {}; }

  Result<void> open(int depth) {
    if (depth > 3) return Error{Errc::too_large, "too deep"};
    return {};
  }

  Value number(std::string_view text) { return std::string{text}; }

  Value string(std::string text) { return "'" + text + "'"; }

  Value boolean(bool value) { return value ? "t" : "f"; }

  Value null() { return "-"; }

  void add(Array& items, Value value) { items.push_back(std::move(value)); }

  void add(Object& members, std::string key, Value value) { members.push_back(key + "=" + value); }

  Value finish(const std::vector<std::string>& parts) {
    std::string out = "(";
    for (const auto& part : parts)
      out += part + ";";
    return out + ")";
  }
};

template <JsonWords words = JsonWords::whole>
std::string read(std::string_view text) {
  Shower shower;
  const auto out = JsonReader<Shower, words>{shower, text}.read();
  return out ? *out : out.error().what;
}

std::string stream(std::string_view text) {
  return read<JsonWords::stream>(text);
}

}  // namespace

TEST_CASE("json: values of all kinds") {
  CHECK(read(R"( {"a" : [1, -0.5e+3, true, false, null], "b": {}, "c": "x\n"} )")
        == "(a=(1;-0.5e+3;t;f;-;);b=();c='x\n';)");
  CHECK(read(R"("\ud83d\ude00\ud800\u0041")") == "'\U0001F600\uFFFDA'");
  CHECK(read("\"\xff\"") == "'\uFFFD'");
  CHECK(read("[[[[[]]]]]") == "too deep");
}

TEST_CASE("json: mistakes in the words of Unmarshal") {
  CHECK(read("") == "unexpected end of JSON input");
  CHECK(read("[1") == "unexpected end of JSON input");
  CHECK(read("1 2") == "invalid character '2' after top-level value");
  CHECK(read("{a}") == "invalid character 'a' looking for beginning of object key string");
  CHECK(read("[1 2]") == "invalid character '2' after array element");
  CHECK(read("tru") == "invalid character ' ' in literal true (expecting 'e')");
  CHECK(read("1.") == "invalid character ' ' after decimal point in numeric literal");
  CHECK(read(R"("\q")") == "invalid character 'q' in string escape code");
  CHECK(read(R"("\u12g4")") == "invalid character 'g' in \\u hexadecimal character escape");
  CHECK(read("\"\t\"") == "invalid character '\\t' in string literal");
}

TEST_CASE("json: mistakes in the words of Decoder") {
  CHECK(stream("") == "EOF");
  CHECK(stream("[1") == "EOF");
  CHECK(stream("tru") == "unexpected EOF");
  CHECK(stream("\"a") == "unexpected EOF");
  CHECK(stream("1 2") == "extraneous data after JSON object");
  CHECK(stream("{a}") == "invalid character 'a'");
}

TEST_CASE("json: strings as Go writes them") {
  CHECK(json_quoted("a\"\\\n\x01<\u2028\xff") == R"("a\"\\\n\u0001\u003c\u2028\ufffd")");
  std::string out;
  append_json_string(out, "<&>", false);
  CHECK(out == "\"<&>\"");
}

TEST_CASE("json: numbers") {
  for (const char* text : {"0", "-1.5", "10e3", "1E+5"})
    CHECK(is_json_number(text));
  for (const char* text : {"", "01", "-", ".5", "1.", "1e", "+1", "1x"})
    CHECK_FALSE(is_json_number(text));
}
