// KeyringOrders: which orders about its keyring a server obeys. Who listens to servers can record
// an order; sent again, to whichever server, it must do nothing.
//
// Pure; not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::cluster {

/// What an order says of itself, sealed with it.
struct KeyringOrderMark {
  std::string id;         ///< Random, of this order to this server alone.
  std::int64_t time = 0;  ///< When it was given: Unix nanoseconds, by the clock of who gave it.
  std::string to;         ///< The id of the server that is to obey.
};

class KeyringOrders {
public:
  /// Orders that are older, or as much ahead of the own clock, are not obeyed.
  static constexpr std::chrono::nanoseconds most_age = std::chrono::minutes{1};

  /// Bytes of an id; others are no ids.
  static constexpr std::size_t id_bytes = 16;

  /// Ids that are remembered. While there are as many, no further orders are obeyed.
  static constexpr std::size_t most_ids = 1'024;

  /// Of the server `self`, which has started at `started` (Unix nanoseconds): what it obeyed before
  /// is not known any more, so orders of before are not obeyed.
  KeyringOrders(std::string self, std::int64_t started)
      : self_{std::move(self)}, started_{started} {}

  /// Whether the order is to be obeyed at `now` (Unix nanoseconds), after which it is not again.
  /// `permission_denied` says why not; `overloaded`: too many came within a minute.
  Result<> take(const KeyringOrderMark& order, std::int64_t now);

private:
  void forget(std::int64_t now);

  std::string self_;
  std::int64_t started_;
  std::map<std::string, std::int64_t> times_{};  ///< Of the orders that were obeyed, by their ids.
};

}  // namespace nomad::cluster
