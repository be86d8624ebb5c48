// SimIdentities: the files of tasks' identities on a simulated machine, which outlive its agent,
// and the hook that keeps them: the program's own. Whether what is in them may be there is the
// world's to judge.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "actors/client/hooks/builtin_hooks.hpp"
#include "actors/client/tools/identity_files.hpp"
#include "runtime/identity/rsa_key.hpp"
#include "test/simulation/sim_system.hpp"

namespace nomad::test {

/// Those of a server, whose making takes long: the servers of a world, and their lives, share what
/// they have made.
identity::RsaKeyOf remembered_rsa_keys(std::shared_ptr<security::Keyring> keyring);

class SimIdentities {
public:
  struct Position {
    std::string alloc_id;
    std::string task;
    std::string file;

    friend auto operator<=>(const Position&, const Position&) = default;
  };

  struct File {
    std::string token;
    Time written{0};  ///< In the world's time.
  };

  SimIdentities(SimSystem& system, std::uint64_t seed) : system_(system), random_(seed) {}

  /// Told before a file is there whole. Set by the world.
  std::function<void(const Position&, const std::string& token)> on_write;

  /// As the program makes it, of a client that lives on this machine.
  client::HookEntry hook(const client::HookParts& parts);

  /// Null: there is no such file.
  const File* find(const Position& position) const;

  /// While it is, a fifth of the renewals are not written, and one of a hundred new files.
  void set_faulty(bool faulty) { faulty_ = faulty; }

private:
  using Task = std::pair<std::string, std::string>;

  Result<> write(const client::IdentitySubject& subject,
                 const std::vector<client::IdentityFile>& files);

  SimSystem& system_;
  Random random_;
  std::map<Position, File> files_;
  std::map<Task, client::IdentityNotes> notes_;
  bool faulty_ = true;
};

}  // namespace nomad::test
