#include "actors/client/hooks/artifact_hook.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/client/hooks/hooked_task.hpp"
#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/artifact/artifact_key.hpp"
#include "runtime/artifact/rules/source.hpp"
#include "runtime/artifact/staging.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/config/byte_size.hpp"
#include "runtime/host/users.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::client {

namespace {

namespace task_event = workload::task_event;

/// Of one task, as in Nomad.
constexpr std::size_t most_at_once = 3;
/// Each fetch has its own time; this is for all of a task.
constexpr auto longest_prestart = std::chrono::hours{24};
/// The first progress is told after this, later ones each after twice the time: a task's history
/// is short.
constexpr Nanoseconds first_progress = std::chrono::minutes{1};

/// An artifact, and how far it is.
struct Item {
  std::string shown;  ///< Its source, without secrets.
  std::string key;
  artifact::Fetch fetch;
  artifact::Destination destination;
  std::string user;  ///< Whose it becomes; empty: the agent's.
  std::optional<artifact::FetchPool::Ticket> ticket{};
  Nanoseconds begun{0};
  Nanoseconds next_progress = first_progress;
  std::optional<Result<>> outcome{};
};

struct Prepared {
  bool already = false;
  host::UniqueFd directory{};
};

std::map<std::string, std::string> entries_of(capnp::List<schema::TextEntry>::Reader from) {
  std::map<std::string, std::string> entries;
  for (const auto entry : from)
    entries.emplace(copy(entry.getKey()), copy(entry.getValue()));
  return entries;
}

artifact::Definition definition_of(schema::Artifact::Reader from) {
  return {.source = copy(from.getGetterSource()),
          .options = entries_of(from.getGetterOptions()),
          .headers = entries_of(from.getGetterHeaders()),
          .mode = copy(from.getGetterMode()),
          .destination = copy(from.getRelativeDest()),
          .insecure = from.getGetterInsecure(),
          .chown = from.getChown()};
}

Result<artifact::Destination> find_destination(const std::string& raw,
                                               const workload::TaskEnv& env) {
  auto location = env.client_path(raw, true);
  while (location.path.ends_with('/'))
    location.path.pop_back();
  for (const std::string_view root : {env.task_directory(), env.alloc_directory()}) {
    if (location.escapes || root.empty() || !location.path.starts_with(root)) continue;
    const auto rest = std::string_view{location.path}.substr(root.size());
    if (rest.empty() || rest.starts_with('/'))
      return artifact::Destination{std::string{root},
                                   std::string{rest.empty() ? rest : rest.substr(1)}};
  }
  return Error{Errc::rejected, "artifact destination path escapes alloc directory"};
}

/// Who `user` is on this machine. As in Nomad nobody is looked for where the agent can't give files
/// away.
Result<host::FileOwner> owner_named(const std::string& user) {
  if (user.empty() || ::geteuid() != 0) return host::FileOwner{};
  const auto known = host::find_user(user);
  if (!known) return known.error().within("failed to chown artifact");
  return host::FileOwner{.user = known->uid, .group = known->gid};
}

Result<Item> interpolate(const artifact::Definition& definition,
                         schema::Task::Reader task,
                         const workload::TaskEnv& env) {
  Item item{.shown = redact_url(definition.source),
            .key = key_of(definition),
            .fetch = {},
            .destination = NOMAD_TRY(find_destination(definition.destination, env)),
            .user = definition.chown ? env.replace(view(task.getUser())) : std::string{}};
  auto options = definition.options;
  for (auto& [name, value] : options)
    value = env.replace(value);
  item.fetch.source = NOMAD_TRY(artifact::with_options(env.replace(definition.source), options));
  item.fetch.mode = definition.mode;
  item.fetch.insecure = definition.insecure;
  for (const auto& [name, value] : definition.headers)
    item.fetch.headers.emplace_back(name, env.replace(value));
  // What is wrong with it is known before a process is started.
  NOMAD_TRY(artifact::parse_source(item.fetch.source));
  NOMAD_TRY(artifact::parse_mode(item.fetch.mode));
  return item;
}

class ArtifactHookState {
public:
  static constexpr const char* name = "artifact_hook";

  explicit ArtifactHookState(Hook::pointer self) : self_{self} {}

  ArtifactHookState(const ArtifactHookState&) = delete;
  ArtifactHookState& operator=(const ArtifactHookState&) = delete;

  ~ArtifactHookState() { cancel_fetches(); }

  void init(ArtifactHookParts parts, PluginAgent agent, HookScope scope) {
    parts_ = std::move(parts);
    agent_ = std::move(agent);
    scope_ = std::move(scope);
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    staging_.emplace(copy(scope_.target->getAllocRoot()), copy(scope_.target->getTask()));
    items_.clear();
    next_ = active_ = 0;
    cancelled_ = false;
    if (!parts_.pool)
      return Error{Errc::rejected,
                   "the program nomadctl-artifact was not found beside nomadctl: install it there"};
    plan(*msg.request, msg.environments->own);
    promise_ = self_->make_response_promise<hook::Answered>();
    const auto answer = promise_;
    tell("");
    go_on();
    return answer;
  }

  actor::Answer<hook::Settled> cancel() {
    cancelled_ = true;
    if (!promise_.pending()) return hook::Settled{};
    cancel_fetches();
    settling_.push_back(self_->make_response_promise<hook::Settled>());
    return settling_.back();
  }

  void progressed(std::size_t number, const artifact::FetchProgress& progress);
  void fetched(std::size_t number, const Result<artifact::FetchDone>& fetch);

private:
  void plan(schema::plugin::HookRequest::Reader request, const workload::TaskEnv& env);
  void go_on();
  void begin(std::size_t item);
  void start(std::size_t item, Prepared& prepared);
  void deliver(std::size_t item, bool is_file);
  void over(std::size_t item, Result<> outcome);
  void finish();
  void answer(const Result<>& outcome);
  void tell(const std::string& message);

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  void cancel_fetches() {
    for (const auto& item : items_)
      if (item.ticket) parts_.pool->cancel(*item.ticket);
  }

  /// Runs a step of the file system: `then` gets what it gave.
  template <class Step, class Then>
  void step(Step step, Then then) {
    using Value = decltype(step());
    self_->request(parts_.steps, actor::infinite, blocking::make(std::move(step)))
        .then(
            [then](blocking::Outcome& outcome) {
              if constexpr (std::is_same_v<Value, Result<>>)
                then(Result<>{});
              else
                then(Value{std::move(outcome.as<typename Value::value_type>())});
            },
            [then](const Error& err) { then(Value{err}); });
  }

  Hook::pointer self_;
  ArtifactHookParts parts_;
  PluginAgent agent_;
  HookScope scope_;
  std::optional<artifact::Staging> staging_;
  std::vector<Item> items_;
  std::size_t next_ = 0;    ///< The first that has not begun.
  std::size_t active_ = 0;  ///< Begun and not over.
  bool cancelled_ = false;
  actor::Promise<hook::Answered> promise_;
  std::vector<actor::Promise<hook::Settled>> settling_;
};

void ArtifactHookState::plan(schema::plugin::HookRequest::Reader request,
                             const workload::TaskEnv& env) {
  const auto task = workload::find_task(*scope_.alloc, *scope_.job, view(scope_.target->getTask()));
  if (!task) return;
  const auto known = entries_of(request.getData());
  for (const auto artifact : task->getArtifacts()) {
    const auto definition = definition_of(artifact);
    auto item = interpolate(definition, *task, env);
    if (!item) {
      items_.push_back({.shown = redact_url(definition.source),
                        .key = key_of(definition),
                        .fetch = {},
                        .destination = {},
                        .user = {},
                        .outcome = Result<>{item.error()}});
      continue;
    }
    if (known.contains(item->key)) item->outcome = Result<>{};
    items_.push_back(std::move(*item));
  }
}

void ArtifactHookState::go_on() {
  while (!cancelled_ && active_ < most_at_once && next_ < items_.size()) {
    const auto item = next_++;
    if (!items_[item].outcome) begin(item);
  }
  if (active_ == 0 && (cancelled_ || next_ == items_.size())) finish();
}

void ArtifactHookState::begin(std::size_t item) {
  ++active_;
  step(
      [staging = *staging_, key = items_[item].key, uid = parts_.pool->uid(),
       gid = parts_.pool->gid()]() -> Result<Prepared> {
        if (staging.is_done(key)) return Prepared{.already = true};
        return Prepared{.directory = NOMAD_TRY(staging.begin(key, uid, gid))};
      },
      [this, item](Result<Prepared> prepared) {
        if (!prepared) return over(item, prepared.error());
        if (prepared->already || cancelled_) return over(item, {});
        start(item, *prepared);
      });
}

void ArtifactHookState::start(std::size_t item, Prepared& prepared) {
  auto& it = items_[item];
  it.begun = now();
  it.fetch.directory = std::move(prepared.directory);
  log::debug("client", "fetching an artifact",
             {{"alloc", view(scope_.target->getAllocId())},
              {"task", view(scope_.target->getTask())},
              {"artifact", it.shown}});
  const auto turns = actor::turns_of(self_);
  it.ticket = parts_.pool->start(
      std::move(it.fetch),
      {.progress = turns.callback(
           [this, item](const artifact::FetchProgress& progress) { progressed(item, progress); }),
       .done = turns.callback(
           [this, item](const Result<artifact::FetchDone>& outcome) { fetched(item, outcome); })});
}

void ArtifactHookState::progressed(std::size_t number, const artifact::FetchProgress& progress) {
  auto& item = items_[number];
  if (cancelled_ || now() - item.begun < item.next_progress) return;
  item.next_progress *= 2;
  auto text = fmt::format("{}: {}", item.shown, config::show_byte_size(progress.received));
  if (progress.expected > 0)
    text += fmt::format(" of {} ({} %)", config::show_byte_size(progress.expected),
                        progress.received * 100 / progress.expected);
  tell(text);
}

void ArtifactHookState::fetched(std::size_t number, const Result<artifact::FetchDone>& fetch) {
  items_[number].ticket.reset();
  if (fetch && !cancelled_) return deliver(number, fetch->is_file);
  const Result<> outcome = fetch ? Result<>{} : Result<>{fetch.error()};
  step([staging = *staging_, key = items_[number].key] { return staging.discard(key); },
       [this, number, outcome](const Result<>&) { over(number, outcome); });
}

void ArtifactHookState::deliver(std::size_t item, bool is_file) {
  const auto& it = items_[item];
  step(
      [staging = *staging_, key = it.key, to = it.destination, user = it.user,
       is_file]() -> Result<> {
        const auto owner = NOMAD_TRY(owner_named(user));
        const auto delivered = staging.deliver(key, to, is_file, owner);
        const auto discarded = staging.discard(key);
        NOMAD_TRY(delivered);
        staging.mark_done(key);
        return discarded;
      },
      [this, item](const Result<>& outcome) { over(item, outcome); });
}

void ArtifactHookState::over(std::size_t item, Result<> outcome) {
  items_[item].outcome = std::move(outcome);
  --active_;
  go_on();
}

/// All have come, or some have failed, or nobody wants them any more.
void ArtifactHookState::finish() {
  Result<> outcome;
  for (const auto& item : items_)
    if (item.outcome && !*item.outcome && !cancelled_)  // As in Nomad the last one is told.
      outcome = Error{Errc::unavailable, fmt::format("failed to download artifact \"{}\": {}",
                                                     item.shown, item.outcome->error().what)};
  if (cancelled_) outcome = Error{Errc::cancelled, "cancelled"};
  if (!outcome && !cancelled_) return answer(outcome);  // What has come is remembered.
  step([staging = *staging_] { return staging.clear(); },
       [this, outcome](const Result<>& cleared) {
         if (!cleared)
           log::warn("client", "the directory that artifacts were fetched in stays",
                     {{"alloc", view(scope_.target->getAllocId())},
                      {"task", view(scope_.target->getTask())},
                      {"error", cleared.error()}});
         answer(outcome);
       });
}

void ArtifactHookState::answer(const Result<>& outcome) {
  const auto promise = std::exchange(promise_, {});
  if (outcome) {
    std::map<std::string, std::string> data;
    for (const auto& item : items_)
      data.emplace(item.key, "1");
    Draft<schema::plugin::HookAnswer> draft;
    draft->setDone(true);
    fill_entries(draft->initData(static_cast<unsigned>(data.size())), data);
    promise.deliver(hook::Answered{draft.freeze()});
  } else {
    promise.deliver(outcome.error());
  }
  for (const auto& settled : std::exchange(settling_, {}))
    settled.deliver(hook::Settled{});
}

void ArtifactHookState::tell(const std::string& message) {
  HookedTask{self_, agent_, parts_.unix_now, scope_}.tell(task_event::downloading_artifacts,
                                                          message);
}

Hook::behavior_type artifact_hook(Hook::stateful_pointer<ArtifactHookState> self,
                                  ArtifactHookParts parts,
                                  PluginAgent agent,
                                  HookScope scope) {
  self->state.init(std::move(parts), std::move(agent), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [](const hook::TasksChanged&) {},
  };
}

}  // namespace

HookEntry artifacts_hook(ArtifactHookParts parts) {
  return {.name = "artifacts",
          .phases = {HookPhase::PRESTART},
          .reads_environment = {HookPhase::PRESTART},
          .failure_event = std::string{task_event::artifact_download_failed},
          .patience = longest_prestart,
          .wanted =
              [](const HookScope& scope) {
                const auto task
                    = workload::find_task(*scope.alloc, *scope.job, view(scope.target->getTask()));
                return task && task->getArtifacts().size() > 0;
              },
          .spawn =
              [parts = std::move(parts)](const actor::Owner& owner, const PluginAgent& agent,
                                         const HookScope& scope) {
                return Hook{actor::spawn(owner, artifact_hook, parts, agent, scope)};
              }};
}

}  // namespace nomad::client
