#include "actors/plugin/plugin_drivers.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {
namespace {

Questions::Fill fill_order(const std::string& driver,
                           const Object<schema::plugin::DriverRequest>& request) {
  return [driver, request](schema::plugin::Frame::Builder frame) {
    auto to = frame.initAskDriver();
    to.setDriver(text(driver));
    to.setRequest(*request);
  };
}

}  // namespace

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
    served.tasks[client::driver::read_id(request->getStartTask().getId())] = {};
  if (request->isRecoverTask())
    served.tasks[client::driver::read_id(request->getRecoverTask().getId())] = {};
  if (request->isTaskStats())
    if (const auto task
        = served.tasks.find(client::driver::read_id(request->getTaskStats().getId()));
        task != served.tasks.end())
      task->second.usage = request->getTaskStats().getInterval() > 0
                               ? request
                               : Object<schema::plugin::DriverRequest>{};
  if (request->isDestroyTask())
    served.tasks.erase(client::driver::read_id(request->getDestroyTask()));
  questions_.ask(
      fill_order(driver, request),
      [this, promise, request, orders, driver](schema::plugin::Frame::Reader frame) {
        if (!frame.isDriverAnswer())
          return promise.deliver(
              Error{Errc::corrupt, "it answered something else than a driver does"});
        client::driver::Answered answered;
        answered.answer = Object<schema::plugin::DriverAnswer>::freeze(frame.getDriverAnswer());
        note(served_[driver], request, *answered.answer);
        if (request->isExecTask() && answered.answer->isExec())
          answered.session
              = commands_.open(frame.getNumber(), request->getExecTask().getTty(), orders);
        promise.deliver(std::move(answered));
      },
      [promise](const Error& err) { promise.deliver(err); });
}

/// What the next process is to be told of the task.
void PluginDrivers::note(Served& served,
                         const Object<schema::plugin::DriverRequest>& request,
                         schema::plugin::DriverAnswer::Reader answer) {
  const auto keep = [&](schema::plugin::TaskId::Reader id, const auto& fill) {
    const auto task = served.tasks.find(client::driver::read_id(id));
    if (task == served.tasks.end()) return;  // It has been destroyed meanwhile.
    Draft<schema::plugin::DriverRequest> draft;
    auto to = draft->initRecoverTask();
    to.setId(id);
    fill(to);
    task->second.recovery = draft.freeze();
  };
  if (request->isStartTask() && answer.isStarted()) {
    const auto order = request->getStartTask();
    keep(order.getId(), [&](auto& to) {
      to.setRunId(order.getRunId());
      to.setHandle(answer.getStarted().getHandle());
    });
  } else if (request->isRecoverTask() && answer.isRecovered()) {
    const auto order = request->getRecoverTask();
    keep(order.getId(), [&](auto& to) {
      to.setRunId(answer.getRecovered());
      if (order.hasHandle()) to.setHandle(order.getHandle());
    });
  }
}

struct PluginDrivers::Round {
  std::size_t open = 1;
  std::function<void()> then;
  std::vector<std::uint64_t> questions{};

  void close() {
    if (--open == 0) then();
  }
};

void PluginDrivers::recover(std::function<void()> then) {
  struct Wanted {
    std::string driver;
    Task task;
  };

  const auto round = std::make_shared<Round>();
  round->then = std::move(then);
  round_ = round;
  // First all, for what can't be sent is lost at once, and with it what its driver has here.
  std::vector<Wanted> all;
  for (const auto& [name, served] : served_)
    for (const auto& [id, task] : served.tasks)
      if (served.has_asked && task.recovery) all.push_back({name, task});
  for (const auto& [driver, task] : all) {
    if (!served_[driver].has_asked) continue;  // lost meanwhile
    ++round->open;
    round->questions.push_back(ask_to_recover(round, driver, task));
  }
  round->close();
}

std::uint64_t PluginDrivers::ask_to_recover(const std::shared_ptr<Round>& round,
                                            const std::string& driver,
                                            const Task& task) {
  const bool has_ended = !task.ended_run.empty()
                         && view(task.recovery->getRecoverTask().getRunId()) == task.ended_run;
  const auto lost = [this, driver](Round& of, const std::string& why) {
    log::error("plugin", "a driver begins anew, for a task was not found",
               {{"driver", driver}, {"error", why}});
    auto& served = served_[driver];
    if (served.has_asked) actor::kill(std::exchange(served, {}).actor);
    of.close();
  };
  const std::weak_ptr<Round> present = round;
  return questions_.ask(
      fill_order(driver, task.recovery),
      [this, driver, usage = task.usage, present, lost,
       has_ended](schema::plugin::Frame::Reader frame) {
        const auto of = present.lock();
        if (!of) return;
        const bool is_there = frame.isDriverAnswer() && frame.getDriverAnswer().isRecovered();
        if (is_there && usage)
          questions_.ask(
              fill_order(driver, usage), [](auto) {}, [](const Error&) {});
        if (has_ended || is_there) return of->close();
        lost(*of, frame.isDriverAnswer() && frame.getDriverAnswer().isFailed()
                      ? said(view(frame.getDriverAnswer().getFailed().getMessage()))
                      : std::string{"it answered something else"});
      },
      [present, lost](const Error& err) {
        if (const auto of = present.lock()) lost(*of, err.what);
      });
}

void PluginDrivers::give_up_recovery(const Error& why) {
  const auto round = round_;
  if (!round) return;
  for (const auto question : std::exchange(round->questions, {}))
    questions_.fail(question, why);
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
  const auto task = served->second.tasks.find(about);
  if (!notice.isFingerprint()) {
    if (task == served->second.tasks.end()) return;
    // A process that recovers a run which has ended tells of it again.
    if (notice.isExited()) {
      auto run = copy(notice.getExited().getRunId());
      if (!run.empty() && run == task->second.ended_run) return;
      task->second.ended_run = std::move(run);
    }
  }
  Draft<schema::plugin::Notice> draft{notice};
  draft->setDriver(text(served->first));
  if (draft->isEvent()) clean_event(draft->getEvent(), unix_now);
  client::plugin_agent::Notice told{draft.freeze()};
  if (notice.isExited())
    actor::send_urgent(self_, served->second.agent, std::move(told));
  else
    self_->send(served->second.agent, std::move(told));
}

void PluginDrivers::end() {
  for (auto& [driver, served] : served_)
    if (served.has_asked) actor::kill(std::exchange(served, {}).actor);
}

}  // namespace nomad::plugin
