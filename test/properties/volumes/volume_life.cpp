#include "test/properties/volumes/volume_life.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/cluster/volumes/volume_commands.hpp"
#include "runtime/cluster/volumes/volume_releases.hpp"
#include "test/unit/runtime/state/fixture.hpp"

namespace nomad::properties {
namespace {

using namespace std::chrono_literals;
using cluster::VolumeReleases;
using Access = schema::CsiAccessMode;
using Attachment = schema::CsiAttachmentMode;
using Mode = schema::CsiClaimMode;
using State = schema::CsiClaimState;
using Action = VolumeReleases::Action;
using Pair = std::pair<std::string, std::string>;

constexpr unsigned node_count = 3;
constexpr unsigned volume_count = 3;
constexpr unsigned alloc_count = 12;
constexpr unsigned step_count = 220;
constexpr unsigned most_rounds = 400;

constexpr Access access_modes[]
    = {Access::SINGLE_NODE_READER_ONLY, Access::SINGLE_NODE_WRITER, Access::MULTI_NODE_READER_ONLY,
       Access::MULTI_NODE_SINGLE_WRITER, Access::MULTI_NODE_MULTI_WRITER};

std::string named(const char* what, std::uint64_t number) {
  return what + std::to_string(number);
}

bool is_single(Access mode) {
  return mode == Access::SINGLE_NODE_READER_ONLY || mode == Access::SINGLE_NODE_WRITER;
}

class Life {
public:
  Life(std::uint64_t seed, LifeCounts& counts) : random_{seed}, counts_{counts} {
    state_.register_job();
    for (unsigned i = 0; i < node_count; ++i)
      register_node(named("n", i));
    std::vector<state::AllocSpec> specs;
    for (unsigned i = 0; i < alloc_count; ++i)
      specs.push_back({.id = named("a", i), .node = named("n", random_.below(node_count))});
    state_.place(specs);
    for (const auto& spec : specs)
      node_of_[spec.id] = spec.node;
    for (unsigned i = 0; i < volume_count; ++i)
      register_volume(named("v", i));
  }

  std::string run() {
    for (unsigned i = 0; i < step_count && wrong_.empty(); ++i) {
      step();
      check();
    }
    if (wrong_.empty()) end_all();
    return wrong_;
  }

private:
  void register_node(const std::string& id) {
    state_.run([&](auto command) {
      auto node = command.initNodeRegister().initNode();
      state::fill(node, state::NodeSpec{.id = id});
      auto entry = node.initCsiNodePlugins(1)[0];
      entry.setKey("p");
      entry.initValue().setHealthy(true);
      entry.getValue().initNodeInfo().setId(text(id));
    });
  }

  void register_volume(const std::string& id) {
    const bool needs_controller = random_.chance(0.6);
    state_.run([&](auto command) {
      auto volume = command.initCsiVolumeRegister().initVolume();
      volume.setId(text(id));
      volume.setNamespace("default");
      volume.setPluginId("p");
      volume.setControllerRequired(needs_controller);
      auto offered = volume.initRequestedCapabilities(2);
      for (auto one : offered) {
        one.setAccessMode(access_modes[random_.below(std::size(access_modes))]);
        one.setAttachmentMode(Attachment::FILE_SYSTEM);
      }
    });
    if (needs_controller) attached_volumes_.insert(id);
  }

  std::string any_alloc() { return named("a", random_.below(alloc_count)); }

  std::string any_node() { return named("n", random_.below(node_count)); }

  Object<schema::CsiVolume> volume(const std::string& id) const {
    return state_.now().csi_volume("default", id);
  }

  void step() {
    switch (random_.below(9)) {
      case 0:
      case 1:
      case 2:
        return claim(any_alloc(), named("v", random_.below(volume_count)));
      case 3:
        return end(any_alloc());
      case 4:
        return unpublish();
      case 5:
        if (random_.chance(0.4)) turn_node(any_node());
        return;
      case 6:
        if (!random_.chance(0.3)) return;
        releases_.clear();  // another server leads, which knows of no pauses
        return failed_at_.clear();
      default:
        now_ += std::chrono::seconds{random_.below(30)};
        return release(0.3);
    }
  }

  bool is_up(const std::string& node) const { return !down_.contains(node); }

  void claim(const std::string& alloc, const std::string& id) {
    const auto offered = volume(id)->getRequestedCapabilities();
    Draft<schema::CsiClaim> wanted;
    wanted->setAllocId(text(alloc));
    wanted->setNodeId(text(node_of_[alloc]));
    wanted->setExternalNodeId(text(node_of_[alloc]));
    wanted->setMode(random_.chance(0.5) ? Mode::WRITE : Mode::READ);
    wanted->setAccessMode(offered[static_cast<unsigned>(random_.below(2))].getAccessMode());
    wanted->setAttachmentMode(Attachment::FILE_SYSTEM);
    if (!is_up(node_of_[alloc]) || ended_.contains(alloc)) return;
    if (!apply(cluster::claim_command("default", id, wanted.reader()))) {
      ++counts_.refused;
      return;
    }
    ++counts_.claims;
    if (attached_volumes_.contains(id)) attached_.insert({id, node_of_[alloc]});
    mounted_.insert({id, alloc});
  }

  bool apply(const Object<schema::Command>& command) {
    const auto outcome = state_.store.apply(++state_.index, command.reader());
    state_.store.publish();
    return !outcome.error;
  }

  void end(const std::string& alloc) {
    if (!ended_.insert(alloc).second) return;
    if (is_up(node_of_[alloc]))
      state_.report(alloc, schema::ClientStatus::COMPLETE);
    else
      state_.stop(alloc, schema::ClientStatus::LOST);
  }

  /// A node tells of one of its claims whose allocation has ended.
  void unpublish() {
    const auto id = named("v", random_.below(volume_count));
    const auto row = volume(id);
    for (const auto one : row->getClaims()) {
      const auto alloc = copy(one.getAllocId());
      if (!ended_.contains(alloc) || !is_up(node_of_[alloc])) continue;
      const bool is_done = random_.chance(0.7);
      if (is_done) mounted_.erase({id, alloc});
      return write(id, one, is_done ? State::NODE_DETACHED : State::UNPUBLISHING);
    }
  }

  void write(const std::string& id, schema::CsiClaim::Reader claim, State state) {
    Draft<schema::CsiClaim> further{claim};
    further->setState(state);
    apply(cluster::claim_command("default", id, further.reader()));
  }

  /// What is lost ends with its node, as its allocations do.
  void turn_node(const std::string& node) {
    const bool goes = is_up(node);
    if (goes) {
      down_.insert(node);
      ++counts_.lost;
    } else {
      down_.erase(node);
    }
    state_.run([&](auto command) {
      auto update = command.initNodeStatusUpdate();
      update.setNodeId(text(node));
      update.setStatus(goes ? schema::NodeStatus::DOWN : schema::NodeStatus::READY);
    });
    if (!goes) return;
    for (const auto& [alloc, on] : node_of_)
      if (on == node) end(alloc);
    // Nothing runs there any more: what it has mounted nobody uses.
    std::erase_if(mounted_, [&](const Pair& one) { return node_of_.at(one.second) == node; });
  }

  void release(double failing) {
    for (const auto& step : releases_.take_due(state_.now(), now_, 16)) {
      const auto id = copy(step.volume->getId());
      const auto key = id + "/" + copy(step.claim.getAllocId())
                       + std::to_string(static_cast<int>(step.action));
      if (const auto last = failed_at_.find(key);
          last != failed_at_.end() && now_ - last->second < VolumeReleases::first_pause)
        wrong_ = "a step is tried again without a pause";
      if (random_.chance(failing)) {
        ++counts_.failures;
        if (random_.chance(0.5)) carry_out(step, id);  // and it was not heard of
        failed_at_[key] = now_;
        releases_.failed(step, now_);
        continue;
      }
      if (!carry_out(step, id)) {
        failed_at_[key] = now_;
        releases_.failed(step, now_);
        continue;
      }
      failed_at_.erase(key);
      write(id, step.claim, reached(step.action));
      releases_.done(step);
      check();
    }
  }

  static State reached(Action action) {
    switch (action) {
      case Action::none:
      case Action::give_up:
        return State::UNPUBLISHING;
      case Action::detach_node:
      case Action::skip_node:
        return State::NODE_DETACHED;
      case Action::detach_controller:
      case Action::free:
        return State::CONTROLLER_DETACHED;
    }
    return State::TAKEN;
  }

  /// What plugins do of a step; false: it could not be done.
  bool carry_out(const VolumeReleases::Step& step, const std::string& id) {
    const auto alloc = copy(step.claim.getAllocId());
    const auto node = copy(step.claim.getNodeId());
    if (step.action == Action::detach_node) {
      if (!is_up(node)) return false;
      if (!ended_.contains(alloc)) wrong_ = "a volume is unmounted under an allocation that lives";
      mounted_.erase({id, alloc});
    }
    if (step.action == Action::detach_controller) {
      for (const auto& [other, user] : mounted_)
        if (other == id && node_of_[user] == node)
          wrong_ = "volume " + id + " is detached from " + node + ", where " + user + " has it";
      attached_.erase({id, node});
    }
    return true;
  }

  // -- checks

  void check() {
    for (unsigned i = 0; i < volume_count && wrong_.empty(); ++i)
      check_volume(named("v", i));
  }

  void check_volume(const std::string& id) {
    const auto row = volume(id);
    const auto claims = row->getClaims();
    std::map<std::string, State> states;
    unsigned writers = 0;
    std::set<std::string> nodes;
    for (const auto one : claims) {
      states[copy(one.getAllocId())] = one.getState();
      nodes.insert(copy(one.getNodeId()));
      if (one.getMode() == Mode::WRITE) ++writers;
      if (one.getAccessMode() != claims[0].getAccessMode()) wrong_ = "two access modes at once";
    }
    if (claims.size() != 0) check_mode(claims[0].getAccessMode(), claims.size(), writers, nodes);
    for (const auto& [alloc, before] : states_[id]) {
      const auto now = states.find(alloc);
      if (now != states.end() && now->second < before) wrong_ = "a claim's state has gone back";
      if (now == states.end()) check_gone(id, alloc);
    }
    for (const auto& [other, alloc] : mounted_) {
      if (other != id || ended_.contains(alloc)) continue;
      const auto now = states.find(alloc);
      if (now == states.end() || now->second != State::TAKEN)
        wrong_ = "allocation " + alloc + " lives and has no claim of " + id;
    }
    states_[id] = std::move(states);
  }

  void check_mode(Access mode, unsigned all, unsigned writers, const std::set<std::string>& nodes) {
    const bool reads_only
        = mode == Access::SINGLE_NODE_READER_ONLY || mode == Access::MULTI_NODE_READER_ONLY;
    const bool one_writer
        = mode == Access::SINGLE_NODE_WRITER || mode == Access::MULTI_NODE_SINGLE_WRITER;
    if (reads_only && writers > 0) wrong_ = "a mode that reads has a writer";
    if (one_writer && writers > 1) wrong_ = "two writers where one is allowed";
    if (is_single(mode) && nodes.size() > 1) wrong_ = "a volume of one node is on two";
    if (mode == Access::SINGLE_NODE_READER_ONLY && all > 1) wrong_ = "two readers of one";
  }

  void check_gone(const std::string& id, const std::string& alloc) {
    ++counts_.released;
    const auto& node = node_of_[alloc];
    if (mounted_.contains({id, alloc})) wrong_ = "the claim is gone, and " + alloc + " has " + id;
    if (!attached_.contains({id, node})) return;
    for (const auto one : volume(id)->getClaims())
      if (view(one.getNodeId()) == node && one.getState() < State::CONTROLLER_DETACHED) return;
    wrong_ = "the last claim of " + node + " is gone, and " + id + " is attached there";
  }

  /// All ends, and nothing fails any more: then nothing is left in the end.
  void end_all() {
    for (unsigned i = 0; i < node_count; ++i)
      if (!is_up(named("n", i))) turn_node(named("n", i));
    for (unsigned i = 0; i < alloc_count; ++i)
      end(named("a", i));
    for (unsigned round = 0; round < most_rounds && wrong_.empty(); ++round) {
      now_ += 10s;
      release(0);
      check();
      if (state_.now().claimed_csi_volumes().empty()) break;
    }
    if (!wrong_.empty()) return;
    if (!state_.now().claimed_csi_volumes().empty()) wrong_ = "claims are left for ever";
    if (!attached_.empty()) wrong_ = "volumes are left attached";
    if (!mounted_.empty()) wrong_ = "volumes are left mounted";
  }

  Random random_;
  LifeCounts& counts_;
  state::StateFixture state_;
  VolumeReleases releases_;
  VolumeReleases::TimePoint now_{};
  std::map<std::string, std::string> node_of_;  ///< Of each allocation.
  std::set<std::string> attached_volumes_;      ///< Those that a controller attaches.
  std::set<std::string> down_;                  ///< Nodes.
  std::set<std::string> ended_;                 ///< Allocations.
  std::set<Pair> attached_;                     ///< Volume, node.
  std::set<Pair> mounted_;                      ///< Volume, allocation.
  std::map<std::string, VolumeReleases::TimePoint> failed_at_;
  std::map<std::string, std::map<std::string, State>>
      states_;  ///< As they were: volume, allocation.
  std::string wrong_;
};

}  // namespace

std::string live(std::uint64_t seed, LifeCounts& counts) {
  const auto wrong = Life{seed, counts}.run();
  return wrong.empty() ? wrong : "seed " + std::to_string(seed) + ": " + wrong;
}

}  // namespace nomad::properties
