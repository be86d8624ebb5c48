#include "cli/why/findings.hpp"

#include "cli/output/layout.hpp"
#include "test/unit/cli/why/why_fixture.hpp"

using namespace nomad;
using namespace nomad::cli;
using namespace nomad::cli::why;
using boost::json::parse;

TEST_CASE("why: a job that is as it should be") {
  auto facts = test::facts_of_web();
  facts.allocations
      = parse("[" + test::alloc_stub("11111111", R"(,"ClientStatus":"running")") + "]");
  facts.deployments = parse(R"([{"ID":"d","Status":"successful","CreateIndex":4}])");
  facts.evaluations = parse(R"([{"ID":"e","Status":"complete","CreateIndex":3}])");

  CHECK(diagnose(facts).empty());
  CHECK(headline(facts)
        == "Job \"web\" (service, version 3, namespace \"default\") is running: 1 of 2 allocations "
           "run");
}

TEST_CASE("why: jobs of which nothing is to run by themselves") {
  struct Row {
    const char* member;
    const char* told;
  };

  for (const auto& row : {
           Row{R"("Stop":true)",
               ". Job \"web\" was stopped\n  $ nomadctl job start web\n  $ nomadctl job history -p "
               "web\n"},
           Row{R"("ParameterizedJob":{})",
               ". Job \"web\" runs only when it is dispatched\n  $ nomadctl job dispatch web\n"},
           Row{R"("ParameterizedJob":{},"Dispatched":true)", ""},
           Row{R"("Periodic":{"Enabled":false,"Spec":"0 0 1 1 * 2000","SpecType":"cron"})",
               "! The periodic block of job \"web\" is not enabled\n  $ nomadctl job periodic "
               "force "
               "web\n"},
           Row{R"("TaskGroups":[{"Name":"g","Count":0}])",
               ". Group \"g\" has a count of 0\n  $ nomadctl job scale web g 1\n"},
           Row{R"("TaskGroups":[{"Name":"g","Count":0}],"Type":"system")", ""},
       }) {
    const auto& member = row.member;
    const auto& said = row.told;
    CAPTURE(member);
    auto facts = test::facts_of_web();
    const auto changed = parse("{" + std::string{member} + "}");
    for (const auto& [name, value] : changed.as_object())
      facts.job.as_object()[name] = value;
    CHECK(test::told(diagnose(facts)) == said);
  }
}

TEST_CASE("why: commands name the job's namespace, and a shell takes its name as one word") {
  auto facts = test::facts_of_web();
  facts.job.as_object()["Namespace"] = "team";
  facts.job.as_object()["ID"] = "web;reboot";
  facts.job.as_object()["Stop"] = true;
  CHECK(test::told(diagnose(facts))
        == ". Job \"web;reboot\" was stopped\n"
           "  $ nomadctl job start -namespace=team 'web;reboot'\n"
           "  $ nomadctl job history -p -namespace=team 'web;reboot'\n");
  facts.job.as_object()["ID"] = "-x";
  facts.job.as_object()["Namespace"] = "default";
  CHECK(diagnose(facts).at(0).commands.at(0) == "nomadctl job start -- -x");
}

TEST_CASE("why: the parts of a page all name the namespace") {
  auto facts = test::facts_of_web();
  facts.job.as_object()["Namespace"] = "team";
  facts.evaluations
      = parse(R"([{"ID":"11111111-2","Status":"failed","StatusDescription":"x","CreateIndex":3,)"
              R"("FailedTGAllocs":{"g":{"NodesExhausted":1}}}])");
  facts.deployments = parse(R"([{"ID":"d","Status":"failed","StatusDescription":"y"}])");
  facts.allocations
      = parse("[" + test::failed_stub("11111111", R"([{"Type":"Terminated","ExitCode":1}])") + "]");
  facts.checks["11111111-2222"] = parse(R"({"c":{"Status":"failure"}})");
  std::vector<std::string> commands;
  for (const auto& one : diagnose(facts))
    commands.insert(commands.end(), one.commands.begin(), one.commands.end());
  CHECK(commands
        == std::vector<std::string>{"nomadctl job eval -namespace=team web", "nomadctl node status",
                                    "nomadctl job inspect -namespace=team web",
                                    "nomadctl alloc logs -stderr -namespace=team 11111111 t",
                                    "nomadctl alloc status -namespace=team 11111111",
                                    "nomadctl alloc checks -namespace=team 11111111",
                                    "nomadctl deployment status -namespace=team d",
                                    "nomadctl job history -p -namespace=team web"});
}

TEST_CASE("why: a periodic job says when it is launched next") {
  auto facts = test::facts_of_web();
  facts.job.as_object()["Periodic"]
      = parse(R"({"Enabled":true,"Spec":"0 0 * * *","SpecType":"cron"})");
  const auto said = test::told(diagnose(facts));
  CHECK(said.starts_with(". Job \"web\" is periodic: its next launch is 2"));
}

TEST_CASE("why: evaluations that fail or wait") {
  auto facts = test::facts_of_web();
  facts.evaluations = parse(
      R"([{"ID":"11111111-2","Status":"failed","StatusDescription":"too often","CreateIndex":3}])");
  CHECK(test::told(diagnose(facts))
        == "! Evaluation 11111111 failed: too often\n  $ nomadctl job eval web\n");

  facts.evaluations
      = parse(R"([{"ID":"11111111-2","Status":"pending","CreateTime":1,"CreateIndex":3}])");
  CHECK(test::told(diagnose(facts))
            .starts_with("! Evaluation 11111111 has waited 1m39s for a scheduler\n"));
  facts.now = 5'000'000'000;
  CHECK(diagnose(facts).empty());

  facts.now = 100'000'000'000;
  facts.evaluations.as_array()[0].as_object()["WaitUntil"] = "2026-01-01T00:00:00Z";
  CHECK(diagnose(facts).empty());
}

TEST_CASE("why: what follows a failed evaluation waits, and the failure is told") {
  auto facts = test::facts_of_web();
  facts.evaluations = parse(
      R"([{"ID":"11111111-2","Status":"failed","StatusDescription":"too often","CreateIndex":3},)"
      R"({"ID":"22222222-2","Status":"pending","TriggeredBy":"failed-follow-up","CreateIndex":4,)"
      R"("PreviousEval":"11111111-2","CreateTime":1000000000,"Wait":120000000000}])");
  auto found = diagnose(facts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "Evaluation 11111111 failed: too often");
  CHECK(found[0].details
        == std::vector<std::string>{"Another one follows at " + clock_time(121'000'000'000)});
  CHECK(found[0].commands == std::vector<std::string>{"nomadctl job eval web"});

  facts.now = 141'000'000'000;  // 20 seconds behind its time
  found = diagnose(facts);
  REQUIRE(found.size() == 2);
  CHECK(found[0].details.empty());
  CHECK(found[1].what == "Evaluation 22222222 has waited 20s for a scheduler");
}

TEST_CASE("why: problems come before warnings, and these before notes") {
  auto facts = test::facts_of_web();
  facts.job.as_object()["ParameterizedJob"] = boost::json::object{};
  facts.evaluations = parse(R"([{"ID":"e","Status":"failed","StatusDescription":"x"}])");
  facts.deployments = parse(R"([{"ID":"d","Status":"paused","StatusDescription":"y"}])");
  const auto found = diagnose(facts);
  REQUIRE(found.size() == 3);
  CHECK(found[0].weight == Weight::problem);
  CHECK(found[1].weight == Weight::warning);
  CHECK(found[2].weight == Weight::note);
}
