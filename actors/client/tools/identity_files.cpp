#include "actors/client/tools/identity_files.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "actors/client/tools/task_owner.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/host/task/task_socket.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

namespace {

constexpr const char* identity_notes = ".identities";

/// Where the secrets are everybody's (docker's), nobody takes away there what the agent has
/// written.
constexpr mode_t for_all_but_others_files = 01777;
constexpr std::size_t longest_identity_note = 256 * 1024;

std::optional<schema::Task::Reader> task_of(const IdentitySubject& subject) {
  return workload::find_task(*subject.alloc, *subject.job, subject.task);
}

ShownIdentity shown(schema::Identity::Reader block, bool is_default) {
  ShownIdentity identity;
  const auto name = copy(block.getName());
  if (!is_default) identity.name = name;
  if (block.getEnv()) identity.variable = is_default ? "NOMAD_TOKEN" : "NOMAD_TOKEN_" + name;
  if (block.getFile()) {
    identity.file = copy(block.getFilepath());
    if (identity.file.empty())
      identity.file = is_default ? "secrets/nomad_token" : "secrets/nomad_" + name + ".jwt";
  }
  if (view(block.getChangeMode()) == "restart") identity.change = ShownIdentity::Change::restart;
  if (view(block.getChangeMode()) == "signal") identity.change = ShownIdentity::Change::signal;
  identity.signal = copy(block.getChangeSignal());
  for (const auto audience : block.getAudience())
    identity.audience.push_back(copy(audience));
  return identity;
}

/// One without a directory of a task has no file.
void add_services(std::vector<ShownIdentity>& to,
                  capnp::List<schema::Service>::Reader services,
                  bool has_directory) {
  for (const auto service : services) {
    if (!service.hasIdentity()) continue;
    const auto block = service.getIdentity();
    auto identity = shown(block, view(block.getName()) == "default");
    identity.service = copy(service.getName());
    identity.variable.clear();
    if (block.getFile() && block.getFilepath().size() == 0)
      identity.file = "secrets/nomad_service_" + identity.service + ".jwt";
    if (!has_directory) identity.file.clear();
    if (identity.file.empty()) identity.change = ShownIdentity::Change::noop;
    to.push_back(std::move(identity));
  }
}

/// What the job itself sets counts.
bool is_set(schema::Task::Reader task, std::string_view variable) {
  for (const auto given : task.getEnv())
    if (view(given.getKey()) == variable) return true;
  return false;
}

}  // namespace

std::vector<ShownIdentity> shown_identities(const IdentitySubject& subject) {
  std::vector<ShownIdentity> all;
  if (subject.task.empty()) {
    if (const auto group = workload::find_group(*subject.job, subject.alloc->task_group()))
      add_services(all, group->getServices(), false);
    return all;
  }
  const auto task = task_of(subject);
  if (!task) return all;
  const auto add = [&](ShownIdentity identity) {
    if (is_set(*task, identity.variable)) identity.variable.clear();
    if (!identity.variable.empty() || !identity.file.empty()) all.push_back(std::move(identity));
  };
  if (task->hasIdentity()) add(shown(task->getIdentity(), true));
  for (const auto block : task->getIdentities())
    add(shown(block, false));
  add_services(all, task->getServices(), true);
  return all;
}

Result<> write_identities(const IdentitySubject& subject,
                          const workload::TaskEnv& env,
                          const std::vector<IdentityFile>& files) {
  const auto task = task_of(subject);
  if (!task || files.empty()) return {};
  const auto directory = fmt::format("{}/{}", subject.alloc_root, subject.task);
  const auto root = NOMAD_TRY(host::Beneath::open(directory, false));
  const auto owner = owner_of_secrets(*task, env);
  for (const auto& [path, token] : files) {
    const auto location = env.client_path(path, true);
    if (location.escapes || !location.path.starts_with(directory + "/secrets/"))
      return Error{Errc::rejected,
                   fmt::format("the identity's file \"{}\" is outside the task's secrets", path)};
    const auto relative = location.path.substr(directory.size() + 1);
    if (relative == "secrets/api.sock")
      return Error{Errc::rejected,
                   fmt::format("the identity's file \"{}\" is the socket of the Task API", path)};
    const auto slash = relative.rfind('/');
    if (slash != relative.npos)
      NOMAD_TRY(root.make_directories(relative.substr(0, slash), for_all_but_others_files));
    if (owner.user
        && root.write_file(relative, token.reveal(), host::owner_only, false, owner).has_value())
      continue;
    NOMAD_TRY(root.write_file(relative, token.reveal(), host::for_everybody));
  }
  return {};
}

Nanoseconds age_of(const IdentityNote& note, std::int64_t unix_now, Nanoseconds steady_now) {
  const Nanoseconds by_wall{unix_now - note.since};
  if (by_wall < Nanoseconds{0}) return by_wall;
  return note.steady.count() > 0 ? std::max(by_wall, steady_now - note.steady) : by_wall;
}

std::optional<Nanoseconds> ahead_of(const IdentityNote& note) {
  if (note.steady.count() <= 0 || note.since <= 0) return {};
  return Nanoseconds{note.since} - note.steady;
}

IdentityNotes read_identity_notes(const IdentitySubject& subject) {
  IdentityNotes notes;
  const auto root = host::Beneath::open(subject.alloc_root, false);
  if (!root) return notes;
  const auto text
      = root->read_at(fmt::format("{}/{}", identity_notes, subject.task), 0, longest_identity_note);
  if (!text) return notes;
  for (const auto line : split(*text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() != 3 && words.size() != 4) continue;  // The release before knew three.
    const auto since = whole_number<std::int64_t>(words[0]);
    const auto life = whole_number<std::int64_t>(words[1]);
    const auto steady
        = words.size() == 4 ? whole_number<std::int64_t>(words[2]) : std::optional<std::int64_t>{0};
    if (since && life && steady)
      notes[std::string{words.back()}]
          = {.since = *since, .life = Nanoseconds{*life}, .steady = Nanoseconds{*steady}};
  }
  return notes;
}

Result<> note_identities(const IdentitySubject& subject, const IdentityNotes& notes) {
  if (notes.empty()) return {};
  const auto root = NOMAD_TRY(host::Beneath::open(subject.alloc_root, false));
  std::string text;
  for (const auto& [name, note] : notes)
    text += fmt::format("{} {} {} {}\n", note.since, note.life.count(), note.steady.count(), name);
  NOMAD_TRY(root.make_directories(identity_notes, 0700));
  return root.write_file(fmt::format("{}/{}", identity_notes, subject.task), text, 0600);
}

}  // namespace nomad::client
