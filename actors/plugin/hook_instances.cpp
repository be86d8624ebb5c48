#include "actors/plugin/hook_instances.hpp"

#include <fmt/format.h>

#include "actors/core/self.hpp"
#include "actors/plugin/plugin_link.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {

using FrameBuilder = schema::plugin::Frame::Builder;

namespace {

constexpr auto agent_patience = std::chrono::minutes{10};

}  // namespace

HookInstances::Instance* HookInstances::find(std::uint64_t instance) {
  const auto found = instances_.find(instance);
  return found != instances_.end() && found->second.life == life_ ? &found->second : nullptr;
}

void HookInstances::run(const plugin_link::RunHook& msg,
                        actor::Promise<client::hook::Answered> promise,
                        const std::string& title) {
  auto& instance = instances_[msg.instance];
  const bool is_new = instance.life != life_;
  const bool tells_alloc = is_new || !instance.alloc.is_same(msg.run.alloc);
  const bool tells_job = is_new || !instance.job.is_same(msg.run.job);
  const bool tells_target = is_new || !instance.target.is_same(msg.target);
  auto open = std::move(instance.open);
  std::erase_if(open, [this](std::uint64_t number) { return !questions_.is_open(number); });
  instance = {.agent = msg.agent,
              .alloc_id = copy(msg.target->getAllocId()),
              .task = copy(msg.target->getTask()),
              .open = std::move(open),
              .life = life_,
              .alloc = msg.run.alloc,
              .job = msg.run.job,
              .target = msg.target};
  const auto number = questions_.ask(
      [&](FrameBuilder frame) {
        auto to = frame.initRunHook();
        to.setInstance(msg.instance);
        to.setHook(text(msg.hook));
        to.setRequest(*msg.run.request);
        if (tells_alloc) to.setAlloc(msg.run.alloc.reader());
        if (tells_job) to.setJob(*msg.run.job);
        if (tells_target) to.setTarget(*msg.target);
      },
      [promise, title, hook = msg.hook](schema::plugin::Frame::Reader frame) {
        client::hook::Answered answered;
        if (!frame.isHookAnswer() && !frame.isDone())
          return promise.deliver(Error{
              Errc::corrupt, fmt::format("{}, hook {}: it answered something else than a hook does",
                                         title, hook)});
        if (frame.isHookAnswer())
          answered.answer = Object<schema::plugin::HookAnswer>::freeze(frame.getHookAnswer());
        promise.deliver(std::move(answered));
      },
      [promise, title, hook = msg.hook](const Error& err) {
        promise.deliver(err.within(fmt::format("{}, hook {}", title, hook)));
      });
  instance.open.push_back(number);
}

actor::Answer<client::hook::Settled> HookInstances::cancel(
    std::uint64_t instance, const std::function<actor::Promise<client::hook::Settled>()>& later) {
  if (find(instance) == nullptr) return client::hook::Settled{};
  auto promise = later();
  questions_.ask(
      [instance](FrameBuilder frame) { frame.setCancelHook(instance); },
      [promise](schema::plugin::Frame::Reader) { promise.deliver(client::hook::Settled{}); },
      [promise](const Error&) { promise.deliver(client::hook::Settled{}); });
  return promise;
}

void HookInstances::close(std::uint64_t instance) {
  const bool is_known = find(instance) != nullptr;
  const auto closed = instances_.extract(instance);
  if (closed.empty()) return;
  for (const auto number : closed.mapped().open)
    questions_.fail(number, {Errc::cancelled, "the hook is over"});
  if (is_known) questions_.send([instance](FrameBuilder frame) { frame.setCloseHook(instance); });
}

void HookInstances::tasks_changed(const plugin_link::TasksChanged& msg) {
  if (find(msg.instance) == nullptr) return;
  questions_.send([&](FrameBuilder frame) {
    auto to = frame.initTasksChanged();
    to.setInstance(msg.instance);
    to.setTasks(*msg.tasks);
  });
}

void HookInstances::take_notice(schema::plugin::HookNotice::Reader notice, std::int64_t unix_now) {
  const auto* const instance = find(notice.getInstance());
  if (instance == nullptr) return;
  Draft<schema::plugin::Notice> draft{notice.getNotice()};
  draft->setAllocId(text(instance->alloc_id));
  draft->setTask(text(instance->task));
  if (draft->isEvent()) clean_event(draft->getEvent(), unix_now);
  if (draft->isEvent() || draft->isHealth() || draft->isNetwork() || draft->isChecks())
    self_->send(instance->agent, client::plugin_agent::Notice{draft.freeze()});
}

void HookInstances::take_question(std::uint64_t number, schema::plugin::AskAgent::Reader question) {
  const auto* const instance = find(question.getInstance());
  if (instance == nullptr)
    return questions_.refuse(number, {Errc::not_found, "there is no such instance of a hook"});
  if (asked_ >= most_asked)
    return questions_.refuse(
        number, {Errc::overloaded, fmt::format("{} questions are open already", asked_)});
  ++asked_;
  Draft<schema::plugin::AgentRequest> draft{question.getRequest()};
  draft->setAllocId(text(instance->alloc_id));
  draft->setTask(text(instance->task));
  self_->request(instance->agent, agent_patience, client::plugin_agent::Ask{draft.freeze()})
      .then(
          [this, number, life = life_](const client::plugin_agent::Answered& answered) {
            --asked_;
            if (life != life_) return;
            questions_.send([&](FrameBuilder frame) {
              frame.setNumber(number);
              if (answered.answer)
                frame.setAgentAnswer(*answered.answer);
              else
                frame.setDone();
            });
          },
          [this, number, life = life_](const Error& err) {
            --asked_;
            if (life == life_) questions_.refuse(number, err);
          });
}

}  // namespace nomad::plugin
