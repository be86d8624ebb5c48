#include "actors/client/hooks/function_hook.hpp"

#include <memory>

#include "actors/core/supervise.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::client {

namespace {

Object<schema::plugin::HookAnswer> to_object(const HookResult& result) {
  if (!result.done && result.data.empty() && result.env.empty() && result.mounts.empty()) return {};
  Draft<schema::plugin::HookAnswer> draft;
  draft->setDone(result.done);
  fill_entries(draft->initData(result.data.size()), result.data);
  fill_entries(draft->initEnvironment(result.env.size()), result.env);
  auto mounts = draft->initMounts(static_cast<unsigned>(result.mounts.size()));
  for (unsigned i = 0; i < mounts.size(); ++i) {
    mounts[i].setTaskPath(text(result.mounts[i].task_path));
    mounts[i].setHostPath(text(result.mounts[i].host_path));
    mounts[i].setReadOnly(result.mounts[i].read_only);
    mounts[i].setPropagation(text(result.mounts[i].propagation));
  }
  return draft.freeze();
}

using Functions = std::shared_ptr<const std::vector<std::pair<HookPhase, HookFunction>>>;

class FunctionHookState {
public:
  static constexpr const char* name = "function_hook";

  explicit FunctionHookState(Hook::pointer self) : self_{self} {}

  void init(Functions functions, BlockingPool steps, HookScope scope) {
    functions_ = std::move(functions);
    steps_ = std::move(steps);
    scope_ = std::move(scope);
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    const auto* const function = function_of(msg.request->getPhase());
    if (function == nullptr) return hook::Answered{};
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    auto promise = self_->make_response_promise<hook::Answered>();
    if (running_++ == 0) stop_ = std::stop_source{};
    HookCall call{scope_, std::move(msg.request), stop_.get_token(), std::move(msg.environments)};
    self_
        ->request(
            steps_, actor::infinite,
            blocking::make([function = *function, call = std::move(call)]() -> Result<HookResult> {
              if (call.stopped.stop_requested()) return Error{Errc::cancelled, "cancelled"};
              return function(call);
            }))
        .then(
            [this, promise](blocking::Outcome& outcome) {
              promise.deliver(hook::Answered{to_object(outcome.as<HookResult>())});
              over();
            },
            [this, promise](const Error& err) {
              promise.deliver(err);
              over();
            });
    return promise;
  }

  actor::Answer<hook::Settled> cancel() {
    if (running_ == 0) return hook::Settled{};
    stop_.request_stop();
    cancelled_.push_back(self_->make_response_promise<hook::Settled>());
    return cancelled_.back();
  }

private:
  const HookFunction* function_of(HookPhase phase) const {
    for (const auto& [of, function] : *functions_)
      if (of == phase) return &function;
    return nullptr;
  }

  void over() {
    if (--running_ > 0) return;
    for (const auto& promise : std::exchange(cancelled_, {}))
      promise.deliver(hook::Settled{});
  }

  Hook::pointer self_;
  Functions functions_;
  BlockingPool steps_;
  HookScope scope_;
  std::stop_source stop_;
  int running_ = 0;
  std::vector<actor::Promise<hook::Settled>> cancelled_;
};

Hook::behavior_type function_hook_actor(Hook::stateful_pointer<FunctionHookState> self,
                                        Functions functions,
                                        BlockingPool steps,
                                        HookScope scope) {
  self->state.init(std::move(functions), std::move(steps), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [](const hook::TasksChanged&) {},
  };
}

}  // namespace

SpawnHook function_hook(BlockingPool steps,
                        std::vector<std::pair<HookPhase, HookFunction>> functions) {
  auto shared = std::make_shared<const std::vector<std::pair<HookPhase, HookFunction>>>(
      std::move(functions));
  return [steps = std::move(steps), shared](const actor::Owner& owner, const PluginAgent&,
                                            const HookScope& scope) {
    return actor::spawn(owner, function_hook_actor, shared, steps, scope);
  };
}

}  // namespace nomad::client
