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
  auto& seat = seats_[driver];
  seat.has_asked = true;
  if (request->isStartTask())
    seat.tasks.insert(client::driver::read_id(request->getStartTask().getId()));
  if (request->isRecoverTask())
    seat.tasks.insert(client::driver::read_id(request->getRecoverTask().getId()));
  if (request->isDestroyTask())
    seat.tasks.erase(client::driver::read_id(request->getDestroyTask()));
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
  const auto named = seats_.find(copy(notice.getDriver()));
  const auto seat = named == seats_.end() && seats_.size() == 1 ? seats_.begin() : named;
  if (seat == seats_.end()) return;
  if (!notice.isExited() && !notice.isEvent() && !notice.isFingerprint() && !notice.isUsage()
      && !notice.isUsageFailed())
    return;
  const client::driver::TaskId about{copy(notice.getAllocId()), copy(notice.getTask())};
  if (!notice.isFingerprint() && !seat->second.tasks.contains(about)) return;
  Draft<schema::plugin::Notice> draft{notice};
  draft->setDriver(text(seat->first));
  if (draft->isEvent()) clean_event(draft->getEvent(), unix_now);
  client::plugin_host::Notice told{draft.freeze()};
  if (notice.isExited())
    actor::send_urgent(self_, seat->second.host, std::move(told));
  else
    self_->send(seat->second.host, std::move(told));
}

void PluginDrivers::end() {
  for (auto& [driver, seat] : seats_)
    if (seat.has_asked) actor::kill(std::exchange(seat, {}).actor);
}

}  // namespace nomad::plugin
