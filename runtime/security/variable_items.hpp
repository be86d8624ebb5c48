// What a variable holds, as the bytes that are sealed: the items in the order of their keys, each
// key and value behind its length (four bytes, big endian).
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/security/secret.hpp"

namespace nomad::security {

/// Views; whoever made them owns the texts.
using Items = std::vector<std::pair<std::string_view, std::string_view>>;

/// Keys and values together, as the limit of a variable counts them.
std::size_t size_of(const Items& items);

/// Sorts; of two items with one key the later in `items` counts.
Secret encode_items(Items items);

/// Views into `encoded`, which must outlive them. `corrupt` when it is no encoding.
Result<Items> decode_items(const Secret& encoded);

}  // namespace nomad::security
