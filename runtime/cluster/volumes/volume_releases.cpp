#include "runtime/cluster/volumes/volume_releases.hpp"

#include <algorithm>

#include "runtime/state/volumes/csi_plugins.hpp"

namespace nomad::cluster {
namespace {

using Action = VolumeReleases::Action;
using State = schema::CsiClaimState;

bool is_down(const Object<schema::Node>& node) {
  return !node || node->getStatus() == schema::NodeStatus::DOWN;
}

/// Whether another claim of the same node may still have the volume mounted there.
bool shares_node(schema::CsiVolume::Reader volume, schema::CsiClaim::Reader claim) {
  for (const auto other : volume.getClaims())
    if (other.getAllocId() != claim.getAllocId() && other.getNodeId() == claim.getNodeId()
        && other.getState() < State::NODE_DETACHED)
      return true;
  return false;
}

bool is_attached(const state::Snapshot& snapshot, schema::CsiVolume::Reader volume) {
  const auto plugin = state::find_csi_plugin(snapshot, view(volume.getPluginId()));
  return state::is_attached(volume, plugin ? &*plugin : nullptr);
}

}  // namespace

VolumeReleases::Facts claim_facts(const state::Snapshot& snapshot,
                                  schema::CsiVolume::Reader volume,
                                  schema::CsiClaim::Reader claim) {
  const auto alloc = snapshot.alloc(view(claim.getAllocId()));
  return {.state = claim.getState(),
          .alloc_over = !alloc || alloc->client_terminal,
          .node_gone = is_down(snapshot.node(view(claim.getNodeId()))),
          .needs_controller = is_attached(snapshot, volume),
          .shares_node = shares_node(volume, claim)};
}

Action VolumeReleases::next_action(const Facts& facts) {
  switch (facts.state) {
    case State::TAKEN:
      return facts.alloc_over ? Action::give_up : Action::none;
    case State::UNPUBLISHING:
      return facts.node_gone ? Action::skip_node : Action::detach_node;
    case State::NODE_DETACHED:
      if (!facts.needs_controller) return Action::free;
      return facts.shares_node ? Action::free : Action::detach_controller;
    case State::CONTROLLER_DETACHED:
      return Action::free;
  }
  return Action::none;
}

void VolumeReleases::clear() {
  waits_.clear();
  busy_.clear();
}

std::string VolumeReleases::key_of(const Step& step) {
  return state::join_key(view(step.volume->getNamespace()), view(step.volume->getId()),
                         view(step.claim.getAllocId()));
}

std::chrono::seconds VolumeReleases::pause_after(unsigned failures) {
  constexpr unsigned most_doublings = 16;
  const auto doubled
      = first_pause * (1U << std::min(failures > 0 ? failures - 1 : 0, most_doublings));
  return std::min<std::chrono::seconds>(doubled, longest_pause);
}

/// `by_itself`: a node that lives may be doing it already.
bool VolumeReleases::is_due(Wait& wait, const Step& step, bool by_itself, TimePoint now) {
  wait.seen = true;
  if (wait.is_out) return false;
  if (wait.action != step.action) {
    wait = {.action = step.action, .seen = true};
    if (by_itself) wait.until = now + own_time;
  }
  if (now < wait.until) return false;
  return step.action != Action::detach_controller
         || !busy_.contains(view(step.volume->getPluginId()));
}

std::vector<VolumeReleases::Step> VolumeReleases::take_due(const state::Snapshot& snapshot,
                                                           TimePoint now,
                                                           std::size_t most) {
  for (auto& [key, wait] : waits_)
    wait.seen = wait.is_out;
  std::vector<Step> due;
  for (const auto& volume : snapshot.claimed_csi_volumes())
    for (const auto claim : volume->getClaims()) {
      const auto facts = claim_facts(snapshot, *volume, claim);
      const Step step{volume, claim, next_action(facts)};
      if (step.action == Action::none) continue;
      auto& wait = waits_[key_of(step)];
      const bool by_itself = step.action == Action::give_up && !facts.node_gone;
      if (!is_due(wait, step, by_itself, now) || due.size() >= most) continue;
      wait.is_out = true;
      if (step.action == Action::detach_controller) busy_.insert(copy(volume->getPluginId()));
      due.push_back(step);
    }
  std::erase_if(waits_, [](const auto& one) { return !one.second.seen; });
  return due;
}

void VolumeReleases::done(const Step& step) {
  if (step.action == Action::detach_controller) busy_.erase(copy(step.volume->getPluginId()));
  waits_.erase(key_of(step));
}

void VolumeReleases::failed(const Step& step, TimePoint now) {
  if (step.action == Action::detach_controller) busy_.erase(copy(step.volume->getPluginId()));
  const auto at = waits_.find(key_of(step));
  if (at == waits_.end()) return;
  at->second.is_out = false;
  at->second.until = now + pause_after(++at->second.failures);
}

std::optional<VolumeReleases::TimePoint> VolumeReleases::next() const {
  std::optional<TimePoint> first;
  for (const auto& [key, wait] : waits_)
    if (!wait.is_out && (!first || wait.until < *first)) first = wait.until;
  return first;
}

}  // namespace nomad::cluster
