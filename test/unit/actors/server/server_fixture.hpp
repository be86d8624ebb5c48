// ServerFixture: the server's actors on one thread with a state store and a log that commits when
// it is told to. Nothing reaches a disk.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "actors/raft/proposer.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/eval_broker.hpp"
#include "actors/server/leadership.hpp"
#include "actors/server/plan_applier.hpp"
#include "actors/server/scheduler_worker.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/state/store.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/support/sample_job.hpp"

namespace nomad::test {

struct ServerFixture : ActorFixture {
  std::shared_ptr<state::Store> store = std::make_shared<state::Store>();
  std::shared_ptr<raft::ProposalQueue> log = std::make_shared<raft::ProposalQueue>(1000, 1 << 26);
  raft::Proposer proposer{log};
  raft::StateFsm fsm{store};
  std::vector<std::shared_ptr<server::OutcomeFeed>> listeners;  ///< Told of applied batches.
  Random random{1};
  std::uint64_t index = 10;
  std::size_t entries = 0;  ///< Committed by `commit`.

  void listen(const server::EvalBroker& broker) {
    listeners.push_back(std::make_shared<server::OutcomeFeed>(broker));
  }

  state::Snapshot state() const { return store->snapshot(); }

  /// Commits and applies what is proposed, until the actors propose nothing more.
  void commit() {
    settle();
    while (commit_once() > 0)
      settle();
  }

  /// The same for what is proposed by now. Returns how many entries that were.
  std::size_t commit_once() { return commit_these(log->take()); }

  /// Commits what was taken from the log's queue; what is too long for an entry is refused.
  std::size_t commit_these(std::vector<raft::Proposal> proposals) {
    std::erase_if(proposals, [](raft::Proposal& proposal) {
      const bool is_long = proposal.payload.size() > raft::RaftOptions{}.max_entry_bytes;
      if (is_long) proposal.callback(Error{Errc::too_large, "the write is too long for an entry"});
      return is_long;
    });
    if (proposals.empty()) return 0;
    std::vector<raft::Entry> batch;
    for (const auto& proposal : proposals) {
      REQUIRE(fsm.check(proposal.payload.view()).has_value());
      batch.push_back({++index, 1, raft::EntryKind::command, proposal.payload});
    }
    std::vector<std::shared_ptr<const state::Outcome>> applied;
    fsm.set_listener([&applied](auto outcomes) { applied = std::move(outcomes); });
    const auto outcomes = fsm.apply(batch, index);
    for (std::size_t i = 0; i < proposals.size(); ++i)
      proposals[i].callback(raft::Applied{batch[i].index, outcomes[i]});
    for (const auto& listener : listeners)
      if (!applied.empty()) listener->add(applied);
    entries += proposals.size();
    return proposals.size();
  }

  /// Fails what is proposed by now, as a server that lost leadership does.
  std::size_t refuse(const Error& why = no_leader()) {
    auto proposals = log->take();
    for (auto& proposal : proposals)
      proposal.callback(why);
    settle();
    return proposals.size();
  }

  /// Writes a command past the actors.
  template <class Fill>
  void write(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    proposer.propose(raft::payload_of(draft.freeze()), [](Result<raft::Applied> applied) {
      REQUIRE(applied.has_value());
      REQUIRE_FALSE(applied->outcome.error);
    });
    commit();
  }

  /// `size` times the usual room.
  std::string add_node(std::int64_t size = 1) {
    const auto id = make_uuid(random);
    write([&](schema::Command::Builder command) {
      fill_node(command.initNodeRegister().initNode(), id, size);
    });
    return id;
  }

  static void fill_node(schema::Node::Builder node, const std::string& id, std::int64_t size = 1) {
    node.setId(text(id));
    node.setSecretId("secret");
    node.setDatacenter("dc1");
    node.setNodePool("default");
    node.setStatus(schema::NodeStatus::READY);
    auto resources = node.initNodeResources();
    resources.initCpu().setCpuShares(4000 * size);
    resources.initMemory().setMemoryMb(8000 * size);
    resources.initDisk().setDiskMb(100'000 * size);
    auto attribute = node.initAttributes(1)[0];
    attribute.setKey("driver.mock_driver");
    attribute.setValue("1");
    node.setComputedClass(text(scheduler::computed_class(node.asReader())));
  }

  static Object<schema::Job> make_job(const std::string& id, std::int64_t count) {
    Draft<schema::Job> draft;
    fill_job(*draft, {.id = id, .count = count});
    return draft.freeze();
  }

  /// Registers the job with an evaluation; returns that one's id.
  std::string register_job(const Object<schema::Job>& job, std::int64_t priority = 50) {
    const auto id = make_uuid(random);
    write([&](schema::Command::Builder command) {
      auto entry = command.initJobRegister();
      entry.setJob(*job);
      fill_eval(entry.initEvaluation(), id, copy(job->getId()), priority);
    });
    return id;
  }

  static void fill_eval(schema::Evaluation::Builder eval,
                        const std::string& id,
                        const std::string& job_id,
                        std::int64_t priority = 50) {
    eval.setId(text(id));
    eval.setNamespace("default");
    eval.setPriority(priority);
    eval.setType("service");
    eval.setTriggeredBy(schema::EvalTrigger::JOB_REGISTER);
    eval.setJobId(text(job_id));
    eval.setStatus(schema::EvalStatus::PENDING);
  }

  std::string add_eval(const std::string& job_id, std::int64_t priority = 50) {
    const auto id = make_uuid(random);
    write([&](schema::Command::Builder command) {
      fill_eval(command.initEvalUpdate().initEvaluations(1)[0], id, job_id, priority);
    });
    return id;
  }

  schema::EvalStatus eval_status(const std::string& id) const {
    return state().eval(id)->getStatus();
  }

  std::vector<state::AllocRef> live(const std::string& job_id) const {
    std::vector<state::AllocRef> rows;
    const auto snapshot = state();
    for (const auto& entry : snapshot.allocs_by_job("default", job_id))
      if (!entry.value()->terminal()) rows.push_back(entry.value());
    return rows;
  }
};

}  // namespace nomad::test
