#include "actors/client/hooks/template_hook.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/client/hooks/template_actions.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/client/templates/render.hpp"
#include "actors/client/templates/unsettled.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/template/change/missing_report.hpp"

namespace nomad::client {

namespace {

using templates::ClusterQuery;
using workload::TaskTemplates;

/// As long as the task is wanted: what it waits for may come at any time.
constexpr auto start_patience = std::chrono::hours{24 * 365};
/// Before something is followed again, after whoever follows for us has died.
constexpr Nanoseconds follow_pause = std::chrono::seconds{1};

/// Something is due.
struct LookDue {
  using is_message = void;
  std::uint64_t number = 0;
};

/// A file that a template reads is another one. From the thread of FileNews.
struct FileChanged {
  using is_message = void;
  std::size_t index = 0;        ///< The template's.
  std::uint64_t rendering = 0;  ///< That has read it.
};

using TemplateSelf = actor::WithInternal<Hook, void(LookDue), void(FileChanged)>;

class TemplateState {
public:
  static constexpr const char* name = "template_hook";

  explicit TemplateState(TemplateSelf::pointer self) : self_{self} {}

  TemplateState(const TemplateState&) = delete;
  TemplateState& operator=(const TemplateState&) = delete;

  ~TemplateState() { forget_files(); }

  void init(std::shared_ptr<host::FileNews> news, HookTools tools, HookScope scope) {
    news_ = std::move(news);
    tools_ = std::move(tools);
    scope_ = std::move(scope);
    actions_.emplace(self_, tools_, scope_);
    settings_ = tools_.templates ? tools_.templates : std::make_shared<const TemplateSettings>();
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    switch (msg.request->getPhase()) {
      case HookPhase::PRESTART:
        return prestart(msg.request);
      case HookPhase::POSTSTART:
        return poststart(msg.request);
      case HookPhase::EXITED:
        if (machine_) machine_->exited();
        return hook::Answered{};
      case HookPhase::STOP:
        return stop();
      default:
        return hook::Answered{};
    }
  }

  actor::Answer<hook::Settled> cancel() {
    given_up_ = true;  // What it is about may still come: a Cancel overtakes it.
    if (!waiting_.pending()) return hook::Settled{};
    stop_rendering_.request_stop();
    if (busy_) {
      cancelled_ = self_->make_response_promise<hook::Settled>();
      return cancelled_;
    }
    give_up();
    return hook::Settled{};
  }

  void file_changed(const FileChanged& msg) {
    const auto file = files_.find(msg.index);
    if (stopped_ || file == files_.end() || file->second.rendering != msg.rendering) return;
    files_.erase(file);  // It is told once, and watched again when it has been read.
    machine_->file_changed(msg.index, now());
    go_on();
  }

  void look_due(std::uint64_t number) {
    if (number != look_) return;
    look_ = 0;
    go_on();
  }

private:
  /// Something that templates ask for.
  struct Followed {
    ClusterDataPtr data{};    ///< The newest answer; null: none has come.
    std::uint64_t asked = 0;  ///< The question that is open; 0: none.
  };

  struct Placed {
    TemplatePlaces places;
    std::set<std::size_t> unsettled;
  };

  /// What `file` has read for a template.
  struct FollowedFiles {
    host::FileNews::Ticket ticket = 0;
    std::uint64_t rendering = 0;
  };

  TaskTemplates::Time now() const { return self_->now().time_since_epoch(); }

  // -- the task's life ----------------------------------------------------------------------------

  using Request = Object<schema::plugin::HookRequest>;

  actor::Answer<hook::Answered> prestart(const Request& request) {
    if (given_up_) return Error{Errc::cancelled, "cancelled"};
    waiting_ = self_->make_response_promise<hook::Answered>();
    const auto promise = waiting_;
    stop_rendering_ = std::stop_source{};
    stopped_ = false;
    actions_->begin();
    begin(request, request->getRunning());
    go_on();
    return promise;
  }

  actor::Answer<hook::Answered> poststart(const Request& request) {
    if (!machine_) begin(request, true);  // Made anew after a crash.
    machine_->started();
    go_on();
    if (scope_.place->getDriver().getExec()) return hook::Answered{};
    for (const auto of : templates_of(scope_))
      if (view(of.getChangeMode()) == "script")
        return Error{Errc::rejected,
                     "template has change mode set to 'script' but the driver it uses does not "
                     "provide exec capability"};
    return hook::Answered{};
  }

  void begin(const Request& request, bool is_running) {
    const bool anew = machine_.has_value() && renders_on_restart();
    if (!machine_) machine_.emplace(terms_of(templates_of(scope_), *settings_));
    machine_->begin(is_running, anew);
    if (!places_ || anew)
      place(request);
    else
      keep_environment(*request);
  }

  /// Few templates read it, and it would be most of what a hook holds.
  void keep_environment(schema::plugin::HookRequest::Reader request) {
    environment_ = {};
    if (!reads_environment(templates_of(scope_), *places_)) return;
    Draft<schema::plugin::TaskEnvironment> kept;
    kept->setVariables(request.getEnvironment().getVariables());
    kept->setNode(request.getEnvironment().getNode());
    environment_ = kept.freeze();
  }

  bool renders_on_restart() const {
    const auto task = find_task(*scope_.alloc, *scope_.job, view(scope_.place->getTask()));
    if (task && task->hasRestartPolicy()) return task->getRestartPolicy().getRenderTemplates();
    const auto group = workload::find_group(*scope_.job, view(scope_.alloc->getTaskGroup()));
    return group && group->getRestartPolicy().getRenderTemplates();
  }

  /// Finds places and sources, on the step runner. Many may wait for it at a time, so the request
  /// is taken apart there.
  void place(const Request& request) {
    places_ = {};
    busy_ = true;
    self_
        ->request(tools_.steps, actor::infinite,
                  step::make([scope = scope_, request, settings = settings_]() -> Result<Placed> {
                    return Placed{
                        NOMAD_TRY(place_templates(
                            scope, workload::TaskEnv::read(request->getEnvironment()), *settings)),
                        read_unsettled(scope)};
                  }))
        .then(
            [this, request](const step::Outcome& outcome) {
              busy_ = false;
              auto& placed = outcome.as<Placed>();
              noted_ = !placed.unsettled.empty();
              machine_->resume(placed.unsettled);
              places_ = std::make_shared<const TemplatePlaces>(std::move(placed.places));
              keep_environment(*request);
              settle();
            },
            [this](const Error& err) {
              busy_ = false;
              if (waiting_.pending() && !stop_rendering_.stop_requested())
                waiting_.deliver(err);
              else
                actions_->fail(err.within("Template failed").what);
              settle();
            });
  }

  /// Nothing is written any more once it is answered.
  actor::Answer<hook::Answered> stop() {
    stopped_ = true;
    stop_rendering_.request_stop();
    for (const auto& [query, data] : followed_)
      self_->send(tools_.data, data_watcher::Unfollow{query, follower()});
    followed_.clear();
    forget_files();
    if (!busy_) return hook::Answered{};
    stopping_ = self_->make_response_promise<hook::Answered>();
    return stopping_;
  }

  /// What was under way is over.
  void settle() {
    if (stop_rendering_.stop_requested()) give_up();
    go_on();
  }

  void give_up() {
    if (waiting_.pending()) waiting_.deliver(Error{Errc::cancelled, "cancelled"});
    if (cancelled_.pending()) cancelled_.deliver(hook::Settled{});
    if (stopping_.pending()) stopping_.deliver(hook::Answered{});
  }

  // -- what is next -------------------------------------------------------------------------------

  void go_on() {
    if (!machine_ || stopped_ || stop_rendering_.stop_requested() || actions_->has_failed()) return;
    if (places_ && !busy_) {
      follow();
      render(machine_->take_due(now()));
    }
    if (!busy_ && waiting_.pending()) {
      if (places_ && machine_->is_ready())
        release();
      else
        report_missing();
    }
    if (auto plan = machine_->take_plan(now(), random_.next()))
      actions_->carry_out(*plan, [this] {
        machine_->acted();
        go_on();
      });
    forget_note();
    wait();
  }

  /// The task knows all. What is rendered next waits, so that its note comes after.
  void forget_note() {
    if (busy_ || !noted_ || !machine_->unsettled().empty()) return;
    noted_ = false;
    busy_ = true;
    const auto done = [this] {
      busy_ = false;
      settle();
    };
    self_
        ->request(tools_.steps, actor::infinite,
                  step::make([scope = scope_] { return note_unsettled(scope, {}); }))
        .then([done](const step::Outcome&) { done(); },
              [done](const Error& err) {
                log::warn("client", "{}", err.what);
                done();
              });
  }

  void release() {
    machine_->released();
    workload::Variables all;
    for (const auto& [index, variables] : environments_)
      for (const auto& [key, value] : variables)
        all.insert_or_assign(key, value);
    Draft<schema::plugin::HookAnswer> draft;
    fill_entries(draft->initSecretEnvironment(all.size()), all);
    std::exchange(waiting_, {}).deliver(hook::Answered{draft.freeze()});
    report_ = templates::MissingReport{};
  }

  void report_missing() {
    report_.update(machine_->missing(), now());
    if (const auto text = report_.take(now())) actions_->tell("Template", *text);
  }

  void wait() {
    auto due = busy_ ? std::nullopt : machine_->due();
    const auto report = waiting_.pending() ? report_.due() : std::nullopt;
    if (report && (!due || *report < *due)) due = report;
    if (look_ != 0) self_->cancel(timer_);
    look_ = 0;
    if (!due) return;
    look_ = ++looks_;
    timer_ = actor::send_self_after(self_, std::max(*due - now(), Nanoseconds{0}), LookDue{look_});
  }

  // -- following ----------------------------------------------------------------------------------

  std::uint64_t follower() const { return self_->ref().address().id; }

  void follow() {
    const auto wanted = machine_->followed();
    std::erase_if(followed_, [&](const auto& one) {
      if (wanted.contains(one.first)) return false;
      self_->send(tools_.data, data_watcher::Unfollow{one.first, follower()});
      return true;
    });
    for (const auto& query : wanted) {
      const auto has = followed_.find(query);
      if (has != followed_.end() && has->second.asked != 0) continue;
      ask(query, followed_[query]);
    }
  }

  void ask(const ClusterQuery& query, Followed& followed) {
    followed.asked = ++questions_;
    self_
        ->request(tools_.data, actor::infinite,
                  data_watcher::Follow{.query = query,
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
    if (stopped_ || followed == followed_.end()) return;
    followed->second.data = data;
    machine_->news(followed->first, now());
    ask(followed->first, followed->second);
    go_on();
  }

  void not_heard(std::uint64_t asked, const Error& err) {
    const auto followed = of_question(asked);
    if (stopped_ || followed == followed_.end() || err.code == Errc::cancelled) return;
    if (err.code != Errc::unavailable)
      return actions_->fail(fmt::format("Template failed: {}: {}", followed->first.name, err.what));
    followed->second.asked = 0;  // Who follows for us began anew: `follow` asks it.
    look_ = ++looks_;
    timer_ = actor::send_self_after(self_, follow_pause, LookDue{look_});
  }

  void follow_files(const RenderResult& result) {
    for (const auto& done : result.done) {
      if (const auto old = files_.extract(done.index)) news_->forget(old.mapped().ticket);
      const auto seen = result.files.find(done.index);
      if (seen == result.files.end()) continue;
      const FileChanged change{done.index, ++renderings_};
      const TemplateSelf self{self_};
      const auto ticket = news_->watch(seen->second, [self, change] { actor::tell(self, change); });
      files_.emplace(done.index, FollowedFiles{ticket, change.rendering});
    }
  }

  void forget_files() {
    for (const auto& [index, files] : std::exchange(files_, {}))
      news_->forget(files.ticket);
  }

  // -- rendering ----------------------------------------------------------------------------------

  std::map<ClusterQuery, ClusterDataPtr> known() const {
    std::map<ClusterQuery, ClusterDataPtr> known;
    for (const auto& [query, followed] : followed_)
      if (followed.data) known.emplace(query, followed.data);
    return known;
  }

  void render(std::vector<std::size_t> which) {
    if (which.empty()) return;
    busy_ = true;
    RenderOrder order{.scope = scope_,
                      .environment = environment_,
                      .settings = settings_,
                      .places = places_,
                      .which = std::move(which),
                      .known = known(),
                      .region = tools_.region,
                      .unix_now = tools_.unix_now(),
                      .stopped = stop_rendering_.get_token(),
                      .notes_changes = machine_->acts_on_changes(),
                      .unsettled = machine_->unsettled()};
    self_
        ->request(tools_.steps, actor::infinite,
                  step::make([order = std::move(order)] { return render_templates(order); }))
        .then([this](const step::Outcome& outcome) { rendered(outcome.as<RenderResult>()); },
              [this](const Error& err) { not_rendered(err); });
  }

  void rendered(RenderResult& result) {
    busy_ = false;
    machine_->rendered(result.done);
    noted_ = noted_ || result.noted;
    if (!stopped_) follow_files(result);
    for (auto& [index, variables] : result.environments)
      environments_.insert_or_assign(index, std::move(variables));
    settle();
  }

  void not_rendered(const Error& err) {
    busy_ = false;
    machine_->rendered({});
    if (!stop_rendering_.stop_requested()) actions_->fail(err.what);
    settle();
  }

  TemplateSelf::pointer self_;
  std::shared_ptr<host::FileNews> news_;
  HookTools tools_;
  HookScope scope_;
  std::shared_ptr<const TemplateSettings> settings_;
  std::optional<TemplateActions> actions_;
  std::optional<TaskTemplates> machine_;  ///< From the first phase on.
  std::shared_ptr<const TemplatePlaces> places_;
  Object<schema::plugin::TaskEnvironment> environment_;      ///< Empty: no template reads it.
  std::map<std::size_t, workload::Variables> environments_;  ///< Of templates with `env = true`.
  std::map<ClusterQuery, Followed> followed_;
  std::uint64_t questions_ = 0;
  std::map<std::size_t, FollowedFiles> files_;  ///< By template.
  std::uint64_t renderings_ = 0;                ///< That have read files.
  templates::MissingReport report_;
  Random random_{Random::from_system().next()};
  actor::Promise<hook::Answered> waiting_;   ///< Of a start.
  actor::Promise<hook::Settled> cancelled_;  ///< Of a Cancel, while a step runs.
  actor::Promise<hook::Answered> stopping_;  ///< Of the end, likewise.
  std::stop_source stop_rendering_;
  actor::Timer timer_;
  std::uint64_t looks_ = 0;
  std::uint64_t look_ = 0;  ///< The LookDue that is to come; 0: none.
  bool busy_ = false;       ///< A step runs.
  bool noted_ = false;      ///< A note says what the task is still to be told.
  bool stopped_ = false;
  bool given_up_ = false;  ///< The task starts nothing any more.
};

TemplateSelf::behavior_type template_hook_actor(TemplateSelf::stateful_pointer<TemplateState> self,
                                                std::shared_ptr<host::FileNews> news,
                                                HookTools tools,
                                                HookScope scope) {
  self->state.init(std::move(news), std::move(tools), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [](const hook::TasksChanged&) {},
      [self](LookDue msg) { self->state.look_due(msg.number); },
      [self](const FileChanged& msg) { self->state.file_changed(msg); },
  };
}

}  // namespace

HookEntry template_hook() {
  return {.name = "template",
          .phases = {HookPhase::PRESTART, HookPhase::POSTSTART, HookPhase::EXITED, HookPhase::STOP},
          .reads_environment = true,
          .patience = start_patience,
          .wanted = [](const HookScope& scope) { return templates_of(scope).size() > 0; },
          .spawn =
              [news = std::make_shared<host::FileNews>()](
                  const actor::Owner& owner, const HookTools& tools, const HookScope& scope) {
                return Hook{actor::spawn(owner, template_hook_actor, news, tools, scope)};
              }};
}

}  // namespace nomad::client
