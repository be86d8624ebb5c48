// The files of a task's identities, and the note of what they are. Calls block.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/secret.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/workload/identities/identity_machine.hpp"
#include "runtime/workload/task_env.hpp"

namespace nomad::client {

/// Whose they are: a task's and its services', or, without a task, those of the group's services.
struct IdentitySubject {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  std::string alloc_root;  ///< "<alloc_dir>/<alloc id>"
  std::string task;
};

/// An identity as the job's block says it shows. A service's shows nowhere unless its block says
/// `file`, and in no environment: it is for who registers the service.
struct ShownIdentity {
  enum class Change : std::uint8_t { noop, signal, restart };

  std::string service{};  ///< As the job's block names it; "": it is the task's own.
  std::string name{};     ///< "": the default one.
  std::vector<std::string> audience{};
  std::string variable{};  ///< Of the environment; "": none.
  std::string file{};      ///< Below the task's directory, or as the task names it; "": none.
  Change change = Change::noop;
  std::string signal{};

  /// Among those of one subject.
  std::string key() const {
    return service.empty() ? name : "service:" + service + (name.empty() ? "" : '/' + name);
  }

  friend bool operator==(const ShownIdentity&, const ShownIdentity&) = default;
};

/// Those of the task that show anywhere, and all of services, in the job's order.
std::vector<ShownIdentity> shown_identities(const IdentitySubject& subject);

struct IdentityFile {
  std::string path;  ///< As `ShownIdentity::file`.
  SecretText token;
};

/// Writes them, each whole, for the task's user. `rejected`: one is outside the task's secrets, or
/// the socket there.
Result<> write_identities(const IdentitySubject& subject,
                          const workload::TaskEnv& env,
                          const std::vector<IdentityFile>& files);

/// What is known of an identity that a task has.
struct IdentityNote {
  std::int64_t since = 0;  ///< Unix nanoseconds, by this machine's clock.
  Nanoseconds life{};
  Nanoseconds steady{};  ///< The same as `since` by the machine's steady clock; 0: not known.
};

/// How long ago that is: by the clock that says the longer time, for the steady one stands while
/// the machine sleeps, and begins anew with it. Negative: the wall clock was set back to before it
/// came, and whoever verifies it by that clock refuses it.
Nanoseconds age_of(const IdentityNote& note, std::int64_t unix_now, Nanoseconds steady_now);

/// How far the wall clock was ahead of the steady one when it came; none: not known.
std::optional<Nanoseconds> ahead_of(const IdentityNote& note);

using IdentityNotes = std::map<std::string, IdentityNote>;  ///< By `ShownIdentity::key`.

/// What was noted last; empty without a note, and for one that can't be read.
IdentityNotes read_identity_notes(const IdentitySubject& subject);

Result<> note_identities(const IdentitySubject& subject, const IdentityNotes& notes);

/// Where identities are kept: the files above, or what stands for them in a simulated machine.
struct IdentityDisk {
  std::function<Result<>(
      const IdentitySubject&, const workload::TaskEnv&, const std::vector<IdentityFile>&)>
      write = write_identities;
  std::function<IdentityNotes(const IdentitySubject&)> read_notes = read_identity_notes;
  std::function<Result<>(const IdentitySubject&, const IdentityNotes&)> note = note_identities;
};

}  // namespace nomad::client
