// UsageLink: how the runner of a task learns what the task uses: it asks the driver, and hears what
// that streams. UsageStream decides when. What is heard is kept for later, where that is wanted.
//
// The task's runner owns it and calls it in its own turns.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/client/task/driver_link.hpp"
#include "actors/client/task/usage_stream.hpp"
#include "runtime/workload/usage/usage_history.hpp"

namespace nomad::client {

class UsageLink {
public:
  /// To the runner itself: somebody may still want what is streamed, or not.
  struct LookDue {
    using is_message = void;
  };

  using Known = std::function<void(Result<client_api::TaskUsage>)>;

  /// Whose usage it is.
  class Task {
  public:
    virtual ~Task() = default;
    virtual driver::TaskId id() const = 0;

    /// The run that has a process now; empty: none has.
    virtual std::string live_run() const = 0;
  };

  using History = std::shared_ptr<const workload::UsageHistory>;

  /// `link` and `task` outlive this. `keeps`: what is heard is kept in a history.
  UsageLink(
      actor::Self* self, DriverLink* link, const Task* task, UsageStream stream, bool keeps = false)
      : self_{self}, link_{link}, task_{task}, stream_{std::move(stream)}, keeps_{keeps} {}

  UsageLink(const UsageLink&) = delete;
  UsageLink& operator=(const UsageLink&) = delete;

  /// The driver has started the live run, or found it.
  void driver_has_run();

  void driver_is_gone() { stream_.run_is({}); }

  /// Calls `known` once, at once or in a later turn. `not_found` without a live run.
  void read(const Known& known);

  /// `usage` or `usageFailed` of the driver.
  void heard(schema::plugin::Notice::Reader notice);

  void look_due();

  /// What was kept until now; null: nothing yet. It goes on to change while the task does.
  History history() const { return history_; }

private:
  void ask(const Known& known);
  void heard(const std::string& run_id, client_api::TaskUsage usage);
  void look_later();

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  actor::Self* self_;
  DriverLink* link_;
  const Task* task_;
  UsageStream stream_;
  bool keeps_;
  std::shared_ptr<workload::UsageHistory> history_;  ///< Null until there is something in it.
  std::size_t run_ = 0;  ///< A hash of the run that the driver had last; 0: none.
  bool looks_ = false;   ///< LookDue is on its way.
};

}  // namespace nomad::client
