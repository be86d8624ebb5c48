// migrate copy: what is written, and what is left as it is.
#include "cli/migrate/copy_plan.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace nomad::cli;
using namespace nomad::cli::migrate;

namespace {

boost::json::value parsed(std::string_view text) {
  return boost::json::parse(text);
}

boost::json::value web_job(std::string_view more, std::string_view command = "sleep") {
  return parsed(R"({"ID":"web","Name":"web","Namespace":"default","Type":"service","Priority":50,)"
                R"("Datacenters":["dc1"],)"
                + std::string{more}
                + R"("TaskGroups":[{"Name":"g","Count":1,"Tasks":[{"Name":"t","Driver":"raw_exec",)"
                  R"("Config":{"command":")"
                + std::string{command} + R"("}}]}]})");
}

/// The only step of a plan between clusters that `set` fills.
template <class Set>
Step only_step(Set set, CopyRules rules = {}) {
  Cluster from;
  Cluster to;
  set(from, to);
  auto steps = plan_copy(from, to, rules);
  REQUIRE(steps.size() == 1);
  return std::move(steps[0]);
}

Step step_of_jobs(boost::json::value there, boost::json::value here, CopyRules rules = {}) {
  return only_step(
      [&](Cluster& from, Cluster& to) {
        from.jobs.objects = {std::move(there)};
        if (!here.is_null()) to.jobs.objects = {std::move(here)};
      },
      rules);
}

}  // namespace

TEST_CASE("copy: what is not here is created, without what the other cluster counts") {
  const auto step = only_step([](Cluster& from, Cluster&) {
    from.namespaces.objects
        = {parsed(R"({"Name":"dev","Meta":{"a":"b"},"Quota":"","CreateIndex":5,"ModifyIndex":9,)"
                  R"("Hash":"x","VaultConfiguration":{"Default":"v"}})")};
  });
  CHECK(step.kind == "namespace");
  CHECK(step.act == migrate::Act::create);
  CHECK(step.path == "/v1/namespace");
  CHECK(boost::json::serialize(step.body) == R"({"Meta":{"a":"b"},"Name":"dev"})");
}

TEST_CASE("copy: what is here as it is there is kept, also with other indexes and empty members") {
  const auto step = only_step([](Cluster& from, Cluster& to) {
    from.node_pools.objects
        = {parsed(R"({"Name":"gpu","Description":"","Meta":null,"CreateIndex":5})")};
    to.node_pools.objects
        = {parsed(R"({"Name":"gpu","Description":"","Meta":{},"CreateIndex":9})")};
  });
  CHECK(step.act == migrate::Act::keep);
}

TEST_CASE("copy: what differs is left alone, unless it is to be overwritten") {
  const auto set = [](Cluster& from, Cluster& to) {
    from.policies.objects = {parsed(R"({"Name":"p","Rules":"a"})")};
    to.policies.objects = {parsed(R"({"Name":"p","Rules":"b"})")};
  };
  const auto left = only_step(set);
  CHECK(left.act == migrate::Act::skip);
  CHECK(left.why == "is here, and differs; -overwrite makes it what it is there");
  const auto changed = only_step(set, {.overwrite = true});
  CHECK(changed.act == migrate::Act::change);
  CHECK(changed.path == "/v1/acl/policy/p");
}

TEST_CASE("copy: the scheduler's settings come when asked for, but for what is on for an hour") {
  const auto set = [](Cluster& from, Cluster& to) {
    from.scheduler
        = parsed(R"({"SchedulerAlgorithm":"spread","MemoryOversubscriptionEnabled":true,)"
                 R"("RejectJobRegistration":true,"CreateIndex":5,"ModifyIndex":9})");
    to.scheduler = parsed(R"({"SchedulerAlgorithm":"binpack","PauseEvalBroker":true})");
  };
  const auto left = only_step(set);
  CHECK(left.kind == "settings");
  CHECK(left.act == migrate::Act::skip);
  CHECK(left.why == "is here, and differs; -overwrite makes it what it is there");
  const auto changed = only_step(set, {.overwrite = true});
  CHECK(changed.act == migrate::Act::change);
  CHECK(changed.path == "/v1/operator/scheduler/configuration");
  CHECK(changed.body
        == parsed(R"({"SchedulerAlgorithm":"spread","MemoryOversubscriptionEnabled":true,)"
                  R"("RejectJobRegistration":false,"PauseEvalBroker":true})"));
  const auto same = only_step([](Cluster& from, Cluster& to) {
    from.scheduler = parsed(R"({"SchedulerAlgorithm":"binpack","RejectJobRegistration":true})");
    to.scheduler = parsed(R"({"SchedulerAlgorithm":"binpack","RejectJobRegistration":false})");
  });
  CHECK(same.act == migrate::Act::keep);
}

TEST_CASE("copy: it is foreseen that a variable without a namespace is refused") {
  const auto step = [](std::string_view ns) {
    return only_step([ns](Cluster& from, Cluster&) {
      from.variables.objects = {parsed(R"({"Namespace":"ghost","Path":"a","Items":{"k":"v"}})")};
      from.namespaces.objects.clear();
      if (!ns.empty()) from.namespaces.unread = ns;
    });
  };
  CHECK(step("").act == migrate::Act::create);
  CHECK(step("").refusal == "namespace \"ghost\" does not exist, and variables need one here");
  CHECK(step("Unexpected response code: 403 (Permission denied)").refusal.empty());
}

TEST_CASE("copy: policies are left alone where there are no ACLs") {
  const auto step = only_step([](Cluster& from, Cluster& to) {
    from.policies.objects = {parsed(R"({"Name":"p","Rules":"a"})")};
    to.agent = parsed(R"({"config":{"ACL":{"Enabled":false}}})");
  });
  CHECK(step.act == migrate::Act::skip);
  CHECK(step.why == "ACLs are off here");
}

TEST_CASE("copy: a variable is written if nobody has written it meanwhile") {
  const auto there
      = parsed(R"({"Namespace":"default","Path":"a/b c","Items":{"k":"v"},"ModifyIndex":3})");
  const auto created
      = only_step([&](Cluster& from, Cluster&) { from.variables.objects = {there}; });
  CHECK(created.act == migrate::Act::create);
  CHECK(created.path == "/v1/var/a/b%20c");
  CHECK(created.query == Query{{"cas", "0"}});
  const auto set = [&](Cluster& from, Cluster& to) {
    from.variables.objects = {there};
    to.variables.objects
        = {parsed(R"({"Namespace":"default","Path":"a/b c","Items":{"k":"w"},"ModifyIndex":8})")};
  };
  CHECK(only_step(set).act == migrate::Act::skip);
  CHECK(only_step(set, {.overwrite = true}).query == Query{{"cas", "8"}});
  const auto same = only_step([&](Cluster& from, Cluster& to) {
    from.variables.objects = {there};
    to.variables.objects = {there};
  });
  CHECK(same.act == migrate::Act::keep);
}

TEST_CASE("copy: a job comes stopped, and without the region that it was in") {
  const auto step = step_of_jobs(web_job(R"("Region":"old","Stop":false,"Version":4,)"), nullptr);
  CHECK(step.act == migrate::Act::create);
  CHECK(step.path == "/v1/jobs");
  CHECK(step.body.at("Job").at("Stop") == true);
  CHECK_FALSE(step.body.at("Job").as_object().contains("Region"));
  CHECK(step.body.at("EnforceIndex") == true);
  CHECK(step.body.at("JobModifyIndex") == 0);
}

TEST_CASE("copy: a job that is here with the same specification is kept, running or stopped") {
  const auto there = web_job(R"("Region":"old","Version":4,"Status":"running",)");
  CHECK(step_of_jobs(there, web_job(R"("Stop":true,"Region":"global",)")).act
        == migrate::Act::keep);
  CHECK(step_of_jobs(there, web_job(R"("Stop":false,"Version":1,"NodePool":"default",)")).act
        == migrate::Act::keep);
}

TEST_CASE("copy: a stopped job gets the newest version, one that runs is left alone") {
  const auto there = web_job("", "new");
  const auto changed = step_of_jobs(there, web_job(R"("Stop":true,"JobModifyIndex":12,)", "old"));
  CHECK(changed.act == migrate::Act::change);
  CHECK(changed.body.at("JobModifyIndex") == 12);
  const auto running = step_of_jobs(there, web_job("", "old"));
  CHECK(running.act == migrate::Act::skip);
  CHECK(running.why
        == "runs here, as another version; -overwrite makes it what it is there, and stops it");
  CHECK(step_of_jobs(there, web_job("", "old"), {.overwrite = true}).act == migrate::Act::change);
}

TEST_CASE("copy: a job that is stopped there does not come") {
  const auto step = step_of_jobs(web_job(R"("Stop":true,)"), nullptr);
  CHECK(step.act == migrate::Act::skip);
  CHECK(step.why == "is stopped there");
}

TEST_CASE("copy: what can't be read here is left alone, with the reason") {
  const auto step = only_step([](Cluster& from, Cluster& to) {
    from.variables.objects = {parsed(R"({"Namespace":"default","Path":"a","Items":{"k":"v"}})")};
    to.variables.unread = "Unexpected response code: 403 (Permission denied)";
  });
  CHECK(step.act == migrate::Act::skip);
  CHECK(step.why == "Unexpected response code: 403 (Permission denied)");
}
