// TaskTemplates: decides for the templates of one task which of them are to be rendered when, when
// the task may start, and what is done to it after a change. Times go in, decisions come out: no
// clock, file or actor.
//
// (1) Before the task has been let start for the first time, a template is rendered as soon as
//     something that it asks for has come. After that, changes are gathered as `wait` says.
// (2) One rendering at a time: what changes meanwhile is rendered after it.
// (3) What was written before a start needs nothing else: the task starts with it. What is written
//     after the start was allowed and before the task runs is dealt with when it runs, so nothing
//     is lost in between. (Nomad finds no running task then, and forgets it.)
//     An agent that dies before it has dealt with it leaves a note (`unsettled`), which the next
//     one hands back if the task still runs.
// (4) A script that is to run on the first rendering, too, runs once the task runs with that, and
//     not in one that was found running.
// (5) Changes that are dealt with together are one plan (runtime/template/change); the next one is
//     made when the last has been carried out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/template/change/change_plan.hpp"
#include "runtime/template/change/quiet_time.hpp"
#include "runtime/template/cluster_query.hpp"

namespace nomad::workload {

/// What a template's job says, with the bounds of the client.
struct TemplateTerms {
  templates::ChangeRule rule;
  Nanoseconds wait_min{0};
  Nanoseconds wait_max{0};
  bool once = false;  ///< What it asks for is not followed when it has been rendered.
};

/// What came of a rendering.
struct TemplateRendering {
  std::size_t index = 0;
  std::vector<templates::ClusterQuery> asked{};       ///< Of the cluster.
  std::vector<std::string> missing{};                 ///< Names; none: the text is whole.
  std::optional<templates::VariableQuery> awaited{};  ///< What of that is a variable.
  bool written = false;                               ///< The file has another text now.
};

class TaskTemplates {
public:
  using Time = Nanoseconds;  ///< Since any fixed moment.

  explicit TaskTemplates(const std::vector<TemplateTerms>& terms);

  // What happens to the task.

  /// It is about to start, or was found running. `anew`: all is rendered once more before.
  void begin(bool is_running, bool anew);

  /// `is_ready` was acted upon: it starts.
  void released() { holds_start_ = false; }

  void started();
  void exited();

  // What happens to the templates.

  /// There is another answer to `query`.
  void news(const templates::ClusterQuery& query, Time now);
  /// A file that template `index` reads is another one.
  void file_changed(std::size_t index, Time now);
  /// Those that were taken last have been rendered; what of them is not `done` is due again.
  void rendered(const std::vector<TemplateRendering>& done);

  /// The last plan has been carried out.
  void acted() { acting_ = false; }

  /// An earlier agent had written these and not dealt with them. Nothing of it counts for a task
  /// that has not been found running.
  void resume(const std::set<std::size_t>& which);

  // What to do.

  /// The templates to be rendered now; `rendered` follows.
  std::vector<std::size_t> take_due(Time now);
  /// Whether the task may start.
  bool is_ready() const;

  /// Whether what template `index` reads may still change it.
  bool follows(std::size_t index) const { return index < all_.size() && !all_[index].is_settled(); }

  /// What is to be followed of the cluster.
  std::set<templates::ClusterQuery> followed() const;
  /// What is waited for, by name.
  std::set<std::string> missing() const;
  /// The first of that which is a variable that does not exist.
  std::optional<templates::VariableQuery> awaited_variable() const;
  /// What is to be done to the task now; `acted` follows. `random`: any 64 bits.
  std::optional<templates::ChangePlan> take_plan(Time now, std::uint64_t random);
  /// When to ask again, if nothing happens before.
  std::optional<Time> due() const;

  bool is_running() const { return life_ == Life::running; }

  /// Whether what is written now is to be dealt with: the task has not been let start with it.
  bool acts_on_changes() const { return !holds_start_ || was_running_; }

  /// What was written and not dealt with; those of a plan that is being carried out among them.
  std::set<std::size_t> unsettled() const;

private:
  enum class Life : std::uint8_t { down, starting, running };

  struct One {
    templates::ChangeRule rule;
    templates::QuietTime quiet;
    std::vector<templates::ClusterQuery> asked{};
    std::vector<std::string> missing{};
    std::optional<templates::VariableQuery> awaited{};
    bool is_dirty = true;   ///< To be rendered at once.
    bool is_whole = false;  ///< It has been rendered since the last `begin` that was `anew`.
    bool once = false;      ///< When it is whole nothing changes it.

    bool is_settled() const { return once && is_whole; }
  };

  void changed(One& one, Time now) const;
  std::optional<templates::ChangePlan> take_first_scripts();

  std::vector<One> all_;
  std::vector<std::size_t> rendering_;  ///< These are under way.
  std::set<std::size_t> changed_;       ///< Written, and not dealt with.
  std::set<std::size_t> acting_on_;     ///< Of the plan that is being carried out.
  std::set<std::size_t> first_;         ///< Whose scripts run once the task does.
  std::optional<Time> plan_due_;        ///< The splay of `changed_` ends.
  Life life_ = Life::down;
  bool holds_start_ = true;   ///< The task is not let start.
  bool was_running_ = false;  ///< It runs although it is held.
  bool acting_ = false;
};

}  // namespace nomad::workload
