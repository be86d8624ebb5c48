// SimRpc: the transport between the machines of a simulated cluster. It plays rpc::Transport for
// each of them over a SimNetwork, by the rules of that role (actors/rpc/transport.hpp), and hands
// what arrives to the MethodRouter of who listens there: everything above it is the program's own.
//
// Of one machine's calls that fail, `surely_not` is said only where nobody listens; a message, or
// its answer, that a cut link or a crash has swallowed may have been served.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/supervise.hpp"
#include "actors/rpc/router.hpp"
#include "test/simulation/sim_network.hpp"

namespace nomad::test {

struct RpcCounts {
  std::uint64_t calls = 0;
  std::uint64_t passed_on = 0;  ///< Of them, requests of the HTTP API.
  std::uint64_t refused = 0;    ///< Nobody listened.
  std::uint64_t lost = 0;       ///< They may have been served.
};

class SimRpc {
public:
  using Machine = SimSystem::Machine;

  SimRpc(SimSystem& system, SimNetwork& network) : system_(system), network_(network) {}

  SimRpc(const SimRpc&) = delete;
  SimRpc& operator=(const SimRpc&) = delete;

  /// Lets go of those who use calls. Call it while they, and those whom they tell, are all there.
  void shut_down();

  /// What comes to `address` arrives at `machine`, in its present life, and is served by `router`.
  void listen(const std::string& address,
              Machine machine,
              std::shared_ptr<const rpc::MethodRouter> router);

  /// The transport of a process on `machine`, which says `hello`. Call it as code of the machine.
  rpc::Transport spawn(const actor::Owner& owner, Machine machine, const net::RpcHello& hello);

  const RpcCounts& counts() const { return counts_; }

private:
  struct Door {
    Machine machine;
    std::uint64_t life;
    std::shared_ptr<const rpc::MethodRouter> router;
  };

  struct Open;
  using OpenCall = std::shared_ptr<Open>;
  class Stream;

  OpenCall call(Machine from,
                const net::RpcHello& hello,
                const rpc::transport::Call& call,
                bool has_stream,
                std::function<void(rpc::transport::Reply)> done);
  rpc::transport::Opened open_stream(Machine from,
                                     const net::RpcHello& hello,
                                     const rpc::transport::OpenStream& msg);
  void serve(const OpenCall& open);
  void pass(const OpenCall& open, bool is_answer, const std::function<void()>& arrive);
  void close(Open& open);
  void watch(const OpenCall& open);
  void lose(const OpenCall& open);
  void finish(Open& open, rpc::transport::Reply reply);

  SimSystem& system_;
  SimNetwork& network_;
  RpcCounts counts_;
  std::map<std::string, Door> doors_;         ///< By address.
  std::vector<std::weak_ptr<Open>> streams_;  ///< Calls with streams, which hold their users.
};

}  // namespace nomad::test
