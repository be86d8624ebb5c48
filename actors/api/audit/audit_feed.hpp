// AuditFeed: what waits to be written to a sink of the audit log. Whoever adds does not wait; who
// needs to know that it is written is called back.
//
// Bounds: `most_events` and `most_bytes`; what finds no room is refused, and counted as lost.
// Thread-safe. No actor: the log may begin anew meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::api {

class AuditFeed {
public:
  using Done = std::function<void(const Result<>&)>;

  static constexpr std::size_t most_events = 65'536;
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  /// What is called with the outcome, once: dropped uncalled, it has failed.
  class Delivery {
  public:
    explicit Delivery(Done done) : done_{std::move(done)} {}

    Delivery(Delivery&& other) noexcept : done_{std::exchange(other.done_, nullptr)} {}

    Delivery& operator=(Delivery&& other) noexcept;
    ~Delivery();

    void operator()(const Result<>& outcome);

  private:
    Done done_;
  };

  /// `event` is an open JSON object (runtime/audit). `done` may be empty; it is called on the log's
  /// thread, or on this one when there is no room.
  void add(std::string event, Done done);

  struct Taken {
    std::vector<std::string> events;
    std::vector<Delivery> deliveries;  ///< Of those of them whose writers wait.
    std::uint64_t lost = 0;            ///< Since the last time.
  };

  Taken take();

  /// These were not written after all.
  void count_lost(std::uint64_t events);

  /// From now on whatever is added fails.
  void close();

  /// What is woken when something waits and nothing did before, on the thread of who adds.
  void set_wake(std::function<void()> wake);

private:
  std::mutex guard_;
  Taken waiting_;
  std::size_t bytes_ = 0;
  bool is_closed_ = false;
  std::function<void()> wake_;
};

}  // namespace nomad::api
