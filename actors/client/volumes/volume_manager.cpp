#include "actors/client/volumes/volume_manager.hpp"

#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "actors/client/volumes/node_plugins.hpp"
#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/csi/explain.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {

namespace {

using namespace std::chrono_literals;
using workload::VolumeMachine;
using workload::VolumeRow;
namespace volume_action = workload::volume_action;
using volume_manager::Acquired;
using volume_manager::Done;

constexpr auto call_patience = 2min;   ///< As Nomad's.
constexpr auto claim_patience = 130s;  ///< The controller has two minutes for the attach.
constexpr auto release_patience = 30s;
constexpr auto save_patience = 1min;

struct VolumesDue {
  using is_message = void;
};

using ManagerSelf = actor::WithInternal<VolumeManager, void(VolumesDue)>;

/// Whether servers may answer otherwise later.
bool passes(Errc code) {
  switch (code) {
    case Errc::conflict:
    case Errc::unavailable:
    case Errc::timeout:
    case Errc::no_leader:
    case Errc::overloaded:
    case Errc::cancelled:
      return true;
    default:
      return false;
  }
}

class VolumeManagerState {
public:
  static constexpr const char* name = "volume_manager";

  explicit VolumeManagerState(ManagerSelf::pointer self) : self_{self} {}

  void init(VolumeManagerOptions options);
  ManagerSelf::behavior_type behavior();

private:
  /// Several tickets of the machine that are one question.
  struct Waiting {
    actor::Promise<Acquired> promise;
    std::vector<volume_manager::Mounted> mounted{};
    std::map<VolumeMachine::Ticket, volume_manager::Need> open{};
    std::optional<Error> failure{};
  };

  VolumeMachine::Time now() const { return self_->now().time_since_epoch(); }

  Turns turns() const { return actor::turns_of(self_); }

  /// Now, or when what is written down was read.
  void when_loaded(std::function<void()> then);
  void load();
  void loaded(client_db::LoadedVolumes& saved);
  template <class Event>
  void on_volumes(Event event);

  void acquire(const volume_manager::Acquire& msg, const actor::Promise<Acquired>& promise);
  void withdraw(const std::string& alloc);
  void answered(const volume_action::Answer& it);
  void acquired(const std::string& alloc, VolumeMachine::Ticket ticket, const Result<>& outcome);

  void perform(volume_action::Save& it);
  void perform(volume_action::Erase& it);
  void perform(volume_action::Claim& it);
  void perform(volume_action::Look& it);
  void perform(volume_action::Do& it);
  void perform(volume_action::Release& it);
  void perform(const volume_action::Cancel& it);

  void perform(const volume_action::Answer& it) { answered(it); }

  void perform(const volume_action::Tell& it);
  void perform(const volume_action::Wait& it);

  void claim_answered(const VolumeRow& row, VolumeMachine::Operation operation, door::Reply& reply);
  Result<ClaimedVolume> read_claim(const VolumeRow& row, door::Reply& reply) const;
  void step(const volume_action::Do& it);
  void call_node(const volume_action::Do& it);
  void step_done(const volume_action::Do& it, std::optional<VolumeMachine::Refusal> refusal);

  actor::Answer<door::NodeReply> answer(door::NodeAsk& msg);
  void ask_node(const door::NodeAsk& msg, const actor::Promise<door::NodeReply>& promise);

  ManagerSelf::pointer self_;
  VolumeManagerOptions options_;
  VolumeMachine volumes_;
  NodePlugins plugins_{self_, options_, [this](const std::string& id, const auto& stands) {
                         on_volumes([&] { volumes_.plugin(id, stands, now()); });
                       }};
  bool is_loaded_ = false;
  std::vector<std::function<void()>> until_loaded_;
  bool performing_volumes_ = false;
  VolumeMachine::Ticket last_ticket_ = 0;
  std::map<std::string, Waiting> waiting_;  ///< By allocation.
  std::map<VolumeMachine::Ticket, std::string> alloc_of_;
  std::map<VolumeMachine::Ticket, actor::Promise<Done>> drops_;
  std::map<VolumeMachine::Ticket, actor::Promise<door::NodeReply>> detaches_;
  std::map<std::string, VolumeMountOptions> wanted_options_;  ///< By row, as its job has them.
  std::map<std::string, ClaimedVolume> claimed_;              ///< By row, until it is mounted.
  std::map<VolumeMachine::Operation, csi::PluginCalls::Number> calls_;  ///< That may be cancelled.
  actor::Timer volumes_timer_;
};

// -- start ---------------------------------------------------------------------------------------

void VolumeManagerState::init(VolumeManagerOptions options) {
  options_ = std::move(options);
  load();
}

void VolumeManagerState::load() {
  self_->request(options_.db, save_patience, client_db::LoadVolumes{})
      .then([this](client_db::LoadedVolumes& saved) { loaded(saved); },
            [this](const Error& err) {
              log::error("client", "reading what is known of CSI volumes failed", {{"error", err}});
              self_->quit(err);
            });
}

void VolumeManagerState::loaded(client_db::LoadedVolumes& saved) {
  std::vector<std::string> known;
  for (const auto& row : saved.volumes)
    for (const auto& path : {staging_path(row), target_path(row)})
      known.push_back(fmt::format("{}/{}", row.directory, path));
  const auto root = options_.root;
  const auto allocs = std::set<std::string>(saved.allocs.begin(), saved.allocs.end());
  const auto kept = std::make_shared<client_db::LoadedVolumes>(std::move(saved));
  const auto begin = [this, kept, allocs] {
    is_loaded_ = true;
    plugins_.restore(std::move(kept->plugins), allocs);
    on_volumes([&] { volumes_.restore(std::move(kept->volumes), allocs, now()); });
    for (const auto& then : std::exchange(until_loaded_, {}))
      then();
  };
  self_
      ->request(options_.steps, actor::infinite,
                blocking::make([root, known]() -> Result<std::vector<std::string>> {
                  return clear_unknown(root, known);
                }))
      .then(
          [begin](blocking::Outcome& outcome) {
            for (const auto& path : outcome.as<std::vector<std::string>>())
              log::warn("client", "a volume was mounted that nobody knows of", {{"path", path}});
            begin();
          },
          [begin](const Error&) { begin(); });
}

void VolumeManagerState::when_loaded(std::function<void()> then) {
  if (is_loaded_) return then();
  until_loaded_.push_back(std::move(then));
}

/// Tells the machine something, and carries out what it wants.
template <class Event>
void VolumeManagerState::on_volumes(Event event) {
  event();
  if (std::exchange(performing_volumes_, true))
    return;  // What follows from an action comes after it.
  for (auto actions = volumes_.take(); !actions.empty(); actions = volumes_.take())
    for (auto& action : actions)
      std::visit([this](auto& it) { this->perform(it); }, action);
  performing_volumes_ = false;
}

// -- what allocations want -----------------------------------------------------------------------

void VolumeManagerState::acquire(const volume_manager::Acquire& msg,
                                 const actor::Promise<Acquired>& promise) {
  if (waiting_.contains(msg.alloc))
    return promise.deliver(Error{Errc::conflict, "its volumes are being mounted already"});
  auto& waiting = waiting_[msg.alloc];
  waiting.promise = promise;
  for (const auto& need : msg.needs) {
    const auto ticket = ++last_ticket_;
    waiting.open.emplace(ticket, need);
    alloc_of_.emplace(ticket, msg.alloc);
    wanted_options_[need.spec.alloc + '/' + need.spec.volume] = need.options;
  }
  auto ticket = last_ticket_ - msg.needs.size();
  for (const auto& need : msg.needs)
    on_volumes([&] { volumes_.acquire(need.spec, ++ticket, now()); });
}

void VolumeManagerState::withdraw(const std::string& alloc) {
  const auto found = waiting_.find(alloc);
  if (found == waiting_.end()) return;
  std::vector<VolumeMachine::Ticket> open;
  for (const auto& [ticket, need] : found->second.open)
    open.push_back(ticket);
  for (const auto ticket : open)
    on_volumes([&] { volumes_.cancel(ticket, now()); });
}

void VolumeManagerState::answered(const volume_action::Answer& it) {
  if (const auto found = alloc_of_.extract(it.ticket); !found.empty())
    return acquired(found.mapped(), it.ticket, it.outcome);
  if (auto found = drops_.extract(it.ticket); !found.empty()) return found.mapped().deliver(Done{});
  if (auto found = detaches_.extract(it.ticket); !found.empty()) {
    if (!it.outcome) return found.mapped().deliver(it.outcome.error());
    found.mapped().deliver(door::make_node_reply([](auto& reply) { reply.initCsiNode(); }));
  }
}

/// The first that fails ends the others.
void VolumeManagerState::acquired(const std::string& alloc,
                                  VolumeMachine::Ticket ticket,
                                  const Result<>& outcome) {
  const auto found = waiting_.find(alloc);
  if (found == waiting_.end()) return;
  auto& waiting = found->second;
  const auto need = waiting.open.extract(ticket).mapped();
  if (!outcome) {
    const bool is_first = !waiting.failure;
    if (is_first) waiting.failure = outcome.error();
    // In a later turn: the machine is in the middle of telling.
    if (is_first && !waiting.open.empty()) turns().post([this, alloc] { withdraw(alloc); });
  } else if (const auto* const row = volumes_.find_mounted(alloc, need.spec.volume)) {
    waiting.mounted.push_back({need.alias, row->directory + '/' + target_path(*row)});
  }
  if (!waiting.open.empty()) return;
  auto ended = std::move(waiting);
  waiting_.erase(found);
  if (ended.failure) return ended.promise.deliver(*ended.failure);
  ended.promise.deliver(Acquired{std::move(ended.mounted)});
}

// -- what volumes need ---------------------------------------------------------------------------

void VolumeManagerState::perform(volume_action::Save& it) {
  // Of the steps down none needs what servers have said of it, its secrets among that.
  if (it.row.phase >= workload::VolumeRow::Phase::leaving) claimed_.erase(it.row.key());
  storage::ClientBatch batch;
  client_db::put_volume(batch, it.row);
  const auto saved
      = [this, operation = it.operation] { on_volumes([&] { volumes_.saved(operation, now()); }); };
  self_->request(options_.db, actor::infinite, client_db::Save{std::move(batch)})
      .then(
          [saved](const client_db::Committed&) {
            NOMAD_FAILPOINT("client.volume_saved");
            saved();
          },
          [saved, key = it.row.key()](const Error& err) {
            // The volume is as good as without: after a crash it is looked for among the mounts.
            log::error("client", "what is known of a volume is not saved",
                       {{"volume", key}, {"error", err}});
            saved();
          });
}

void VolumeManagerState::perform(volume_action::Erase& it) {
  storage::ClientBatch batch;
  client_db::erase_volume(batch, it.key);
  self_->send(options_.db, client_db::SaveLater{std::move(batch)});
  claimed_.erase(it.key);
  wanted_options_.erase(it.key);
}

void VolumeManagerState::perform(volume_action::Claim& it) {
  auto ask = door::make_ask(options_.node_id, [&](auto& question) {
    question.setMaxWaitMs(std::chrono::milliseconds{claim_patience}.count());
    auto claim = question.initClaimVolume();
    claim.setAllocId(text(it.row.spec.alloc));
    claim.setVolumeId(text(it.row.spec.volume));
    claim.setMode(static_cast<schema::CsiClaimMode>(it.row.spec.mode));
    claim.setAccessMode(static_cast<schema::CsiAccessMode>(it.row.spec.access_mode));
    claim.setAttachmentMode(static_cast<schema::CsiAttachmentMode>(it.row.spec.attachment_mode));
  });
  self_->request(options_.servers, claim_patience + 10s, std::move(ask))
      .then([this, row = it.row, operation = it.operation](
                door::Reply& reply) { claim_answered(row, operation, reply); },
            [this, row = it.row, operation = it.operation](const Error& err) {
              const Error why{err.code, fmt::format("could not claim volume {}: {}",
                                                    row.spec.volume, err.what)};
              on_volumes([&] { volumes_.not_claimed(operation, {why, passes(err.code)}, now()); });
            });
}

Result<ClaimedVolume> VolumeManagerState::read_claim(const VolumeRow& row,
                                                     door::Reply& reply) const {
  if (!reply->isClaimedVolume() || reply.rows.size() != 1)
    return Error{Errc::corrupt, "servers have answered something else"};
  ClaimedVolume claimed{.volume = NOMAD_TRY(reply.rows.front().as<schema::CsiVolume>())};
  if (reply.secret)
    claimed.secrets
        = NOMAD_TRY(Object<schema::CsiSecrets>::from_bytes(std::as_bytes(reply.secret->bytes())));
  claimed.reply = reply.object;
  const auto wanted = wanted_options_.find(row.key());
  claimed.options = merged(wanted == wanted_options_.end() ? VolumeMountOptions{} : wanted->second,
                           claimed.volume->getMountOptions());
  return claimed;
}

void VolumeManagerState::claim_answered(const VolumeRow& row,
                                        VolumeMachine::Operation operation,
                                        door::Reply& reply) {
  NOMAD_FAILPOINT("client.volume_claimed");
  auto claimed = read_claim(row, reply);
  if (!claimed) {
    const auto why
        = claimed.error().within(fmt::format("could not claim volume {}", row.spec.volume));
    on_volumes([&] { volumes_.not_claimed(operation, {why, false}, now()); });
    return;
  }
  const auto& volume = *claimed->volume;
  VolumeMachine::Claimed what{.plugin = copy(volume.getPluginId()),
                              .external = copy(volume.getExternalId())};
  if (what.external.empty()) what.external = copy(volume.getId());
  claimed_[row.key()] = std::move(*claimed);
  on_volumes([&] { volumes_.claimed(operation, what, now()); });
}

void VolumeManagerState::perform(volume_action::Look& it) {
  const auto target = it.row.directory + '/' + target_path(it.row);
  const auto staging = it.row.directory + '/' + staging_path(it.row);
  self_
      ->request(options_.steps, actor::infinite,
                blocking::make([target, staging, is_mounted = options_.mounts.is_mounted]()
                                   -> Result<VolumeMachine::Mounted> {
                  return VolumeMachine::Mounted{is_mounted(target), is_mounted(staging)};
                }))
      .then(
          [this, operation = it.operation](blocking::Outcome& outcome) {
            const auto mounted = outcome.as<VolumeMachine::Mounted>();
            on_volumes([&] { volumes_.looked(operation, mounted, now()); });
          },
          [this, it](const Error&) {  // nothing is known: what may be mounted is not given back
            actor::post_after(self_, 1s, [this, it]() mutable { perform(it); });
          });
}

/// Directories before the call, and what is left of them after it, are steps.
void VolumeManagerState::perform(volume_action::Do& it) {
  const bool makes
      = it.step == volume_action::Step::stage || it.step == volume_action::Step::publish;
  if (!makes) return call_node(it);
  auto directory = it.row.directory + '/' + target_path(it.row);
  if (it.step == volume_action::Step::stage)
    directory = it.row.directory + '/' + staging_path(it.row);
  else
    directory.erase(directory.rfind('/'));  // the target itself is the plugin's to make
  self_
      ->request(options_.steps, actor::infinite,
                blocking::make([directory] { return make_directory(directory); }))
      .then([this, it](blocking::Outcome&) { call_node(it); },
            [this, it](const Error& err) {
              // Whoever clears what is beside it may have removed a directory above in between.
              step_done(it, VolumeMachine::Refusal{err, true});
            });
}

void VolumeManagerState::call_node(const volume_action::Do& it) {
  const auto nodes = plugins_.nodes();
  const auto plugin = nodes.find(it.row.plugin);
  if (plugin == nodes.end())
    return step_done(it,
                     VolumeMachine::Refusal{
                         {Errc::unavailable,
                          fmt::format("CSI plugin {} is not healthy on this node", it.row.plugin)},
                         true});
  constexpr schema::csi::Method methods[]
      = {schema::csi::Method::NODE_STAGE_VOLUME, schema::csi::Method::NODE_PUBLISH_VOLUME,
         schema::csi::Method::NODE_UNPUBLISH_VOLUME, schema::csi::Method::NODE_UNSTAGE_VOLUME};
  const auto method = methods[static_cast<std::size_t>(it.step)];
  const auto base = plugin->second.plugin.base;
  const auto claimed = claimed_.find(it.row.key());
  const auto fill = [&](schema::csi::Call::Builder call) {
    const auto& what = claimed == claimed_.end() ? ClaimedVolume{} : claimed->second;
    switch (it.step) {
      case volume_action::Step::stage:
        return fill_stage(call, it.row, base, what);
      case volume_action::Step::publish:
        return fill_publish(call, it.row, base, what);
      case volume_action::Step::unpublish:
        return fill_unpublish(call, it.row, base);
      case volume_action::Step::unstage:
        return fill_unstage(call, it.row, base);
    }
  };
  calls_[it.operation] = options_.calls->ask(
      method, plugin->second.plugin.socket, call_patience, fill, turns(),
      [this, it, method](const csi::Outcome& outcome) {
        NOMAD_FAILPOINT("client.volume_step");
        calls_.erase(it.operation);
        const bool takes_down
            = it.step == volume_action::Step::unpublish || it.step == volume_action::Step::unstage;
        if (outcome || (takes_down && outcome.failure.cause == csi::Cause::not_found))
          return step(it);
        const auto why = csi::error_of(
            {outcome.failure.cause, csi::explain(method, it.row.external, outcome.failure)});
        step_done(it, VolumeMachine::Refusal{why, csi::may_pass(outcome.failure.cause)});
      });
}

/// The plugin has done it.
void VolumeManagerState::step(const volume_action::Do& it) {
  using volume_action::Step;
  if (it.step == Step::stage) return step_done(it, std::nullopt);
  const auto path = it.row.directory + '/'
                    + (it.step == Step::unstage ? staging_path(it.row) : target_path(it.row));
  if (it.step == Step::publish) {
    self_
        ->request(options_.steps, actor::infinite,
                  blocking::make([path, is_mounted = options_.mounts.is_mounted]() -> Result<> {
                    if (is_mounted(path)) return {};
                    return Error{Errc::rejected,
                                 fmt::format("the node plugin says that it has published the "
                                             "volume, and nothing is mounted at {}",
                                             path)};
                  }))
        .then([this, it](blocking::Outcome&) { step_done(it, std::nullopt); },
              [this, it](const Error& err) {
                step_done(it, VolumeMachine::Refusal{err, false});
              });
    return;
  }
  self_
      ->request(options_.steps, actor::infinite,
                blocking::make([path, clear = options_.mounts.clear] { return clear(path); }))
      .then([this, it](blocking::Outcome&) { step_done(it, std::nullopt); },
            [this, it](const Error& err) {
              step_done(it, VolumeMachine::Refusal{err, true});
            });
}

void VolumeManagerState::step_done(const volume_action::Do& it,
                                   std::optional<VolumeMachine::Refusal> refusal) {
  if (!refusal && it.step == volume_action::Step::publish) claimed_.erase(it.row.key());
  on_volumes([&] { volumes_.done(it.operation, refusal, now()); });
}

void VolumeManagerState::perform(volume_action::Release& it) {
  auto ask = door::make_ask(options_.node_id, [&](auto& question) {
    auto release = question.initUnpublishVolume();
    release.setAllocId(text(it.row.spec.alloc));
    release.setVolumeId(text(it.row.spec.volume));
    release.setNamespace(text(it.row.spec.ns));
    release.setDetached(it.detached);
  });
  self_->request(options_.servers, release_patience, std::move(ask))
      .then([this, operation = it.operation](
                door::Reply&) { on_volumes([&] { volumes_.released(operation, true, now()); }); },
            [this, operation = it.operation, key = it.row.key()](const Error& err) {
              // Servers that know neither volume nor allocation have nothing to free.
              const bool is_free = err.code == Errc::not_found;
              if (!is_free)
                log::debug("client", "a volume is not given back yet",
                           {{"volume", key}, {"error", err}});
              on_volumes([&] { volumes_.released(operation, is_free, now()); });
            });
}

void VolumeManagerState::perform(const volume_action::Cancel& it) {
  if (const auto found = calls_.find(it.operation); found != calls_.end())
    options_.calls->cancel(found->second);
}

void VolumeManagerState::perform(const volume_action::Tell& it) {
  std::map<std::string, std::string> details{{"volume_id", it.row.spec.volume},
                                             {"success", it.outcome ? "true" : "false"}};
  if (!it.outcome) details.emplace("error", it.outcome.error().what);
  self_->send(
      options_.parent,
      volume_manager::Happened{it.mounts ? "Mount volume" : "Unmount volume", std::move(details)});
}

void VolumeManagerState::perform(const volume_action::Wait& it) {
  self_->cancel(volumes_timer_);
  volumes_timer_ = actor::send_self_after(
      self_, std::max<VolumeMachine::Time>(it.until - now(), 0ns), VolumesDue{});
}

// -- what servers ask ----------------------------------------------------------------------------

actor::Answer<door::NodeReply> VolumeManagerState::answer(door::NodeAsk& msg) {
  auto promise = self_->make_response_promise<door::NodeReply>();
  when_loaded([this, msg, promise] {
    if (msg->isCsiController()) return plugins_.ask_controller(msg, promise);
    if (msg->isCsiNode()) return ask_node(msg, promise);
    promise.deliver(Error{Errc::not_found, "this client does not know the question"});
  });
  return promise;
}

void VolumeManagerState::ask_node(const door::NodeAsk& msg,
                                  const actor::Promise<door::NodeReply>& promise) {
  const auto call = msg->getCsiNode();
  if (call.isExpand()) {
    const auto* const row
        = volumes_.find_mounted(copy(call.getClaim().getAllocId()), copy(call.getVolumeId()));
    if (row == nullptr)
      return promise.deliver(
          Error{Errc::not_found, "the volume is not mounted for that allocation"});
    return plugins_.expand(*row, msg, promise);
  }
  if (!call.isDetach())
    return promise.deliver(Error{Errc::not_found, "this client does not know the question"});
  const auto ticket = ++last_ticket_;
  detaches_.emplace(ticket, promise);
  on_volumes([&] {
    volumes_.detach(copy(call.getNamespace()), copy(call.getVolumeId()),
                    copy(call.getClaim().getAllocId()), ticket, now());
  });
}

ManagerSelf::behavior_type VolumeManagerState::behavior() {
  return {
      [this](door::NodeAsk& msg) { return answer(msg); },
      [this](const volume_manager::Started& msg) {
        when_loaded([this, msg] { plugins_.started(msg); });
      },
      [this](const volume_manager::Exited& msg) {
        when_loaded([this, key = msg.key] { plugins_.exited(key); });
      },
      [this](const volume_manager::Stopped& msg) -> actor::Answer<Done> {
        auto promise = self_->make_response_promise<Done>();
        when_loaded([this, key = msg.key, promise] {
          plugins_.stopped(key);
          promise.deliver(Done{});
        });
        return promise;
      },
      [this](const volume_manager::Acquire& msg) -> actor::Answer<Acquired> {
        auto promise = self_->make_response_promise<Acquired>();
        when_loaded([this, msg, promise] { acquire(msg, promise); });
        return promise;
      },
      [this](const volume_manager::Withdraw& msg) {
        when_loaded([this, alloc = msg.alloc] { withdraw(alloc); });
      },
      [this](const volume_manager::Drop& msg) -> actor::Answer<Done> {
        auto promise = self_->make_response_promise<Done>();
        when_loaded([this, alloc = msg.alloc, promise] {
          const auto ticket = ++last_ticket_;
          drops_.emplace(ticket, promise);
          on_volumes([&] { volumes_.drop(alloc, ticket, now()); });
        });
        return promise;
      },
      [this](VolumesDue) { on_volumes([&] { volumes_.look(now()); }); },
  };
}

ManagerSelf::behavior_type volume_manager_actor(
    ManagerSelf::stateful_pointer<VolumeManagerState> self, VolumeManagerOptions options) {
  self->state.init(std::move(options));
  return self->state.behavior();
}

}  // namespace

VolumeManager spawn_volume_manager(const actor::Owner& owner, VolumeManagerOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, volume_manager_actor, std::move(options));
}

std::string plugin_directory(const std::string& root,
                             const std::string& type,
                             const std::string& id) {
  return fmt::format("{}/{}/{}", root, type, workload::file_name_of({}, id));
}

}  // namespace nomad::client
