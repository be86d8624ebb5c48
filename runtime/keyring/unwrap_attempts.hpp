// UnwrapAttempts: which wrapping key is asked to open which root key, and when.
//
// (1) A wrapping key is asked for one wrap once at a time.
// (2) One that failed is left alone for five seconds, in which the next wrap of the same root key
//     is tried. One that answers by itself (a file) is never left alone.
// (3) Once a root key is open, nothing is known of its attempts any more.
// (4) A wrapping key is proven once it has unwrapped something for this server.
//
// Knows no clock and no thread: times are the caller's, of a steady clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::keyring {

class UnwrapAttempts {
public:
  using Time = Nanoseconds;
  /// The root key's id, "" for a trial of the wrapping key itself; and the wrap's recipient.
  using Name = std::pair<std::string, std::string>;

  static constexpr Time pause_after_failure{5'000'000'000};

  /// Whether it is to be asked now: it counts as being asked then, until `failed` or `opened`.
  /// Without a time it is never left alone.
  bool begin(const Name& name, bool answers_itself, std::optional<Time> now);

  /// What is known already stays so if nobody asks any more.
  void failed(const Name& name, Error why, Time now);

  void opened(std::string_view key_id);

  /// A trial has ended well.
  void tried(const Name& name) { attempts_.erase(name); }

  void prove(const std::string& wrapping_key) { proven_.insert(wrapping_key); }

  bool is_proven(std::string_view wrapping_key) const { return proven_.contains(wrapping_key); }

  bool is_under_way(const Name& name) const;
  bool is_any_under_way() const;

  /// Of an attempt that nobody makes anew now.
  std::optional<Error> last_failure(const Name& name) const;

private:
  struct Attempt {
    bool is_under_way = false;
    std::optional<Error> failure = {};  ///< The last one.
    Time failed_at{};
  };

  std::map<Name, Attempt> attempts_;  ///< Of root keys that are not open.
  std::set<std::string, std::less<>> proven_;
};

}  // namespace nomad::keyring
