// IdentityCounters: counters with the label `identity`, bounded in number: each identity would be a
// series of each endpoint, and whoever can make tokens makes as many as he likes. A series that
// has not been used for a while gives its place away; who finds none is counted as "other".
//
// Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/telemetry/registry.hpp"

namespace nomad::telemetry {

class IdentityCounters {
public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t most_series = 2'000;
  static constexpr std::chrono::minutes idle_after{10};
  static constexpr std::string_view other = "other";

  explicit IdentityCounters(std::shared_ptr<Registry> registry, std::size_t most = most_series)
      : registry_{std::move(registry)}, most_{most} {}

  /// An empty identity is none: the counter has no label then.
  void count(std::string_view name, std::string_view identity, Time now);

  std::size_t size() const;

private:
  struct Series {
    std::shared_ptr<Counter> counter;
    Time used;
  };

  struct Key {
    std::string name;
    std::string identity;
  };

  /// The same without copies.
  struct KeyView {
    std::string_view name;
    std::string_view identity;

    KeyView(std::string_view of_name, std::string_view of_identity)
        : name{of_name}, identity{of_identity} {}

    KeyView(const Key& key) : name{key.name}, identity{key.identity} {}
  };

  struct HashOfKey {
    using is_transparent = void;

    std::size_t operator()(KeyView key) const {
      const std::hash<std::string_view> hash;
      return hash(key.identity) * 31 + hash(key.name);
    }
  };

  struct EqualKeys {
    using is_transparent = void;

    bool operator()(KeyView a, KeyView b) const {
      return a.identity == b.identity && a.name == b.name;
    }
  };

  /// Null when there is no room.
  Counter* find(std::string_view name, std::string_view identity, Time now);

  const std::shared_ptr<Registry> registry_;
  const std::size_t most_;
  mutable std::mutex guard_;
  std::unordered_map<Key, Series, HashOfKey, EqualKeys> series_;
  Time next_sweep_{};
};

}  // namespace nomad::telemetry
