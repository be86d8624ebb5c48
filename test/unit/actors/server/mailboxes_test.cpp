// The mailboxes of a leader's actors while one kind of them handles nothing and the state changes
// all the time: what waits for it does not grow with what happens, by whatever it is told.
#include <fmt/format.h>

#include "actors/server/core_gc.hpp"
#include "actors/server/deployment_watchers.hpp"
#include "actors/server/drain/node_drainer.hpp"
#include "actors/server/keyring_rotator.hpp"
#include "actors/server/periodic_dispatcher.hpp"
#include "actors/server/server.hpp"
#include "runtime/cluster/drain/drain_commands.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/actors/server/scheduling_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<security::Keyring> some_keyring() {
  auto opened = security::Keyring::open({.server_id = "one"});
  REQUIRE(opened.has_value());
  return *opened;
}

struct MailboxFixture : SchedulingFixture {
  static constexpr int jobs = 3;

  std::shared_ptr<std::int64_t> time = std::make_shared<std::int64_t>(1'700'049'600'000'000'000);
  std::shared_ptr<raft::LeaderView> leader = std::make_shared<raft::LeaderView>();
  SealedLink link = adopt(spawn_sealed_link(system(), proposer, {}, leader));
  Server server = adopt(spawn_server(system()));
  std::vector<LeaderDuty> duties{
      adopt(spawn_deployment_watchers(system(), store, proposer, {})),
      adopt(spawn_node_drainer(system(),
                               store,
                               proposer,
                               {.random_seed = 3, .wall_clock = [time = time] { return *time; }})),
      adopt(spawn_periodic_dispatcher(
          system(),
          store,
          proposer,
          {.random_seed = 4, .wall_clock = [time = time] { return *time; }})),
      adopt(spawn_core_gc(system(),
                          store,
                          proposer,
                          {.first = 1s,
                           .interval = 1s,
                           .job_interval = 1s,
                           .thresholds = cluster::GcThresholds::none(),
                           .metrics = telemetry::ServerMetrics::make(
                               std::make_shared<telemetry::Registry>(telemetry::Options{}))})),
      adopt(spawn_keyring_rotator(
          system(),
          store,
          some_keyring(),
          link,
          {.thresholds = {.retention = 0, .rekeyed_at_once = 2}, .random_seed = 5}))};
  std::vector<std::string> nodes;
  int round = 0;

  /// Of that kind nobody has handled anything yet.
  explicit MailboxFixture(std::string held = {}) {
    hold(std::move(held));
    leader->set({.leads = true, .ready = true});
    for (const auto& duty : duties)
      actor::tell(server, AddDuty{duty});
    tell(server, raft::LeadershipChanged{
                     .leads = true, .ready = true, .term = 1, .leader = "", .leader_address = ""});
    for (int i = 0; i < 3; ++i)
      nodes.push_back(add_node(10));
    for (int i = 0; i < 3; ++i)
      start_worker();
    for (int i = 0; i < jobs; ++i)
      register_job(deployed_job(i));
    commit();
  }

  static std::string name_of(int job) { return fmt::format("web{}", job); }

  Object<schema::Job> deployed_job(int number) const {
    Draft<schema::Job> draft{make_job(name_of(number), 2)};
    auto update = draft->getTaskGroups()[0].initUpdate();
    update.setMaxParallel(1);
    update.setProgressDeadline(600'000'000'000);
    draft->getTaskGroups()[0].getTasks()[0].setConfig(text(fmt::format("{{\"v\":{}}}", round)));
    return draft.freeze();
  }

  /// Proposed, as by whoever writes from outside; applied, and told to all.
  template <class Fill>
  void happen(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    proposer.propose(raft::payload_of(draft.freeze()), [](const Result<raft::Applied>&) {});
    settle();
    commit_once();
  }

  void report_allocs() {
    const auto snapshot = state();
    for (const auto& entry : snapshot.allocs())
      happen([&](schema::Command::Builder command) {
        auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
        alloc.setId(text(entry.value()->alloc->id()));
        alloc.setClientStatus(schema::ClientStatus::RUNNING);
        alloc.setModifyTime(++*time);
      });
  }

  void drain(const std::string& node) {
    const auto decision = cluster::decide_drain(
        state(), anybody(), node,
        {.spec = cluster::DrainSpec{.deadline = std::chrono::nanoseconds{1h + round * 1s}.count()}},
        {*time, &random});
    if (decision)
      happen([&](schema::Command::Builder command) {
        command.setNodeDrainUpdate(decision->command->getNodeDrainUpdate());
      });
  }

  void register_periodic() {
    Draft<schema::Job> draft{make_job("minutely", 1)};
    draft->setType("batch");
    auto periodic = draft->initPeriodic();
    periodic.setEnabled(true);
    periodic.setSpec(text(fmt::format("{} * * * *", round % 60)));
    happen([&](schema::Command::Builder command) {
      command.initJobRegister().setJob(draft.reader());
    });
  }

  void flood(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      ++round;
      for (int number = 0; number < jobs; ++number)
        happen([&](schema::Command::Builder command) {
          auto entry = command.initJobRegister();
          entry.setJob(*deployed_job(number));
          fill_eval(entry.initEvaluation(), make_uuid(random), name_of(number));
        });
      register_periodic();
      report_allocs();
      drain(nodes[0]);
      advance(100ms);
      *time += 100'000'000;
      commit_once();
    }
  }

  /// Of that kind, after `rounds` more in which it handles nothing.
  std::uint64_t waiting(const std::string& kind, int rounds) {
    hold(kind);
    flood(rounds);
    return fullest(kind);
  }
};

}  // namespace

TEST_CASE("mailboxes: what waits for an actor of a leader does not grow with what happens") {
  for (const std::string kind :
       {"core_gc", "deployment_watcher", "deployment_watchers", "eval_broker", "keyring_rotator",
        "node_drainer", "periodic_dispatcher", "plan_applier", "scheduler_worker", "sealed_link"}) {
    CAPTURE(kind);
    MailboxFixture leader{kind == "sealed_link" ? kind : ""};
    leader.flood(3);
    const auto early = leader.waiting(kind, 12);
    const auto late = leader.waiting(kind, 12);
    CHECK(early >= 1);
    CHECK(late <= early + 2);
  }
}
