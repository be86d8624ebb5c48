// /v1/operator/decisions: what was decided, page by page, and only what is the caller's.
#include <doctest/doctest.h>

#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

struct DecisionFixture : ApiFixture {
  using ApiFixture::ApiFixture;

  /// A decision about a job of `ns` that places one allocation.
  void decide(unsigned eval, const std::string& ns = "default") {
    Draft<schema::Evaluation> draft;
    draft->setId(text(uuid(eval)));
    draft->setNamespace(text(ns));
    draft->setJobId("web");
    Draft<schema::Allocation> row;
    row->setId(text(own_alloc));
    row->initAllocatedResources().initShared().setDiskMb(77);
    auto plan = std::make_shared<scheduler::Plan>();
    plan->nodes["node-1"].placements.push_back({.row = row.freeze(), .demand = {}});
    const auto number = decision_feed->next_number();
    decision_feed->add(
        scheduler::Decided{.number = number,
                           .inputs = std::make_shared<const scheduler::DecisionInputs>(
                               scheduler::DecisionInputs{.eval = draft.freeze(),
                                                         .snapshot_index = 40 + number,
                                                         .now = 1'700'000'000'000'000'000,
                                                         .before = {},
                                                         .under_way = {}}),
                           .plan = plan});
    scheduler::PlanEnded ended{.number = number};
    ended.result.alloc_index = 50 + number;
    decision_feed->add(std::move(ended));
  }
};

}  // namespace

TEST_CASE_FIXTURE(DecisionFixture,
                  "decisions: they are shown with what they were made from and led to") {
  decide(1);
  const auto list = json("/v1/operator/decisions");
  REQUIRE(list.as_array().size() == 1);
  const auto& one = list.as_array()[0].as_object();
  CHECK(one.at("Number") == 1);
  CHECK(one.at("SnapshotIndex") == 41);
  CHECK(one.at("Time") == "2023-11-14T22:13:20Z");
  CHECK(one.at("Evaluation").as_object().at("ID").as_string() == uuid(1));
  CHECK(one.at("Placements") == 1);
  CHECK(one.at("HasPlan") == true);
  CHECK(one.at("UnderWay").as_array().empty());
  CHECK(one.at("PlanEnd").as_object().at("Index") == 51);
  CHECK_FALSE(one.contains("Reserves"));

  const auto whole = json("/v1/operator/decisions?reserves=true").as_array()[0].as_object();
  CHECK(whole.at("Reserves").as_array()[0].as_object().at("NodeID") == "node-1");
  CHECK(whole.at("Resources").as_array().size() == 1);
}

TEST_CASE_FIXTURE(DecisionFixture, "decisions: of an evaluation, and page by page") {
  for (unsigned i = 1; i <= 5; ++i)
    decide(i % 2 + 1);
  CHECK(json("/v1/operator/decisions?eval=" + uuid(2)).as_array().size() == 3);
  CHECK(json("/v1/operator/decisions?eval=ffff").as_array().empty());
  const auto page = get("/v1/operator/decisions?per_page=2");
  CHECK(page.header("X-Nomad-NextToken") == "4");
  CHECK(json("/v1/operator/decisions?per_page=9&next_token=4").as_array().size() == 3);
  CHECK(refusal("/v1/operator/decisions?next_token=x")
        == "400 next_token is not the number of a decision: \"x\"");
  CHECK(refusal("/v1/operator/decisions?next_token=-1").starts_with("400 "));
  CHECK(get("/v1/operator/decisions").header("X-Nomad-NextToken").empty());
}

TEST_CASE("decisions: a server that keeps none says so") {
  ApiFixture fixture{[](ApiOptions& options) { options.server.decisions = {}; }};
  CHECK(fixture.refusal("/v1/operator/decisions")
            .find("this server keeps no decisions; its log says why since its start")
        != std::string::npos);
}

TEST_CASE("decisions: those of jobs that the caller may not read are left out") {
  DecisionFixture fixture{[&](ApiOptions& options) {
    options.authenticator
        = test::allowing([](access::Capability needed, const access::Target& target) {
            return !access::is_namespaced(needed) || target.ns == "a";
          });
  }};
  fixture.decide(1, "a");
  fixture.decide(2, "bbb");
  const auto seen = fixture.json("/v1/operator/decisions").as_array();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].as_object().at("Evaluation").as_object().at("Namespace") == "a");
}
