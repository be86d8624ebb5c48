#include "runtime/plugin/bridge/values.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

using namespace nomad;

namespace {

/// As hexadecimal digits, which the format's specification shows, too.
std::string packed(std::string_view json) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char byte :
       plugin::bridge::to_msgpack(plugin::bridge::value_of(boost::json::parse(json)))) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace

TEST_CASE("msgpack: null, truth and numbers") {
  CHECK(packed("null") == "c0");
  CHECK(packed("true") == "c3");
  CHECK(packed("false") == "c2");
  CHECK(packed("127") == "7f");
  CHECK(packed("-32") == "e0");
  CHECK(packed("128") == "d30000000000000080");
  CHECK(packed("-33") == "d3ffffffffffffffdf");
  CHECK(packed("18446744073709551615") == "cfffffffffffffffff");
  CHECK(packed("2.0") == "02");
  CHECK(packed("1.5") == "cb3ff8000000000000");
}

TEST_CASE("msgpack: texts, lists and objects of each size") {
  CHECK(packed(R"("ab")") == "a26162");
  const auto text = [](std::size_t size) { return packed('"' + std::string(size, 'x') + '"'); };
  CHECK(text(31).substr(0, 2) == "bf");
  CHECK(text(32).substr(0, 4) == "d920");
  CHECK(text(256).substr(0, 6) == "da0100");
  CHECK(text(65536).substr(0, 10) == "db00010000");
  CHECK(packed("[1,[]]") == "920190");
  CHECK(packed(R"({"b":1,"a":{}})") == "82a16180a16201");
  std::string list = "[0";
  for (int i = 1; i < 16; ++i)
    list += ",0";
  CHECK(packed(list + "]").substr(0, 6) == "dc0010");
}
