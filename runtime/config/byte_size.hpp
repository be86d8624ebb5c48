// Sizes as configurations write them: "1M", "512 KiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::config {

/// Bytes of a number with or without a unit, whatever the case: B; K, KB, M, MB, G, GB by powers of
/// 1,000; KiB, MiB, GiB by powers of 1,024. The error is `invalid_argument`.
Result<std::uint64_t> parse_byte_size(std::string_view text);

/// "1.5 MB", by powers of 1,000.
std::string show_byte_size(std::uint64_t bytes);

}  // namespace nomad::config
