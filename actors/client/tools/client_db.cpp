#include "actors/client/tools/client_db.hpp"

#include <charconv>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/storage/identity_file.hpp"
#include "runtime/storage/set_aside.hpp"
#include "runtime/workload/node/alloc_ledger.hpp"

namespace nomad::client {
namespace client_db {

using storage::Bucket;
using storage::ClientBatch;

namespace {

constexpr auto node_id_key = "node_id";
constexpr auto secret_id_key = "secret_id";
constexpr auto incarnation_key = "incarnation";
constexpr std::string_view node_meta_prefix = "node_meta/";

std::string deregistration_key(const PendingDeregistration& pending, const std::string& id) {
  return pending.alloc_id + '/' + pending.provider + '/' + id;
}

std::string node_meta_key(const std::string& key) {
  return std::string{node_meta_prefix} + key;
}

template <class T>
std::string as_value(const Object<T>& object) {
  const auto bytes = object.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
Result<Object<T>> as_object(std::string_view value) {
  return Object<T>::from_bytes(std::as_bytes(std::span{value.data(), value.size()}));
}

/// Two numbers in decimal, "3 1234567".
template <class First, class Second>
Result<std::pair<First, Second>> parse_pair(std::string_view text) {
  std::pair<First, Second> pair{};
  const auto* end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, pair.first);
  if (parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == ' ')
    parsed = std::from_chars(parsed.ptr + 1, end, pair.second);
  if (parsed.ec != std::errc{} || parsed.ptr != end)
    return Error{Errc::corrupt, fmt::format("not two numbers: \"{}\"", text)};
  return pair;
}

/// Reads the whole store. Bad rows are logged with their key.
class Loader {
public:
  explicit Loader(storage::ClientStore& store) : store_{store} {}

  Result<Loaded> load() {
    Loaded loaded;
    for (auto& [key, to] :
         {std::pair{node_id_key, &loaded.node_id}, std::pair{secret_id_key, &loaded.secret_id}}) {
      auto value = NOMAD_TRY(store_.get(Bucket::meta, key));
      if (value) *to = std::move(*value);
    }
    NOMAD_TRY(load_node_meta(loaded.node_meta));
    if (const auto value = NOMAD_TRY(store_.get(Bucket::meta, incarnation_key)))
      std::from_chars(value->data(), value->data() + value->size(), loaded.incarnation);
    NOMAD_TRY(load_jobs());
    NOMAD_TRY(load_allocs());
    NOMAD_TRY(load_tasks());
    NOMAD_TRY(load_small());
    NOMAD_TRY(load_deregistrations(loaded.deregistrations));
    for (auto& [id, saved] : allocs_)
      loaded.allocs.push_back(std::move(saved));
    for (const auto& [key, job] : jobs_)
      if (!used_jobs_.contains(key)) loaded.unused_jobs.push_back(key);
    return loaded;
  }

  Result<LoadedVolumes> load_volumes() {
    LoadedVolumes loaded;
    NOMAD_TRY(each(Bucket::csi_volume, [&](std::string_view, std::string_view value) -> Result<> {
      loaded.volumes.push_back(NOMAD_TRY(workload::read_row(value)));
      return {};
    }));
    NOMAD_TRY(each(Bucket::csi_plugin, [&](std::string_view, std::string_view value) -> Result<> {
      loaded.plugins.push_back(NOMAD_TRY(workload::read_plugin(value)));
      return {};
    }));
    NOMAD_TRY(each(Bucket::alloc, [&](std::string_view key, std::string_view) -> Result<> {
      loaded.allocs.emplace_back(key);
      return {};
    }));
    return loaded;
  }

private:
  /// Calls `take` for each good row; a bad one, or one `take` refuses, is logged and passed over.
  template <class Take>
  Result<> each(Bucket bucket, const Take& take, std::string_view prefix = "") {
    return store_.scan(bucket, prefix,
                       [&](std::string_view key, Result<std::string_view> value) -> Result<> {
                         auto outcome = value ? take(key, *value) : Result<>{value.error()};
                         if (!outcome)
                           log::error("client", "passing over a saved state",
                                      {{"key", key}, {"error", outcome.error()}});
                         return {};
                       });
  }

  SavedAlloc* find(std::string_view alloc_id) {
    const auto found = allocs_.find(alloc_id);
    return found == allocs_.end() ? nullptr : &found->second;
  }

  /// "=value", or "-" for a key that is hidden.
  Result<> load_node_meta(workload::DynamicMeta& meta) {
    return each(
        Bucket::meta,
        [&meta](std::string_view key, std::string_view value) -> Result<> {
          auto& entry = meta[std::string{key.substr(node_meta_prefix.size())}];
          if (value.starts_with('=')) entry = value.substr(1);
          return {};
        },
        node_meta_prefix);
  }

  Result<> load_jobs() {
    return each(Bucket::job, [this](std::string_view key, std::string_view value) -> Result<> {
      auto job = NOMAD_TRY(as_object<schema::Job>(value));
      jobs_.emplace(key, std::move(job));
      return {};
    });
  }

  Result<> load_allocs() {
    return each(Bucket::alloc, [this](std::string_view key, std::string_view value) -> Result<> {
      auto alloc = NOMAD_TRY(as_object<schema::Allocation>(value));
      const auto job = jobs_.find(workload::job_key(*alloc));
      if (job == jobs_.end()) return Error{Errc::corrupt, "its job is missing"};
      used_jobs_.insert(job->first);
      allocs_.emplace(key, SavedAlloc{.alloc = std::move(alloc),
                                      .job = job->second,
                                      .tasks = {},
                                      .acknowledged = {},
                                      .health = {}});
      return {};
    });
  }

  Result<> load_tasks() {
    return each(Bucket::task_state,
                [this](std::string_view key, std::string_view value) -> Result<> {
                  const auto slash = key.find('/');
                  auto* const saved = find(key.substr(0, slash));
                  if (saved == nullptr || slash == key.npos) return {};
                  auto task = NOMAD_TRY(as_object<schema::LocalTask>(value));
                  saved->tasks.emplace_back(key.substr(slash + 1), std::move(task));
                  return {};
                });
  }

  Result<> load_small() {
    NOMAD_TRY(each(
        Bucket::acknowledged, [this](std::string_view key, std::string_view value) -> Result<> {
          const auto numbers = NOMAD_TRY((parse_pair<std::uint16_t, std::uint64_t>(value)));
          if (auto* const saved = find(key))
            saved->acknowledged
                = workload::Acknowledged{.status = static_cast<schema::ClientStatus>(numbers.first),
                                         .digest = numbers.second};
          return {};
        }));
    return each(Bucket::deployment,
                [this](std::string_view key, std::string_view value) -> Result<> {
                  const auto numbers = NOMAD_TRY((parse_pair<int, std::int64_t>(value)));
                  if (auto* const saved = find(key))
                    saved->health = workload::HealthStatus{.healthy = numbers.first != 0,
                                                           .timestamp = numbers.second};
                  return {};
                });
  }

  /// A row for each service: "<allocation>/<provider>/<service id>".
  Result<> load_deregistrations(std::vector<PendingDeregistration>& pending) {
    return each(Bucket::owed, [&pending](std::string_view key, std::string_view) -> Result<> {
      const auto first = key.find('/');
      const auto second = first == key.npos ? first : key.find('/', first + 1);
      if (second == key.npos) return Error{Errc::corrupt, "it names no service of a provider"};
      const auto alloc_id = key.substr(0, first);
      const auto provider = key.substr(first + 1, second - first - 1);
      if (pending.empty() || pending.back().alloc_id != alloc_id
          || pending.back().provider != provider)
        pending.push_back({std::string{provider}, std::string{alloc_id}});
      pending.back().ids.emplace_back(key.substr(second + 1));
      return {};
    });
  }

  storage::ClientStore& store_;
  std::map<std::string, Object<schema::Job>, std::less<>> jobs_;
  std::set<std::string> used_jobs_;
  std::map<std::string, SavedAlloc, std::less<>> allocs_;
};

}  // namespace

void put_incarnation(ClientBatch& batch, std::uint64_t incarnation) {
  batch.put(Bucket::meta, incarnation_key, std::to_string(incarnation));
}

void put_meta(ClientBatch& batch, const std::string& key, const std::optional<std::string>& value) {
  batch.put(Bucket::meta, node_meta_key(key), value ? '=' + *value : "-");
}

void erase_meta(ClientBatch& batch, const std::string& key) {
  batch.erase(Bucket::meta, node_meta_key(key));
}

void put_alloc(ClientBatch& batch, const Object<schema::Allocation>& alloc) {
  batch.put(Bucket::alloc, std::string{alloc->id()}, as_value(alloc));
}

void put_job(ClientBatch& batch, const Object<schema::Job>& job) {
  batch.put(Bucket::job, workload::job_key(*job), as_value(job));
}

void put_task(ClientBatch& batch,
              const std::string& alloc_id,
              const std::string& task,
              const Object<schema::LocalTask>& state) {
  batch.put(Bucket::task_state, alloc_id + '/' + task, as_value(state));
}

void put_acknowledged(ClientBatch& batch,
                      const std::string& alloc_id,
                      const workload::Acknowledged& state) {
  batch.put(Bucket::acknowledged, alloc_id,
            fmt::format("{} {}", static_cast<unsigned>(state.status), state.digest));
}

void erase_acknowledged(ClientBatch& batch, const std::string& alloc_id) {
  batch.erase(Bucket::acknowledged, alloc_id);
}

void put_health(ClientBatch& batch,
                const std::string& alloc_id,
                const std::optional<workload::HealthStatus>& health) {
  if (health)
    batch.put(Bucket::deployment, alloc_id,
              fmt::format("{} {}", health->healthy ? 1 : 0, health->timestamp));
  else
    batch.erase(Bucket::deployment, alloc_id);
}

void erase_alloc(ClientBatch& batch, const std::string& alloc_id) {
  batch.erase(Bucket::alloc, alloc_id);
  batch.erase_prefix(Bucket::task_state, alloc_id + '/');
  batch.erase(Bucket::acknowledged, alloc_id);
  batch.erase(Bucket::deployment, alloc_id);
}

void put_deregistration(ClientBatch& batch, const PendingDeregistration& pending) {
  for (const auto& id : pending.ids)
    batch.put(Bucket::owed, deregistration_key(pending, id), "1");
}

void erase_deregistration(ClientBatch& batch, const PendingDeregistration& pending) {
  for (const auto& id : pending.ids)
    batch.erase(Bucket::owed, deregistration_key(pending, id));
}

void erase_job(ClientBatch& batch, const std::string& job_key) {
  batch.erase(Bucket::job, job_key);
}

void put_volume(ClientBatch& batch, const workload::VolumeRow& row) {
  batch.put(Bucket::csi_volume, row.key(), workload::write_row(row));
}

void erase_volume(ClientBatch& batch, const std::string& key) {
  batch.erase(Bucket::csi_volume, key);
}

void put_csi_plugin(ClientBatch& batch, const workload::PluginTask& plugin) {
  batch.put(Bucket::csi_plugin, plugin.key(), workload::write_plugin(plugin));
}

void erase_csi_plugin(ClientBatch& batch, const std::string& key) {
  batch.erase(Bucket::csi_plugin, key);
}

}  // namespace client_db

namespace {

using namespace client_db;

/// Commits what has queued up. Sent to itself behind everything that is in the mailbox.
struct Flush {
  using is_message = void;
};

using DbSelf = actor::WithInternal<ClientDb, void(Flush)>;

/// Between two looks whether a full disk has room again.
constexpr std::chrono::seconds room_pause{1};

struct DbState {
  static constexpr const char* name = "client_db";

  explicit DbState(DbSelf::pointer actor) : self{actor} {}

  ~DbState() {
    if (!store || waiting.empty()) return;
    if (const auto saved = commit(); !saved)
      log::error("client", "the last changes of local state are lost", {{"error", saved.error()}});
  }

  DbSelf::pointer self;
  std::shared_ptr<storage::ClientStore> store;
  std::string identity_path;  ///< Empty: no such file.
  storage::ClientBatch waiting;
  std::vector<actor::Promise<Committed>> owed;
  /// Of those who save nothing: they do not wait for room.
  std::vector<actor::Promise<Committed>> asking;
  bool flush_sent = false;
  bool full = false;

  void add(storage::ClientBatch changes) {
    waiting.append(std::move(changes));
    if (flush_sent) return;
    flush_sent = true;
    actor::send_self(self, Flush{});
  }

  /// What finds no room goes on waiting.
  Result<> commit() {
    NOMAD_FAILPOINT("client.before_save");
    auto outcome = store->commit(waiting);
    NOMAD_FAILPOINT("client.after_save");
    if (!is_full(outcome)) waiting = {};
    return outcome;
  }

  void flush() {
    flush_sent = false;
    const auto outcome = waiting.empty() ? Result<>{} : commit();
    answer_all(asking, outcome);
    if (is_full(outcome)) return wait_for_room(outcome.error());
    if (!outcome)
      log::error("client", "saving local state failed", {{"error", outcome.error()}});
    else if (std::exchange(full, false))
      log::info("client", "local state is saved again");
    answer_all(owed, outcome);
  }

  void save_identity(SaveIdentity& msg) {
    const storage::NodeIdentityText identity{std::move(msg.node_id), std::move(msg.secret_id)};
    write_copy(identity);
    NOMAD_FAILPOINT("client.identity_filed");
    add_identity(identity);
  }

  void add_identity(const storage::NodeIdentityText& identity) {
    ClientBatch changes;
    changes.put(Bucket::meta, node_id_key, identity.id);
    changes.put(Bucket::meta, secret_id_key, identity.secret);
    add(std::move(changes));
  }

  /// A node can do without, and tries again at its next start.
  void write_copy(const storage::NodeIdentityText& identity) const {
    if (identity_path.empty()) return;
    if (const auto written = storage::write_identity_file(identity_path, identity); !written)
      log::warn("client", "the node's id has no copy beside the database",
                {{"error", written.error()}});
  }

  /// Of database and file, who has lost the node's identity takes the other's. The database is the
  /// older witness where they differ.
  void reconcile(Loaded& loaded) {
    if (identity_path.empty()) return;
    const auto filed = storage::read_identity_file(identity_path);
    if (!filed)
      log::error("client", "cannot read the copy of the node's id", {{"error", filed.error()}});
    if (loaded.node_id.empty() || loaded.secret_id.empty()) {
      if (!filed || !*filed) return;
      loaded.node_id = (*filed)->id;
      loaded.secret_id = (*filed)->secret;
      add_identity(**filed);
      return;
    }
    const storage::NodeIdentityText known{loaded.node_id, loaded.secret_id};
    if (!filed || *filed != known) write_copy(known);
  }

  Result<Loaded> load() {
    flush();
    auto loaded = NOMAD_TRY(Loader{*store}.load());
    reconcile(loaded);
    return loaded;
  }

  Result<LoadedVolumes> load_volumes() {
    flush();
    return Loader{*store}.load_volumes();
  }

  static bool is_full(const Result<>& outcome) {
    return !outcome && outcome.error().code == Errc::overloaded;
  }

  static void answer_all(std::vector<actor::Promise<Committed>>& promises,
                         const Result<>& outcome) {
    for (auto& promise : std::exchange(promises, {}))
      actor::answer(promise, outcome ? Result<Committed>{Committed{}} : outcome.error());
  }

  void wait_for_room(const Error& reason) {
    waiting.drop_overwritten();
    if (!std::exchange(full, true))
      log::error("client", "ALARM: local state can't be saved and waits for room",
                 {{"error", reason}});
    flush_sent = true;
    actor::send_self_after(self, room_pause, Flush{});
  }
};

DbSelf::behavior_type client_db_actor(DbSelf::stateful_pointer<DbState> self,
                                      std::shared_ptr<storage::ClientStore> store,
                                      std::string identity_path) {
  self->state.store = std::move(store);
  self->state.identity_path = std::move(identity_path);
  return {
      [self](Save& msg) -> actor::Answer<Committed> {
        auto& who = msg.changes.empty() ? self->state.asking : self->state.owed;
        who.push_back(self->make_response_promise<Committed>());
        self->state.add(std::move(msg.changes));
        return who.back();
      },
      [self](SaveIdentity& msg) -> actor::Answer<Committed> {
        self->state.save_identity(msg);
        self->state.owed.push_back(self->make_response_promise<Committed>());
        return self->state.owed.back();
      },
      [self](SaveLater& msg) { self->state.add(std::move(msg.changes)); },
      [self](Load) { return actor::answer(self->state.load()); },
      [self](LoadVolumes) { return actor::answer(self->state.load_volumes()); },
      [self](Flush) { self->state.flush(); },
  };
}

struct ForgetfulState {
  static constexpr const char* name = "forgetful_client_db";
};

ClientDb::behavior_type forgetful_db(ClientDb::stateful_pointer<ForgetfulState>) {
  return {
      [](const Save&) { return Committed{}; },
      [](const SaveIdentity&) { return Committed{}; },
      [](const SaveLater&) {},
      [](Load) { return Loaded{}; },
      [](LoadVolumes) { return LoadedVolumes{}; },
  };
}

}  // namespace

Result<storage::ClientStore> open_client_store(const std::string& state_dir) {
  const auto path = state_dir + "/state.db";
  auto store = storage::ClientStore::open(path);
  if (store || store.error().code != Errc::corrupt) return store;
  const auto kept = NOMAD_TRY(storage::set_aside(path));
  log::error("client",
             "the database of local state can't be used. Its files are kept; the node begins with "
             "an empty one, asks the servers what it should run, takes up what runs of that, and "
             "ends what else runs",
             {{"path", kept}, {"error", store.error()}});
  return storage::ClientStore::open(path);
}

ClientDb spawn_client_db(const actor::Owner& owner,
                         storage::ClientStore store,
                         const std::string& state_dir) {
  return actor::spawn_detached<actor::Policy::end_owner>(
      owner, client_db_actor, std::make_shared<storage::ClientStore>(std::move(store)),
      state_dir + "/identity");
}

ClientDb spawn_forgetful_client_db(const actor::Owner& owner) {
  return actor::spawn<actor::Policy::restart>(owner, forgetful_db);
}

ClientDb spawn_client_db_inline(const actor::Owner& owner,
                                std::shared_ptr<storage::ClientStore> store,
                                std::string identity_path) {
  return actor::spawn<actor::Policy::end_owner>(owner, client_db_actor, std::move(store),
                                                std::move(identity_path));
}

}  // namespace nomad::client
