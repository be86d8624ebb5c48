// UsageStream: what the runner of a task knows of its usage, and whether its driver is to stream
// it.
//
// Where telemetry shows what tasks use, each run is streamed from its start. Otherwise nobody reads
// anything until somebody asks: once, and the driver is asked once; twice within ten seconds, and
// the driver streams until nobody has asked for ten. What came last answers then, while it is new
// enough; a driver that does not stream, or has stopped, is asked each time. Where the past is kept
// (workload::UsageHistory) each run is streamed at its slots besides, as long as nobody wants more.
//
// A reading that failed and may pass is waited for; one that can't makes an end of it, until the
// next run or the driver's next life. A run that is not the driver's (any more) has no usage.
//
// Plain code: the task's runner owns it, and gives it the time of a steady clock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actors/roles/client_api.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::client {

class UsageStream {
public:
  /// `interval` as workload::usage_interval gives it. `always`: telemetry wants it. `kept`: at
  /// which it is streamed for what is kept of the past; 0: nothing is.
  UsageStream(Nanoseconds interval, bool always, Nanoseconds kept = Nanoseconds{0})
      : interval_{interval}, always_{always}, kept_{kept} {}

  /// The driver has started the run, or found it. Empty: the driver is gone.
  void run_is(std::string run_id);

  /// Somebody wants to know.
  void asked(Nanoseconds now);

  /// Whether the driver is to be asked to begin, without anybody waiting for it.
  bool is_to_begin(Nanoseconds now) const {
    return streamed_at_.count() == 0 && wanted(now).count() > 0;
  }

  /// Whether nobody wants any more what the driver streams, or not as often.
  bool is_to_end(Nanoseconds now) const {
    return streamed_at_.count() > 0 && streamed_at_ != wanted(now);
  }

  /// What the driver is asked with now, and is taken to do from then on.
  Nanoseconds take_interval(Nanoseconds now);

  /// When to look whether it is to end; nothing: not at all.
  std::optional<Nanoseconds> look_in(Nanoseconds now) const;

  /// Whether what is told of the run is to be heard.
  bool listens_to(std::string_view run_id) const {
    return !run_id.empty() && run_id == run_id_ && !failure_;
  }

  /// Of the run that it listens to.
  void heard(client_api::TaskUsage usage, Nanoseconds now);

  /// Of the run that it listens to: there will be no usage of it.
  void failed(Error why);

  /// What was streamed last; null: the driver has to be asked.
  const client_api::TaskUsage* newest(Nanoseconds now) const;

  /// Whether somebody wants it more often than what is kept does.
  bool is_wanted_often(Nanoseconds now) const;

  /// Why there is none.
  const Error* failure() const { return failure_.get(); }

private:
  struct Heard {
    client_api::TaskUsage usage;
    Nanoseconds at{0};
  };

  /// The interval at which it is to be streamed; 0: not at all.
  Nanoseconds wanted(Nanoseconds now) const;

  Nanoseconds interval_;
  bool always_;
  Nanoseconds kept_;
  std::string run_id_;
  std::optional<Nanoseconds> last_asked_;
  bool asked_again_ = false;    ///< Soon after somebody had.
  Nanoseconds streamed_at_{0};  ///< 0: it is not.
  std::unique_ptr<const Heard> heard_;
  std::unique_ptr<const Error> failure_;
};

}  // namespace nomad::client
