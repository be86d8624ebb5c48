// Schedulers of plugins, by way of the link.
#include "actors/plugin/job_schedulers.hpp"

#include <doctest/doctest.h>

#include "test/unit/actors/plugin/link_fixture.hpp"

using namespace nomad;
using server::decider::Decide;
using server::decider::Decided;

namespace {

void scheduling_plugin(plugin::Plugin& plugin) {
  plugin.is("p", "1").scheduler(
      {.type = "custom", .reads = {"${meta.label}"}},
      plugin::scheduler_of([](plugin::Agent&, auto question) -> Result<plugin::Decision> {
        if (view(question.getEvalId()) == "bad") return Error{Errc::rejected, "not this one"};
        return plugin::Decision{.placements = {{"g", copy(question.getEvalId())}}};
      }));
}

Decide question(const char* eval) {
  Draft<schema::plugin::Scheduling> draft;
  draft->setType("custom");
  draft->setEvalId(eval);
  return {draft.freeze()};
}

}  // namespace

TEST_CASE_FIXTURE(test::LinkFixture, "job schedulers: the types are known, and decided for") {
  start(scheduling_plugin);
  const auto known = job_types->find("custom");
  REQUIRE(known);
  CHECK(known->plugin == "p");
  CHECK(known->reads == std::vector<std::string>{"${meta.label}"});
  CHECK(job_types->names() == std::vector<std::string>{"custom"});

  const auto decided = ask<Decided>(known->decider, question("n1"));
  REQUIRE((decided->has_value() && (*decided)->has_value()));
  CHECK(view((**decided)->decision->getPlacements()[0].getNodeId()) == "n1");
  const auto refused = ask<Decided>(known->decider, question("bad"));
  REQUIRE(refused->has_value());
  CHECK((*refused)->error().what == "not this one");
}

TEST_CASE_FIXTURE(
    test::LinkFixture,
    "job schedulers: a plugin that died is asked when it is back, and one that ends is "
    "forgotten") {
  const auto link = start(scheduling_plugin);
  const auto decider = job_types->find("custom")->decider;
  plugin.events.ended({Errc::unavailable, "it hung up"});
  settle();
  const auto later = ask<Decided>(decider, question("n1"));
  CHECK_FALSE(later->has_value());
  CHECK_MESSAGE(job_types->find("custom"), "jobs of it are still taken");
  advance(std::chrono::seconds{6});
  REQUIRE(later->has_value());
  CHECK((*later)->has_value());

  ask<plugin::plugin_link::Stopped>(link, plugin::plugin_link::Stop{});
  CHECK_FALSE(job_types->find("custom"));
}

TEST_CASE_FIXTURE(test::LinkFixture, "job schedulers: a type of another plugin is refused") {
  REQUIRE(job_types->enter("custom", {.plugin = "other"}));
  start([](plugin::Plugin& plugin) {
    plugin.scheduler({.type = "aaa"}, {});
    scheduling_plugin(plugin);
  });
  CHECK(status().state == plugin::PluginState::refused);
  CHECK(status().problem == "there is a scheduler of jobs of type \"custom\" already");
  CHECK_FALSE(job_types->find("aaa"));
  CHECK(job_types->find("custom")->plugin == "other");
}
