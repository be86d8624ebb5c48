// ConfigReader: takes a task's `config` block apart, as HCL's types allow: a number or a bool may
// come as text, a block may come as an object or as a list of one. What nobody asked for is an
// error, so that a misspelled key is not silently without effect.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::client {

class ConfigReader {
public:
  /// `config` has to outlive the reader.
  explicit ConfigReader(const boost::json::value& config, std::string where = {});

  std::string text(std::string_view key, std::string otherwise = {});
  std::int64_t number(std::string_view key, std::int64_t otherwise = 0);
  bool boolean(std::string_view key, bool otherwise = false);
  /// Go's text ("10s"); "" and a missing key are `otherwise`.
  Nanoseconds duration(std::string_view key, Nanoseconds otherwise = Nanoseconds{0});
  std::vector<std::string> texts(std::string_view key);
  /// A nested block; null when there is none.
  const boost::json::value* block(std::string_view key);
  bool has(std::string_view key);

  /// The first thing that was wrong, unknown keys included: `invalid_argument`.
  Result<> finish();

private:
  const boost::json::value* find(std::string_view key);
  void complain(std::string_view key, std::string_view expected);

  const boost::json::value& config_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
  std::string problem_;
};

}  // namespace nomad::client
