// TOML as github.com/BurntSushi/toml writes it.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/result.hpp"
#include "runtime/template/value/value.hpp"

namespace nomad::templates {

/// Fails with `too_large` beyond `limit` bytes.
Result<std::string> write_toml(const Value& value, std::size_t limit);

}  // namespace nomad::templates
