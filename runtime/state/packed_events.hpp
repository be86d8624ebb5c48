// PackedEvents: the events of a batch, their objects in one piece, so that none of an older version
// is kept by itself between the memory of others. A denser form takes about a tenth of the room,
// for these objects mostly resemble each other.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/state/event.hpp"

namespace nomad::state {

/// Immutable; lives in one process, for the types of events are not copied.
class PackedEvents {
public:
  explicit PackedEvents(const std::vector<Event>& events);

  /// The same events, compressed.
  PackedEvents denser() const;

  /// The events as they were, in objects of their own. `corrupt` if memory was damaged.
  Result<std::vector<Event>> unpack() const;

  /// What it takes.
  std::size_t bytes() const { return bytes_.size(); }

private:
  PackedEvents() = default;

  struct Entry {
    std::string_view type;
    std::size_t kind = 0;   ///< Of payload.
    std::size_t bytes = 0;  ///< Of its object.
  };

  std::vector<Entry> entries_;
  std::size_t size_ = 0;          ///< Of all objects.
  std::vector<std::byte> bytes_;  ///< Of all objects, or deflated.
  bool is_deflated_ = false;
};

}  // namespace nomad::state
