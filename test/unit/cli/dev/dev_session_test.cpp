#include "cli/dev/dev_session.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/base/overloaded.hpp"

using namespace nomad::cli;
using namespace nomad::cli::dev;
using boost::json::parse;

namespace {

/// A session, and what it wants in words.
struct Played {
  DevSession session;

  explicit Played(bool once = false) : session{once} {}

  std::string wants() {
    std::string text;
    for (const auto& action : session.take()) {
      if (!text.empty()) text += ", ";
      text += std::visit(
          nomad::Overloaded{
              [](const Register&) { return std::string{"register"}; },
              [](const StopJob&) { return std::string{"stop"}; },
              [](const Follow& it) { return "follow " + it.label; },
              [](const Kill& it) { return "kill " + it.alloc; },
              [](const Explain&) { return std::string{"explain"}; },
              [](const Say& it) { return (it.is_wrong ? "wrong: " : "say: ") + it.text; },
              [](const EndAgent& it) {
                return std::string{it.at_once ? "kill agent" : "end agent"};
              },
              [](const Finish& it) { return "finish " + std::to_string(it.code); }},
          action);
    }
    return text;
  }

  void read(const std::string& job = R"({"TaskGroups":[{"Count":1,"Tasks":[{}]}]})") {
    const auto value = parse(job);
    session.job_read(View{value});
  }

  /// Its allocations; `status` is the job's.
  void state(const std::string& allocs,
             const std::string& status = "running",
             const std::string& evals = "") {
    const auto list = parse("[" + allocs + "]");
    const auto evaluations = parse("[" + evals + "]");
    const auto jobs = parse(R"([{"ID":"web","Status":")" + status + R"("}])");
    session.state(View{list}, View{evaluations}, View{jobs});
  }

  /// Until the job runs.
  void run() {
    read();
    session.agent_ready();
    CHECK(wants() == "register");
    session.registered();
    state(alloc("a", "running"));
    CHECK(wants() == "follow t");
  }

  static std::string alloc(const std::string& id,
                           const std::string& status,
                           const std::string& events = "",
                           const std::string& more = "") {
    return R"({"ID":")" + id
           + R"(","Name":"web.g[0]","TaskGroup":"g","NextAllocation":"",)"
             R"("ClientStatus":")"
           + status + R"(","TaskStates":{"t":{"Events":[)" + events + "]}}" + more + "}";
  }
};

}  // namespace

TEST_CASE("dev: the job is registered when the agent is ready, and shown") {
  Played dev;
  dev.read();
  CHECK(dev.wants().empty());
  dev.session.agent_ready();
  CHECK(dev.wants() == "register");
  dev.session.registered();
  dev.state("");
  CHECK(dev.wants().empty());
  dev.state(Played::alloc("a", "pending"));
  CHECK(dev.wants() == "follow t");
  dev.state(Played::alloc("a", "running"));
  CHECK(dev.wants().empty());
}

TEST_CASE("dev: labels name what there may be several of") {
  for (const auto* job : {R"({"TaskGroups":[{"Count":2,"Tasks":[{}]}]})",
                          R"({"TaskGroups":[{"Count":1,"Tasks":[{},{}]}]})",
                          R"({"TaskGroups":[{"Tasks":[{}]},{"Tasks":[{}]}]})"}) {
    CAPTURE(job);
    Played dev;
    dev.read(job);
    dev.session.agent_ready();
    dev.session.registered();
    dev.wants();
    dev.state(Played::alloc("a", "running"));
    CHECK(dev.wants() == "follow g[0]/t");
  }
}

TEST_CASE("dev: a saved file stops the job, and then it is registered anew") {
  Played dev;
  dev.run();
  dev.read();
  CHECK(dev.wants() == "say: The file was saved: the job is stopped and runs anew, stop");
  dev.read();  // once more meanwhile
  dev.state(Played::alloc("a", "running"));
  CHECK(dev.wants().empty());
  dev.state(Played::alloc("a", "complete"));
  CHECK(dev.wants() == "register");
  dev.session.registered();
  dev.state(Played::alloc("a", "complete") + "," + Played::alloc("b", "running"));
  CHECK(dev.wants() == "follow t");
}

TEST_CASE("dev: a file with a mistake leaves the job as it is") {
  Played dev;
  dev.run();
  dev.session.job_unreadable("line 3");
  CHECK(dev.wants() == "wrong: line 3");
  dev.read();
  CHECK(dev.wants().ends_with(", stop"));
}

TEST_CASE("dev: a refused job is tried again when its file is saved") {
  Played dev;
  dev.read();
  dev.session.agent_ready();
  dev.wants();
  dev.session.refused("no");
  CHECK(dev.wants() == "wrong: no");
  dev.read();
  CHECK(dev.wants() == "register");
}

TEST_CASE("dev: a signal ends the job, then the agent, then the command") {
  Played dev;
  dev.run();
  dev.session.signal();
  CHECK(dev.wants() == "stop");
  dev.state(Played::alloc("a", "running"));
  CHECK(dev.wants().empty());
  dev.state(Played::alloc("a", "complete"), "dead");
  CHECK(dev.wants() == "end agent");
  dev.session.agent_ended("");
  CHECK(dev.wants() == "finish 0");
  dev.session.signal();
  dev.session.agent_ended("");
  dev.state("");
  CHECK(dev.wants().empty());
}

TEST_CASE("dev: further signals kill the tasks, then the agent") {
  Played dev;
  dev.run();
  dev.session.signal();
  dev.wants();
  dev.session.signal();
  CHECK(dev.wants() == "kill a");
  dev.session.signal();
  CHECK(dev.wants() == "kill agent");
  dev.session.agent_ended("");
  CHECK(dev.wants() == "finish 0");
}

TEST_CASE("dev: a signal before there is a job ends the agent") {
  Played early;
  early.read();
  early.session.signal();
  CHECK(early.wants() == "end agent");
  early.session.agent_ready();
  CHECK(early.wants().empty());
  early.session.agent_ended("");
  CHECK(early.wants() == "finish 0");

  Played late;
  late.session.agent_ready();
  late.session.signal();
  CHECK(late.wants() == "end agent");
}

TEST_CASE("dev: a signal while the job is stopped for a run anew stops it once") {
  Played dev;
  dev.run();
  dev.read();
  dev.wants();
  dev.session.signal();
  CHECK(dev.wants().empty());
  dev.state(Played::alloc("a", "complete"));
  CHECK(dev.wants() == "end agent");
}

TEST_CASE("dev: an agent that ends by itself ends the command") {
  Played dev;
  dev.run();
  dev.session.agent_ended("the port is taken");
  CHECK(dev.wants() == "wrong: The agent has ended: the port is taken, finish 1");
}

TEST_CASE("dev: once, it ends with the job") {
  for (const auto& [status, code] : {std::pair{"complete", 0}, {"failed", 1}}) {
    Played dev{true};
    dev.run();
    dev.state(Played::alloc("a", status), "running");
    CHECK(dev.wants().empty());
    dev.state(Played::alloc("a", status), "dead");
    CHECK(dev.wants() == "stop");
    dev.state(Played::alloc("a", status), "dead");
    CHECK(dev.wants() == "end agent");
    dev.session.agent_ended("");
    CHECK(dev.wants() == "finish " + std::to_string(code));
  }
}

TEST_CASE("dev: once, a failed allocation that was replaced is no failure") {
  Played dev{true};
  dev.run();
  auto replaced = Played::alloc("a", "failed");
  replaced.replace(replaced.find(R"("NextAllocation":"")"), 19, R"("NextAllocation":"b")");
  dev.state(replaced + "," + Played::alloc("b", "complete"), "dead");
  CHECK(dev.wants() == "follow t, stop");
  dev.state(replaced + "," + Played::alloc("b", "complete"), "dead");
  dev.wants();
  dev.session.agent_ended("");
  CHECK(dev.wants() == "finish 0");
}

TEST_CASE("dev: once, what failed before the file was saved is no failure") {
  Played dev{true};
  dev.run();
  dev.read();
  CHECK(dev.wants().ends_with(", stop"));
  const auto before = Played::alloc("a", "failed");
  dev.state(before, "dead");
  CHECK(dev.wants() == "register");
  dev.session.registered();
  dev.state(before, "dead");  // nothing of the new run is there yet
  CHECK(dev.wants().empty());
  dev.state(before + "," + Played::alloc("b", "complete"), "dead");
  CHECK(dev.wants() == "follow t, stop");
  dev.state(before + "," + Played::alloc("b", "complete"), "dead");
  CHECK(dev.wants() == "end agent");
  dev.session.agent_ended("");
  CHECK(dev.wants() == "finish 0");
}

TEST_CASE("dev: once, a job that is refused is the end") {
  Played dev{true};
  dev.read();
  dev.session.agent_ready();
  dev.wants();
  dev.session.refused("no");
  CHECK(dev.wants() == "wrong: no, end agent");
  dev.session.agent_ended("");
  CHECK(dev.wants() == "finish 1");
}

TEST_CASE("dev: of what happens to a task that is told which matters, once") {
  Played dev;
  dev.run();
  const std::string started = R"({"Type":"Started","Time":1})";
  const std::string ended
      = R"({"Type":"Terminated","Time":2,"ExitCode":3,"DisplayMessage":"Exit Code: 3"})";
  dev.state(Played::alloc("a", "running", started + "," + ended));
  CHECK(dev.wants() == "wrong: t: Terminated: Exit Code: 3");
  dev.state(Played::alloc("a", "running",
                          ended + R"(,{"Type":"Restarting","Time":3,"DisplayMessage":"a\nb"})"));
  CHECK(dev.wants() == "wrong: t: Restarting: a\\nb");
  dev.state(Played::alloc("a", "complete",
                          R"({"Type":"Terminated","Time":4,"DisplayMessage":"Exit Code: 0"})"));
  CHECK(dev.wants() == "say: t: Terminated: Exit Code: 0");
}

TEST_CASE("dev: what can't be placed is explained once for each evaluation") {
  Played dev;
  dev.run();
  const std::string blocked = R"({"ID":"e","Status":"blocked"})";
  dev.state("", "pending", blocked);
  CHECK(dev.wants() == "explain");
  dev.state("", "pending", blocked);
  CHECK(dev.wants().empty());
  dev.state("", "pending", blocked + R"(,{"ID":"f","Status":"complete"})");
  CHECK(dev.wants().empty());
}
