// ConfigReader: a task's `config` block as a driver gets it. What may stand in it was seen to by
// the driver's own fields (config_schema.hpp), so that nothing can be wrong with it here; a value
// of another kind counts as one that is not there.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::client {

class ConfigReader {
public:
  /// From TaskConfig.config. `invalid_argument` when that is no JSON object.
  static Result<ConfigReader> parse(std::string_view config);

  explicit ConfigReader(boost::json::object config) : config_(std::move(config)) {}

  std::string text(std::string_view key, std::string otherwise = {}) const;
  std::int64_t number(std::string_view key, std::int64_t otherwise = 0) const;
  bool boolean(std::string_view key, bool otherwise = false) const;
  Nanoseconds duration(std::string_view key, Nanoseconds otherwise = Nanoseconds{0}) const;
  std::vector<std::string> texts(std::string_view key) const;
  std::map<std::string, std::string> map(std::string_view key) const;  ///< Under free names.

  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// A nested block; an empty one when there is none.
  ConfigReader block(std::string_view key) const;

private:
  const boost::json::value* find(std::string_view key) const;

  boost::json::object config_;
};

}  // namespace nomad::client
