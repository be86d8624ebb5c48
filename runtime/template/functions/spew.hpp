// What go-spew makes of values: a dump with types and lengths, and texts of a format whose
// %v, %+v and %#v are spew's. The addresses of pointers are all the same, as in format.hpp; the
// capacity of a list is its length. Tests: crypto_test.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/template/value/value.hpp"

namespace nomad::templates {

/// Both fail with `too_large` beyond `limit` bytes, or `max_depth`.
Result<std::string> spewed(std::span<const Value> values, std::size_t limit);
Result<std::string> spewed_format(std::string_view format,
                                  std::span<const Value> arguments,
                                  std::size_t limit);

}  // namespace nomad::templates
