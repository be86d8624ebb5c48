#include "actors/client/alloc/await_end.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "actors/client/hooks/disk_takeover.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

namespace {

using AnswerPromise = actor::Promise<plugin_agent::Answered>;

constexpr std::chrono::minutes longest_question{5};
constexpr std::chrono::seconds answer_slack{60};

template <class Fill>
plugin_agent::Answered previous_alloc(Fill fill) {
  Draft<schema::plugin::AgentAnswer> answer;
  fill(answer->initPreviousAlloc());
  return {answer.freeze()};
}

void ask_servers(AllocSelf::pointer self,
                 const std::string& alloc_id,
                 const NodeQuestions& questions,
                 const AnswerPromise& promise) {
  auto question = door::make_ask(questions.node_id, [&](auto& ask) {
    ask.setAwaitPrevious(text(alloc_id));
    ask.setMaxWaitMs(std::chrono::milliseconds{longest_question}.count());
  });
  self->request(questions.servers, longest_question + answer_slack, std::move(question))
      .then(
          [promise](const door::Reply& answer) {
            promise.deliver(previous_alloc([&](auto into) {
              const auto previous = answer->getPrevious();
              into.setEnded(previous.getEnded());
              into.setAddress(previous.getHttpAddress());
              into.setTls(previous.getTls());
              into.setToken(previous.getMigrateToken());
            }));
          },
          [promise](const Error& err) { promise.deliver(err); });
}

}  // namespace

actor::Answer<plugin_agent::Answered> await_end(AllocSelf::pointer self,
                                                const AllocFacts& facts,
                                                const NodeQuestions& questions,
                                                const AllocRunnerParent& parent,
                                                const std::string& alloc_id) {
  const bool replaces = facts.alloc->previous() == alloc_id;
  const auto preempted = facts.alloc->preempted();
  bool preempts = false;
  for (const auto id : preempted)
    preempts |= view(id) == alloc_id;
  if (alloc_id.empty() || (!replaces && !preempts))
    return Error{Errc::rejected,
                 fmt::format("allocation {} has nothing to do with {}", facts.id, alloc_id)};
  const auto group = workload::find_group(*facts.job, facts.alloc->task_group());
  const bool wants_disk = replaces && group && takes_disk_over(*group);
  const auto promise = self->make_response_promise<plugin_agent::Answered>();
  self->request(parent, actor::infinite,
                alloc_runner::AwaitEnd{alloc_id, wants_disk ? facts.id : std::string{}})
      .then(
          [self, id = facts.id, questions, promise, replaces](const alloc_runner::Ended& ended) {
            if (!ended.here && replaces) return ask_servers(self, id, questions, promise);
            promise.deliver(previous_alloc([&](auto into) {
              into.setEnded(true);
              into.setHere(ended.here);
            }));
          },
          [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

}  // namespace nomad::client
