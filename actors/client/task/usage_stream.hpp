// UsageStream: what the runner of a task knows of its usage, and whether its driver is to stream
// it.
//
// Where telemetry shows what tasks use, each run is streamed from its start. Otherwise nobody reads
// anything until somebody asks: once, and the driver is asked once; twice within ten seconds, and
// the driver streams until nobody has asked for ten. What came last answers then, while it is new
// enough; a driver that does not stream, or has stopped, is asked each time.
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
  /// `interval` as workload::usage_interval gives it. `always`: telemetry wants it.
  UsageStream(Nanoseconds interval, bool always) : interval_{interval}, always_{always} {}

  /// The driver has started the run, or found it. Empty: the driver is gone.
  void run_is(std::string run_id);

  /// Somebody wants to know.
  void asked(Nanoseconds now);

  /// Whether the driver is to be asked to begin, without anybody waiting for it.
  bool is_to_begin(Nanoseconds now) const { return !streams_ && may_stream(now); }

  /// Whether nobody wants any more what the driver streams.
  bool is_to_end(Nanoseconds now) const { return streams_ && !may_stream(now); }

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

  /// Why there is none.
  const Error* failure() const { return failure_.get(); }

private:
  struct Heard {
    client_api::TaskUsage usage;
    Nanoseconds at{0};
  };

  bool may_stream(Nanoseconds now) const;

  Nanoseconds interval_;
  bool always_;
  std::string run_id_;
  std::optional<Nanoseconds> last_asked_;
  bool asked_again_ = false;  ///< Soon after somebody had.
  bool streams_ = false;
  std::unique_ptr<const Heard> heard_;
  std::unique_ptr<const Error> failure_;
};

}  // namespace nomad::client
