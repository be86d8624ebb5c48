#include "actors/api/http/request_body.hpp"

#include <chrono>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;

TEST_CASE("request_body: a map of texts is read by name, the last of one name") {
  const std::string text = R"({"b":"2","a":"1","c":null,"b":"3"})";
  const auto json = parse_value(text);
  REQUIRE(json);
  BodyFields fields{*json, "Request.Meta"};
  const std::vector<std::pair<std::string, std::string>> wanted{{"a", "1"}, {"b", "3"}, {"c", ""}};
  CHECK(fields.texts() == wanted);
  CHECK(fields.check());
}

TEST_CASE("request_body: what is no text in a map of texts is refused by its name") {
  const std::string text = R"({"a":"1","b":7})";
  const auto json = parse_value(text);
  REQUIRE(json);
  BodyFields fields{*json, "Request.Meta"};
  fields.texts();
  REQUIRE_FALSE(fields.check());
  CHECK(fields.check().error().what
        == "json: cannot unmarshal number into Go struct field Request.Meta.b of type string");
}

TEST_CASE("request_body: a map of very many members is read in one walk") {
  std::string text = "{";
  for (int number = 0; number < 100'000; ++number)
    text += (number == 0 ? "\"" : ",\"") + std::to_string(number) + R"(":"")";
  text += '}';
  const auto json = parse_value(text);
  REQUIRE(json);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(BodyFields{*json, "Request.Meta"}.texts().size() == 100'000);
  CHECK(std::chrono::steady_clock::now() - begin < 10s);  // one by one it takes minutes
}

TEST_CASE("request_body: a body of nothing is told as Go tells it") {
  net::Request request;
  CHECK(read_body(request).error().what == "Request body is empty");
  request.body = " \n";
  CHECK(read_body(request).error().what == "EOF");
  request.body = "{";
  CHECK(read_body(request).error().what == "unexpected EOF");
}
