// FetchPool: the running nomadctl-artifact processes of a node. It starts each fetch when it has a
// place for it, hears its reports, kills it when its time is over or nobody wants it any more, and
// tells its end once all its processes are gone.
//
// Any thread may call. The listener is called on the pool's own thread, which begins with the first
// fetch, and must be quick. When the pool goes, it kills what runs, and tells nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <sys/types.h>

#include "runtime/artifact/protocol/protocol.hpp"
#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {

/// `client.artifact` of the agent's configuration, and what else all fetches have in common.
struct FetchOptions {
  std::string program;  ///< Path of nomadctl-artifact.
  FetchLimits limits{};
  Reach reach{};
  bool disable_filesystem_isolation = false;
  /// Names of variables of the agent's environment, separated by commas or spaces.
  std::string set_environment_variables{};
  std::size_t most_running = 16;  ///< At a time, of the whole node; others wait their turn.
};

struct Fetch {
  std::string source;  ///< Interpolated, with the options.
  std::string mode;
  std::vector<std::pair<std::string, std::string>> headers{};
  bool insecure = false;     ///< Certificates of servers count for nothing.
  host::UniqueFd directory;  ///< Of its staging.
};

struct FetchListener {
  std::function<void(const FetchProgress&)> progress;
  /// Once. Errors: `cancelled` when it was cancelled; `timeout` when it took longer than all
  /// limits; `unavailable` with what failed and where.
  std::function<void(const Result<FetchDone>&)> done;
};

class FetchPool {
public:
  using Ticket = std::uint64_t;

  explicit FetchPool(FetchOptions options);
  FetchPool(const FetchPool&) = delete;
  FetchPool& operator=(const FetchPool&) = delete;
  ~FetchPool();

  Ticket start(Fetch fetch, FetchListener listener);

  /// Kills it, if it still runs; `done` is told all the same.
  void cancel(Ticket ticket);

  /// Who nomadctl-artifact becomes: the owner of its directory. Of this process where it stays.
  uid_t uid() const;
  gid_t gid() const;

private:
  class Core;

  std::shared_ptr<Core> core_;
};

/// The environment of nomadctl-artifact: PATH, what `inherited` names, and HOME where the host's
/// files are in reach. `of` reads the agent's own, null for what is not there.
std::vector<std::string> fetcher_environment(
    std::string_view inherited,
    bool with_home,
    const std::function<const char*(const std::string&)>& of);

}  // namespace nomad::artifact
