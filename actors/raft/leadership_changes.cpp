#include "actors/raft/leadership_changes.hpp"

#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::raft {
namespace {

/// Of who follows, the term says nothing to anybody.
bool is_same(const LeadershipChanged& told, const LeadershipChanged& now) {
  return now.leads == told.leads && now.ready == told.ready && now.leader == told.leader
         && now.leader_address == told.leader_address && (!now.leads || now.term == told.term);
}

}  // namespace

void LeadershipChanges::publish_lease(const Core& core, Index applied) {
  const bool caught_up = core.barrier_index() != 0 && applied >= core.barrier_index();
  parts_.lease->set(caught_up ? core.lease_until().count() : 0);
}

void LeadershipChanges::publish(const Core& core, Index applied) {
  publish_lease(core, applied);
  LeadershipChanged now{.leads = core.role() == Role::leader,
                        .ready = false,
                        .term = core.current_term(),
                        .leader = core.leader(),
                        .leader_address = {}};
  now.ready = now.leads && applied >= core.barrier_index();
  if (const auto* member = core.configuration().find(now.leader))
    now.leader_address = member->address;
  parts_.leader->set_contact(now.leads
                                 ? LeaderView::leading
                                 : (parts_.clock() - core.last_contact(parts_.clock())).count());
  if (core.stalls() != waits_.stalls || core.patience() != waits_.patience
      || parts_.counters->elections != waits_.elections) {
    waits_ = {.elections = parts_.counters->elections,
              .stalls = core.stalls(),
              .stalled = core.stalled(),
              .patience = core.patience()};
    parts_.leader->set_waits(waits_);
  }
  if (told_ && is_same(*told_, now)) return;
  told_ = now;
  parts_.leader->set({.leads = now.leads,
                      .ready = now.ready,
                      .term = now.term,
                      .leader = now.leader,
                      .leader_address = now.leader_address});
  if (parts_.listener) self_->send(parts_.listener, std::move(now));
}

void LeadershipChanges::stop() {
  end_lease();
  parts_.leader->set({});
}

}  // namespace nomad::raft
