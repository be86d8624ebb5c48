// /v1/operator/snapshot: saves the state of the servers as an archive, and restores one. An archive
// is verified to its last row before the first write; what cannot be restored changes nothing.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <stdlib.h>

#include "actors/api/http/read_options.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/restore_commands.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/security/unopened_keys.hpp"
#include "runtime/state/tables.hpp"
#include "runtime/storage/snapshot_archive.hpp"
#include "runtime/storage/snapshot_file.hpp"

namespace nomad::api {
namespace {

namespace fs = std::filesystem;
using state::Table;

constexpr std::size_t archive_piece = 256 * 1024;
constexpr std::string_view route = "/v1/operator/snapshot";

/// A directory that only we can read, removed with everything in it.
class PrivateDirectory {
public:
  static Result<std::shared_ptr<PrivateDirectory>> make(const std::string& parent) {
    if (parent.empty()) return Error{Errc::internal, "this agent has no directory for archives"};
    auto pattern = parent + "/snapshot-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      return errno_error("cannot create a temporary directory", errno);
    return std::make_shared<PrivateDirectory>(std::move(pattern));
  }

  explicit PrivateDirectory(std::string path) : path_{std::move(path)} {}

  PrivateDirectory(const PrivateDirectory&) = delete;

  ~PrivateDirectory() {
    std::error_code failure;
    fs::remove_all(path_, failure);
    if (failure)
      log::warn("snapshot", "cannot remove a file",
                {{"path", path_}, {"error", failure.message()}});
  }

  std::string file(std::string_view name) const { return path_ + '/' + std::string{name}; }

private:
  std::string path_;
};

/// A file on its way to a client, piece after piece as the client takes them.
class FileStream : public std::enable_shared_from_this<FileStream> {
public:
  FileStream(std::shared_ptr<PrivateDirectory> home,
             const std::string& path,
             net::BodyStream body,
             RunBlocking run)
      : home_{std::move(home)},
        file_{path, std::ios::binary},
        body_{std::move(body)},
        run_{std::move(run)} {}

  /// From any thread. Those that call when a piece was taken carry Raft's messages, too.
  void go_on() {
    std::function<void()> job = [self = shared_from_this()] { self->send_piece(); };
    if (!run_(job)) body_.abort();
  }

private:
  void send_piece() {
    std::string piece(archive_piece, '\0');
    file_.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    piece.resize(static_cast<std::size_t>(file_.gcount()));
    if (piece.empty()) {
      if (file_.bad())
        body_.abort();
      else
        body_.close();
      return;
    }
    if (!body_.write(piece, [self = shared_from_this()] { self->go_on(); })) body_.abort();
  }

  std::shared_ptr<PrivateDirectory> home_;
  std::ifstream file_;
  net::BodyStream body_;
  RunBlocking run_;
};

Outcome send_archive(Call& call, const ArchiveParts& parts, const std::string& snapshot_path) {
  const auto home = NOMAD_TRY(PrivateDirectory::make(parts.directory));
  const auto path = home->file("archive");
  const auto made = NOMAD_TRY(storage::write_archive(snapshot_path, path, unix_now() / 1'000'000));
  const auto digest = NOMAD_TRY(storage::file_digest(path));
  auto body = call.responder.stream(
      {.status = 200,
       .content_type = "application/x-gzip",
       .headers = {{"Digest", digest}, {"X-Nomad-Index", std::to_string(made.index)}}});
  std::make_shared<FileStream>(home, path, std::move(body), run_blocking(call.context))->go_on();
  return later;
}

void take_snapshot(const SharedCall& call, const ArchiveParts& parts) {
  call->context->asker.ask<raft::SnapshotTaken>(
      call->context->state.raft, raft::TakeSnapshot{}, ask_timeout,
      [call, &parts](Result<raft::SnapshotTaken> taken) {
        if (!taken) return call->fail(taken.error().within("failed to open snapshot"));
        run_on(call->context->archives, call, [&parts, path = taken->path](Call& asked) {
          return send_archive(asked, parts, path).within("failed to open snapshot");
        });
      });
}

/// With `?stale` of what this server knows, otherwise with all that was acknowledged before.
Outcome save_snapshot(Call& call, const ArchiveParts& parts) {
  const auto raft = call.context->state.raft;
  if (!raft) return no_leader();
  const auto options = NOMAD_TRY(parse_read_options(call.request()));
  const auto shared = share(std::move(call));
  if (options.stale)
    take_snapshot(shared, parts);
  else
    shared->context->asker.ask<raft::ReadReady>(
        raft, raft::ReadIndex{}, ask_timeout,
        [shared, &parts](const Result<raft::ReadReady>& ready) {
          if (ready)
            take_snapshot(shared, parts);
          else
            shared->fail(no_leader());
        });
  return later;
}

/// The file that the archive came in. A request that is spelled in another way than users spell it
/// brings a small one in memory.
Result<std::shared_ptr<const net::BodyFile>> archive_of(const net::Request& request,
                                                        net::BodyFiles* files) {
  if (request.body_file) return std::shared_ptr<const net::BodyFile>{request.body_file};
  if (!files) return Error{Errc::internal, "this agent has no directory for archives"};
  auto file = NOMAD_TRY(files->make());
  NOMAD_TRY(file->append(request.body));
  return std::shared_ptr<const net::BodyFile>{std::move(file)};
}

/// The root keys of what the archive has sealed that this server can't open, each with what it has
/// sealed: "<id>=3 variables; 2 tokens,<id>=1 token".
std::string unopened_keys(const state::Tables& tables, const ArchiveParts& parts) {
  std::string out;
  if (!parts.keyring) return out;
  for (const auto& [id, count] : security::sealed_by_key(tables)) {
    const auto* key = tables.root_keys.find(id);
    if (key != nullptr && parts.keyring->opens(*key)) continue;
    auto sealed = security::describe(count);
    std::ranges::replace(sealed, ',', ';');
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", id, sealed);
  }
  return out;
}

struct PreparedRestore {
  std::vector<Object<schema::Command>> commands;
  std::string unopened;  ///< `unopened_keys`
};

/// The commands that bring the archive's state, after all of it was verified and put together once.
Result<PreparedRestore> prepare_restore(const Call& call, const ArchiveParts& parts) {
  const auto archive = NOMAD_TRY(archive_of(call.request(), parts.files.get()));
  const auto home = NOMAD_TRY(PrivateDirectory::make(parts.directory));
  const auto meta = NOMAD_TRY(storage::read_archive(archive->path(), home->file("state")));
  auto reader = NOMAD_TRY(storage::SnapshotReader::open(home->file("state")));
  const auto tables = NOMAD_TRY(raft::read_tables(*reader));
  auto random = Random::from_system();
  cluster::RestoreCommands commands{make_uuid(random)};
  for (std::uint32_t i = 0; i < state::stored_tables; ++i) {
    const auto table = static_cast<Table>(i);
    if (table == Table::restore_rows || table == Table::key_holders) continue;
    NOMAD_TRY(state::Snapshot{std::make_shared<const state::Tables>(tables)}.for_each_row(
        table, [&](std::string_view key, std::span<const std::byte> value) -> Result<> {
          commands.add(state::to_string(table), key, value);
          return {};
        }));
  }
  const auto newest = std::max(*std::max_element(tables.indexes.begin(), tables.indexes.end()),
                               meta.index + tables.index_offset);
  return PreparedRestore{commands.finish(newest), unopened_keys(tables, parts)};
}

/// Drops what a restore that failed has kept aside. If this server does not lead any more, the next
/// leader does.
void abandon_restore(const Call& call, const access::Allowed& allowed, const std::string& id) {
  const auto& writer = *call.context->state.writer;
  writer.propose(allowed, cluster::abandon_restore(id), Turns::here(),
                 [](const Result<server::Committed>& dropped) {
                   if (!dropped && !cluster::is_abandoned(dropped.error()))
                     log::warn("snapshot", "the next leader has to drop the rows of a restore",
                               {{"error", dropped.error()}});
                 });
}

Outcome restore_here(Call& call, const ArchiveParts& parts) {
  const auto allowed = NOMAD_TRY(authorize(call.asking, {}));
  auto prepared = prepare_restore(call, parts);
  if (!prepared) {
    log::warn("snapshot", "refused to restore a snapshot",
              {{"peer", call.asking.who.describe()}, {"error", prepared.error()}});
    auto refusal = prepared.error().within("failed to restore from snapshot");
    if (refusal.code == Errc::corrupt) refusal.code = Errc::invalid_argument;  // it is the caller's
    return refusal;
  }
  log::info("snapshot", "restoring a snapshot", {{"peer", call.asking.who.describe()}});
  if (!prepared->unopened.empty())
    log::warn("snapshot", "this server can't open root keys that the snapshot holds",
              {{"error", prepared->unopened}});
  const auto shared = share(std::move(call));
  const auto& writer = *shared->context->state.writer;
  const auto id = copy(prepared->commands.front()->getRestoreBegin());
  writer.propose_all(
      allowed, std::move(prepared->commands), Turns::here(),
      [shared, allowed, id, keys = prepared->unopened](const Result<server::Committed>& done) {
        if (!done) abandon_restore(*shared, allowed, id);
        shared->turns().post([shared, done, keys] {
          if (!done) return shared->fail(done.error().within("failed to restore from snapshot"));
          auto answer = Answer::empty();
          if (!keys.empty()) answer.headers.push_back({"X-Nomad-Unopened-Keys", keys});
          shared->send(std::move(answer));
        });
      });
  return later;
}

Outcome restore_snapshot(Call& call, const ArchiveParts& parts) {
  if (!call.context->state.writer) return no_leader();
  const auto shared = share(std::move(call));
  run_on(shared->context->archives, shared,
         [&parts](Call& here) { return restore_here(here, parts); });
  return later;
}

}  // namespace

bool brings_archive(const net::Request& head, access::Authenticator& authenticator) {
  const std::string_view target{head.target};
  if (head.method != "PUT" && head.method != "POST") return false;
  if (target.substr(0, target.find('?')) != route) return false;
  const auto sender = sender_of(head, authenticator);
  const auto who = authenticator.at_once(sender);
  // A body can't wait until others have said who sends it: the next try may come with one.
  if (!who) authenticator.resolve(sender, [](const Result<access::Principal>&) {});
  return who && *who && authorize(**who, Capability::management, {});
}

void add_snapshot_routes(Routes& routes, ArchiveParts parts) {
  const auto with = routes.with(std::move(parts));
  routes.exact(std::string{route},
               {{Methods::get, Capability::management, with(save_snapshot)},
                {Methods::write, Capability::management, with(restore_snapshot)}});
}

}  // namespace nomad::api
