// HookInstance: one hook for one task or allocation, and its way to the runner. Internal to the
// SDK.
#pragma once

#include <memory>

#include "runtime/plugin/sdk/kinds.hpp"
#include "runtime/plugin/sdk/session_agent.hpp"

namespace nomad::plugin {

class HookInstance final : public HookRunner {
public:
  HookInstance(std::uint64_t id, Wire& wire, SessionAgent& agent)
      : id_{id}, wire_{wire}, agent_{agent} {}

  void make(const HookFactory& factory) { hook_ = factory(*this); }

  Hook& hook() { return *hook_; }

  /// A phase; its answer bears `number`.
  void run(std::uint64_t number, const FrameWords& words);

  /// Answered when nothing is open.
  void cancel(std::uint64_t number);

  Agent& agent() override { return agent_; }

  void event(std::string_view type,
             std::string_view message,
             const std::map<std::string, std::string>& details) override;
  void tell(schema::plugin::Notice::Reader notice) override;
  void ask(schema::plugin::AgentRequest::Reader request, Answered then) override;
  void restart(std::string_view reason, bool failure, std::function<void(Result<>)> then) override;

private:
  struct Life {
    int open = 0;
    std::vector<std::uint64_t> cancelled;
  };

  HookReply reply_to(std::uint64_t number);

  std::uint64_t id_;
  Wire& wire_;
  SessionAgent& agent_;
  FrameWords request_, alloc_, job_, target_;  ///< The newest of each.
  std::shared_ptr<Life> life_ = std::make_shared<Life>();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< Whoever asks looks at it.
  std::unique_ptr<Hook> hook_;  ///< Last: it may use the others in its destructor.
};

}  // namespace nomad::plugin
