// Decisions are kept as they are made, and can be made again from what was kept.
#include "actors/server/decisions/decision_log.hpp"

#include "runtime/scheduler/kept_decision.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/actors/server/scheduling_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace std::chrono_literals;

namespace {

struct DecisionLogFixture : SchedulingFixture {
  TempDir dir;
  std::shared_ptr<telemetry::Registry> registry
      = std::make_shared<telemetry::Registry>(telemetry::Options{});
  std::shared_ptr<storage::RowRing> ring = std::make_shared<storage::RowRing>(
      std::move(storage::RowRing::open(dir.file("decisions.db"), {}).value()));
  StartedDecisionLog started
      = start_decision_log_inline(system(), ring, telemetry::ServerMetrics::make(registry));

  DecisionLogFixture() { adopt(started.log); }

  void start_worker_with_feed(std::shared_ptr<const JobTypes> types = {}) {
    SchedulerWorkerOptions options;
    options.detached = false;
    options.decisions = started.feed;
    options.job_types = std::move(types);
    adopt(spawn_scheduler_worker(system(), store, proposer, broker, applier, options));
    commit();
  }

  KeptDecisions read(const ReadDecisions& question = {}) {
    const auto answer = ask<KeptDecisions>(started.log, question);
    REQUIRE(*answer);
    REQUIRE((*answer)->has_value());
    return std::move(**answer).value();
  }

  double counted(const std::string& name) {
    const auto shown = registry->prometheus(1);
    const auto at = shown.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stod(shown.substr(at + name.size() + 2));
  }
};

scheduler::Decided decision(std::uint64_t number) {
  Draft<schema::Evaluation> eval;
  eval->setId("eval");
  return {.number = number,
          .inputs = std::make_shared<const scheduler::DecisionInputs>(
              scheduler::DecisionInputs{.eval = eval.freeze(), .before = {}, .under_way = {}})};
}

}  // namespace

TEST_CASE_FIXTURE(DecisionLogFixture,
                  "decisions: what a worker decides is kept, with what became of it") {
  add_node();
  start_worker_with_feed();
  const auto before = state();
  const auto id = register_job(make_job("web", 3));
  const auto kept = read();
  REQUIRE(kept.rows.size() == 1);
  const auto row = *kept.rows[0].decision;
  CHECK(row.getNumber() == 1);
  CHECK(view(row.getEvaluation().getId()) == id);
  CHECK(row.getSnapshotIndex() > before.index());
  CHECK(row.getPlacements() == 3);
  REQUIRE(kept.rows[0].end);
  CHECK(kept.rows[0].end->getIndex() == state().index());
  CHECK_FALSE(kept.has_more);
}

TEST_CASE_FIXTURE(DecisionLogFixture,
                  "decisions: they are made again from what was kept, and are the same") {
  add_node();
  const auto id = register_job(make_job("web", 3));
  const auto snapshot = state();
  start_worker_with_feed();
  const auto kept = read();
  REQUIRE(kept.rows.size() == 1);
  REQUIRE(kept.rows[0].decision->getSnapshotIndex() == snapshot.index());
  const auto inputs = scheduler::inputs_of_kept(kept.rows[0].decision, {});
  REQUIRE(inputs);
  const auto again = scheduler::decide_again(*inputs, snapshot);
  REQUIRE((again && again->plan));
  std::set<std::string> planned;
  for (const auto& [node, changes] : again->plan->nodes)
    for (const auto& placed : changes.placements)
      planned.insert(std::string{placed.row->id()});
  std::set<std::string> written;
  for (const auto& alloc : state().allocs_by_eval(id))
    written.insert(std::string{alloc->alloc->id()});
  CHECK(planned.size() == 3);
  CHECK(planned == written);
}

TEST_CASE_FIXTURE(DecisionLogFixture,
                  "decisions: a decision without room says so, and of which evaluation is asked") {
  add_node();
  start_worker_with_feed();
  const auto fits = register_job(make_job("web", 1));
  const auto full = register_job(make_job("big", 1'000));
  CHECK(read().rows.size() >= 2);
  const auto of_full = read({.eval_prefix = full.substr(0, 8)});
  REQUIRE_FALSE(of_full.rows.empty());
  for (const auto& row : of_full.rows)
    CHECK(view(row.decision->getEvaluation().getId()) == full);
  CHECK(of_full.rows.back().decision->getLacksRoom());
  CHECK(read({.eval_prefix = fits}).rows.size() == 1);
}

TEST_CASE_FIXTURE(DecisionLogFixture,
                  "decisions: one that could not be made is kept with the reason") {
  add_node();
  start_worker_with_feed();
  Draft<schema::Job> job{make_job("own", 1)};
  job->setType("custom");
  const auto id = make_uuid(random);
  write([&](schema::Command::Builder command) {
    auto entry = command.initJobRegister();
    entry.setJob(job.reader());
    fill_eval(entry.initEvaluation(), id, "own");
    entry.getEvaluation().setType("custom");
  });
  const auto kept = read({.eval_prefix = id});
  REQUIRE(kept.rows.size() == 1);
  CHECK_FALSE(kept.rows[0].decision->getHasPlan());
  CHECK(view(kept.rows[0].decision->getFailure())
        == "no plugin of this server schedules jobs of type \"custom\"");
}

TEST_CASE_FIXTURE(
    DecisionLogFixture,
    "decisions: they are written soon though nobody asks, and numbers go on after a restart") {
  started.feed->add(decision(started.feed->next_number()));
  started.feed->add(decision(started.feed->next_number()));
  CHECK(ring->newest().value() == 0);
  settle();
  advance(150ms);
  CHECK(ring->newest().value() == 2);
  const auto later
      = start_decision_log_inline(system(), ring, telemetry::ServerMetrics::make(nullptr));
  adopt(later.log);
  CHECK(later.feed->next_number() == 3);
}

TEST_CASE_FIXTURE(DecisionLogFixture, "decisions: pages go from the newest to the oldest") {
  for (int i = 0; i < 5; ++i)
    started.feed->add(decision(started.feed->next_number()));
  auto page = read({.most = 2});
  CHECK(page.has_more);
  REQUIRE(page.rows.size() == 2);
  CHECK(page.rows[0].decision->getNumber() == 5);
  page = read({.before = page.rows[1].decision->getNumber(), .most = 5});
  CHECK_FALSE(page.has_more);
  CHECK(page.rows.size() == 3);
}

TEST_CASE_FIXTURE(
    DecisionLogFixture,
    "decisions: what comes faster than it is written is dropped and counted, and nobody waits") {
  const auto more = DecisionFeed::most_news + 50;
  for (std::size_t i = 0; i < more; ++i)
    started.feed->add(decision(started.feed->next_number()));
  const auto kept = read({.most = more});
  CHECK(kept.rows.size() == DecisionFeed::most_news);
  CHECK(kept.rows.front().decision->getNumber() == DecisionFeed::most_news);
  CHECK(counted("nomad_nomad_decision_dropped") == 50);
  CHECK(counted("nomad_nomad_decision_kept") == static_cast<double>(DecisionFeed::most_news));
}

TEST_CASE("decisions: plans that wait to be kept are bounded by their allocations") {
  DecisionFeed feed{0};
  auto plan = std::make_shared<scheduler::Plan>();
  plan->nodes["a"].placements.resize(DecisionFeed::most_allocations);
  auto large = decision(1);
  large.plan = plan;
  feed.add(large);  // as large as it is, where nothing waits
  large.number = 2;
  feed.add(large);
  feed.add(decision(3));
  auto taken = feed.take();
  CHECK(taken.news.size() == 2);
  CHECK(taken.dropped == 1);
  CHECK(feed.take().dropped == 0);
}
