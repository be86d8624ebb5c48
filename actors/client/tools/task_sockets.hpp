// TaskSockets: the Unix sockets by which tasks ask their agent (the Task API), one of each task
// that can have one. All are served by one thread of an HTTP server of their own, so that tasks
// take nothing from the agent's other callers; each has a bound of connections, and so of requests
// in flight, for itself, and of what these hold: two bodies of the greatest size.
//
// Tasks may be there before the agent answers requests: until `serve`, connections wait in the
// kernel. Somebody who may write there, if only the task, may have taken a socket away or put
// another one in its place: `put_back` is to be called now and then. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/host/beneath.hpp"
#include "runtime/net/http/http_server.hpp"

namespace nomad::client {

/// Where the file of a socket is.
struct SocketLocation {
  std::string root{};       ///< A directory of the agent.
  std::string directory{};  ///< Below it, where the task may have put anything.
  std::string file{};
  host::FileOwner owner{};
};

class TaskSockets {
public:
  /// `options` say how many connections there may be, how large requests and how long they may
  /// take; what they listen on is not looked at.
  explicit TaskSockets(net::ServerOptions options);

  TaskSockets(const TaskSockets&) = delete;
  TaskSockets& operator=(const TaskSockets&) = delete;

  ~TaskSockets();  ///< Stops.

  static std::string name_of(std::string_view alloc_id, std::string_view task);

  /// Makes the file of the task's socket, and serves the task there, unless it does so already.
  Result<> open(const std::string& name, const SocketLocation& location);

  struct PutBack {
    std::string name;
    Result<> outcome{};
  };

  /// Looks whether each file that `open` has made is still where it was, and makes those that are
  /// not anew. Blocks; other calls do not wait meanwhile.
  std::vector<PutBack> put_back();

  /// Serves the task at this socket, which listens, in place of one that it had. `inode` is kept
  /// for `inode_of`.
  void add(const std::string& name, net::Descriptor socket, ino_t inode);

  /// Of the file of the task's socket; 0: it has none.
  ino_t inode_of(const std::string& name) const;

  /// Ends the socket and its connections.
  void remove(const std::string& name);

  /// Begins to answer, by `handler`, which must not let anybody in who shows no token. Once.
  Result<> serve(net::Handler handler);

  /// Ends all. The files stay: tasks may go on, and be found by the next agent.
  void stop(std::chrono::milliseconds patience);

private:
  struct Socket {
    ino_t inode = 0;
    net::Descriptor waiting{};  ///< Until it is served.
    SocketLocation location{};  ///< If `open` has made it.
  };

  Result<> make(const std::string& name, const SocketLocation& location, ino_t instead_of);
  bool enter(const std::string& name, net::Descriptor socket, Socket added, ino_t instead_of);

  mutable std::mutex guard_;
  net::ServerOptions options_;
  std::optional<net::HttpServer> server_;
  std::unordered_map<std::string, Socket> sockets_;
  bool is_stopped_ = false;
};

}  // namespace nomad::client
