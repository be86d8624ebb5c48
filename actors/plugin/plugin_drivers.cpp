#include "actors/plugin/plugin_drivers.hpp"

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {

void PluginDrivers::ask(const std::string& driver,
                        const Object<schema::plugin::DriverRequest>& request,
                        const ExecRelay::Tell& orders,
                        actor::Promise<client::driver::Answered> promise) {
  if (request->isExecTask() && commands_.is_full())
    return promise.deliver(client::driver::failed(
        {Errc::overloaded, "too many commands run beside tasks of this plugin's drivers"}));
  auto& served = served_[driver];
  served.has_asked = true;
  if (request->isStartTask())
    served.tasks.insert(client::driver::read_id(request->getStartTask().getId()));
  if (request->isRecoverTask())
    served.tasks.insert(client::driver::read_id(request->getRecoverTask().getId()));
  if (request->isDestroyTask())
    served.tasks.erase(client::driver::read_id(request->getDestroyTask()));
  questions_.ask(
      [&](schema::plugin::Frame::Builder frame) {
        auto to = frame.initAskDriver();
        to.setDriver(text(driver));
        to.setRequest(*request);
      },
      [this, promise, request, orders](schema::plugin::Frame::Reader frame) {
        if (!frame.isDriverAnswer())
          return promise.deliver(
              Error{Errc::corrupt, "it answered something else than a driver does"});
        client::driver::Answered answered;
        answered.answer = Object<schema::plugin::DriverAnswer>::freeze(frame.getDriverAnswer());
        if (request->isExecTask() && answered.answer->isExec())
          answered.session
              = commands_.open(frame.getNumber(), request->getExecTask().getTty(), orders);
        promise.deliver(std::move(answered));
      },
      [promise](const Error& err) { promise.deliver(err); });
}

void PluginDrivers::take_notice(schema::plugin::Notice::Reader notice, std::int64_t unix_now) {
  // Of a plugin with one driver, it need not say which.
  const auto named = served_.find(copy(notice.getDriver()));
  const auto served = named == served_.end() && served_.size() == 1 ? served_.begin() : named;
  if (served == served_.end()) return;
  if (!notice.isExited() && !notice.isEvent() && !notice.isFingerprint() && !notice.isUsage()
      && !notice.isUsageFailed())
    return;
  const client::driver::TaskId about{copy(notice.getAllocId()), copy(notice.getTask())};
  if (!notice.isFingerprint() && !served->second.tasks.contains(about)) return;
  Draft<schema::plugin::Notice> draft{notice};
  draft->setDriver(text(served->first));
  if (draft->isEvent()) clean_event(draft->getEvent(), unix_now);
  client::plugin_host::Notice told{draft.freeze()};
  if (notice.isExited())
    actor::send_urgent(self_, served->second.host, std::move(told));
  else
    self_->send(served->second.host, std::move(told));
}

void PluginDrivers::end() {
  for (auto& [driver, served] : served_)
    if (served.has_asked) actor::kill(std::exchange(served, {}).actor);
}

}  // namespace nomad::plugin
