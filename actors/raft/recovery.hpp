// Recovery by hand: a cluster that has lost its quorum for ever goes on with the servers that are
// left, as `peers.json` in the log's directory names them:
//
//   [{"id": "<server id>", "address": "10.0.0.1:4647", "non_voter": false}, …]
//
// The file lies on each of them, the same to the byte, while none of them runs. Each applies its
// whole log, committed or not, writes the state as a snapshot under the new members, and removes
// the file.
//
// What the operator guarantees: (1) every server that the file does not name is gone for ever; (2)
// no server that the file names has lost its data: one that did joins again later, under a new id;
// (3) the file is the same everywhere; (4) a corrected file, with other members than the last one
// had, goes to servers that have all carried out that one. What we add: an id that was ever removed
// is refused, the members left out count as removed, and the cluster gets a new id made from the
// old one and the file, so that a survivor that the file forgot can't speak with the others any
// more.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/raft/configuration.hpp"

namespace nomad::raft {

/// The members that `text` makes of those of `before`; `self` must be one of the voters or
/// learners. Errors say what is wrong with the file.
Result<Configuration> recovered_configuration(const Configuration& before,
                                              const ServerId& self,
                                              std::string_view text);

/// The content of `<directory>/peers.json`; empty when there is none.
Result<std::string> read_peers_file(const std::string& directory);

/// Removes it, durably.
Result<> remove_peers_file(const std::string& directory);

/// An id made from `text` alone.
std::string id_from(std::string_view text);

}  // namespace nomad::raft
