// AscendingLookups<Map>: finds one key after the other in a map. Keys that follow each other in the
// map as they do here cost a step of a cursor, others a look-up: for a walk over one table that
// needs what another has under the same keys.
//
// Valid as long as the map; one thread at a time.
#pragma once

#include <string_view>

namespace nomad::state {

template <class Map>
class AscendingLookups {
public:
  explicit AscendingLookups(const Map& map) : map_{map} {}

  explicit AscendingLookups(Map&&) = delete;

  /// The value under `key`, or null. The pointer is valid as long as the map.
  auto* find(std::string_view key) {
    if (at_.valid()) at_.next();
    if (!at_.valid() || !at_.key_is(key)) at_ = map_.lower_bound(key);
    return at_.valid() && at_.key_is(key) ? &at_.value() : nullptr;
  }

private:
  const Map& map_;
  typename Map::Cursor at_{};
};

}  // namespace nomad::state
