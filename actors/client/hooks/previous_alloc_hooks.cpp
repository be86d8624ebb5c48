#include "actors/client/hooks/previous_alloc_hooks.hpp"

#include <algorithm>
#include <deque>
#include <stop_token>

#include <fmt/format.h>

#include "actors/client/hooks/disk_takeover.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::client {

namespace {

using PreviousAlloc = schema::plugin::PreviousAlloc::Reader;

constexpr Nanoseconds first_retry = std::chrono::seconds{1};
constexpr Nanoseconds longest_retry = std::chrono::seconds{30};
/// How long an end is waited for, or a disk fetched. Tasks may take hours to end, disks to come.
constexpr auto longest_wait = std::chrono::hours{24};

struct AskAgain {
  using is_message = void;
  std::uint64_t round;
};

using PreviousAllocSelf = actor::WithInternal<Hook, void(AskAgain)>;

bool may_pass(Errc code) {
  return code == Errc::unavailable || code == Errc::no_leader || code == Errc::timeout
         || code == Errc::overloaded;
}

/// Both hooks: the one that takes over a disk waits for its allocation first, which costs nothing
/// behind the other one.
class PreviousAllocState {
public:
  static constexpr const char* name = "previous_alloc_hook";

  explicit PreviousAllocState(PreviousAllocSelf::pointer self) : self_{self} {}

  void init(PreviousAllocHookParts parts, PluginAgent agent, HookScope scope, bool takes_over) {
    parts_ = std::move(parts);
    agent_ = std::move(agent);
    scope_ = std::move(scope);
    takes_over_ = takes_over;
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    waiting_for_.clear();
    if (!scope_.alloc->previous().empty())
      waiting_for_.push_back(std::string{scope_.alloc->previous()});
    if (!takes_over_)
      for (const auto id : scope_.alloc->preempted())
        waiting_for_.push_back(copy(id));
    promise_ = self_->make_response_promise<hook::Answered>();
    const auto answer = promise_;
    pause_ = first_retry;
    ask();
    return answer;
  }

  void ask_again(std::uint64_t round) {
    if (round == round_ && promise_.pending()) ask();
  }

  actor::Answer<hook::Settled> cancel() {
    ++round_;
    stop_.request_stop();
    if (!moving_) {
      finish(Error{Errc::cancelled, "cancelled"});
      return hook::Settled{};
    }
    cancelled_.push_back(self_->make_response_promise<hook::Settled>());
    return cancelled_.back();
  }

private:
  void finish(const Result<>& outcome) {
    if (!promise_.pending()) return;
    const auto promise = std::exchange(promise_, {});
    if (outcome)
      promise.deliver(hook::Answered{});
    else
      promise.deliver(outcome.error());
  }

  void ask() {
    if (waiting_for_.empty()) return finish({});
    Draft<schema::plugin::AgentRequest> request;
    request->setAllocId(scope_.target->getAllocId());
    request->setAwaitEnd(text(waiting_for_.front()));
    const auto round = ++round_;
    self_->request(agent_, actor::infinite, plugin_agent::Ask{request.freeze()})
        .then([this, round](const plugin_agent::Answered& answered) { heard(round, answered); },
              [this, round](const Error& err) { failed(round, err); });
  }

  void heard(std::uint64_t round, const plugin_agent::Answered& answered) {
    if (round != round_ || !promise_.pending()) return;
    pause_ = first_retry;
    const auto previous_alloc = answered.answer->getPreviousAlloc();
    if (!previous_alloc.getEnded()) return ask();
    if (takes_over_) return take_over(previous_alloc);
    waiting_for_.pop_front();
    ask();
  }

  void failed(std::uint64_t round, const Error& err) {
    if (round != round_ || !promise_.pending()) return;
    const auto other = waiting_for_.front();
    if (!may_pass(err.code)) {  // Nobody will ever know more of it.
      log::warn(
          "client", "going on without waiting for the previous allocation",
          {{"alloc", view(scope_.target->getAllocId())}, {"previous", other}, {"error", err}});
      waiting_for_.pop_front();
      return ask();
    }
    if (pause_ == first_retry)
      log::info(
          "client", "waiting for the previous allocation",
          {{"alloc", view(scope_.target->getAllocId())}, {"previous", other}, {"error", err}});
    actor::send_self_after(self_, pause_, AskAgain{round_});
    pause_ = std::min(pause_ * 2, longest_retry);
  }

  void take_over(PreviousAlloc previous_alloc) {
    const auto group = workload::find_group(*scope_.job, scope_.alloc->task_group());
    // What is sticky and no more stays behind when the allocation comes to another node.
    if (!group || (!previous_alloc.getHere() && previous_alloc.getAddress().size() == 0))
      return finish({});
    DiskTakeover order{.alloc_root = copy(scope_.target->getAllocRoot()),
                       .previous_id = waiting_for_.front(),
                       .tasks = {},
                       .here = previous_alloc.getHere(),
                       .address = copy(previous_alloc.getAddress()),
                       .tls = previous_alloc.getTls(),
                       .token = copy(previous_alloc.getToken()),
                       .connector = parts_.peers};
    for (const auto task : group->getTasks())
      order.tasks.push_back(copy(task.getName()));
    stop_ = std::stop_source{};
    moving_ = true;
    self_
        ->request(
            parts_.steps, actor::infinite,
            blocking::make([order = std::move(order), stopped = stop_.get_token()]() -> Result<> {
              if (stopped.stop_requested()) return Error{Errc::cancelled, "cancelled"};
              return take_over_disk(order, stopped);
            }))
        .then([this](const blocking::Outcome&) { moved({}); },
              [this](const Error& err) { moved(err); });
  }

  void moved(const Result<>& outcome) {
    moving_ = false;
    if (!outcome && outcome.error().code != Errc::cancelled) tell_failure(outcome.error());
    if (stop_.stop_requested())
      finish(Error{Errc::cancelled, "cancelled"});
    else
      finish({});
    for (const auto& promise : std::exchange(cancelled_, {}))
      promise.deliver(hook::Settled{});
  }

  void tell_failure(const Error& err) {
    const auto what = fmt::format("the data of allocation {} could not be taken over: {}",
                                  waiting_for_.front(), err.what);
    log::warn("client", "the data of the previous allocation could not be taken over",
              {{"alloc", view(scope_.target->getAllocId())},
               {"previous", waiting_for_.front()},
               {"error", err}});
    Draft<schema::plugin::Notice> notice;
    notice->setAllocId(scope_.target->getAllocId());
    auto event = notice->initEvent();
    event.setType(text(workload::task_event::hook_message));
    event.setTime(parts_.unix_now());
    event.setMessage(text(what));
    self_->send(agent_, plugin_agent::Notice{notice.freeze()});
  }

  PreviousAllocSelf::pointer self_;
  PreviousAllocHookParts parts_;
  PluginAgent agent_;
  HookScope scope_;
  bool takes_over_ = false;
  std::deque<std::string> waiting_for_;
  actor::Promise<hook::Answered> promise_;
  std::vector<actor::Promise<hook::Settled>> cancelled_;
  std::stop_source stop_;
  bool moving_ = false;
  Nanoseconds pause_ = first_retry;
  std::uint64_t round_ = 0;  ///< Of the latest question.
};

PreviousAllocSelf::behavior_type previous_alloc_hook(
    PreviousAllocSelf::stateful_pointer<PreviousAllocState> self,
    PreviousAllocHookParts parts,
    PluginAgent agent,
    HookScope scope,
    bool takes_over) {
  self->state.init(std::move(parts), std::move(agent), std::move(scope), takes_over);
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [](const hook::TasksChanged&) {},
      [self](AskAgain msg) { self->state.ask_again(msg.round); },
  };
}

SpawnHook spawner(PreviousAllocHookParts parts, bool takes_over) {
  return [parts = std::move(parts), takes_over](const actor::Owner& owner, const PluginAgent& agent,
                                                const HookScope& scope) {
    return Hook{actor::spawn(owner, previous_alloc_hook, parts, agent, scope, takes_over)};
  };
}

/// What tasks are using is not to be waited for, let alone replaced.
bool is_first_start(const HookScope& scope) {
  return !scope.target->getBegun();
}

}  // namespace

HookEntry await_previous_hook(PreviousAllocHookParts parts) {
  return {.name = "await_previous_allocations",
          .phases = {HookPhase::PRERUN},
          .patience = longest_wait,
          .wanted =
              [](const HookScope& scope) {
                return is_first_start(scope)
                       && (!scope.alloc->previous().empty() || scope.alloc->preempted().size() > 0);
              },
          .spawn = spawner(std::move(parts), false)};
}

HookEntry migrate_disk_hook(PreviousAllocHookParts parts) {
  return {.name = "migrate_disk",
          .phases = {HookPhase::PRERUN},
          .patience = longest_wait,
          .wanted =
              [](const HookScope& scope) {
                const auto group = workload::find_group(*scope.job, scope.alloc->task_group());
                return is_first_start(scope) && !scope.alloc->previous().empty() && group
                       && takes_disk_over(*group);
              },
          .spawn = spawner(std::move(parts), true)};
}

}  // namespace nomad::client
