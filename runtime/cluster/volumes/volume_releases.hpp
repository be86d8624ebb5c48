// VolumeReleases: what is to be done next so that CSI volumes are given back: the deciding half of
// the volume endpoint.
//
// A claim is given back in steps, of which the log has each that is done:
//
//     taken ──(1)──▶ unpublishing ──(2)──▶ nodeDetached ──(3)──▶ gone
//
//   (1) its allocation has ended, or is not known any more;
//   (2) its node has unmounted what the allocation had, or is gone itself: nothing can be asked of
//   it; (3) the controller has detached the volume from the node, or need not: the volume needs
//   none, or
//       another claim of the same node goes on using it.
//
// Each step may be done again: whoever has died in the middle of one, a node, a plugin, the server
// that leads, leaves the claim as it was, and the next one begins with the same step. A step that
// fails is tried again after a pause that doubles, for as long as it takes: the claim stays, so
// that nobody else gets what may still be mounted.
//
// A node that lives gives back by itself; it is left alone for `own_time` after its allocation has
// ended. Of one plugin one controller call is out at a time.
//
// Knows no clock, actor or thread: times are the caller's, of a steady clock. A look costs a step
// for each claim that there is.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/snapshot.hpp"
#include "schema/csi.capnp.h"

namespace nomad::cluster {

class VolumeReleases {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  enum class Action : std::uint8_t {
    none,
    give_up,            ///< (1): write that it is unpublishing.
    detach_node,        ///< (2): ask its node.
    skip_node,          ///< (2): write that it is detached there.
    detach_controller,  ///< (3): ask a controller.
    free,               ///< (3): write that it is gone.
  };

  /// What is known about a claim's surroundings.
  struct Facts {
    schema::CsiClaimState state = schema::CsiClaimState::TAKEN;
    bool alloc_over = false;        ///< It has ended, or is not known any more.
    bool node_gone = false;         ///< Down, or not known any more.
    bool needs_controller = false;  ///< The volume is attached by one.
    bool shares_node = false;       ///< Another claim of the node is not detached there.
  };

  struct Step {
    Object<schema::CsiVolume> volume;
    schema::CsiClaim::Reader claim;  ///< Of `volume`.
    Action action = Action::none;
  };

  static constexpr std::chrono::seconds own_time{10};
  static constexpr std::chrono::seconds first_pause{1};
  static constexpr std::chrono::minutes longest_pause{5};

  /// The next step of one claim, whenever that is.
  static Action next_action(const Facts& facts);

  /// Nothing is known any more: this server does not lead.
  void clear();

  /// The steps that are due at `now`, at most `most`. Each is out until `done` or `failed`.
  std::vector<Step> take_due(const state::Snapshot& snapshot, TimePoint now, std::size_t most);

  /// The step is done, and what it led to is in the state.
  void done(const Step& step);

  /// It is to be tried again.
  void failed(const Step& step, TimePoint now);

  /// When the next pause or time of a node's own is over; nothing while there is none.
  std::optional<TimePoint> next() const;

  /// After how long a step that has failed so often is tried again.
  static std::chrono::seconds pause_after(unsigned failures);

private:
  struct Wait {
    Action action = Action::none;
    unsigned failures = 0;
    TimePoint until{};
    bool is_out = false;
    bool seen = false;  ///< By the look that is under way.
  };

  static std::string key_of(const Step& step);
  bool is_due(Wait& wait, const Step& step, bool by_itself, TimePoint now);

  std::map<std::string, Wait, std::less<>> waits_;  ///< By namespace\0volume\0allocation.
  std::set<std::string, std::less<>> busy_;         ///< Plugins with a controller call out.
};

/// What is known of a claim of `volume` in this state.
VolumeReleases::Facts claim_facts(const state::Snapshot& snapshot,
                                  schema::CsiVolume::Reader volume,
                                  schema::CsiClaim::Reader claim);

}  // namespace nomad::cluster
