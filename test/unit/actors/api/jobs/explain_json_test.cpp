#include "actors/api/jobs/explain_json.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::scheduler::explain;

namespace {

Explanation sample() {
  Explanation explained{.ns = "default", .job_id = "web", .type = "service"};
  GroupAnswer group{.name = "api", .count = 2, .live = 1, .queued = 1, .nodes = 2, .looked_at = 2};
  group.refused.push_back(
      {.count = 1,
       .nodes = {{"n1", "secret-node"}},
       .reasons
       = {{.what = Obstacle::constraint, .subject = "constraint c", .values = {"secret-value"}}}});
  group.refused.push_back({.count = 1,
                           .nodes = {{"n2", "secret-node"}},
                           .reasons = {{.what = Obstacle::memory,
                                        .subject = "memory, 9 MiB asked",
                                        .asked = 9,
                                        .least_free = 4711,
                                        .most_free = 4711}}});
  group.suggestions.push_back({"node_pool = \"secret-pool\"", {"n1", "secret-node"}, false, true});
  group.suggestions.push_back({"count 2 -> 1", {}, false, false});
  explained.groups.push_back(std::move(group));
  return explained;
}

}  // namespace

TEST_CASE("explain json: who may not read nodes learns nothing of single ones") {
  const auto text = api::explanation_json(sample(), false);
  CHECK(text.find("secret") == std::string::npos);
  CHECK(text.find("4711") == std::string::npos);
  const auto group = boost::json::parse(text).at("Groups").at(0);
  CHECK(group.at("Refused").at(0).at("Reasons").at(0).at("Text") == "constraint c");
  CHECK(group.at("Suggestions").as_array().size() == 1);
}

TEST_CASE("explain json: who may is told all") {
  const auto answer = boost::json::parse(api::explanation_json(sample(), true));
  const auto group = answer.at("Groups").at(0);
  CHECK(answer.at("Allocation").is_null());
  CHECK(group.at("Refused").at(0).at("Nodes").at(0).at("Name") == "secret-node");
  CHECK(group.at("Refused").at(1).at("Reasons").at(0).at("MostFree") == 4711);
  CHECK(group.at("Suggestions").at(0).at("NodeID") == "n1");
  CHECK(group.at("Node").is_null());
}
