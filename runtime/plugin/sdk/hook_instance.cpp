#include "runtime/plugin/sdk/hook_instance.hpp"

#include <exception>

namespace nomad::plugin {

using schema::plugin::Frame;

namespace {

void fill_answer(schema::plugin::HookAnswer::Builder to, const HookAnswer& from) {
  const auto count = [](const auto& list) { return static_cast<unsigned>(list.size()); };
  to.setDone(from.done);
  fill_entries(to.initData(count(from.data)), from.data);
  fill_entries(to.initEnvironment(count(from.environment)), from.environment);
  auto mounts = to.initMounts(count(from.mounts));
  for (unsigned i = 0; i < mounts.size(); ++i) {
    mounts[i].setTaskPath(text_of(from.mounts[i].task_path));
    mounts[i].setHostPath(text_of(from.mounts[i].host_path));
    mounts[i].setReadOnly(from.mounts[i].read_only);
    mounts[i].setPropagation(text_of(from.mounts[i].propagation));
  }
  auto devices = to.initDevices(count(from.devices));
  for (unsigned i = 0; i < devices.size(); ++i) {
    devices[i].setTaskPath(text_of(from.devices[i].task_path));
    devices[i].setHostPath(text_of(from.devices[i].host_path));
    devices[i].setPermissions(text_of(from.devices[i].permissions));
  }
}

template <class Entries>
std::string value_of(Entries entries, std::string_view name, std::string_view instead) {
  for (const auto entry : entries)
    if (name == view(entry.getKey())) return copy(entry.getValue());
  return std::string{instead};
}

class FunctionHook final : public Hook {
public:
  FunctionHook(HookRunner& runner, HookFunction function)
      : runner_{runner}, function_{std::move(function)} {}

  void run(const HookCall& call, const HookReply& reply) override {
    reply(function_(runner_, call));
  }

private:
  HookRunner& runner_;
  HookFunction function_;
};

}  // namespace

HookFactory hook_of(HookFunction function) {
  return [function = std::move(function)](HookRunner& runner) {
    return std::make_unique<FunctionHook>(runner, function);
  };
}

std::string HookCall::env(std::string_view name, std::string_view instead) const {
  return value_of(request.getEnvironment().getVariables(), name, instead);
}

std::string HookCall::data(std::string_view name) const {
  return value_of(request.getData(), name, {});
}

std::string HookCall::meta(std::string_view name) const {
  std::string found;
  const auto look = [&](auto entries) {
    if (auto value = value_of(entries, name, {}); !value.empty()) found = std::move(value);
  };
  look(job.getMeta());
  for (const auto group : job.getTaskGroups()) {
    if (group.getName() != alloc.getTaskGroup()) continue;
    look(group.getMeta());
    for (const auto each : group.getTasks())
      if (each.getName() == target.getTask()) look(each.getMeta());
  }
  return found;
}

void HookInstance::run(std::uint64_t number, const FrameWords& words) {
  const auto order = words->root().getRunHook();
  request_ = words;
  if (order.hasAlloc()) alloc_ = words;
  if (order.hasJob()) job_ = words;
  if (order.hasTarget()) target_ = words;
  if (!alloc_ || !job_ || !target_)
    return wire_.failed(number, {Errc::corrupt, "the agent did not say for whom the hook is"});
  const auto reply = reply_to(number);
  const HookCall call{order.getRequest(), alloc_->root().getRunHook().getAlloc(),
                      job_->root().getRunHook().getJob(), target_->root().getRunHook().getTarget(),
                      target_->root().getRunHook().getTarget()};
  try {
    if (hook_)
      hook_->run(call, reply);
    else
      reply(Error{Errc::internal, "the hook's factory made nothing"});
  } catch (const std::exception& thrown) {
    reply(Error{Errc::internal, std::string{"it threw: "} + thrown.what()});
  } catch (...) {
    reply(Error{Errc::internal, "it threw something that is no std::exception"});
  }
}

HookReply HookInstance::reply_to(std::uint64_t number) {
  ++life_->open;

  // A question that nobody keeps any more fails; the guard is what notices.
  struct Question {
    Answerer wire;
    std::uint64_t number;
    std::shared_ptr<Life> life;
    bool open = true;

    Question(const Answerer& to, std::uint64_t of, std::shared_ptr<Life> its_life)
        : wire{to}, number{of}, life{std::move(its_life)} {}

    ~Question() { settle(Error{Errc::internal, "the hook dropped the question"}); }

    void settle(const Result<HookAnswer>& outcome) {
      if (!std::exchange(open, false)) return;
      if (outcome)
        wire.answer(number,
                    [&](Frame::Builder frame) { fill_answer(frame.initHookAnswer(), *outcome); });
      else
        wire.failed(number, outcome.error());
      if (--life->open > 0) return;
      for (const auto cancel : std::exchange(life->cancelled, {}))
        wire.done(cancel);
    }
  };

  const auto question = std::make_shared<Question>(wire_, number, life_);
  return HookReply{[question](const Result<HookAnswer>& outcome) { question->settle(outcome); }};
}

void HookInstance::cancel(std::uint64_t number) {
  if (life_->open == 0 || !hook_) return wire_.done(number);
  life_->cancelled.push_back(number);
  hook_->cancel();
}

void HookInstance::event(std::string_view type,
                         std::string_view message,
                         const std::map<std::string, std::string>& details) {
  wire_.tell([&](Frame::Builder frame) {
    auto to = frame.initHookNotice();
    to.setInstance(id_);
    auto event = to.initNotice().initEvent();
    event.setType(text_of(std::string{type}));
    event.setMessage(text_of(std::string{message}));
    fill_entries(event.initDetails(static_cast<unsigned>(details.size())), details);
  });
}

void HookInstance::tell(schema::plugin::Notice::Reader notice) {
  wire_.tell([&](Frame::Builder frame) {
    auto to = frame.initHookNotice();
    to.setInstance(id_);
    to.setNotice(notice);
  });
}

void HookInstance::ask(schema::plugin::AgentRequest::Reader request, Answered then) {
  wire_.ask(
      [&](Frame::Builder frame) {
        auto to = frame.initAskAgent();
        to.setInstance(id_);
        to.setRequest(request);
      },
      [then = std::move(then), alive = std::weak_ptr{alive_}](const Result<Frame::Reader>& answer) {
        if (!then || alive.expired()) return;
        if (!answer) return then(answer.error());
        then(answer->isAgentAnswer() ? answer->getAgentAnswer()
                                     : schema::plugin::AgentAnswer::Reader{});
      });
}

void HookInstance::restart(std::string_view reason,
                           bool failure,
                           std::function<void(Result<>)> then) {
  capnp::MallocMessageBuilder message;
  auto request = message.initRoot<schema::plugin::AgentRequest>();
  auto order = request.initRestart();
  order.setReason(text_of(std::string{reason}));
  order.setFailure(failure);
  ask(request.asReader(), [then = std::move(then)](const auto& answer) {
    if (!then) return;
    if (answer)
      then({});
    else
      then(answer.error());
  });
}

}  // namespace nomad::plugin
