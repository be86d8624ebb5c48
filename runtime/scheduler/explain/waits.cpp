#include "runtime/scheduler/explain/waits.hpp"

#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/enum_name.hpp"
#include "runtime/object/job_kind.hpp"

namespace nomad::scheduler::explain {
namespace {

using schema::ClientStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

/// Evaluations of one status that are named.
constexpr std::size_t most_evals = 4;

Wait of_eval(std::string what, schema::Evaluation::Reader eval, std::string_view rest) {
  return {std::move(what), fmt::format("evaluation {} {}", short_id(view(eval.getId())), rest),
          copy(eval.getId())};
}

Wait blocked(schema::Evaluation::Reader eval) {
  if (const auto quota = view(eval.getQuotaLimitReached()); !quota.empty())
    return of_eval("quota", eval, fmt::format("is blocked until the quota \"{}\" has room", quota));
  if (eval.getTriggeredBy() == EvalTrigger::MAX_PLAN_ATTEMPTS)
    return of_eval("blocked-evaluation", eval,
                   "is blocked: its plans and those of others came in each other's way");
  return of_eval("blocked-evaluation", eval, "is blocked until a node that may run it has room");
}

Wait pending(const state::Snapshot& state, schema::Evaluation::Reader eval, std::int64_t now) {
  if (eval.getWaitUntil() > now) {
    const auto when = format_rfc3339(eval.getWaitUntil() / 1'000'000'000 * 1'000'000'000);
    if (eval.getTriggeredBy() == EvalTrigger::ALLOC_FAILURE)
      return of_eval("reschedule-delay", eval,
                     fmt::format("tries again at {} what has failed", when));
    if (eval.getTriggeredBy() == EvalTrigger::MAX_DISCONNECT_TIMEOUT)
      return of_eval("disconnect", eval,
                     fmt::format("gives up at {} what a client that is away has", when));
    return of_eval("delay", eval, fmt::format("begins at {}", when));
  }
  if (state.scheduler_configuration()->getPauseEvalBroker())
    return of_eval("paused-broker", eval, "waits: the eval broker is paused");
  return of_eval("pending-evaluation", eval, "waits for a scheduler");
}

void add_evals(const state::Snapshot& state,
               schema::Job::Reader job,
               std::int64_t now,
               std::vector<Wait>& out) {
  for (const auto status : {EvalStatus::BLOCKED, EvalStatus::PENDING}) {
    std::size_t named = 0;
    for (const auto& entry :
         state.evals_by_job(view(job.getNamespace()), view(job.getId()), status)) {
      if (named++ == most_evals) break;
      const auto& eval = entry.value();
      out.push_back(status == EvalStatus::BLOCKED ? blocked(*eval) : pending(state, *eval, now));
    }
  }
}

/// What the deployment waits for, of this group; empty: nothing.
std::string deployment_wait(schema::Deployment::Reader deployment,
                            schema::DeploymentGroup::Reader group) {
  using Is = schema::DeploymentState;
  if (deployment.getStatus() == Is::PAUSED) return "is paused";
  if (deployment.getStatus() == Is::BLOCKED || deployment.getStatus() == Is::PENDING)
    return "waits for other regions";
  if (group.getDesiredCanaries() > 0 && !group.getPromoted())
    return group.getAutoPromote() ? "waits until its canaries are healthy"
                                  : "waits for the promotion of its canaries";
  if (group.getHealthyAllocs() < group.getDesiredTotal())
    return fmt::format("waits for health: {} of {} are healthy", group.getHealthyAllocs(),
                       group.getDesiredTotal());
  return {};
}

void add_deployment(const state::Snapshot& state,
                    schema::Job::Reader job,
                    std::string_view group,
                    std::vector<Wait>& out) {
  const auto newest = state.latest_deployment(view(job.getNamespace()), view(job.getId()));
  if (!newest || !state::is_active(newest->getStatus())) return;
  for (const auto entry : newest->getTaskGroups()) {
    if (view(entry.getKey()) != group) continue;
    const auto wait = deployment_wait(*newest, entry.getValue());
    if (wait.empty()) continue;
    out.push_back({"deployment",
                   fmt::format("deployment {} {}", short_id(view(newest->getId())), wait),
                   copy(newest->getId())});
  }
}

/// Those that have to end before the allocation begins.
void add_predecessor(const state::Snapshot& state,
                     std::string_view id,
                     std::string_view what,
                     std::vector<Wait>& out) {
  const auto other = state.alloc(id);
  if (!other || other->client_terminal) return;
  out.push_back({"predecessor",
                 fmt::format("allocation {}, which it {}, has not ended", short_id(id), what),
                 std::string{id}});
}

std::string hook_of(schema::Job::Reader job, std::string_view group, std::string_view task) {
  for (const auto one : job.getTaskGroups()) {
    if (view(one.getName()) != group) continue;
    for (const auto spec : one.getTasks())
      if (view(spec.getName()) == task && spec.hasLifecycle())
        return copy(spec.getLifecycle().getHook());
  }
  return {};
}

void add_tasks(const state::AllocRow& row, std::vector<Wait>& out) {
  const auto alloc = *row.alloc;
  for (const auto entry : alloc.task_states()) {
    const auto name = view(entry.getKey());
    const auto task = entry.getValue();
    const auto hook = hook_of(*row.job, alloc.task_group(), name);
    if (task.getState() == schema::TaskRunState::RUNNING && hook == "prestart"
        && alloc.client_status() == ClientStatus::PENDING)
      out.push_back(
          {"prestart", fmt::format("prestart task \"{}\" runs; others begin after it", name)});
    if (task.getState() != schema::TaskRunState::PENDING || hook == "poststop") continue;
    const auto events = task.getEvents();
    const auto last
        = events.size() == 0 ? std::string{} : copy(events[events.size() - 1].getDisplayMessage());
    out.push_back({"task", fmt::format("task \"{}\" has not begun{}{}", name,
                                       last.empty() ? "" : ": ", last)});
  }
}

void add_node(const state::Snapshot& state, AllocView alloc, std::vector<Wait>& out) {
  const auto node = state.node(alloc.node_id());
  if (!node)
    out.push_back({"node", "its node is gone"});
  else if (node->getStatus() != schema::NodeStatus::READY)
    out.push_back({"node", fmt::format("its node is {}", enum_name(node->getStatus()))});
}

}  // namespace

std::vector<Wait> waits_of_group(const state::Snapshot& state,
                                 schema::Job::Reader job,
                                 std::string_view group,
                                 std::int64_t now) {
  std::vector<Wait> out;
  if (job.getStop()) return {Wait{"stopped", "the job is stopped"}};
  if (is_parameterized(job)) return {Wait{"launch", "the job is launched by job dispatch"}};
  if (job.hasPeriodic()) return {Wait{"launch", "the job is periodic: what it launches is placed"}};
  add_evals(state, job, now, out);
  add_deployment(state, job, group, out);
  return out;
}

std::vector<Wait> waits_of_alloc(const state::Snapshot& state,
                                 const state::AllocRef& row,
                                 std::int64_t now) {
  std::vector<Wait> out;
  const auto alloc = *row->alloc;
  if (!alloc.followup_eval_id().empty()) {
    const auto eval = state.eval(alloc.followup_eval_id());
    if (eval && eval->getStatus() == EvalStatus::PENDING) out.push_back(pending(state, *eval, now));
  }
  if (row->client_terminal) return out;
  add_node(state, alloc, out);
  if (row->server_terminal) {
    out.push_back({"stop", "it is told to stop"});
    return out;
  }
  if (alloc.client_status() == ClientStatus::UNKNOWN)
    out.push_back({"disconnect", "its client is away"});
  if (alloc.client_status() == ClientStatus::PENDING) {
    add_predecessor(state, alloc.previous(), "replaces", out);
    for (const auto id : alloc.preempted())
      add_predecessor(state, view(id), "preempts", out);
    if (alloc.task_states().size() == 0)
      out.push_back({"client", "its node has not told of its tasks yet"});
  }
  add_tasks(*row, out);
  return out;
}

}  // namespace nomad::scheduler::explain
