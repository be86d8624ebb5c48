// What the engine's answers say, read from their JSON. Pure; nothing of an answer is trusted: what
// is missing or of another kind is as if it were empty, and what is no JSON is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/docker/settings.hpp"

namespace nomad::docker {

/// Whole answer of a question that brings one.
struct EngineAnswer {
  unsigned status = 0;
  std::string body{};
};

/// What the engine says is wrong, "" when `answer` is a success. As Nomad's users know it:
/// "API error (404): No such container: web".
std::string engine_complaint(const EngineAnswer& answer);

/// What a refusal's status means, by the Engine's API: `not_found`, `conflict`, `invalid_argument`
/// for what the engine or its log driver can't do at all, else `rejected`.
Errc engine_errc(const EngineAnswer& answer);

/// Why the engine refused, beyond what its API has statuses for.
struct EngineError {
  enum class Kind {
    other,
    out_of_time,       ///< It, or what it asked, broke off or did not answer in time.
    volume_elsewhere,  ///< The volume is attached on another node.
    image_missing,     ///< The registry does not have the image.
  };

  unsigned status = 0;  ///< 0: there was no refusal.
  Kind kind = Kind::other;

  /// Whether another try may do.
  bool may_pass() const { return status == 500 || kind == Kind::out_of_time; }
};

/// The engine says it in words alone: this is where they are read.
EngineError::Kind engine_error_kind(std::string_view said);

/// A success, or why there is none: as an error for those that pass it on, in the words of
/// `engine_complaint` with the code of `engine_errc`, and by its type for those that decide by it.
struct EngineOutcome : Result<EngineAnswer> {
  EngineOutcome(Result<EngineAnswer> answer, EngineError refused = {})
      : Result<EngineAnswer>{std::move(answer)}, refusal{refused} {}

  EngineError refusal;
};

/// An answer that is no success is an error.
EngineOutcome judged(Result<EngineAnswer> answer);

struct EngineVersion {
  std::string version;
  std::string api;      ///< The newest, "1.43".
  std::string min_api;  ///< The oldest.
};

Result<EngineVersion> read_version(std::string_view body);

/// By which version of its API the engine is asked: 1.41, or a newer one if it does not speak that
/// any more. `rejected` for an engine that is too old.
Result<std::string> choose_api(const EngineVersion& engine);

struct EngineInfo {
  std::vector<std::string> runtimes;  ///< Sorted.
  std::string os_type;
  std::string cgroup_driver;
  std::string cgroup_version;  ///< "1", "2"
};

Result<EngineInfo> read_info(std::string_view body);

/// The network "bridge". Both are "" where the engine does not say them: engines have gateways of
/// networks whose addresses somebody has chosen alone.
struct BridgeNetwork {
  std::string gateway;
  std::string interface;  ///< Of this machine, which has the gateway's address: "docker0".
};

BridgeNetwork read_bridge(std::string_view body);

/// Of an image that was asked for: its id.
Result<std::string> read_image_id(std::string_view body);

struct ContainerNetwork {
  std::string name;
  std::string address;
  std::string address6;
};

struct Container {
  std::string id;
  std::string name;   ///< Without the slash before it.
  std::string image;  ///< Its id.
  std::string status;
  bool running = false;
  int exit_code = 0;
  bool oom_killed = false;
  std::string error;
  std::int64_t pid = 0;
  bool tty = false;
  std::string network_mode;
  Texts labels;
  std::vector<ContainerNetwork> networks;
};

/// Of one that was inspected.
Result<Container> read_container(std::string_view body);

struct ListedContainer {
  std::string id;
  std::vector<std::string> names;  ///< Without the slash before them.
  Texts labels;
  std::int64_t created = 0;  ///< Unix, seconds.
  bool running = false;
};

Result<std::vector<ListedContainer>> read_containers(std::string_view body);

/// The id of what was made.
Result<std::string> read_created(std::string_view body);

// -- usage ----------------------------------------------------------------------------------------

/// Counters at one moment; processor times in nanoseconds.
struct CpuCounters {
  std::uint64_t total = 0;
  std::uint64_t user = 0;
  std::uint64_t kernel = 0;
  std::uint64_t system = 0;  ///< Of the machine, all cores together.

  bool empty() const { return system == 0; }
};

struct Usage {
  std::int64_t timestamp = 0;  ///< Unix nanoseconds.
  std::uint64_t rss = 0;       ///< Memory in bytes.
  std::uint64_t cache = 0;
  std::uint64_t swap = 0;
  std::uint64_t mapped_file = 0;
  std::uint64_t usage = 0;
  std::uint64_t max_usage = 0;
  bool is_cgroup2 = false;
  std::uint64_t throttled_periods = 0;
  std::uint64_t throttled_time = 0;
  CpuCounters cpu;
  CpuCounters before;  ///< Of the sample that the engine took before, if it did.
};

Result<Usage> read_usage(std::string_view body);

/// Percent of one core that `now` used beyond `before` while `whole` passed on `cores` cores; 0 if
/// counters have gone back.
double cpu_percent(std::uint64_t now,
                   std::uint64_t before,
                   std::uint64_t whole_now,
                   std::uint64_t whole_before,
                   unsigned cores);

// -- pulls ----------------------------------------------------------------------------------------

/// Follows the lines that a pull (or a load, an import) answers with.
class PullProgress {
public:
  static constexpr std::size_t longest_line = 1024 * 1024;

  /// The next bytes; `corrupt` for what is no such line.
  Result<> take(std::string_view bytes);

  /// What the registry or the engine says went wrong; "" if nothing did.
  const std::string& failure() const { return failure_; }

  /// For people: "Pulled 2/5 (10.5MiB/40.2MiB) layers: 1 waiting/2 pulling".
  std::string summary() const;

private:
  struct Layer {
    std::string status;
    std::uint64_t current = 0;
    std::uint64_t total = 0;
  };

  Result<> take_line(std::string_view line);

  std::string rest_;
  std::string failure_;
  std::map<std::string, Layer> layers_;
};

}  // namespace nomad::docker
