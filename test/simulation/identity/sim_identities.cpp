#include "test/simulation/identity/sim_identities.hpp"

#include "actors/client/hooks/identity_hook.hpp"
#include "test/mistakes/mistake.hpp"

namespace nomad::test {

using namespace std::chrono_literals;

identity::RsaKeyOf remembered_rsa_keys(std::shared_ptr<security::Keyring> keyring) {
  using Made = std::map<std::pair<std::string, std::string>, identity::RsaKey>;
  static thread_local Made made;
  return identity::RsaKeyOf{
      std::move(keyring),
      [](std::string_view id, const security::Secret& seed) -> Result<identity::RsaKey> {
        const std::pair name{std::string{id}, std::string{seed.text()}};
        if (const auto found = made.find(name); found != made.end()) return found->second;
        auto key = NOMAD_TRY(identity::RsaKey::from_seed(id, seed));
        return made.emplace(name, std::move(key)).first->second;
      }};
}

client::HookEntry SimIdentities::hook(const client::HookParts& parts) {
  const client::IdentityDisk disk{
      .write
      = [this](const client::IdentitySubject& subject, const workload::TaskEnv&,
               const std::vector<client::IdentityFile>& files) { return write(subject, files); },
      .read_notes =
          [this](const client::IdentitySubject& subject) {
            const auto found = notes_.find({std::string{subject.alloc->id()}, subject.task});
            return found == notes_.end() ? client::IdentityNotes{} : found->second;
          },
      .note = [this](const client::IdentitySubject& subject,
                     const client::IdentityNotes& notes) -> Result<> {
        notes_[{std::string{subject.alloc->id()}, subject.task}] = notes;
        return {};
      }};
  return client::identity_hook({.signer = parts.identities,
                                .node_identities = parts.node_identities,
                                .steps = parts.steps,
                                .unix_now = parts.unix_now,
                                .disk = disk,
                                .random = [this] { return Random{random_.next()}; }});
}

Result<> SimIdentities::write(const client::IdentitySubject& subject,
                              const std::vector<client::IdentityFile>& files) {
  for (const auto& [path, token] : files) {
    const Position position{std::string{subject.alloc->id()}, subject.task, path};
    const bool renews = find(position) != nullptr;
    if (faulty_ && random_.chance(renews ? 0.2 : 0.01))
      return Error{Errc::unavailable, "simulated"};
    File file{.token = token.reveal(), .written = system_.now()};
    if (mistake == Mistake::mix_identity_files && random_.chance(0.05) && !files_.empty())
      file.token = files_.begin()->second.token;
    if (mistake == Mistake::tear_identity_files) {
      files_[position] = {};
      system_.at(system_.now() + 300ms, [this, position, file] { files_[position] = file; });
      continue;
    }
    on_write(position, file.token);
    files_[position] = file;
  }
  return {};
}

const SimIdentities::File* SimIdentities::find(const Position& position) const {
  const auto found = files_.find(position);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace nomad::test
