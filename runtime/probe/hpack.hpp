// HpackDecoder: the headers of HTTP/2 as they are compressed (RFC 7541). Pure; of one connection,
// whose blocks come in order, for each may refer to those before it. Internal to runtime/probe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::probe {

struct HpackField {
  std::string name;
  std::string value;
};

/// A field that is not compressed, behind which `value` may be anything.
std::string encode_field(std::string_view name, std::string_view value);

class HpackDecoder {
public:
  static constexpr std::size_t most_bytes = 64 * 1024;  ///< Of the fields of one block.

  /// `corrupt` when it is none; then no further block can be read.
  Result<std::vector<HpackField>> decode(std::string_view block);

private:
  Result<HpackField> indexed(std::uint64_t index) const;
  Result<HpackField> literal(std::string_view& block, int index_bits) const;
  void remember(HpackField field);
  void shrink_to(std::size_t bytes);

  std::deque<HpackField> recent_;  ///< The newest first.
  std::size_t recent_bytes_ = 0;
  std::size_t most_recent_bytes_
      = 4096;  ///< As the peer says, within what the protocol begins with.
};

}  // namespace nomad::probe
