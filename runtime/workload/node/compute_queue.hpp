// ComputeQueue: whose turn it is among what computes for as long as its owner likes. All of it
// waits for a few places, so somebody's slow ones must not keep another's quick one waiting.
//
// Nobody knows before whether something is slow. So each gets a short turn first; what does not end
// within it waits for a long one, which has other places. Of those that wait for the same kind, the
// owner comes first who has used least lately, then who has waited longest; one owner has one place
// of each kind. What an owner has used is forgotten by and by, two thirds of it in half a minute.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace nomad::workload {

class ComputeQueue {
public:
  using Time = std::chrono::nanoseconds;  ///< Of a clock that only grows.

  struct Limits {
    std::size_t short_slots = 2;
    std::size_t long_slots = 2;
  };

  struct Turn {
    std::uint64_t ticket = 0;
    std::string owner{};
    bool is_long = false;
  };

  explicit ComputeQueue(Limits limits) : limits_{limits} {}

  void add(std::uint64_t ticket, const std::string& owner);

  /// Begins the next turn, if there is a place for one.
  std::optional<Turn> next(Time now);

  /// A turn has ended, for which a processor took `used`. What is `unfinished` waits for a long
  /// one.
  void over(const Turn& turn, Time used, bool unfinished, Time now);

private:
  struct Owner {
    std::array<std::deque<std::uint64_t>, 2> waiting{};  ///< For a short turn, for a long one.
    std::array<bool, 2> runs{};
    double used = 0;  ///< Nanoseconds.
    Time seen{0};     ///< When `used` was brought up to date.
  };

  using Owners = std::map<std::string, Owner>;

  void forget(Time now);
  std::optional<Turn> next_of(bool is_long);

  Limits limits_;
  Owners owners_;  ///< Who waits, runs or has used something lately.
  std::array<std::size_t, 2> running_{};
};

}  // namespace nomad::workload
