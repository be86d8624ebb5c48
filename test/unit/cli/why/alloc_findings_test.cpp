#include "test/unit/cli/why/why_fixture.hpp"

using namespace nomad;
using namespace nomad::cli;
using namespace nomad::cli::why;
using boost::json::parse;

namespace {

Facts with_allocs(const std::string& stubs) {
  auto facts = test::facts_of_web();
  facts.allocations = parse("[" + stubs + "]");
  return facts;
}

std::string event(const std::string& type, const std::string& says, const std::string& more = "") {
  return R"({"Type":")" + type + R"(","Time":0,"DisplayMessage":")" + says + '"' + more + "}";
}

}  // namespace

TEST_CASE("why: a task says by its events what is wrong with it") {
  struct Row {
    std::string events;
    const char* state;
    const char* what;
  };

  constexpr auto dead = R"("State":"dead","Failed":true)";
  constexpr auto pending = R"("State":"pending","Failed":false)";
  for (const auto& row : {
           Row{event("Driver Failure", "no such command"), dead,
               "can't be started: no such command"},
           Row{event("Failed Artifact Download", "404"), dead, "does not get its artifact: 404"},
           Row{event("Setup Failure", "x"), dead, "can't be prepared: x"},
           Row{event("Failed Validation", "x"), dead, "can't be prepared: x"},
           Row{event("Template", "Missing: nomad.var.block(nomad/jobs/web@default.global)"),
               pending,
               "waits for what its template needs: Missing: "
               "nomad.var.block(nomad/jobs/web@default.global)"},
           Row{event("Downloading Artifacts", ""), pending, "still downloads its artifacts"},
           Row{event("Terminated", "", R"(,"ExitCode":1)"), dead, "exited with code 1"},
           Row{event("Terminated", "", R"(,"ExitCode":127)"), dead,
               "exited with code 127, which shells give for a command that is not there"},
           Row{event("Terminated", "", R"(,"ExitCode":126)"), dead,
               "exited with code 126, which shells give for a command that can't be executed"},
           Row{event("Terminated", "", R"(,"ExitCode":137,"Signal":9)"), dead,
               "was ended by signal 9"},
           Row{event("Terminated", "", R"(,"ExitCode":2,"Details":{"exit_message":"oops"})"), dead,
               "exited with code 2: oops"},
           Row{event("Terminated", "", R"(,"ExitCode":137,"Details":{"oom_killed":"true"})"), dead,
               "was killed because it took more memory than its resources allow"},
           Row{event("Terminated", "", R"(,"ExitCode":3)") + "," + event("Not Restarting", "limit"),
               dead, "exited with code 3"},
           Row{event("Terminated", "", R"(,"ExitCode":3)") + ","
                   + event("Restart Signaled", "check"),
               dead, "is restarted: check"},
           Row{event("Disk Resources Exceeded", "300 MiB"), dead, "took too much disk: 300 MiB"},
       }) {
    const auto& events = row.events;
    const auto& state = row.state;
    const auto& what = row.what;
    CAPTURE(events);
    const auto facts = with_allocs(test::failed_stub("11111111", "[" + events + "]", "", state));
    const auto found = diagnose(facts);
    REQUIRE(found.size() == 1);
    CHECK(found[0].what
          == "Allocation 11111111 (group \"g\", version 3, node node1): task \"t\" "
                 + std::string{what});
    CHECK(found[0].commands.back() == "nomadctl alloc status 11111111");
  }
}

TEST_CASE("why: the variable that a template waits for can be put by what is shown") {
  const auto command_for = [](const std::string& details) {
    const auto facts = with_allocs(test::failed_stub(
        "11111111",
        "[" + event("Template", "Missing: whatever", R"(,"Details":{)" + details + "}") + "]", "",
        R"("State":"pending")"));
    return diagnose(facts).at(0).commands.at(0);
  };
  constexpr auto path = R"("missing_variable":"a/b")";
  CHECK(command_for(std::string{path} + R"(,"missing_variable_namespace":"default")")
        == "nomadctl var put a/b KEY=VALUE");
  CHECK(command_for(std::string{path} + R"(,"missing_variable_namespace":"ops")")
        == "nomadctl var put -namespace=ops a/b KEY=VALUE");
  CHECK(command_for(path) == "nomadctl var put a/b KEY=VALUE");
  CHECK(command_for(R"("other":"x")") == "nomadctl alloc status 11111111");
}

TEST_CASE("why: the last events and lines of a task stand below") {
  std::string events;
  for (int i = 0; i < 6; ++i)
    events += event("Started", std::to_string(i)) + ",";
  auto facts = with_allocs(test::failed_stub(
      "11111111", "[" + events + event("Terminated", "Exit Code: 1\\nX", R"(,"ExitCode":1)") + "]",
      "", R"("State":"dead","Failed":true,"Restarts":2)"));
  std::string output;
  for (int i = 0; i < 12; ++i)
    output += "line " + std::to_string(i) + "\n\n";
  facts.output[{"11111111-2222", "t"}] = output;

  const auto found = diagnose(facts);
  REQUIRE(found.size() == 1);
  const auto& details = found[0].details;
  REQUIRE(details.size() == 1 + 5 + 1 + 10);
  CHECK(details[0] == "Restarted 2 times so far");
  CHECK(details[1] == "N/A  Started  2");
  CHECK(details[5] == "N/A  Terminated  Exit Code: 1\\nX");
  CHECK(details[6] == "Its last lines:");
  CHECK(details[7] == "| line 2");
  CHECK(details[16] == "| line 11");
  CHECK(found[0].commands.at(0) == "nomadctl alloc logs -stderr 11111111 t");
}

TEST_CASE("why: an allocation may be lost without a task's fault") {
  const auto facts = with_allocs(test::alloc_stub(
      "11111111",
      R"(,"ClientStatus":"lost","ClientDescription":"alloc is lost since its node is down")"));
  CHECK(test::told(diagnose(facts))
        == "! Allocation 11111111 (group \"g\", version 3, node node1): its node was lost\n"
           "  alloc is lost since its node is down\n"
           "  $ nomadctl node status bbbbbbbb\n"
           "  $ nomadctl alloc status 11111111\n");
}

TEST_CASE("why: one that was placed long ago and does not start") {
  auto facts = with_allocs(test::alloc_stub("11111111", R"(,"ClientStatus":"pending")"));
  CHECK(test::told(diagnose(facts)).find(": it was placed and has not started\n")
        != std::string::npos);
  facts.now = 1'000'000'000;
  CHECK(diagnose(facts).empty());
}

TEST_CASE("why: others of the group are counted, replaced ones are not") {
  const auto ended = "[" + event("Terminated", "", R"(,"ExitCode":1)") + "]";
  const auto facts
      = with_allocs(test::failed_stub("11111111", ended, R"(,"CreateIndex":9)") + ","
                    + test::failed_stub("22222222", ended, R"(,"CreateIndex":8)") + ","
                    + test::failed_stub("33333333", ended, R"(,"NextAllocation":"11111111")") + ","
                    + test::failed_stub("44444444", ended, R"(,"DesiredStatus":"stop")"));
  const auto found = diagnose(facts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].what.starts_with("Allocation 11111111"));
  CHECK(found[0].details.back() == "1 other allocation of the group is not well either");
}

TEST_CASE("why: when an allocation is placed anew") {
  auto facts = with_allocs(test::failed_stub(
      "11111111", "[]", R"(,"FollowupEvalID":"f","RescheduleTracker":{"Events":[{},{}]})"));
  facts.evaluations
      = parse(R"([{"ID":"f","Status":"pending","WaitUntil":"2026-01-02T03:04:05Z"}])");
  const auto details = diagnose(facts).at(0).details;
  REQUIRE(details.size() == 2);
  CHECK(details[0].starts_with("It is placed anew at 2026-01-0"));
  CHECK(details[1] == "Its group was placed anew 2 times before");
}

TEST_CASE("why: the task that failed is told, not those that ended with it") {
  const auto sibling = "[" + event("Sibling Task Failed", "") + "]";
  const auto own = "[" + event("Terminated", "", R"(,"ExitCode":7)") + "]";
  const auto facts = with_allocs(test::alloc_stub(
      "11111111", R"(,"ClientStatus":"failed","TaskStates":{"a":{"Failed":true,"Events":)" + sibling
                      + R"(},"b":{"Failed":true,"Events":)" + own + "}}"));
  CHECK(diagnose(facts).at(0).what.ends_with("task \"b\" exited with code 7"));
}

TEST_CASE("why: a task that restarts again and again is a warning while its allocation runs") {
  const auto facts = with_allocs(test::alloc_stub(
      "11111111", R"(,"ClientStatus":"running","TaskStates":{"t":{"State":"pending","Restarts":1,)"
                  R"("Events":[)"
                      + event("Terminated", "", R"(,"ExitCode":1)") + ","
                      + event("Restarting", "Task restarting in 15s") + "]}}"));
  const auto found = diagnose(facts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].weight == Weight::warning);
  CHECK(found[0].details.at(0) == "Restarted 1 time so far");
}

TEST_CASE("why: of one allocation that alone is told, also if it was replaced") {
  const auto ended = "[" + event("Terminated", "", R"(,"ExitCode":1)") + "]";
  auto facts = with_allocs(test::failed_stub("11111111", ended) + ","
                           + test::failed_stub("22222222", ended, R"(,"NextAllocation":"x")"));
  facts.only_alloc = "22222222-2222";
  const auto found = diagnose(facts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].what.starts_with("Allocation 22222222"));
}

TEST_CASE("why: checks that fail, with what they were answered") {
  auto facts = with_allocs(test::alloc_stub("11111111", R"(,"ClientStatus":"running")"));
  CHECK(allocs_to_check(facts) == std::vector<std::string>{"11111111-2222"});
  facts.checks["11111111-2222"] = parse(
      R"({"c1":{"Check":"http","Service":"web","Status":"failure","StatusCode":503,)"
      R"("Output":"down\nfor now\n"},"c2":{"Check":"tcp","Service":"web","Status":"success"},)"
      R"("c3":{"Check":"new","Service":"web","Status":"pending"}})");
  CHECK(test::told(diagnose(facts))
        == "! Check \"http\" of service \"web\" fails in allocation 11111111\n"
           "  It was answered with status 503\n"
           "  | down\n"
           "  | for now\n"
           "  $ nomadctl alloc checks 11111111\n");
}

TEST_CASE("why: an address that is taken is told as what it is") {
  auto facts = with_allocs(
      test::failed_stub("11111111", "[" + event("Terminated", "", R"(,"ExitCode":1)") + "]"));
  facts.output[{"11111111-2222", "t"}] = "bind: address already in use";
  CHECK(diagnose(facts).at(0).details.at(1)
        == "Another program has the address that it wants to listen at");
}
