// What a PluginLink tells itself: what its process does, and that a time is over. `life` is the
// number of the process that it is about. Internal to the actor.
#pragma once

#include <string>

#include "actors/core/self.hpp"
#include "actors/plugin/api_calls.hpp"
#include "actors/plugin/plugin_link.hpp"
#include "actors/plugin/plugin_states.hpp"
#include "runtime/plugin/frames.hpp"

namespace nomad::plugin::link_event {

struct Started {
  using is_message = void;
  std::uint64_t life = 0;
  int pid = 0;
};

struct Received {
  using is_message = void;
  std::uint64_t life = 0;
  Frame frame;
  std::size_t bytes = 0;
};

struct Wrote {
  using is_message = void;
  std::uint64_t life = 0;
  std::string line;
  std::uint64_t dropped = 0;  ///< Lines before it that were too many.
};

struct Ended {
  using is_message = void;
  std::uint64_t life = 0;
  Error why;
};

struct ApiHeard {
  using is_message = void;
  std::uint64_t life = 0;
  ApiCalls::Heard what;
};

/// It has been in a state for as long as it may.
struct StageDue {
  using is_message = void;
  std::uint64_t life = 0;
  PluginState stage{};
};

/// Its drivers have had as much time to find their tasks as they may.
struct RecoveryDue {
  using is_message = void;
  std::uint64_t life = 0;
};

struct PingDue {
  using is_message = void;
  std::uint64_t life = 0;
};

struct PongDue {
  using is_message = void;
  std::uint64_t life = 0;
  std::uint64_t ping = 0;
  unsigned waited = 0;  ///< How often it was waited for longer.
};

struct StopDue {
  using is_message = void;
  std::uint64_t life = 0;
};

struct RespawnDue {
  using is_message = void;
  std::uint64_t life = 0;
};

struct ReapDue {
  using is_message = void;
  std::uint64_t life = 0;
};

/// Some more of what it said may be looked at.
struct PauseOver {
  using is_message = void;
  std::uint64_t life = 0;
};

struct FactsDue {
  using is_message = void;
  std::uint64_t life = 0;
  std::string fingerprinter;
};

/// What was to take another one's place should have.
struct UpgradeDue {
  using is_message = void;
  std::uint64_t life = 0;
};

/// Whether it may be replaced by now.
struct ReplaceDue {
  using is_message = void;
  std::uint64_t life = 0;
  unsigned waited = 0;
};

/// What happens to a process, as messages: `tell` takes any of them.
template <class Tell>
ProcessEvents events_of(std::uint64_t life, const Tell& tell) {
  return {.started =
              [tell, life](int pid) {
                tell(Started{life, pid});
              },
          .frame =
              [tell, life](Frame frame, std::size_t bytes) {
                tell(Received{life, std::move(frame), bytes});
              },
          .line =
              [tell, life](std::string line, std::uint64_t dropped) {
                tell(Wrote{life, std::move(line), dropped});
              },
          .ended =
              [tell, life](Error why) {
                tell(Ended{life, std::move(why)});
              }};
}

}  // namespace nomad::plugin::link_event

namespace nomad::plugin {

using LinkSelf = actor::WithInternal<PluginLink,
                                     void(link_event::Started),
                                     void(link_event::Received),
                                     void(link_event::Wrote),
                                     void(link_event::Ended),
                                     void(link_event::ApiHeard),
                                     void(link_event::StageDue),
                                     void(link_event::RecoveryDue),
                                     void(link_event::PingDue),
                                     void(link_event::PongDue),
                                     void(link_event::StopDue),
                                     void(link_event::RespawnDue),
                                     void(link_event::ReapDue),
                                     void(link_event::PauseOver),
                                     void(link_event::FactsDue),
                                     void(link_event::UpgradeDue),
                                     void(link_event::ReplaceDue)>;

}  // namespace nomad::plugin
