// What `job plan -with` supposes.
#include "cli/job/circumstances.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "cli/output/json_view.hpp"

using namespace nomad;
using namespace nomad::cli;

TEST_CASE("circumstances: the three forms, and what is none") {
  const auto drain = read_circumstance(" drain  web-1 ");
  REQUIRE(drain.has_value());
  CHECK(drain->verb == CircumstanceWords::Verb::drain);
  CHECK(drain->node == "web-1");
  CHECK(read_circumstance("remove 1234abcd")->verb == CircumstanceWords::Verb::remove);
  const auto add = read_circumstance("add 3 like web-1");
  REQUIRE(add.has_value());
  CHECK(add->count == 3);
  CHECK(add->node == "web-1");
  for (const auto* text : {"", "drain", "drain a b", "add like a", "add 0 like a", "add 3x like a",
                           "add -1 like a", "add 3 unlike a", "add 99999999999999999999 like a"}) {
    CAPTURE(text);
    CHECK(read_circumstance(text).error().what
          == "\"" + std::string{text}
                 + "\" is nothing that a plan can suppose: it is \"drain NODE\", \"remove NODE\" or "
                   "\"add 3 like NODE\", with a node's name or the beginning of its id");
  }
}

TEST_CASE("circumstances: nodes by name, else by the beginning of the id") {
  const auto list = boost::json::parse(
      R"([{"ID":"11111111-a","Name":"web-1"},{"ID":"11112222-b","Name":"web-2"},
          {"ID":"33333333-c","Name":"1111"},{"ID":"44444444-d","Name":"web-2"}])");
  const View nodes{list};
  CHECK(*node_meant(nodes, "web-1") == "11111111-a");
  CHECK(*node_meant(nodes, "1111") == "33333333-c");
  CHECK(*node_meant(nodes, "11112") == "11112222-b");
  CHECK(node_meant(nodes, "web-2").error().what
        == "\"web-2\" means 2 nodes, as 11112222-b and 44444444-d: give more of the id");
  CHECK(node_meant(nodes, "111").error().code == Errc::invalid_argument);
  CHECK(node_meant(nodes, "nobody").error().code == Errc::not_found);
}
