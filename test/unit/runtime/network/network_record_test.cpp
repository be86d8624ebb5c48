#include "runtime/network/network_record.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::network;

namespace {

NetworkRecord record_of_a_bridge() {
  return {.network = {.name = "nomad",
                      .version = "1.0.0",
                      .disable_check = true,
                      .plugins = {{.type = "bridge", .config = R"({"type":"bridge"})"},
                                  {.type = "portmap", .config = "{}"}}},
          .mappings = {{20001, 80, "tcp", "10.0.0.7", "http"}, {20002, 1, "udp", "", "dns"}},
          .result = R"({"cniVersion":"1.0.0","ips":[{"address":"172.26.64.2/20"}]})",
          .is_complete = true};
}

}  // namespace

TEST_CASE("network record: what is kept is read back") {
  auto record = record_of_a_bridge();
  for (const bool is_complete : {true, false}) {
    record.is_complete = is_complete;
    record.network.disable_check = !is_complete;
    const auto read = parse_record(to_text(record)).value();
    CHECK(read.network.name == "nomad");
    CHECK(read.network.version == "1.0.0");
    CHECK(read.network.disable_check == !is_complete);
    REQUIRE(read.network.plugins.size() == 2);
    CHECK(read.network.plugins[0].type == "bridge");
    CHECK(read.network.plugins[0].config == R"({"type":"bridge"})");
    CHECK(read.mappings == record.mappings);
    CHECK(read.result == record.result);
    CHECK(read.is_complete == is_complete);
  }
}

TEST_CASE("network record: an allocation has an address once all plugins have answered") {
  auto record = record_of_a_bridge();
  REQUIRE(record.status());
  CHECK(record.status()->address == "172.26.64.2");
  record.is_complete = false;
  CHECK_FALSE(record.status());
  record.is_complete = true;
  for (const char* result : {"", "{", R"({"cniVersion":"1.0.0","ips":[]})"}) {
    record.result = result;
    CHECK_MESSAGE(!record.status(), result);
  }
}

TEST_CASE("network record: what is damaged is told as that") {
  for (const char* text : {"", "{", "[]", "7", "null"})
    CHECK(parse_record(text).error()
          == Error{Errc::corrupt, "the record of a network is no JSON object"});
  auto text = to_text(record_of_a_bridge());
  for (const char* member : {"\"name\"", "\"version\"", "\"disableCheck\"", "\"plugins\"",
                             "\"mappings\"", "\"result\"", "\"complete\"", "\"label\""}) {
    CAPTURE(member);
    auto without = text;
    without.replace(without.find(member), 2, "\"?");
    const auto read = parse_record(without);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Errc::corrupt);
    CHECK(read.error().what.starts_with("the record of a network: "));
  }
  CHECK(parse_record(R"({"name":1})").error().code == Errc::corrupt);
}
