// The agent's settings of the driver, from the texts that configuration files say.
#include <charconv>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/docker/settings.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::docker {
namespace {

constexpr auto least_grace = std::chrono::minutes{1};
constexpr auto least_activity = std::chrono::minutes{1};

/// One key with its value; each function leaves alone what is not said.
class Reader {
public:
  explicit Reader(const Texts& config) : config_{config} {}

  void text(const char* key, std::string& to) {
    if (const auto* const given = find(key)) to = *given;
  }

  void flag(const char* key, bool& to) {
    const auto* const given = find(key);
    if (given == nullptr) return;
    if (*given == "true" || *given == "1")
      to = true;
    else if (*given == "false" || *given == "0")
      to = false;
    else
      fail(key, "expected true or false", *given);
  }

  void duration(const char* key, Nanoseconds& to, Nanoseconds least = Nanoseconds{0}) {
    const auto* const given = find(key);
    if (given == nullptr || given->empty()) return;
    const auto parsed = parse_duration(*given);
    if (!parsed) return fail(key, "expected a duration such as \"3m\"", *given);
    if (*parsed < least)
      return fail(key, "must not be less than " + format_duration(least), *given);
    to = *parsed;
  }

  void list(const char* key, std::vector<std::string>& to) {
    const auto* const given = find(key);
    if (given == nullptr) return;
    to.clear();
    for (const auto each : split(*given, ','))
      if (!trim(each, ascii_space).empty()) to.emplace_back(trim(each, ascii_space));
  }

  void number(const char* key, std::int64_t& to) {
    const auto* const given = find(key);
    if (given == nullptr) return;
    const auto* const end = given->data() + given->size();
    const auto outcome = std::from_chars(given->data(), end, to);
    if (outcome.ec != std::errc{} || outcome.ptr != end || to < 0)
      fail(key, "expected a number that is not negative", *given);
  }

  void map(const char* key, Texts& to) {
    const auto* const given = find(key);
    if (given == nullptr) return;
    const auto parsed = parse_json(*given);
    if (!parsed || !parsed->is_object()) return fail(key, "expected a block", *given);
    boost::json::object whole{{"it", *parsed}};
    to = Members{whole}.map("it");
  }

  const std::string* find(const char* key) const {
    const auto found = config_.find(key);
    return found == config_.end() ? nullptr : &found->second;
  }

  void fail(const char* key, const std::string& what, const std::string& given) {
    if (!failure_)
      failure_ = Error{Errc::invalid_argument, fmt::format("{}: {}, got \"{}\"", key, what, given)};
  }

  Result<> outcome() const {
    if (failure_) return *failure_;
    return {};
  }

private:
  const Texts& config_;
  std::optional<Error> failure_;
};

void read_socket(Reader& from, AgentSettings& to) {
  std::string endpoint;
  from.text("endpoint", endpoint);
  if (endpoint.empty()) return;
  constexpr std::string_view scheme = "unix://";
  if (!endpoint.starts_with(scheme) || endpoint.size() == scheme.size())
    return from.fail("endpoint", "expected the engine's Unix socket, \"unix:///path\"", endpoint);
  to.socket = endpoint.substr(scheme.size());
}

void read_capabilities(Reader& from, AgentSettings& to) {
  if (from.find("allow_caps") == nullptr) return;
  std::vector<std::string> names;
  from.list("allow_caps", names);
  const auto set = host::parse_capabilities(names);
  if (set)
    to.allowed = *set;
  else
    from.fail("allow_caps", "configured with capabilities not supported by system",
              set.error().what);
}

}  // namespace

Result<AgentSettings> read_agent_settings(const Texts& config) {
  AgentSettings to;
  Reader from{config};
  read_socket(from, to);
  from.text("auth.config", to.auth_config);
  from.text("auth.helper", to.auth_helper);
  from.list("extra_labels", to.extra_labels);
  if (from.find("logging.type") != nullptr || from.find("logging.config") != nullptr) {
    to.log_driver.clear();
    to.log_options.clear();
    from.text("logging.type", to.log_driver);
    from.map("logging.config", to.log_options);
  }
  bool no_logs = false;
  from.flag("disable_log_collection", no_logs);
  to.collects_logs = !no_logs;
  from.flag("gc.image", to.removes_images);
  from.duration("gc.image_delay", to.image_delay);
  from.flag("gc.container", to.removes_containers);
  from.flag("gc.dangling_containers.enabled", to.ends_dangling);
  from.flag("gc.dangling_containers.dry_run", to.only_tells_dangling);
  from.duration("gc.dangling_containers.period", to.dangling_period, std::chrono::seconds{1});
  from.duration("gc.dangling_containers.creation_grace", to.creation_grace, least_grace);
  from.flag("volumes.enabled", to.allows_volumes);
  from.text("volumes.selinuxlabel", to.selinux_label);
  from.flag("allow_privileged", to.allows_privileged);
  read_capabilities(from, to);
  from.list("allow_runtimes", to.runtimes);
  from.text("nvidia_runtime", to.gpu_runtime);
  from.text("infra_image", to.infra_image);
  if (to.infra_image.starts_with("https://")) to.infra_image.erase(0, 8);
  from.duration("infra_image_pull_timeout", to.infra_pull_timeout);
  from.duration("pull_activity_timeout", to.pull_activity_timeout, least_activity);
  from.number("pids_limit", to.pids_limit);
  NOMAD_TRY(from.outcome());
  return to;
}

}  // namespace nomad::docker
