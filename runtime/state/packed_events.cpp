#include "runtime/state/packed_events.hpp"

#include <span>
#include <utility>

#include <zlib.h>

namespace nomad::state {
namespace {

/// The payload of that kind from its object's bytes.
template <std::size_t kind = 0>
Result<Event::Payload> payload_of(std::size_t wanted, std::span<const std::byte> bytes) {
  if constexpr (kind < std::variant_size_v<Event::Payload>) {
    if (wanted != kind) return payload_of<kind + 1>(wanted, bytes);
    using Held = std::variant_alternative_t<kind, Event::Payload>;
    return Event::Payload{NOMAD_TRY(Held::from_bytes(bytes))};
  } else {
    return Error{Errc::corrupt, "an event of no kind"};
  }
}

const Bytef* zlib_view(const std::vector<std::byte>& bytes) {
  return reinterpret_cast<const Bytef*>(bytes.data());
}

Bytef* zlib_view(std::vector<std::byte>& bytes) {
  return reinterpret_cast<Bytef*>(bytes.data());
}

}  // namespace

PackedEvents::PackedEvents(const std::vector<Event>& events) {
  const auto bytes_of = [](const Event& event) {
    return std::visit([](const auto& object) { return object.bytes(); }, event.payload);
  };
  entries_.reserve(events.size());
  for (const auto& event : events) {
    const auto size = bytes_of(event).size();
    entries_.push_back({.type = event.type, .kind = event.payload.index(), .bytes = size});
    size_ += size;
  }
  bytes_.reserve(size_);
  for (const auto& event : events) {
    const auto bytes = bytes_of(event);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
}

PackedEvents PackedEvents::denser() const {
  if (is_deflated_) return *this;
  PackedEvents made;
  made.entries_ = entries_;
  made.size_ = size_;
  made.is_deflated_ = true;
  std::vector<std::byte> room(compressBound(size_));
  auto used = static_cast<uLongf>(room.size());
  if (compress2(zlib_view(room), &used, zlib_view(bytes_), size_, Z_BEST_SPEED) != Z_OK)
    return *this;  // For want of memory.
  made.bytes_.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(used));
  return made;
}

Result<std::vector<Event>> PackedEvents::unpack() const {
  std::vector<std::byte> inflated(is_deflated_ ? size_ : 0);
  if (is_deflated_) {
    auto room = static_cast<uLongf>(size_);
    if (uncompress(zlib_view(inflated), &room, zlib_view(bytes_), bytes_.size()) != Z_OK
        || room != size_)
      return Error{Errc::corrupt, "packed events can't be read back"};
  }
  std::vector<Event> events;
  events.reserve(entries_.size());
  std::span<const std::byte> rest{is_deflated_ ? inflated : bytes_};
  for (const auto& entry : entries_) {
    events.push_back({entry.type, NOMAD_TRY(payload_of(entry.kind, rest.first(entry.bytes)))});
    rest = rest.subspan(entry.bytes);
  }
  return events;
}

}  // namespace nomad::state
