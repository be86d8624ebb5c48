#include "runtime/plugin/sdk/task_driver.hpp"

#include "runtime/plugin/sdk/commands.hpp"
#include "runtime/plugin/sdk/declare.hpp"
#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin {
namespace {

using DriverRequest = schema::plugin::DriverRequest;
using AnswerBuilder = schema::plugin::DriverAnswer::Builder;

void answer_done(const DriverReply& reply, const Result<>& outcome) {
  if (!outcome) return refuse_request(reply, outcome.error());
  reply(FillAnswer{[](AnswerBuilder to) { to.setDone(); }});
}

std::string_view bytes_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

}  // namespace

TaskId task_id(schema::plugin::TaskId::Reader from) {
  return {copy(from.getAllocId()), copy(from.getTask())};
}

void TaskDriver::describe(const DriverReply& reply) const {
  reply(FillAnswer{[this](AnswerBuilder to) {
    auto description = to.initDescription();
    auto can = description.initCapabilities();
    can.setFsIsolation(text_of(about_.fs_isolation));
    can.setSendSignals(about_.send_signals);
    can.setExec(about_.exec);
    fill_fields(description.initConfig(static_cast<unsigned>(about_.config.size())), about_.config);
  }});
}

void TaskDriver::ask(DriverRequest::Reader request, const DriverReply& reply) {
  switch (request.which()) {
    case DriverRequest::DESCRIBE:
      return describe(reply);
    case DriverRequest::FINGERPRINT: {
      const auto health = fingerprint();
      return reply(FillAnswer{[&health](AnswerBuilder to) {
        auto made = to.initFingerprint();
        made.setDetected(health.detected);
        made.setHealthy(health.healthy);
        made.setDescription(text_of(health.description));
        fill_entries(made.initAttributes(static_cast<unsigned>(health.attributes.size())),
                     health.attributes);
      }});
    }
    case DriverRequest::START_TASK: {
      const auto handle = start(request.getStartTask());
      if (!handle) return refuse_request(reply, handle.error());
      return reply(FillAnswer{[&handle](AnswerBuilder to) {
        auto made = to.initStarted().initHandle();
        made.setVersion(1);
        made.setData({reinterpret_cast<const kj::byte*>(handle->data()), handle->size()});
      }});
    }
    case DriverRequest::RECOVER_TASK: {
      const auto order = request.getRecoverTask();
      const auto run = recover(task_id(order.getId()), view(order.getRunId()),
                               bytes_of(order.getHandle().getData()));
      if (!run) return refuse_request(reply, run.error());
      return reply(FillAnswer{[&run](AnswerBuilder to) { to.setRecovered(text_of(*run)); }});
    }
    case DriverRequest::STOP_TASK: {
      const auto order = request.getStopTask();
      return answer_done(reply, stop(task_id(order.getId()), view(order.getSignal()),
                                     Nanoseconds{order.getGrace()}));
    }
    case DriverRequest::DESTROY_TASK:
      destroy(task_id(request.getDestroyTask()));
      return answer_done(reply, {});
    case DriverRequest::END_OTHERS: {
      std::vector<TaskId> kept;
      for (const auto id : request.getEndOthers())
        kept.push_back(task_id(id));
      end_others(kept);
      return answer_done(reply, {});
    }
    case DriverRequest::SIGNAL_TASK: {
      const auto order = request.getSignalTask();
      return answer_done(reply, signal(task_id(order.getId()), view(order.getSignal())));
    }
    default:
      refuse_request(reply, {Errc::invalid_argument, "this driver does not know the request"});
  }
}

Result<ExecPlan> TaskDriver::exec(schema::plugin::ExecTask::Reader order) {
  std::vector<std::string> command;
  for (const auto word : order.getCommand())
    command.push_back(copy(word));
  return run_beside(task_id(order.getId()), std::move(command));
}

void TaskDriver::tell_end(const TaskId& id, std::string_view run_id, const RunEnd& end) {
  capnp::MallocMessageBuilder message;
  auto notice = message.initRoot<schema::plugin::Notice>();
  notice.setAllocId(text_of(id.alloc_id));
  notice.setTask(text_of(id.task));
  notice.setDriver(text_of(about_.name));
  auto exited = notice.initExited();
  exited.setRunId(text_of(std::string{run_id}));
  auto result = exited.initResult();
  result.setCode(end.code);
  result.setSignal(end.signal);
  result.setOomKilled(end.oom_killed);
  result.setError(text_of(end.error));
  agent_.tell(notice.asReader());
}

void TaskDriver::tell_event(const TaskId& id, std::string_view message_text) {
  capnp::MallocMessageBuilder message;
  auto notice = message.initRoot<schema::plugin::Notice>();
  notice.setAllocId(text_of(id.alloc_id));
  notice.setTask(text_of(id.task));
  notice.setDriver(text_of(about_.name));
  auto event = notice.initEvent();
  event.setType("Driver");
  event.setMessage(text_of(std::string{message_text}));
  agent_.tell(notice.asReader());
}

}  // namespace nomad::plugin
