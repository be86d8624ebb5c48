#include "runtime/object/flat_json.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

using nomad::FlatJson;
using nomad::JsonKind;
using nomad::JsonNode;

namespace {

std::string sorted(std::string_view text) {
  const auto json = FlatJson::read(text);
  REQUIRE_MESSAGE(json.has_value(), json.error().what);
  std::string out;
  nomad::append_sorted_json(out, json->root());
  return out;
}

std::string flat_problem(std::string_view text) {
  const auto json = FlatJson::read(text);
  return json ? "" : json.error().what;
}

}  // namespace

TEST_CASE("flat_json: values stand in the order of the text, each with what belongs to it") {
  const std::string_view text = R"({"a":[1,{"b":[]},"x"],"c":null,"a":true})";
  const auto json = FlatJson::read(text);
  REQUIRE(json.has_value());

  const JsonNode& root = json->root();
  CHECK(root.size == 3);
  std::string keys;
  for (const auto member : root.members())
    keys += member.key;
  CHECK(keys == "aca");
  const JsonNode& list = (*root.members().begin()).value;
  CHECK(list.is(JsonKind::array));
  CHECK(list.size == 3);
  CHECK(list.extent == 6);
  std::size_t elements = 0;
  for (const JsonNode& element : list.elements())
    elements += element.is(JsonKind::null) ? 0 : 1;
  CHECK(elements == 3);
  CHECK(list.text().empty());
}

TEST_CASE("flat_json: a tree is laid out as its text is") {
  const std::string_view text
      = R"({"a":[1,-2,18446744073709551615,2.5,true,false,null,"x",[]],"b":{"c":{},"d":"e"}})";
  const auto tree = boost::json::parse(text).get_object();
  const auto of_tree = FlatJson::of(tree);
  const auto of_text = FlatJson::read(text);
  REQUIRE(of_text.has_value());

  CHECK(of_tree.root().extent == of_text->root().extent);
  for (std::uint32_t i = 0; i < of_text->root().extent; ++i) {
    CAPTURE(i);
    const JsonNode& made = (&of_tree.root())[i];
    const JsonNode& read = (&of_text->root())[i];
    CHECK(made.kind == read.kind);
    CHECK(made.extent == read.extent);
    CHECK(made.size == read.size);
    CHECK(made.text() == read.text());
    if (made.is(JsonKind::boolean)) CHECK(made.boolean == read.boolean);
    if (made.is_number()) CHECK(made.natural == read.natural);
  }
}

TEST_CASE("flat_json: text is that of the source, unless something is escaped") {
  const std::string text = R"(["plain","a\nb\u00e9", ")" + std::string(5'000, 'x') + R"(\t"])";
  const auto json = FlatJson::read(text);
  REQUIRE(json.has_value());
  auto element = json->root().elements().begin();
  CHECK((*element).bytes == text.data() + 2);
  ++element;
  CHECK((*element).text() == "a\nb\xc3\xa9");
  ++element;
  CHECK((*element).size == 5'001);
}

TEST_CASE("flat_json: of members of one name the last counts, and sorting is of all levels") {
  CHECK(sorted(R"({"b":1,"a":{"d":[{"f":1,"e":2}],"c":"\"\\"},"b":2})")
        == R"({"a":{"c":"\"\\","d":[{"e":2,"f":1}]},"b":2})");
  CHECK(sorted("[[],{},1.5,-3,18446744073709551615,true,null]")
        == "[[],{},1.5E0,-3,18446744073709551615,true,null]");
}

TEST_CASE("flat_json: whole numbers, however they are written") {
  const auto json = FlatJson::read("[5, 5.0, 5e0, 5.5, -1, 9223372036854775808, 1e300]");
  REQUIRE(json.has_value());
  std::string wholes;
  for (const JsonNode& element : json->root().elements()) {
    wholes += element.whole<std::int64_t>() ? 'i' : '-';
    wholes += element.whole<std::uint64_t>() ? 'u' : '-';
  }
  CHECK(wholes == "iuiuiu--i--u--");
}

TEST_CASE("flat_json: malformed text and too deep text are refused with their place") {
  CHECK(flat_problem("{\"a\":x}").starts_with("byte 5: "));
  CHECK(flat_problem("").find("incomplete") != std::string::npos);
  CHECK(flat_problem("[1,").find("incomplete") != std::string::npos);
  CHECK(flat_problem("{} {}") == "byte 3: unexpected text after the JSON value");
  CHECK(flat_problem("{} \n").empty());
  CHECK(flat_problem("12").empty());
  CHECK_FALSE(flat_problem(std::string(100, '[') + std::string(100, ']')).empty());
}

TEST_CASE("flat_json: numbers beyond all doubles are refused, for nobody could write them again") {
  CHECK(flat_problem("[1e308,-1e308,1e-400]").empty());
  CHECK(flat_problem("[1e400]").find("overflow") != std::string::npos);
  CHECK(flat_problem("-1e400").find("overflow") != std::string::npos);
  CHECK(flat_problem('[' + std::string(400, '1') + ']').find("overflow") != std::string::npos);
}
