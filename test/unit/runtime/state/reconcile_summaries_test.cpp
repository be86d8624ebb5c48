// Summaries that are worked out anew from what there is.
#include "runtime/state/tables.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;
using schema::EvalStatus;

namespace {

struct Summaries : StateFixture {
  /// Makes the summary say nonsense, as a mistake in what counts could.
  void spoil(const std::string& id) {
    Tables tables = now().tables();
    const auto key = join_key("default", id);
    Draft<schema::JobSummary> wrong{*tables.job_summaries.find(key)};
    for (auto group : wrong->getSummary()) {
      group.getValue().setRunning(41);
      group.getValue().setQueued(7);
      group.getValue().setLost(3);
    }
    wrong->initChildren().setPending(5);
    tables.job_summaries.insert_or_assign(key, wrong.freeze());
    store.replace(std::move(tables), index);
  }

  Outcome reconcile(const std::string& first, const std::string& last) {
    return run([&](auto command) {
      auto range = command.initSummariesReconcile();
      range.initFirst().setNamespace("default");
      range.getFirst().setId(text(first));
      range.initLast().setNamespace("default");
      range.getLast().setId(text(last));
    });
  }

  std::string children(std::string_view id) const {
    const auto counts = now().job_summary("default", id)->getChildren();
    return std::to_string(counts.getPending()) + " " + std::to_string(counts.getRunning()) + " "
           + std::to_string(counts.getDead());
  }

  Index changed_at(std::string_view id) const {
    return now().job_summary("default", id)->getModifyIndex();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Summaries, "a wrong summary is put right from the allocations") {
  register_node();
  register_job({.groups = {{"api", 9}, {"db", 1}}});
  place({{.id = "starting"},
         {.id = "running"},
         {.id = "complete"},
         {.id = "failed"},
         {.id = "lost"},
         {.id = "unknown"},
         {.id = "other", .group = "db"}});
  report("running", ClientStatus::RUNNING);
  report("complete", ClientStatus::COMPLETE);
  report("failed", ClientStatus::FAILED);
  stop("lost", ClientStatus::LOST);
  stop("unknown", ClientStatus::UNKNOWN);
  put_eval({.id = "older", .status = EvalStatus::COMPLETE, .queued = {{"api", 4}}});
  put_eval({.id = "newest", .status = EvalStatus::COMPLETE, .queued = {{"api", 2}}});
  put_eval({.id = "has-not-looked"});
  const auto api = summary("web", "api");
  const auto db = summary("web", "db");
  REQUIRE(api == "2 1 1 1 1 1 1");
  spoil("web");
  REQUIRE(summary("web", "api") != api);

  reconcile("web", "web");
  CHECK(summary("web", "api") == api);
  CHECK(summary("web", "db") == db);
  CHECK(children("web") == "0 0 0");
  CHECK(changed_at("web") == index);
}

TEST_CASE_FIXTURE(Summaries, "a right summary stays as it is, and so do those of other jobs") {
  for (const char* id : {"a", "b", "c"})
    register_job({.id = id});
  const auto before = changed_at("b");
  spoil("a");
  spoil("c");
  reconcile("b", "b");
  CHECK(changed_at("b") == before);
  CHECK(summary("a") == "7 0 41 0 0 3 0");
  CHECK(summary("c") == "7 0 41 0 0 3 0");
  reconcile("a", "c");
  CHECK(summary("a") == "0 0 0 0 0 0 0");
  CHECK(summary("c") == "0 0 0 0 0 0 0");
}

TEST_CASE_FIXTURE(Summaries, "a parent's children are counted again") {
  register_job({.id = "cron", .type = "batch", .periodic = true});
  for (const char* child : {"cron/1", "cron/2", "cron/3"})
    register_job({.id = child, .type = "batch", .parent = "cron"},
                 {.id = std::string{"eval-of-"} + child, .job = child});
  register_job({.id = "cron/of-nobody", .type = "batch"});
  place({{.id = "runs", .job = "cron/2"}});
  deregister("cron/3", false);
  const auto right = children("cron");
  REQUIRE(right == "2 1 0");
  spoil("cron");
  reconcile("cron", "cron");
  CHECK(children("cron") == right);
}

TEST_CASE_FIXTURE(Summaries, "allocations of an earlier job of that name do not count") {
  register_node();
  register_job();
  place({{.id = "of-the-first"}});
  deregister("web", true);
  register_job();
  spoil("web");
  reconcile("web", "web");
  CHECK(summary("web") == "0 0 0 0 0 0 0");
}
