// What operators may have forgotten of evaluations, when it is decided and when it is applied.
#include "runtime/cluster/eval_deletion.hpp"

#include "runtime/state/eval_rules.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using nomad::test::anybody;
using schema::ClientStatus;
using schema::EvalStatus;

namespace {

struct Deletion : StateFixture {
  Deletion() { pause(true); }

  void pause(bool paused) {
    run([&](auto command) { command.initSchedulerConfiguration().setPauseEvalBroker(paused); });
  }

  /// Evaluations of the job "web", of which "runs" has a running allocation.
  void some_of_a_living_job() {
    register_node();
    register_job({});
    put_eval({.id = "runs", .status = EvalStatus::COMPLETE});
    put_eval({.id = "waits"});
    place({{.id = "a", .eval = "runs"}});
    report("a", ClientStatus::RUNNING);
  }

  Outcome apply(const Object<schema::Command>& command) {
    auto outcome = store.apply(++index, *command);
    store.publish();
    return outcome;
  }

  std::vector<Object<schema::Command>> found(std::string_view filter) {
    auto deletion = cluster::decide_delete_by_filter(now(), anybody(), filter);
    REQUIRE(deletion.has_value());
    return deletion->commands;
  }

  std::string key_of(const std::string& id) const {
    return kind::Evals::key_by_job(*now().eval(id));
  }

  static std::string bytes_of(capnp::Data::Reader bytes) {
    return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
  }

  std::string left() {
    std::string ids;
    const auto snapshot = now();
    for (const auto& entry : snapshot.evals())
      ids += (ids.empty() ? "" : " ") + copy(entry.value()->getId());
    return ids;
  }
};

/// Numbers that sort as texts.
std::string number(unsigned n) {
  return std::to_string(1'000'000 + n);
}

}  // namespace

TEST_CASE_FIXTURE(Deletion, "evaluations are deleted while the broker is paused, known ones only") {
  put_eval({.id = "one"});
  put_eval({.id = "two"});
  pause(false);
  CHECK(cluster::decide_delete_evals(now(), anybody(), {"one"}).error().what
        == "eval broker is enabled; eval broker must be paused to delete evals");
  CHECK(cluster::decide_delete_by_filter(now(), anybody(), "ID == \"one\"").error().code
        == Errc::rejected);
  pause(true);
  CHECK(cluster::decide_delete_evals(now(), anybody(), {"one", "x"}).error().code
        == Errc::not_found);
  const auto decision = cluster::decide_delete_evals(now(), anybody(), {"one", "two", "one"});
  REQUIRE(decision);
  CHECK(apply(decision->command).evals_deleted == 2);
  CHECK(now().job_counts("default", "web").evals == 0);
  CHECK(left().empty());
}

TEST_CASE_FIXTURE(Deletion, "evaluations are deleted by who may have each that he names") {
  put_eval({.id = "ours", .ns = "a"});
  put_eval({.id = "theirs", .ns = "b"});
  const access::Asking asking{test::somebody([](access::Capability, const access::Target& target) {
                                return target.ns != "b";
                              }),
                              access::Capability::management};

  CHECK(cluster::decide_delete_evals(now(), asking, {"ours"}).has_value());
  CHECK(cluster::decide_delete_evals(now(), asking, {"ours", "theirs"}).error().code
        == Errc::permission_denied);

  const auto deletion = cluster::decide_delete_by_filter(now(), asking, "ID != \"\"");
  REQUIRE(deletion->commands.size() == 1);
  apply(deletion->commands[0]);
  CHECK(left() == "theirs");
}

TEST_CASE_FIXTURE(Deletion, "the evaluation of what runs is not deleted, unless its job is over") {
  some_of_a_living_job();
  CHECK(cluster::decide_delete_evals(now(), anybody(), {"waits", "runs"}).error().what
        == "eval runs is not safe to delete");
  for (const auto& command : found("JobID == \"web\""))
    CHECK(apply(command).evals_deleted == 1);
  CHECK(left() == "runs");

  report("a", ClientStatus::UNKNOWN);
  CHECK(found("JobID == \"web\"").empty());
  deregister("web", false);
  CHECK(found("JobID == \"web\"").size() == 1);
}

TEST_CASE_FIXTURE(Deletion, "what a deletion names is judged again where it is applied") {
  some_of_a_living_job();
  const auto decision = cluster::decide_delete_evals(now(), anybody(), {"waits"});
  REQUIRE(decision);
  SUBCASE("an allocation of it runs by now") {
    place({{.id = "b", .eval = "waits"}});
    report("b", ClientStatus::RUNNING);
    CHECK(apply(decision->command).error->what == "eval waits is not safe to delete");
    CHECK(left() == "runs waits");
  }
  SUBCASE("the broker works again") {
    pause(false);
    CHECK(apply(decision->command).error.has_value());
    CHECK(left() == "runs waits");
  }
  SUBCASE("it is gone") {
    apply(decision->command);
    const auto again = apply(decision->command);
    CHECK_FALSE(again.error);
    CHECK(again.evals_deleted == 0);
  }
}

TEST_CASE_FIXTURE(Deletion, "what a filter finds is judged again where it is applied") {
  some_of_a_living_job();
  put_eval({.id = "waits-2"});
  const auto commands = found("Status == \"pending\"");
  REQUIRE(commands.size() == 1);
  place({{.id = "b", .eval = "waits"}});
  report("b", ClientStatus::RUNNING);
  put_eval({.id = "waits-1"});  // came into the range
  put_eval({.id = "waits-3"});  // came behind it
  CHECK(apply(commands[0]).evals_deleted == 2);
  CHECK(left() == "runs waits waits-3");

  pause(false);
  CHECK(apply(commands[0]).error->code == Errc::rejected);
}

TEST_CASE_FIXTURE(Deletion,
                  "a filter that is none is refused, and one that fits no row finds none") {
  put_eval({.id = "one"});
  CHECK(cluster::decide_delete_by_filter(now(), anybody(), "ID ==").error().code
        == Errc::invalid_argument);
  CHECK(found("Nope == 1").empty());
}

TEST_CASE_FIXTURE(Deletion, "many are deleted by entries that each remove and pass over few") {
  constexpr unsigned evals = 3 * cluster::most_deleted_evals + 1;
  run([&](auto command) {
    auto list = command.initEvalUpdate().initEvaluations(evals);
    for (unsigned i = 0; i < evals; ++i)
      nomad::state::fill(list[i], EvalSpec{.id = number(i)});
  });
  SUBCASE("all of them") {
    const auto commands = found("Status == \"pending\"");
    REQUIRE(commands.size() == 4);
    for (unsigned i = 0; i < 4; ++i)
      CHECK(apply(commands[i]).evals_deleted == (i < 3 ? cluster::most_deleted_evals : 1));
    CHECK(left().empty());
  }
  SUBCASE(
      "the first and the last: what lies between is looked at once, and not where it is applied") {
    const auto commands
        = found("ID == \"" + number(0) + "\" or ID == \"" + number(evals - 1) + "\"");
    REQUIRE(commands.size() == 1);
    CHECK(apply(commands[0]).evals_deleted == 2);
    CHECK(left().find(number(0)) == std::string::npos);
  }
}

TEST_CASE_FIXTURE(Deletion, "an entry ends where it has looked at many that it leaves") {
  constexpr unsigned evals = 2 * cluster::most_looked_at_evals;
  run([&](auto command) {
    auto list = command.initEvalUpdate().initEvaluations(evals);
    for (unsigned i = 0; i < evals; ++i)
      nomad::state::fill(list[i], EvalSpec{.id = number(i)});
  });
  const auto last = number(evals - 1);
  const auto commands = found("ID == \"" + number(0) + "\" or ID == \"" + last + "\"");
  REQUIRE(commands.size() == 2);
  CHECK(bytes_of(commands[1]->getEvalDelete().getAfter()) == key_of(number(evals - 2)));
  CHECK(bytes_of(commands[1]->getEvalDelete().getThrough()) == key_of(last));
  for (const auto& command : commands)
    CHECK(apply(command).evals_deleted == 1);
}

TEST_CASE_FIXTURE(Deletion,
                  "deletions of evaluations: the bounds of filters are kept by who decides") {
  put_eval({.id = "eval", .status = EvalStatus::COMPLETE});
  std::string dear = "JobID matches `\\pL{50}`";
  for (int i = 0; i < 400; ++i)
    dear += " or JobID matches `\\pL{50}`";
  const auto refused = cluster::decide_delete_by_filter(now(), anybody(), dear);
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Errc::too_large);

  // What was decided where other bounds hold is applied as it was meant.
  const auto decided = found("JobID != `x`");
  REQUIRE(decided.size() == 1);
  Draft<schema::Command> elsewhere{decided.front()};
  elsewhere->getEvalDelete().setFilter(dear + " or JobID != `x`");
  CHECK(apply(elsewhere.freeze()).evals_deleted == 1);
}
