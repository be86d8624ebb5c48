// The frames that an agent and the process of a plugin exchange, on the agent's side, which
// believes nothing of what comes: sizes are bounded before anything is kept, and a frame is read
// unchecked only after a full checked pass. No I/O.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "schema/plugin_link.capnp.h"

namespace nomad::plugin {

using Frame = Object<schema::plugin::Frame>;

inline constexpr std::size_t most_frame_bytes = std::size_t{16} << 20;

/// Whether it is an answer of a plugin's to what it was asked.
bool is_answer(schema::plugin::Frame::Reader frame);

/// One frame of the stream form, without its length. `corrupt` for what is none.
Result<Frame> decode_frame(std::string_view bytes);

/// The frame behind its length. `too_large` for one that no plugin would take.
Result<> append_frame(std::string& to, const Frame& frame);

/// Takes frames out of bytes as they come. Keeps what is no whole frame yet, and of a frame that is
/// still to come no more than has come.
class FrameSplitter {
public:
  /// Calls `take` with each whole frame, and how many bytes it had; an error ends it for good.
  Result<> add(std::string_view bytes, const std::function<void(Frame, std::size_t)>& take);

  std::size_t waiting() const { return rest_.size(); }

private:
  std::string rest_;
};

}  // namespace nomad::plugin
