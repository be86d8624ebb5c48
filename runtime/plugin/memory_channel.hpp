// MemoryChannel: the conversation between an agent and a plugin on one of its threads: a queue of
// frames to the plugin, and calls in the other direction. While both are busy it costs no system
// call: a thread is woken only if it waits.
//
// Bounds: what waits for the plugin has at most `most_output` bytes; what the plugin has told and
// the agent has not handled at most `input_window`, and one frame.
//
// Threads: the agent's side is called by one at a time, but `hang_up` by any; the plugin's side by
// the plugin's.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/plugin/sdk/channel.hpp"

namespace nomad::plugin {

class MemoryChannel {
public:
  static constexpr std::size_t input_window = std::size_t{1} << 20;
  static constexpr std::size_t most_output = std::size_t{32} << 20;

  /// `hear` gets what the plugin says, on its thread.
  explicit MemoryChannel(std::function<void(std::string_view frame)> hear);
  MemoryChannel(const MemoryChannel&) = delete;
  MemoryChannel& operator=(const MemoryChannel&) = delete;
  ~MemoryChannel();

  /// False: no descriptor was left for it, and nobody would be woken.
  bool works() const { return event_ >= 0; }

  // -- the agent's side

  /// A frame behind its length, as `append_frame` makes it. False: too much waits already.
  bool send(std::string frame);

  /// Frames of so many bytes are through.
  void handled(std::size_t bytes);

  /// Nothing more is said or heard.
  void hang_up();

  // -- the plugin's

  /// Valid as long as this is.
  Channel ends();

private:
  struct Node;

  bool has_news() const;
  void wake();
  const void* next(std::size_t* bytes);
  bool tell(std::string_view frame);
  bool may_wait();

  std::function<void(std::string_view)> hear_;
  int event_;  ///< An eventfd.

  // One writes at `newest_`, one reads behind `oldest_`, which is a node that was read.
  Node* newest_;
  Node* oldest_;
  std::atomic<std::size_t> queued_{0};  ///< Bytes that wait for the plugin.
  std::atomic<std::size_t> open_{0};    ///< Bytes that it has told and that are not handled.

  std::atomic<bool> sleeps_{false};      ///< The plugin waits, or is about to.
  std::atomic<bool> wants_room_{false};  ///< It has something to tell that was not taken.
  std::atomic<bool> over_{false};
};

}  // namespace nomad::plugin
