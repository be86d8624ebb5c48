// Transcripts: a few servers' cores driven by a script, with everything they ask for written down.
// A script's lines begin with "> "; what follows each is what the cores did.
//
//   > servers a b c [learner d]   a cluster; its members have the first entry
//   > tick a 1500                 1,500 ms later, the time comes to a
//   > persist a                   a's writes become durable
//   > deliver [a b]               messages under way arrive (those from a to b), once
//   > drop a b                    messages from a to b are lost
//   > settle                      persists and delivers until nothing is left
//   > propose a text              > read a 7        > transfer a b
//   > add a d | promote a d | remove a d            membership changes asked of a
//   > snapshot a 2                a saves a snapshot of what it applied, keeping 2 entries
//   > crash a                     a loses what is not durable and starts again
//   > state                       one line for each server
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "runtime/raft/core.hpp"

namespace nomad::test {

class Transcript {
public:
  /// Runs one command (without "> "); returns the lines that it caused.
  std::string run(const std::string& command);

private:
  struct Server {
    std::optional<raft::Core> core;
    raft::HardState hard_state;
    std::vector<raft::Entry> log;  ///< Durable; from index 1.
    std::deque<std::pair<std::uint64_t, raft::LogWrite>> writes;
    raft::Index applied = 0;
  };

  void start(const std::string& id);
  void step(const std::string& id, raft::Input input);
  void write_down(const std::string& id, raft::Outputs& out);
  void persist(const std::string& id);
  void make_durable(Server& server, const raft::LogWrite& write);
  bool deliver(const std::string& from, const std::string& to);
  void settle();
  void state();

  std::map<std::string, Server> servers_;
  std::deque<raft::Message> messages_;
  raft::Time now_{0};
  std::string out_;
};

/// Runs the script of a file of commands and outputs, and returns the file as it should be.
std::string replay(const std::string& file);

}  // namespace nomad::test
