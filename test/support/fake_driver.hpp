// A task driver of a test: it does what the test says, and the rest as a good one would.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::test {

using DriverRequest = schema::plugin::DriverRequest;

/// What the test's own part says to a request; nothing: the good answer.
using DriverAct = std::function<std::optional<actor::Answer<client::driver::Answered>>(
    client::Driver::pointer, const client::DriverOptions&, DriverRequest::Reader)>;

/// `exec`: it can run commands.
inline client::driver::Answered good_answer(DriverRequest::Reader request, bool exec = false) {
  namespace driver = client::driver;
  switch (request.which()) {
    case DriverRequest::DESCRIBE: {
      Draft<schema::plugin::DriverDescription> draft;
      draft->initCapabilities().setFsIsolation("none");
      draft->getCapabilities().setSendSignals(true);
      draft->getCapabilities().setMounts(true);
      draft->getCapabilities().setExec(exec);
      return driver::described(draft.freeze());
    }
    case DriverRequest::FINGERPRINT:
      return driver::fingerprinted(driver::make_fingerprint(true, true, ""));
    case DriverRequest::START_TASK:
      return driver::started({1, "fake"});
    case DriverRequest::RECOVER_TASK:
      return driver::recovered(view(request.getRecoverTask().getRunId()));
    case DriverRequest::TASK_STATS:
      return driver::used({});
    case DriverRequest::EXEC_TASK:
      return driver::no_exec();
    default:
      return driver::done();
  }
}

inline client::DriverEntry fake_driver(DriverAct act, bool exec = false) {
  return {.spawn = [act = std::move(act), exec](const actor::Owner& owner,
                                                const client::DriverOptions& options) {
    return actor::spawn(
        owner, [act, exec, options](client::Driver::pointer self) -> client::Driver::behavior_type {
          return {[act, exec, options, self](
                      const client::driver::Ask& msg) -> actor::Answer<client::driver::Answered> {
            if (act)
              if (auto own = act(self, options, *msg.request)) return std::move(*own);
            return good_answer(*msg.request, exec);
          }};
        });
  }};
}

}  // namespace nomad::test
