// JsonObject where memory ends.
#include "actors/api/http/json_out.hpp"

#include <new>
#include <type_traits>

#include <doctest/doctest.h>

using namespace nomad::api;

TEST_CASE(
    "json_out: an object that is left by an exception is not closed, so that needs no memory") {
  static_assert(!std::is_nothrow_destructible_v<JsonObject>);  // closing one may end in bad_alloc
  std::string out;
  CHECK_THROWS_AS(
      [&out] {
        const JsonObject object{out};
        throw std::bad_alloc{};
      }(),
      std::bad_alloc);
  CHECK(out == "{");
}

TEST_CASE("json_out: an object that is made while another exception is on its way is closed") {
  std::string out;

  struct Last {
    ~Last() { JsonObject{out}.number("n", 1); }

    std::string& out;
  };

  CHECK_THROWS_AS(
      [&out] {
        const Last last{out};
        throw std::bad_alloc{};
      }(),
      std::bad_alloc);
  CHECK(out == R"({"n":1})");
}
