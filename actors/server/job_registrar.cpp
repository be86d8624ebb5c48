#include "actors/server/job_registrar.hpp"

#include <utility>

#include "runtime/base/clock.hpp"
#include "runtime/base/random.hpp"

namespace nomad::server {

JobRegistrar::JobRegistrar(std::shared_ptr<state::Store> store, raft::Proposer proposer)
    : store_{std::move(store)}, proposer_{std::move(proposer)} {}

void JobRegistrar::register_job(const server_api::RegisterJob& request, Done done) const {
  thread_local Random random = Random::from_system();
  const auto snapshot = store_->snapshot();
  auto decision = decide_register(snapshot, request, {unix_now(), &random});
  if (!decision) return done(decision.error());
  if (!decision->command) return done(job_unchanged(*decision, snapshot.index()));
  auto payload = raft::payload_of(std::exchange(decision->command, {}));
  proposer_.propose(std::move(payload), [decision = std::move(*decision), done = std::move(done)](
                                            const Result<raft::Applied>& applied) {
    const auto written = to_committed(applied);
    if (written)
      done(job_written(decision, *written));
    else
      done(written.error());
  });
}

Result<cluster::Decision> decide_register(const state::Snapshot& snapshot,
                                          const server_api::RegisterJob& request,
                                          const cluster::EvalSeed& seed) {
  return cluster::decide_register(snapshot,
                                  {.job = request.job,
                                   .enforce_index = request.enforce_index,
                                   .job_modify_index = request.job_modify_index,
                                   .preserve_counts = request.preserve_counts,
                                   .eval_priority = request.eval_priority},
                                  seed);
}

server_api::JobRegistered job_unchanged(const cluster::Decision& decision, std::uint64_t index) {
  return {{}, 0, decision.job_modify_index, index};
}

server_api::JobRegistered job_written(const cluster::Decision& decision, const Committed& written) {
  const bool is_new = written.outcome && written.outcome->job_modify_index != 0;
  return {decision.eval_id, decision.eval_id.empty() ? 0 : written.index,
          is_new ? written.outcome->job_modify_index : decision.job_modify_index, written.index};
}

}  // namespace nomad::server
