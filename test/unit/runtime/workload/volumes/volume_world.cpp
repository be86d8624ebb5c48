#include "test/unit/runtime/workload/volumes/volume_world.hpp"

#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/base/random.hpp"
#include "runtime/workload/volumes/volume_machine.hpp"

namespace nomad::test {

/// Apart, for the actions' names are those of other machines', too.
namespace volume_worlds {
namespace {

using namespace std::chrono_literals;
using namespace workload;
using workload::volume_action::Answer;
using workload::volume_action::Cancel;
using workload::volume_action::Claim;
using workload::volume_action::Do;
using workload::volume_action::Erase;
using workload::volume_action::Look;
using workload::volume_action::Release;
using workload::volume_action::Save;
using workload::volume_action::Step;
using workload::volume_action::Tell;
using workload::volume_action::Wait;

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void must(bool is_so, const std::string& what) {
  if (!is_so) throw Broken{what};
}

class VolumeWorld {
public:
  explicit VolumeWorld(std::uint64_t seed) : random_{seed} { begin(); }

  void step() {
    switch (random_.below(16)) {
      case 0:
      case 1:
        return want();
      case 2:
        return drop();
      case 3:
        if (random_.chance(0.3)) return crash();
        return turn_plugin();
      case 4:
        return cancel();
      case 5:
        return pass_time();
      case 6:
        return detach();
      default:
        return happen();
    }
  }

  /// Nobody wants anything any more, and nothing fails: nothing is left.
  void drain() {
    faults_ = false;
    for (const auto& plugin : {"p0", "p1"})
      set_plugin(plugin, true);
    for (const auto& alloc : std::set<std::string>{alive_})
      drop_one(alloc);
    for (int i = 0; i < 2'000 && (!open_.empty() || machine_->size() > 0); ++i) {
      happen();
      if (open_.empty()) pass_time();
    }
    must(machine_->size() == 0, "a volume is never given back");
    must(published_.empty(), "something stays published");
    must(staged_.empty(),
         "something stays staged: " + (staged_.empty() ? std::string{} : *staged_.begin()));
    must(claims_.empty(), "a claim is kept for nothing");
    must(saved_.empty(), "a row is kept for nothing");
    must(tickets_.empty(), "a ticket is never answered");
  }

private:
  /// An action that is under way.
  struct Open {
    VolumeAction action;
  };

  void begin() {
    machine_.emplace();
    mounted_.clear();
    tickets_.clear();
    open_.clear();
    seen_.clear();
    wake_.reset();
    std::vector<VolumeRow> rows;
    for (const auto& [key, row] : saved_)
      rows.push_back(row);
    machine_->restore(rows, alive_, now_);
    for (const auto& plugin : up_)
      machine_->plugin(plugin, stands(plugin), now_);
    take();
    // What lives asks again; what is over says so again.
    for (const auto& alloc : alive_)
      if (specs_.contains(alloc)) acquire(specs_.at(alloc));
  }

  static VolumeMachine::Plugin stands(const std::string& plugin) {
    return {"/" + plugin, plugin == "p0"};
  }

  static std::string plugin_of(const MountSpec& spec) { return spec.volume == "v2" ? "p1" : "p0"; }

  static std::string target_of(const VolumeRow& row) {
    return row.directory + '/' + target_path(row);
  }

  static std::string staging_of(const VolumeRow& row) {
    return row.directory + '/' + staging_path(row);
  }

  // -- what happens by chance

  void want() {
    if (alive_.size() >= 5) return;
    const auto alloc = fmt::format("a{}", ++last_alloc_);
    const MountSpec spec{.alloc = alloc,
                         .ns = "default",
                         .volume = fmt::format("v{}", random_.below(3)),
                         .usage = random_.chance(0.7) ? "rw" : "ro"};
    alive_.insert(alloc);
    specs_[alloc] = spec;
    acquire(spec);
  }

  void acquire(const MountSpec& spec) {
    const auto ticket = ++last_ticket_;
    tickets_[ticket] = {spec.alloc, true};
    machine_->acquire(spec, ticket, now_);
    take();
  }

  void drop() {
    if (alive_.empty()) return;
    drop_one(*std::next(alive_.begin(), static_cast<std::ptrdiff_t>(random_.below(alive_.size()))));
  }

  void drop_one(std::string alloc) {
    alive_.erase(alloc);
    mounted_.erase(alloc);
    const auto ticket = ++last_ticket_;
    tickets_[ticket] = {alloc, false};
    machine_->drop(alloc, ticket, now_);
    take();
  }

  void detach() {
    const auto ticket = ++last_ticket_;
    tickets_[ticket] = {"", false};
    machine_->detach("default", fmt::format("v{}", random_.below(3)), "", ticket, now_);
    take();
  }

  void cancel() {
    for (const auto& [ticket, of] : tickets_) {
      if (!of.second || !random_.chance(0.3)) continue;
      const auto alloc = of.first;
      machine_->cancel(ticket, now_);
      take();
      alive_.erase(alloc);
      return;
    }
  }

  void turn_plugin() {
    const std::string plugin = random_.chance(0.5) ? "p0" : "p1";
    set_plugin(plugin, !up_.contains(plugin));
  }

  void set_plugin(const std::string& plugin, bool is_up) {
    if (is_up)
      up_.insert(plugin);
    else
      up_.erase(plugin);
    machine_->plugin(plugin, is_up ? std::optional{stands(plugin)} : std::nullopt, now_);
    take();
  }

  void pass_time() {
    now_ = wake_ ? std::max(now_, *wake_) : now_ + 1s;
    wake_.reset();
    machine_->look(now_);
    take();
  }

  /// What was under way may have had its effect, and nobody hears of it.
  void crash() {
    for (auto& open : std::exchange(open_, {}))
      if (random_.chance(0.5)) std::visit([this](auto& it) { effect(it); }, open.action);
    begin();
  }

  void happen() {
    if (open_.empty()) return;
    const auto at = open_.begin() + static_cast<std::ptrdiff_t>(random_.below(open_.size()));
    const auto open = *at;
    open_.erase(at);
    std::visit([this](auto it) { answer(it); }, open.action);
    take();
  }

  // -- what actions do

  void take() {
    for (auto actions = machine_->take(); !actions.empty(); actions = machine_->take())
      for (auto& action : actions)
        std::visit([this](auto& it) { perform(it); }, action);
    for (const auto& alloc : mounted_)
      must(published_.contains(alloc), "a volume that is in use is not mounted any more");
  }

  template <class Action>
  void perform(Action& it) {
    open_.push_back({it});
  }

  void perform(Look& it) {
    seen_[it.operation] = seen_of(it.row);
    open_.push_back({it});
  }

  void perform(Erase& it) { saved_.erase(it.key); }

  void perform(Tell&) {}

  void perform(Cancel&) {}

  void perform(Wait& it) { wake_ = it.until; }

  void perform(Release& it) {
    if (it.detached)
      must(!published_.contains(it.row.spec.alloc), "a claim is given back of what is mounted");
    open_.push_back({it});
  }

  void perform(Do& it) {
    for (const auto& open : open_)
      if (const auto* const other = std::get_if<Do>(&open.action))
        must(staging_of(other->row) != staging_of(it.row) || other->step == Step::publish
                 || other->step == Step::unpublish || it.step == Step::publish
                 || it.step == Step::unpublish,
             "two steps of one staging at a time");
    must(saved_.contains(it.row.key()) && saved_.at(it.row.key()).touched,
         "a step begins that is not written down");
    if (it.step == Step::publish && it.row.stages)
      must(staged_.contains(staging_of(it.row)), "it is published without being staged");
    if (it.step == Step::unstage) must_not_be_used(it.row);
    open_.push_back({it});
  }

  void perform(Answer& it) {
    const auto found = tickets_.extract(it.ticket);
    must(!found.empty(), "a ticket is answered that is not open");
    const auto& [alloc, acquires] = found.mapped();
    if (!acquires || !alive_.contains(alloc)) return;
    if (!it.outcome) {
      alive_.erase(alloc);  // It fails, and is dropped.
      failed_.push_back(alloc);
      return;
    }
    must(published_.contains(alloc), "it is said to be mounted, and is not");
    must(claims_.contains(alloc), "it is mounted without a claim");
    mounted_.insert(alloc);
  }

  void must_not_be_used(const VolumeRow& row) const {
    for (const auto& [alloc, other] : published_)
      must(staging_of(other) != staging_of(row), "it is unstaged while it is published");
  }

  // -- their effects, and what is answered

  void effect(Save& it) { saved_[it.row.key()] = it.row; }

  void effect(Claim& it) { claims_.insert(it.row.spec.alloc); }

  void effect(Release& it) {
    if (it.detached) claims_.erase(it.row.spec.alloc);
  }

  void effect(Do& it) {
    switch (it.step) {
      case Step::stage:
        staged_.insert(staging_of(it.row));
        return;
      case Step::publish:
        published_[it.row.spec.alloc] = it.row;
        return;
      case Step::unpublish:
        published_.erase(it.row.spec.alloc);
        return;
      case Step::unstage:
        must_not_be_used(it.row);
        staged_.erase(staging_of(it.row));
        return;
    }
  }

  template <class Action>
  void effect(Action&) {}

  void answer(Save& it) {
    effect(it);
    machine_->saved(it.operation, now_);
  }

  void answer(Claim& it) {
    if (faults_ && random_.chance(0.3)) {
      if (random_.chance(0.3)) effect(it);
      machine_->not_claimed(it.operation, {{Errc::conflict, "others"}, random_.chance(0.8)}, now_);
      return;
    }
    effect(it);
    machine_->claimed(it.operation, {plugin_of(it.row.spec), "ext-" + it.row.spec.volume}, now_);
  }

  VolumeMachine::Mounted seen_of(const VolumeRow& row) const {
    const auto published = published_.find(row.spec.alloc);
    return {published != published_.end() && target_of(published->second) == target_of(row),
            staged_.contains(staging_of(row))};
  }

  /// What it has seen may be of the moment when it began.
  void answer(Look& it) {
    const auto seen = seen_.extract(it.operation);
    const bool is_old = !seen.empty() && random_.chance(0.5);
    machine_->looked(it.operation, is_old ? seen.mapped() : seen_of(it.row), now_);
  }

  void answer(Do& it) {
    const bool fails = faults_ && (random_.chance(0.25) || !up_.contains(it.row.plugin));
    if (!fails || random_.chance(0.4)) effect(it);
    std::optional<VolumeMachine::Refusal> refusal;
    if (fails) refusal = {{Errc::unavailable, "no"}, random_.chance(0.5)};
    machine_->done(it.operation, refusal, now_);
  }

  void answer(Release& it) {
    const bool fails = faults_ && random_.chance(0.3);
    if (!fails || random_.chance(0.4)) effect(it);
    machine_->released(it.operation, !fails, now_);
    for (const auto& alloc : std::exchange(failed_, {}))
      drop_one(alloc);
  }

  template <class Action>
  void answer(Action&) {}

  Random random_;
  std::optional<VolumeMachine> machine_;
  VolumeMachine::Time now_{1s};
  std::optional<VolumeMachine::Time> wake_;
  std::vector<Open> open_;
  bool faults_ = true;
  std::uint64_t last_ticket_ = 0, last_alloc_ = 0;
  /// Who it is of, and whether it acquires.
  std::map<std::uint64_t, std::pair<std::string, bool>> tickets_;
  std::map<std::string, MountSpec> specs_;
  std::vector<std::string> failed_;
  std::map<std::uint64_t, VolumeMachine::Mounted> seen_;  ///< By operation.

  // What outlives an agent.
  std::map<std::string, VolumeRow> saved_;
  std::map<std::string, VolumeRow> published_;  ///< By allocation.
  std::set<std::string> staged_, claims_, alive_, up_{"p0", "p1"};
  std::set<std::string> mounted_;  ///< Allocations that were told so by this agent.
};

}  // namespace
}  // namespace volume_worlds

std::optional<std::string> run_volume_world(std::uint64_t seed) {
  try {
    volume_worlds::VolumeWorld world{seed};
    for (int i = 0; i < 400; ++i)
      world.step();
    world.drain();
  } catch (const volume_worlds::Broken& broken) {
    return broken.what();
  }
  return {};
}

}  // namespace nomad::test
