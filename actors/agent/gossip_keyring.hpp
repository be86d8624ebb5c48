// The keys that a server seals its membership by, as its start finds them: in a file that operators
// change by `operator gossip keyring`, which `encrypt` of the configuration only begins.
#pragma once

#include <string>

#include "runtime/cluster/members/member_keyring.hpp"

namespace nomad::agent {

/// The file's keys. While there is no file, the key of `encrypt`, which is written there, durably;
/// without one of both nothing is sealed. A file that is there counts, whatever `encrypt` says, as
/// in Nomad. Errors name the file and what is wrong with it, or with `encrypt`.
Result<cluster::MemberKeyring> open_gossip_keyring(const std::string& path,
                                                   const std::string& encrypt);

/// Keeps what operators have made of it, durably.
Result<> keep_gossip_keyring(const std::string& path, const std::string& text);

/// What is to be told while `encrypt` is not the key that is sealed by: root keys go on being
/// wrapped by `encrypt`, which may be a key that was taken out of use. "" if nothing is.
std::string remark_on_encrypt(const cluster::MemberKeyring& keyring,
                              const std::string& path,
                              const std::string& encrypt);

}  // namespace nomad::agent
