#include "actors/client/hooks/template_hook.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/client/hooks/machine_hook.hpp"
#include "actors/client/hooks/templates/render.hpp"
#include "actors/client/hooks/templates/template_actions.hpp"
#include "actors/client/hooks/templates/unsettled.hpp"
#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/templates/template_machine.hpp"

namespace nomad::client {

namespace {

using templates::ClusterQuery;
using workload::TemplateMachine;
namespace template_action = workload::template_action;

/// As long as the task is wanted: what it waits for may come at any time.
constexpr auto start_patience = std::chrono::hours{24 * 365};
/// Before something is followed again, after whoever follows for us has died.
constexpr Nanoseconds follow_pause = std::chrono::seconds{1};

/// Whoever follows for us may be asked again.
struct FollowDue {
  using is_message = void;
};

using TemplateSelf = actor::WithInternal<Hook, void(LookDue), void(FollowDue)>;

class TemplateState : public MachineHook<TemplateState, TemplateSelf, TemplateMachine> {
public:
  static constexpr const char* name = "template_hook";

  using MachineHook::MachineHook;

  ~TemplateState() {
    stop_rendering_.request_stop();
    forget_files();
  }

  void init(TemplateHookParts parts, PluginAgent agent, HookScope scope) {
    parts_ = std::move(parts);
    scope_ = std::move(scope);
    actions_.emplace(self_, std::move(agent), parts_.unix_now, scope_,
                     [this](std::string text) { failed(std::move(text)); });
    machine_.emplace(terms_of(templates_of(scope_), *parts_.settings), Random::from_system());
  }

  /// A file that template `index` has read, in that rendering, is another one.
  void file_changed(std::size_t index, std::uint64_t rendering) {
    const auto file = files_.find(index);
    if (file == files_.end() || file->second.rendering != rendering) return;
    files_.erase(file);  // It is told once, and watched again when it has been read.
    machine_->file_changed(index, now());
    carry_on();
  }

  void follow_again() {
    machine_->follow_again(now());
    carry_on();
  }

private:
  friend MachineHook;

  /// Something that templates ask for.
  struct Followed {
    ClusterDataPtr data{};    ///< The newest answer; null: none has come.
    std::uint64_t asked = 0;  ///< The question that is open; 0: none.
    bool is_refused = false;  ///< The last answer, which was told.
  };

  struct Placed {
    TemplateDestinations locations;
    std::set<std::size_t> unsettled;
  };

  /// What `file` has read for a template.
  struct FollowedFiles {
    host::FileChanges::Ticket ticket = 0;
    std::uint64_t rendering = 0;
  };

  // -- the task's life ----------------------------------------------------------------------------

  void begin() {
    stop_rendering_ = std::stop_source{};
    machine_->start(request_->getRunning(), renders_on_restart(), now());
  }

  actor::Answer<hook::Answered> poststart(const hook::Run& msg) {
    environments_ = msg.environments;
    machine_->started(now());
    carry_on();
    if (scope_.target->getDriver().getExec()) return hook::Answered{};
    for (const auto of : templates_of(scope_))
      if (view(of.getChangeMode()) == "script")
        return Error{Errc::rejected,
                     "template has change mode set to 'script' but the driver it uses does not "
                     "provide exec capability"};
    return hook::Answered{};
  }

  bool renders_on_restart() const {
    const auto task
        = workload::find_task(*scope_.alloc, *scope_.job, view(scope_.target->getTask()));
    if (task && task->hasRestartPolicy()) return task->getRestartPolicy().getRenderTemplates();
    const auto group = workload::find_group(*scope_.job, scope_.alloc->task_group());
    return group && group->getRestartPolicy().getRenderTemplates();
  }

  /// Few templates read it, and it would be most of what a hook holds.
  void keep_environment() {
    if (!environments_ || !machine_->is_placed()) return;
    request_ = {};
    kept_environments_ = std::exchange(environments_, {});
    if (!reads_environment(templates_of(scope_), *locations_)) kept_environments_ = {};
  }

  // -- what the machine wants ---------------------------------------------------------------------

  void failed(std::string text) {
    machine_->failed(std::move(text));
    carry_on();
  }

  void performed() { keep_environment(); }

  /// Finds places and sources, on the step runner. Many may wait for it at a time, so the request
  /// is taken apart there.
  void perform(const template_action::Locate&) {
    locations_ = {};
    const auto location = [scope = scope_, environments = environments_,
                           settings = parts_.settings]() -> Result<Placed> {
      return Placed{NOMAD_TRY(place_templates(scope, environments->own, *settings)),
                    read_unsettled(scope)};
    };
    self_->request(parts_.steps, actor::infinite, blocking::make(location))
        .then(
            [this](const blocking::Outcome& outcome) {
              auto& placed = outcome.as<Placed>();
              locations_
                  = std::make_shared<const TemplateDestinations>(std::move(placed.locations));
              machine_->placed(std::move(placed.unsettled), now());
              carry_on();
            },
            [this](const Error& err) {
              machine_->placed(err, now());
              carry_on();
            });
  }

  void perform(template_action::Render& it) {
    keep_environment();
    const auto& templates = machine_->templates();
    RenderOrder order{.scope = scope_,
                      .environments = kept_environments_,
                      .settings = parts_.settings,
                      .locations = locations_,
                      .which = std::move(it.which),
                      .known = known(),
                      .region = parts_.region,
                      .unix_now = parts_.unix_now(),
                      .stopped = stop_rendering_.get_token(),
                      .notes_changes = templates.acts_on_changes(),
                      .unsettled = templates.unsettled()};
    self_
        ->request(parts_.steps, actor::infinite,
                  blocking::make_computing(
                      copy(scope_.job->getNamespace()) + '/' + copy(scope_.job->getId()),
                      [order = std::move(order), result = std::make_shared<RenderResult>()](
                          const blocking::Turn& turn) -> Result<std::optional<RenderResult>> {
                        if (!NOMAD_TRY(render_templates(order, turn, *result)))
                          return std::optional<RenderResult>{};
                        return std::optional{std::move(*result)};
                      }))
        .then([this](const blocking::Outcome& outcome) { rendered(outcome.as<RenderResult>()); },
              [this](const Error& err) {
                machine_->rendered(err, false, now());
                carry_on();
              });
  }

  void rendered(RenderResult& result) {
    for (auto& [index, variables] : result.environments)
      variables_.insert_or_assign(index, std::move(variables));
    const Result<std::vector<workload::TemplateRendering>> done{std::move(result.done)};
    machine_->rendered(done, result.noted, now());
    if (!machine_->is_stopped()) follow_files(*done, result.files);
    carry_on();
  }

  void perform(const template_action::ClearNote&) {
    const auto done = [this] {
      machine_->note_cleared(now());
      carry_on();
    };
    self_
        ->request(parts_.steps, actor::infinite,
                  blocking::make([scope = scope_] { return note_unsettled(scope, {}); }))
        .then([done](const blocking::Outcome&) { done(); },
              [this, done](const Error& err) {
                log::warn("client", "the note of changed templates is not removed",
                          {{"alloc", view(scope_.target->getAllocId())},
                           {"task", view(scope_.target->getTask())},
                           {"error", err}});
                done();
              });
  }

  void perform(const template_action::StopStep&) { stop_rendering_.request_stop(); }

  void perform(const template_action::CarryOut& it) {
    actions_->carry_out(it.plan, [this] {
      machine_->acted(now());
      carry_on();
    });
  }

  void perform(const template_action::Tell& it) {
    HookedTask::Details details;
    if (it.awaited)
      details = {{"missing_variable", it.awaited->path},
                 {"missing_variable_namespace",
                  it.awaited->name_space.empty() ? "default" : it.awaited->name_space}};
    actions_->task().tell("Template", it.text, details);
  }

  void perform(const template_action::Fail& it) { actions_->task().fail(it.text); }

  void perform(const template_action::Wait& it) { wait(it); }

  void perform(const template_action::AnswerStart& it) {
    workload::Variables all;
    for (const auto& [index, variables] : variables_)
      for (const auto& [key, value] : variables)
        all.insert_or_assign(key, value);
    answer_start(it.outcome, all);
  }

  void perform(const template_action::AnswerCancel&) { answer_cancel(); }

  void perform(const template_action::AnswerStop&) { answer_stop(); }

  // -- following ----------------------------------------------------------------------------------

  /// Asked with the rights of this task.
  data_watcher::TaskQuery of_task(const ClusterQuery& query) const {
    return {query, std::string{scope_.alloc->id()}, copy(scope_.target->getTask())};
  }

  std::uint64_t follower() const { return self_->ref().address().id; }

  void perform(const template_action::Follow& it) {
    std::erase_if(followed_, [&](const auto& one) {
      if (it.queries.contains(one.first)) return false;
      self_->send(parts_.data, data_watcher::Unfollow{of_task(one.first), follower()});
      return true;
    });
    for (const auto& query : it.queries) {
      const auto has = followed_.find(query);
      if (has != followed_.end() && has->second.asked != 0) continue;
      ask(query, followed_[query]);
    }
  }

  void perform(const template_action::StopFollowing&) {
    for (const auto& [query, data] : std::exchange(followed_, {}))
      self_->send(parts_.data, data_watcher::Unfollow{of_task(query), follower()});
    forget_files();
  }

  void ask(const ClusterQuery& query, Followed& followed) {
    followed.asked = ++questions_;
    self_
        ->request(parts_.data, actor::infinite,
                  data_watcher::Follow{.query = of_task(query),
                                       .known = followed.data ? followed.data->digest : 0,
                                       .follower = follower()})
        .then([this,
               asked = followed.asked](const data_watcher::News& news) { heard(asked, news.data); },
              [this, asked = followed.asked](const Error& err) { not_heard(asked, err); });
  }

  /// What the question was about, if that is still followed.
  auto of_question(std::uint64_t asked) {
    return std::ranges::find(followed_, asked, [](const auto& one) { return one.second.asked; });
  }

  void heard(std::uint64_t asked, const ClusterDataPtr& data) {
    const auto followed = of_question(asked);
    if (followed == followed_.end()) return;
    followed->second.data = data;
    followed->second.is_refused = false;
    const auto query = followed->first;
    ask(query, followed->second);
    machine_->news(query, now());
    carry_on();
  }

  void not_heard(std::uint64_t asked, const Error& err) {
    const auto followed = of_question(asked);
    if (followed == followed_.end() || err.code == Errc::cancelled) return;
    if (err.code == Errc::permission_denied) {
      if (!std::exchange(followed->second.is_refused, true))
        actions_->task().tell("Template",
                              fmt::format("{}: {}; asking again", followed->first.name, err.what));
      return ask(followed->first, followed->second);
    }
    if (err.code != Errc::unavailable)
      return failed(fmt::format("Template failed: {}: {}", followed->first.name, err.what));
    followed->second.asked = 0;  // Who follows for us began anew.
    actor::send_self_after(self_, follow_pause, FollowDue{});
  }

  /// What each of `done` has read, as long as it is followed.
  void follow_files(const std::vector<workload::TemplateRendering>& done,
                    const std::map<std::size_t, std::vector<host::SeenFile>>& files) {
    for (const auto& one : done) {
      if (const auto old = files_.extract(one.index)) parts_.news->forget(old.mapped().ticket);
      const auto seen = files.find(one.index);
      if (seen == files.end() || !machine_->templates().follows(one.index)) continue;
      const auto rendering = ++renderings_;
      const auto ticket = parts_.news->watch(
          seen->second, actor::turns_of(self_).callback([this, index = one.index, rendering] {
            file_changed(index, rendering);
          }));
      files_.emplace(one.index, FollowedFiles{ticket, rendering});
    }
  }

  void forget_files() {
    for (const auto& [index, files] : std::exchange(files_, {}))
      parts_.news->forget(files.ticket);
  }

  std::map<ClusterQuery, ClusterDataPtr> known() const {
    std::map<ClusterQuery, ClusterDataPtr> known;
    for (const auto& [query, followed] : followed_)
      if (followed.data) known.emplace(query, followed.data);
    return known;
  }

  TemplateHookParts parts_;
  std::optional<TemplateActions> actions_;
  std::shared_ptr<const TemplateDestinations> locations_;
  EnvironmentsRef kept_environments_;                     ///< Null: no template reads them.
  std::map<std::size_t, workload::Variables> variables_;  ///< Of templates with `env = true`.
  std::map<ClusterQuery, Followed> followed_;
  std::uint64_t questions_ = 0;
  std::map<std::size_t, FollowedFiles> files_;  ///< By template.
  std::uint64_t renderings_ = 0;                ///< That have read files.
  std::stop_source stop_rendering_;
};

TemplateSelf::behavior_type template_hook_actor(TemplateSelf::stateful_pointer<TemplateState> self,
                                                TemplateHookParts parts,
                                                PluginAgent agent,
                                                HookScope scope) {
  self->state.init(std::move(parts), std::move(agent), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [](const hook::TasksChanged&) {},
      [self](LookDue msg) { self->state.look(msg.round); },
      [self](FollowDue) { self->state.follow_again(); },
  };
}

}  // namespace

HookEntry template_hook(TemplateHookParts parts) {
  return {.name = "template",
          .phases = {HookPhase::PRESTART, HookPhase::POSTSTART, HookPhase::EXITED, HookPhase::STOP},
          .reads_environment = {HookPhase::PRESTART, HookPhase::POSTSTART},
          .patience = start_patience,
          .wanted = [](const HookScope& scope) { return templates_of(scope).size() > 0; },
          .spawn =
              [parts = std::move(parts)](const actor::Owner& owner, const PluginAgent& agent,
                                         const HookScope& scope) {
                return Hook{actor::spawn(owner, template_hook_actor, parts, agent, scope)};
              }};
}

}  // namespace nomad::client
