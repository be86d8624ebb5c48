// PluginDrivers: who stands for each driver of a plugin, and hears what that says; and which tasks
// the drivers have, for the next process, which is told of them before anybody notices that it is
// another one. Part of the PluginLink, called in its turns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/client/driver.hpp"
#include "actors/plugin/exec_relay.hpp"
#include "actors/plugin/questions.hpp"

namespace nomad::plugin {

class PluginDrivers {
public:
  PluginDrivers(actor::Self* self, Questions& questions, ExecRelay& commands)
      : self_{self}, questions_{questions}, commands_{commands} {}

  PluginDrivers(const PluginDrivers&) = delete;
  PluginDrivers& operator=(const PluginDrivers&) = delete;

  void serve(const std::string& driver, actor::Any actor, client::PluginAgent agent) {
    served_[driver] = {std::move(actor), std::move(agent), false, {}};
  }

  /// Asks the present process; from now on that one's end is the actor's. `orders` brings those for
  /// a command that it has begun back to the link.
  void ask(const std::string& driver,
           const Object<schema::plugin::DriverRequest>& request,
           const ExecRelay::Tell& orders,
           actor::Promise<client::driver::Answered> promise);

  /// What it says of itself, and of tasks that it was asked to start or recover.
  void take_notice(schema::plugin::Notice::Reader notice, std::int64_t unix_now);

  /// The present process is told of the tasks that an earlier one had, and `then` follows, at once
  /// if there are none. A driver that does not find one of them is begun anew, which tells whoever
  /// looks after its tasks.
  void recover(std::function<void()> then);

  /// What it has not answered of that is not found.
  void give_up_recovery(const Error& why);

  /// The next process is told of all of them: what this one does not answer tells nothing.
  void leave_recovery() { round_.reset(); }

  /// The process has ended: so do those that have asked it something.
  void end();

private:
  struct Task {
    /// By which another process finds it; empty: it has not begun.
    Object<schema::plugin::DriverRequest> recovery;
    /// That usage is to follow at an interval; empty: it is not.
    Object<schema::plugin::DriverRequest> usage;
    std::string ended_run{};  ///< Whose end has been told; empty: none.
  };

  struct Served {
    actor::Any actor;
    client::PluginAgent agent;
    bool has_asked = false;
    std::map<client::driver::TaskId, Task> tasks;  ///< Whose notices are passed on.
  };

  /// One telling of all tasks.
  struct Round;

  std::uint64_t ask_to_recover(const std::shared_ptr<Round>& round,
                               const std::string& driver,
                               const Task& task);

  void note(Served& served,
            const Object<schema::plugin::DriverRequest>& request,
            schema::plugin::DriverAnswer::Reader answer);

  actor::Self* self_;
  Questions& questions_;
  ExecRelay& commands_;
  std::map<std::string, Served> served_;
  std::shared_ptr<Round> round_;  ///< The newest; null: there is none, or it is left.
};

}  // namespace nomad::plugin
