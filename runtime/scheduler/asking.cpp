#include "runtime/scheduler/asking.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/attempt.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/reconcile/alloc_sets.hpp"
#include "schema/scheduling.capnp.h"

namespace nomad::scheduler {
namespace {

using schema::plugin::Decision;
using schema::plugin::Scheduling;

constexpr int attempts = attempt_limit(false);
constexpr std::size_t most_text_bytes = 512;

/// A text of the plugin's as one line of an evaluation or allocation.
std::string said(capnp::Text::Reader given) {
  auto shown = escape_controls(utf8_prefix(view(given), most_text_bytes));
  std::ranges::replace_if(
      shown, [](char sign) { return sign == '\n' || sign == '\t'; }, ' ');
  return shown;
}

Error nonsense(std::string what) {
  return {Errc::rejected, std::move(what)};
}

bool stands_for_migration(const AllocEntry& entry) {
  return entry.alloc().wants_migration() && !entry.row->terminal();
}

/// What one attempt stands on. The state is kept, for the answer comes later.
struct AttemptBasis {
  AttemptBasis(const Moment& given,
               std::shared_ptr<const DecisionInputs> made_from,
               const Object<schema::Evaluation>& eval,
               Random& random)
      : state{given.state}, inputs{std::move(made_from)}, attempt{moment, eval, random, {}} {}

  state::Snapshot state;
  std::shared_ptr<const DecisionInputs> inputs;
  Moment moment{state, inputs->now, &inputs->under_way, inputs->region};
  Attempt attempt;
  NodeChoice nodes{};
  std::vector<const AllocEntry*> staying{};          ///< That the plugin is shown.
  std::unordered_set<const AllocEntry*> outdated{};  ///< Of these.
  std::unordered_map<std::string_view, const AllocEntry*> by_id{};
  std::unordered_map<std::string_view, const Object<schema::Node>*> node_by_id{};
};

class AskingScheduler final : public Scheduler, private Question {
public:
  AskingScheduler(Object<schema::Evaluation> eval, std::uint64_t salt, Progress before)
      : eval_{eval},
        salt_{salt},
        progress_{std::move(before)},
        outcome_{std::move(eval), random_, progress_.blocked_id} {}

  Step start(const Moment& moment) override { return begin(moment); }

  Step resume(const Moment& moment, const PlanResult& result) override;

  const std::map<std::string, DesiredUpdates, std::less<>>& desired_updates() const override {
    return desired_updates_;
  }

private:
  Object<Scheduling> make(std::span<const std::string> reads) const override;
  Result<Step> answer(const Object<Decision>& decision) override;

  Step begin(const Moment& moment);
  void end_allocs(bool is_wanted);
  void stop(const AllocEntry& entry,
            std::string description,
            std::optional<schema::ClientStatus> status = {});
  void update_in_place();
  Result<> take_stops(Decision::Reader decision);
  Result<> place(Decision::Placement::Reader wish);
  Result<> leave(Decision::Unplaced::Reader rest);
  std::string next_name(const GroupSpec& group);
  void fail(const GroupSpec& group, std::int64_t count, MetricBuilder metrics);
  Step conclude();

  const JobSpec& job() const { return *basis_->attempt.job; }

  DesiredUpdates& changes(std::string_view group) { return desired_updates_[std::string{group}]; }

  Object<schema::Evaluation> eval_;
  std::uint64_t salt_;
  Random random_{0};  ///< Of the attempt in progress.
  Progress progress_;
  EvalOutcome outcome_;
  std::map<std::string, DesiredUpdates, std::less<>> desired_updates_;

  // Of the attempt in progress.
  std::unique_ptr<AttemptBasis> basis_;         ///< Null once it is decided.
  std::set<std::string, std::less<>> stopped_;  ///< By the decision.
  std::set<std::string, std::less<>> replaced_;
  std::map<std::string_view, NameIndex> names_;
  std::optional<Step> finished_;
};

Step AskingScheduler::resume(const Moment& moment, const PlanResult& result) {
  auto end = settle(moment, result, *finished_, progress_, outcome_, attempts);
  return end ? std::move(*end) : begin(moment);
}

/// What needs no choice; then the question, or the end.
Step AskingScheduler::begin(const Moment& moment) {
  inputs_ = inputs_of(eval_, moment, progress_, salt_);
  random_ = Random{decision_seed(*inputs_)};
  ++progress_.attempts;
  outcome_.begin(moment.state.index());
  desired_updates_.clear();
  names_.clear();
  stopped_.clear();
  replaced_.clear();
  basis_ = std::make_unique<AttemptBasis>(moment, inputs_, eval_, random_);
  auto& basis = *basis_;
  outcome_.set_quota(basis.attempt.quota_name());
  basis.attempt.finish_lost_stops();
  const bool is_wanted = basis.attempt.job != nullptr && !job().is_stopped();
  end_allocs(is_wanted);
  if (!is_wanted) return conclude();
  for (const auto& group : job().groups()) {
    outcome_.set_queued(group.name, 0);
    changes(group.name);
  }
  update_in_place();
  basis.nodes = choose_nodes(basis.state, job().reader());
  for (const auto* node : basis.nodes.ready)
    basis.node_by_id.emplace(view((*node)->getId()), node);
  for (const auto* entry : basis.staying)
    basis.by_id.emplace(entry->id(), entry);
  Step step;
  step.question = this;
  return step;
}

void AskingScheduler::stop(const AllocEntry& entry,
                           std::string description,
                           std::optional<schema::ClientStatus> status) {
  basis_->attempt.stop(
      {entry.row, schema::DesiredStatus::STOP, std::move(description), status, {}, {}});
  ++changes(entry.alloc().task_group()).stop;
}

/// Ends what has to end, whoever is asked, and notes what stays.
void AskingScheduler::end_allocs(bool is_wanted) {
  auto& basis = *basis_;
  AllocSet open;
  for (const auto& entry : basis.attempt.allocs)
    if (!entry.row->server_terminal) open.push_back(&entry);
  auto sets = filter_by_taint(open, basis.attempt.tainted, basis.moment.now);
  for (const auto* entry : sets.lost)
    stop(*entry, std::string{alloc_lost}, schema::ClientStatus::LOST);
  const auto update_row = [&](const AllocEntry& entry, RowUpdate update) {
    basis.attempt.place(make_updated_row(update, entry.row->alloc, basis.attempt.keep_metric(entry),
                                         basis.moment.now),
                        {});
  };
  for (const auto* set :
       {&sets.untainted, &sets.ignore, &sets.migrate, &sets.disconnecting, &sets.reconnecting}) {
    for (const auto* entry : *set) {
      const bool fits = is_wanted && job().find(entry->alloc().task_group()) != nullptr;
      if (!fits && !entry->row->terminal())
        stop(*entry, std::string{alloc_not_needed});
      else if (fits && stands_for_migration(*entry))
        stop(*entry, std::string{alloc_node_tainted});
      else if (fits)
        basis.staying.push_back(entry);
    }
  }
  const auto stays = [&](const AllocEntry* entry) {
    return std::ranges::find(basis.staying, entry) != basis.staying.end();
  };
  for (const auto* entry : sets.disconnecting)
    if (stays(entry))
      update_row(
          *entry,
          {entry, schema::ClientStatus::UNKNOWN, schema::ClientStatus::UNKNOWN, alloc_unknown, {}});
  for (const auto* entry : sets.reconnecting)
    if (stays(entry)) update_row(*entry, {entry, {}, entry->alloc().client_status(), {}, {}});
}

void AskingScheduler::update_in_place() {
  auto& basis = *basis_;
  VersionComparison versions;
  for (const auto* entry : basis.staying) {
    if (entry->row->client_terminal || !is_older(*entry, job())
        || basis.attempt.taint_of(*entry) != nullptr)
      continue;
    const auto& group = *job().find(entry->alloc().task_group());
    const auto selection = versions.tasks_updated(*entry, job(), group)
                               ? std::nullopt
                               : select_in_place(basis.attempt, *entry, group);
    if (!selection) {
      basis.outdated.insert(entry);
      continue;
    }
    ++changes(group.name).in_place_update;
    basis.attempt.place(make_in_place_row(*entry, view(eval_->getId()), job(), group, *selection,
                                          basis.attempt.keep_metric(*entry),
                                          basis.attempt.options.memory_oversubscription),
                        {});
  }
}

// -- the question ---------------------------------------------------------------------------------

Object<Scheduling> AskingScheduler::make(std::span<const std::string> reads) const {
  auto& basis = *basis_;
  Draft<Scheduling> draft;
  draft->setType(eval_->getType());
  draft->setEvalId(eval_->getId());
  draft->setAttempt(progress_.attempts - 1);
  draft->setNow(basis.moment.now);
  draft->setSeed(decision_seed(*basis.inputs));
  draft->setJob(job().reader());
  draft->setDryRun(eval_->getAnnotatePlan());
  auto allocs = draft->initAllocs(static_cast<unsigned>(basis.staying.size()));
  for (unsigned i = 0; i < allocs.size(); ++i) {
    const auto& entry = *basis.staying[i];
    auto to = allocs[i];
    to.setId(text(entry.alloc().id()));
    to.setName(text(entry.alloc().name()));
    to.setGroup(text(entry.alloc().task_group()));
    to.setNodeId(text(entry.alloc().node_id()));
    to.setStatus(entry.alloc().client_status());
    to.setOutdated(basis.outdated.contains(&entry));
    to.setCreateTime(entry.alloc().create_time());
  }
  auto nodes = draft->initNodes(static_cast<unsigned>(basis.nodes.ready.size()));
  for (unsigned i = 0; i < nodes.size(); ++i) {
    const auto node = **basis.nodes.ready[i];
    auto to = nodes[i];
    to.setId(node.getId());
    to.setName(node.getName());
    to.setDatacenter(node.getDatacenter());
    to.setNodeClass(node.getNodeClass());
    auto values = to.initValues(static_cast<unsigned>(reads.size()));
    for (unsigned j = 0; j < values.size(); ++j) {
      const std::string value{resolve_target(reads[j], node).value_or("")};
      values.set(j, text(value));
    }
    const auto* proposed = basis.attempt.proposal.node(view(node.getId()));
    if (proposed == nullptr) continue;
    const auto left = proposed->capacity().left(proposed->usage().total());
    to.setCpuMhz(left.cpu_mhz);
    to.setMemoryMb(left.memory_mb);
    to.setDiskMb(left.disk_mb);
  }
  return draft.freeze();
}

// -- the answer -----------------------------------------------------------------------------------

Result<Step> AskingScheduler::answer(const Object<Decision>& decision) {
  const auto given = *decision;
  if (given.getStops().size() > most_decided || given.getPlacements().size() > most_decided
      || given.getUnplaced().size() > most_decided)
    return nonsense(fmt::format("it decides more than {} things at once", most_decided));
  NOMAD_TRY(take_stops(given));
  for (const auto wish : given.getPlacements())
    NOMAD_TRY(place(wish));
  for (const auto rest : given.getUnplaced())
    NOMAD_TRY(leave(rest));
  return conclude();
}

Result<> AskingScheduler::take_stops(Decision::Reader decision) {
  for (const auto order : decision.getStops()) {
    const auto id = view(order.getAllocId());
    const auto found = basis_->by_id.find(id);
    if (found == basis_->by_id.end())
      return nonsense(fmt::format("it stops an allocation \"{}\" that it was not shown",
                                  said(order.getAllocId())));
    if (!stopped_.emplace(id).second) continue;
    const auto& entry = *found->second;
    basis_->attempt.withdraw_update(entry);
    const auto description = said(order.getDescription());
    stop(entry, description.empty() ? "stopped by its scheduler" : description);
  }
  return {};
}

/// The lowest free one of the group's names; beyond the count the plugin may have several of one.
std::string AskingScheduler::next_name(const GroupSpec& group) {
  auto known = names_.find(group.name);
  if (known == names_.end()) {
    std::vector<std::string_view> in_use;
    for (const auto* entry : basis_->staying) {
      if (entry->alloc().task_group() != group.name || entry->row->client_terminal) continue;
      if (!stopped_.contains(entry->id())) in_use.push_back(entry->name());
    }
    known = names_
                .emplace(group.name, NameIndex{view(job().reader().getId()), group.name,
                                               static_cast<std::uint64_t>(group.count), in_use})
                .first;
  }
  if (auto free = known->second.next_free()) return *free;
  return known->second.next(1).front();
}

Result<> AskingScheduler::place(Decision::Placement::Reader wish) {
  auto& basis = *basis_;
  const auto* group = job().find(view(wish.getGroup()));
  if (group == nullptr)
    return nonsense(
        fmt::format("it places a group \"{}\" that the job has not", said(wish.getGroup())));
  const auto node = basis.node_by_id.find(view(wish.getNodeId()));
  if (node == basis.node_by_id.end())
    return nonsense(
        fmt::format("it places on a node \"{}\" that it was not shown", said(wish.getNodeId())));
  const AllocEntry* previous = nullptr;
  if (wish.getReplaces().size() > 0) {
    const auto replaced = basis.by_id.find(view(wish.getReplaces()));
    const bool ends
        = replaced != basis.by_id.end()
          && (replaced->second->row->client_terminal || stopped_.contains(replaced->first));
    if (!ends)
      return nonsense(fmt::format("it replaces an allocation \"{}\" that does not end",
                                  said(wish.getReplaces())));
    if (!replaced_.emplace(replaced->first).second)
      return nonsense(
          fmt::format("it replaces an allocation \"{}\" twice", said(wish.getReplaces())));
    previous = replaced->second;
  }
  const auto name = next_name(*group);
  MetricBuilder metrics;
  metrics.set_nodes(static_cast<std::int64_t>(basis.nodes.ready.size()), basis.nodes.by_datacenter);
  SelectRequest request;
  request.alloc_name = name;
  const auto selection = basis.attempt.selector->select_on(*node->second, *group, request, metrics);
  if (!selection) {
    names_.at(group->name).release(alloc_index(name));
    metrics.exhaust_resources(*group);
    fail(*group, 1, std::move(metrics));
    return {};
  }
  NewRow row;
  row.eval_id = view(eval_->getId());
  row.name = name;
  row.job = basis.attempt.job.get();
  row.group = group;
  row.selection = &*selection;
  row.previous = previous;
  row.reschedule
      = previous != nullptr && previous->alloc().client_status() == schema::ClientStatus::FAILED;
  row.metric_number = basis.attempt.add_metric(group->name, node->first, metrics);
  row.memory_oversubscription = basis.attempt.options.memory_oversubscription;
  row.now = basis.moment.now;
  basis.attempt.place(make_row(row, random_), group->name);
  ++changes(group->name).place;
  return {};
}

void AskingScheduler::fail(const GroupSpec& group, std::int64_t count, MetricBuilder metrics) {
  outcome_.add_queued(group.name, count);
  if (!outcome_.coalesce(group)) outcome_.fail(group.name, std::move(metrics));
}

Result<> AskingScheduler::leave(Decision::Unplaced::Reader rest) {
  const auto* group = job().find(view(rest.getGroup()));
  if (group == nullptr)
    return nonsense(
        fmt::format("it leaves out a group \"{}\" that the job has not", said(rest.getGroup())));
  if (rest.getCount() == 0) return {};
  MetricBuilder metrics;
  metrics.set_nodes(static_cast<std::int64_t>(basis_->nodes.ready.size()),
                    basis_->nodes.by_datacenter);
  const auto reason = said(rest.getReason());
  metrics.filtered({}, reason.empty() ? "its scheduler found no node" : reason);
  fail(*group, rest.getCount(), std::move(metrics));
  return {};
}

/// What a plugin looks at is not known: whatever happens to a node may help.
Step AskingScheduler::conclude() {
  auto& attempt = basis_->attempt;
  const auto inputs = std::exchange(inputs_, nullptr);
  const auto index = basis_->state.index();
  const bool failed = outcome_.has_failures();
  attempt.eligibility.set_job(true);
  Step end;
  end.inputs = inputs;
  end.lacks_room = failed;
  if (failed && !outcome_.was_blocked() && outcome_.blocked_id().empty())
    attempt.plan.evaluations.push_back(
        outcome_.make_blocked(attempt.eligibility, index, inputs->now));
  const auto last = outcome_.was_blocked() && failed
                        ? outcome_.reblocked(attempt.eligibility, index, inputs->now)
                        : outcome_.finished(schema::EvalStatus::COMPLETE, {}, inputs->now);
  end.evaluations.push_back(last);
  if (attempt.plan.is_no_op()) {
    end.evaluations.insert(end.evaluations.begin(), attempt.plan.evaluations.begin(),
                           attempt.plan.evaluations.end());
    basis_.reset();
    return end;
  }
  attempt.plan.desired_updates = desired_updates_;
  attempt.plan.completion = last;
  Step step;
  step.inputs = inputs;
  step.lacks_room = failed;
  step.plan = std::move(attempt.plan);
  finished_ = std::move(end);
  basis_.reset();
  return step;
}

}  // namespace

std::unique_ptr<Scheduler> make_asking_scheduler(Object<schema::Evaluation> eval,
                                                 std::uint64_t salt,
                                                 const Progress& before) {
  return std::make_unique<AskingScheduler>(std::move(eval), salt, before);
}

}  // namespace nomad::scheduler
