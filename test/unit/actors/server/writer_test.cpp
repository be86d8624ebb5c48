// The one way to write: decisions, their commands, and what comes back.
#include "actors/server/writer.hpp"

#include "actors/roles/no_leader.hpp"
#include "runtime/cluster/scale_commands.hpp"
#include "runtime/cluster/setting_commands.hpp"
#include "server_fixture.hpp"
#include "test/support/anybody.hpp"

using namespace nomad;
using namespace nomad::server;

namespace {

struct WriterFixture : test::ServerFixture {
  std::shared_ptr<raft::LeaderView> leader = std::make_shared<raft::LeaderView>();
  Writer writer{store, proposer, leader, std::make_shared<Random>(1)};

  WriterFixture() { leader->set({.leads = true, .ready = true}); }

  using Outcome = Result<Written<cluster::Decision>>;

  std::shared_ptr<std::optional<Outcome>> configure(std::optional<std::uint64_t> check) {
    auto answer = std::make_shared<std::optional<Outcome>>();
    writer.write(
        [check](const state::Snapshot& state, const cluster::EvalSeed& seed) {
          CHECK(seed.random != nullptr);
          return cluster::decide_scheduler_configuration(
              state, nomad::test::anybody(), Draft<schema::SchedulerConfiguration>{}.freeze(),
              check);
        },
        Turns::here(), [answer](Outcome outcome) { *answer = std::move(outcome); });
    return answer;
  }

  /// Jobs "web" and "api" with groups "a" and "b".
  void add_jobs() {
    for (const auto* id : {"web", "api"})
      write([&](schema::Command::Builder command) {
        auto job = command.initJobRegister().initJob();
        job.setId(id);
        job.setType("service");
        auto groups = job.initTaskGroups(2);
        groups[0].setName("a");
        groups[1].setName("b");
      });
  }

  /// Every answer that a write gets.
  using Answers = std::vector<Outcome>;

  std::shared_ptr<Answers> scale(const char* job,
                                 const char* group,
                                 std::int64_t count,
                                 Writer::Run run = {}) {
    auto answers = std::make_shared<Answers>();
    writer.write(
        [=](const state::Snapshot& state, const cluster::EvalSeed& seed) {
          const cluster::ScaleRequest request{
              .ns = "default", .job_id = job, .group = group, .count = count};
          return cluster::decide_scale(state, nomad::test::anybody(), request, 0, seed);
        },
        Turns::here(), [answers](Outcome outcome) { answers->push_back(std::move(outcome)); },
        std::move(run));
    return answers;
  }

  std::int64_t count(const char* job, unsigned group) const {
    return state().job("default", job)->getTaskGroups()[group].getCount();
  }

  std::vector<Object<schema::Command>> pools(std::size_t count) {
    std::vector<Object<schema::Command>> commands;
    for (std::size_t i = 0; i < count; ++i) {
      Draft<schema::Command> draft;
      draft->initNodePoolUpsert().setName("pool-" + std::to_string(i));
      commands.push_back(draft.freeze());
    }
    return commands;
  }
};

}  // namespace

TEST_CASE_FIXTURE(WriterFixture, "writer: a decision is answered when its command is applied") {
  const auto answer = configure({});
  CHECK_FALSE(answer->has_value());
  commit();
  REQUIRE(answer->has_value());
  REQUIRE((*answer)->has_value());
  CHECK((**answer)->index == index);
  CHECK((**answer)->outcome != nullptr);
  CHECK(state().scheduler_configuration()->getModifyIndex() == index);
}

TEST_CASE_FIXTURE(WriterFixture, "writer: without a command the snapshot's index is the answer") {
  configure({});
  commit();

  const auto answer = configure(std::uint64_t{7'000});

  REQUIRE(answer->has_value());
  CHECK((**answer)->index == index);
  CHECK((**answer)->outcome == nullptr);
  CHECK(commit_once() == 0);
}

TEST_CASE_FIXTURE(WriterFixture,
                  "writer: who does not know all that was acknowledged writes nothing") {
  leader->set({.leads = true, .ready = false});

  const auto answer = configure({});

  REQUIRE(answer->has_value());
  CHECK((*answer)->error() == no_leader());
  CHECK(commit_once() == 0);
}

TEST_CASE_FIXTURE(WriterFixture, "writer: many commands go a few at a time, the last one alone") {
  std::vector<Result<Committed>> answers;
  writer.propose_all(access::own_work("test"), pools(20), Turns::here(),
                     [&](const Result<Committed>& done) { answers.push_back(done); });

  std::vector<std::size_t> portions;
  while (const auto count = commit_once())
    portions.push_back(count);

  CHECK(portions.front() == 2);
  CHECK(portions.back() == 1);
  CHECK(entries == 20);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0]->index == index);
}

TEST_CASE_FIXTURE(WriterFixture, "writer: a sequence stops at the first command that is refused") {
  auto commands = pools(20);
  Draft<schema::Command> refused;
  refused->setNodePoolDelete("default");
  commands[1] = refused.freeze();
  std::vector<Result<Committed>> answers;

  writer.propose_all(access::own_work("test"), commands, Turns::here(),
                     [&](const Result<Committed>& done) { answers.push_back(done); });
  commit();

  CHECK(entries == 3);  // two at once, and one for the first that was applied
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].has_error());
}

TEST_CASE_FIXTURE(WriterFixture,
                  "writer: of a sequence whose leader is lost nobody says that nothing was done") {
  std::vector<Error> refusals;
  const auto propose = [&](std::size_t count) {
    writer.propose_all(access::own_work("test"), pools(count), Turns::here(),
                       [&](const Result<Committed>& done) { refusals.push_back(done.error()); });
  };

  propose(20);
  CHECK(commit_once() == 2);
  CHECK(refuse() > 0);
  propose(1);
  CHECK(refuse() == 1);

  REQUIRE(refusals.size() == 2);
  CHECK(refusals[0]
        == Error{Errc::unavailable,
                 "No cluster leader (the request may have been carried out in part)"});
  CHECK(refusals[1] == no_leader());
}

TEST_CASE_FIXTURE(WriterFixture, "writer: a permission for something else is refused as a bug") {
  Draft<schema::Command> draft;
  draft->initJobDeregister().setNamespace("b");
  const auto command = draft.freeze();
  const auto who = nomad::test::anybody();
  const auto propose = [&](const access::Allowed& allowed) {
    std::optional<Result<Committed>> answer;
    writer.propose(allowed, command, Turns::here(),
                   [&](const Result<Committed>& done) { answer = done; });
    commit();
    return answer.value().error().what;
  };
  const std::string refusal = "the permission is not for what is written";

  CHECK(propose(access::authorize(who, {"a"}).value()) == refusal);
  CHECK(entries == 0);
  CHECK(propose(access::authorize(who, {"b"}).value()) != refusal);
  CHECK(entries == 1);
}

TEST_CASE_FIXTURE(WriterFixture, "writer: a guard hides nothing of what the permission is for") {
  add_jobs();
  std::vector<Outcome> answers;
  const auto before = entries;
  writer.write(
      [](const state::Snapshot& state, const cluster::EvalSeed&) -> Result<cluster::Decision> {
        CHECK(state.job("default", "web"));
        cluster::Decision decision{.allowed
                                   = NOMAD_TRY(access::authorize(nomad::test::anybody(), {"a"}))};
        Draft<schema::Command> draft;
        draft->initJobDeregister().setNamespace("b");
        decision.command = draft.freeze();
        return decision;
      },
      Turns::here(), [&answers](Outcome outcome) { answers.push_back(std::move(outcome)); });
  commit();

  CHECK(entries == before);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].error().what == "the permission is not for what is written");
}

TEST_CASE_FIXTURE(WriterFixture, "writer: who enforces nothing hears of no other writer") {
  add_jobs();
  const auto first = scale("web", "a", 3);
  const auto second = scale("web", "b", 5);
  CHECK(commit_once() == 2);
  CHECK(first->size() == 1);
  CHECK(second->empty());  // decided anew

  commit();

  REQUIRE(second->size() == 1);
  REQUIRE(second->front().has_value());
  CHECK(second->front()->outcome->job_modify_index == index);
  CHECK(count("web", 0) == 3);
  CHECK(count("web", 1) == 5);
}

TEST_CASE_FIXTURE(WriterFixture, "writer: writes of different things go beside each other") {
  add_jobs();
  const auto first = scale("web", "a", 3);
  const auto second = scale("api", "a", 3);
  const auto third = configure({});
  CHECK(commit_once() == 3);
  CHECK(first->size() == 1);
  CHECK(second->size() == 1);
  CHECK(third->has_value());
  CHECK(commit_once() == 0);
}

TEST_CASE_FIXTURE(WriterFixture, "writer: of many writes of one thing each has its turn") {
  add_jobs();
  std::vector<std::shared_ptr<Answers>> all;
  for (int i = 0; i < 50; ++i)
    all.push_back(scale("web", "a", i));
  const auto before = entries;

  commit();

  for (const auto& answers : all) {
    REQUIRE(answers->size() == 1);
    CHECK(answers->front().has_value());
  }
  CHECK(entries - before == 50 + 49);  // each but the first was decided twice
  CHECK(count("web", 0) == 49);
}

TEST_CASE_FIXTURE(WriterFixture, "writer: decisions are made anew where it is said, or given up") {
  add_jobs();
  std::vector<std::function<void()>> jobs;
  const auto answers = scale("web", "b", 5, [&jobs](std::function<void()> job) -> Result<> {
    jobs.push_back(std::move(job));
    return {};
  });
  const auto disturb = [&] {
    auto mine = log->take();
    scale("web", "a", 1);
    auto others = log->take();
    commit_these(std::move(others));
    commit_these(std::move(mine));
  };

  unsigned decisions = 1;
  for (disturb(); !jobs.empty(); disturb(), ++decisions) {
    CHECK(jobs.size() == 1);
    std::exchange(jobs, {}).front()();
  }

  CHECK(decisions == Writer::most_decisions);
  REQUIRE(answers->size() == 1);
  CHECK(answers->front().error()
        == Error{Errc::conflict,
                 "what this change is about was changed by others each time it was decided; try "
                 "again"});
  CHECK(scale("web", "b", 5)->empty());  // the turn was let go
  commit();
  CHECK(count("web", 1) == 5);
}

TEST_CASE_FIXTURE(WriterFixture,
                  "writer: what can't be decided anew is answered, and lets its turn go") {
  add_jobs();
  const Error full{Errc::overloaded, "too many queries are waiting"};
  scale("web", "a", 1);
  const auto refused = scale("web", "b", 5, [full](std::function<void()>) { return full; });
  const auto next = scale("web", "b", 7);

  commit();

  REQUIRE(refused->size() == 1);
  CHECK(refused->front().error() == full);
  REQUIRE(next->size() == 1);
  CHECK(next->front().has_value());
  CHECK(count("web", 1) == 7);
}

TEST_CASE("writer: turns that are let go at once need no stack") {
  const auto anew = std::make_shared<DecidedAnew>();
  DecidedAnew::Turn held;
  std::size_t had_turns = 0;
  anew->enter([&held](DecidedAnew::Turn turn) { held = std::move(turn); });
  for (std::size_t i = 0; i < 300'000; ++i)
    anew->enter([&had_turns](const DecidedAnew::Turn&) { ++had_turns; });
  CHECK(had_turns == 0);

  held.reset();

  CHECK(had_turns == 300'000);
  anew->enter([&had_turns](const DecidedAnew::Turn&) { ++had_turns; });
  CHECK(had_turns == 300'001);
}

TEST_CASE_FIXTURE(WriterFixture, "writer: an index that the caller enforces is judged as before") {
  add_jobs();
  const auto read = state().job("default", "web")->getJobModifyIndex();
  std::vector<Outcome> answers;
  scale("web", "a", 1);
  writer.write(
      [read](const state::Snapshot& state, const cluster::EvalSeed& seed) {
        cluster::RegisterRequest request;
        request.job = state.job("default", "web");
        request.enforce_index = true;
        request.job_modify_index = read;
        return cluster::decide_register(state, nomad::test::anybody(), request, seed);
      },
      Turns::here(), [&answers](Outcome outcome) { answers.push_back(std::move(outcome)); });

  commit();

  REQUIRE(answers.size() == 1);
  CHECK(answers[0].error()
        == Error{Errc::conflict,
                 "Enforcing job modify index " + std::to_string(read)
                     + ": job exists with conflicting job modify index: "
                     + std::to_string(state().job("default", "web")->getJobModifyIndex())});
}
