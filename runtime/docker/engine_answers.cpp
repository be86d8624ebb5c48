#include "runtime/docker/engine_answers.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::docker {
namespace {

/// As much of what the engine says as an event should hold.
constexpr std::size_t longest_complaint = 4096;

Result<boost::json::object> read_object(std::string_view body, const char* what) {
  auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object())
    return Error{Errc::corrupt, fmt::format("the engine answered no {}: {}", what,
                                            escape_controls(body.substr(0, 200)))};
  return std::move(parsed->get_object());
}

std::string_view without_slash(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  return name;
}

/// "1.41" as 1041.
int api_number(std::string_view text) {
  int major = 0;
  int minor = 0;
  const auto dot = text.find('.');
  if (dot == text.npos) return 0;
  std::from_chars(text.data(), text.data() + dot, major);
  std::from_chars(text.data() + dot + 1, text.data() + text.size(), minor);
  return major * 1000 + minor;
}

}  // namespace

std::string engine_complaint(const EngineAnswer& answer) {
  if (answer.status >= 200 && answer.status < 400) return {};
  auto said = std::string{trim(answer.body)};
  if (const auto parsed = parse_json(answer.body); parsed && parsed->is_object())
    if (const Members members{parsed->get_object()}; members.has("message"))
      said = members.text("message");
  return fmt::format("API error ({}): {}", answer.status,
                     escape_controls(said.substr(0, longest_complaint)));
}

Errc engine_errc(const EngineAnswer& answer) {
  switch (answer.status) {
    case 404:
      return Errc::not_found;
    case 409:
      return Errc::conflict;
    case 501:
      return Errc::invalid_argument;
    default:
      return Errc::rejected;
  }
}

EngineError::Kind engine_error_kind(std::string_view said) {
  struct Words {
    std::string_view first;
    std::string_view then;  ///< Somewhere after `first`.
    EngineError::Kind kind;
  };

  // Nomad's rules, word by word.
  constexpr std::array known{
      Words{"volume is attached on another node", "", EngineError::Kind::volume_elsewhere},
      Words{"Error: image ", " not found", EngineError::Kind::image_missing},
      Words{"EOF", "", EngineError::Kind::out_of_time},
      Words{"timeout", "", EngineError::Kind::out_of_time}};
  for (const auto& words : known)
    if (const auto begin = said.find(words.first);
        begin != said.npos && said.find(words.then, begin) != said.npos)
      return words.kind;
  return EngineError::Kind::other;
}

EngineOutcome judged(Result<EngineAnswer> answer) {
  if (!answer) return {std::move(answer)};
  auto complaint = engine_complaint(*answer);
  if (complaint.empty()) return {std::move(answer)};
  const EngineError refusal{.status = answer->status, .kind = engine_error_kind(complaint)};
  return {Error{engine_errc(*answer), std::move(complaint)}, refusal};
}

Result<EngineVersion> read_version(std::string_view body) {
  const auto object = NOMAD_TRY(read_object(body, "version"));
  const Members members{object};
  EngineVersion version{.version = members.text("Version"),
                        .api = members.text("ApiVersion"),
                        .min_api = members.text("MinAPIVersion")};
  if (version.version.empty() || version.api.empty())
    return Error{Errc::corrupt, "the engine does not say which version it is"};
  return version;
}

Result<std::string> choose_api(const EngineVersion& engine) {
  constexpr std::string_view ours = "1.41";
  if (api_number(engine.api) < api_number(ours))
    return Error{Errc::rejected,
                 fmt::format("Docker {} is too old: its API is {}, and {} is needed",
                             engine.version, engine.api, ours)};
  return api_number(engine.min_api) > api_number(ours) ? engine.min_api : std::string{ours};
}

Result<EngineInfo> read_info(std::string_view body) {
  const auto object = NOMAD_TRY(read_object(body, "information"));
  const Members members{object};
  EngineInfo info{.runtimes = {},
                  .os_type = members.text("OSType"),
                  .cgroup_driver = members.text("CgroupDriver"),
                  .cgroup_version = members.text("CgroupVersion")};
  if (const auto* const runtimes = members.find("Runtimes");
      runtimes != nullptr && runtimes->is_object())
    for (const auto& [name, runtime] : runtimes->get_object())
      info.runtimes.emplace_back(name);
  std::ranges::sort(info.runtimes);
  return info;
}

BridgeNetwork read_bridge(std::string_view body) {
  const auto object = read_object(body, "network");
  if (!object) return {};
  const Members members{*object};
  BridgeNetwork bridge{
      .gateway = {}, .interface = members.object("Options").text("com.docker.network.bridge.name")};
  const auto ipam = members.object("IPAM");
  const auto* const config = ipam.find("Config");
  if (config == nullptr || !config->is_array() || config->get_array().empty()) return bridge;
  const auto& first = config->get_array().front();
  if (first.is_object()) bridge.gateway = Members{first.get_object()}.text("Gateway");
  return bridge;
}

Result<std::string> read_image_id(std::string_view body) {
  const auto object = NOMAD_TRY(read_object(body, "image"));
  auto id = Members{object}.text("Id");
  if (id.empty()) return Error{Errc::corrupt, "the engine answered an image without an id"};
  return id;
}

Result<Container> read_container(std::string_view body) {
  const auto object = NOMAD_TRY(read_object(body, "container"));
  const Members members{object};
  const auto state = members.object("State");
  const auto config = members.object("Config");
  Container container{.id = members.text("Id"),
                      .name = std::string{without_slash(members.text("Name"))},
                      .image = members.text("Image"),
                      .status = state.text("Status"),
                      .running = state.flag("Running"),
                      .exit_code = static_cast<int>(state.number("ExitCode")),
                      .oom_killed = state.flag("OOMKilled"),
                      .error = state.text("Error"),
                      .pid = state.number("Pid"),
                      .tty = config.flag("Tty"),
                      .network_mode = members.object("HostConfig").text("NetworkMode"),
                      .labels = config.map("Labels"),
                      .networks = {}};
  if (container.id.empty())
    return Error{Errc::corrupt, "the engine answered a container without an id"};
  const auto networks = members.object("NetworkSettings");
  if (const auto* const all = networks.find("Networks"); all != nullptr && all->is_object())
    for (const auto& [name, network] : all->get_object())
      if (network.is_object()) {
        const Members of{network.get_object()};
        container.networks.push_back({.name = std::string{name},
                                      .address = of.text("IPAddress"),
                                      .address6 = of.text("GlobalIPv6Address")});
      }
  return container;
}

Result<std::vector<ListedContainer>> read_containers(std::string_view body) {
  const auto parsed = parse_json(body);
  if (!parsed || !parsed->is_array())
    return Error{Errc::corrupt, "the engine answered no list of containers"};
  std::vector<ListedContainer> listed;
  for (const auto& each : parsed->get_array()) {
    if (!each.is_object()) continue;
    const Members members{each.get_object()};
    ListedContainer container{.id = members.text("Id"),
                              .names = {},
                              .labels = members.map("Labels"),
                              .created = members.number("Created"),
                              .running = members.text("State") == "running"};
    for (const auto& name : members.texts("Names"))
      container.names.emplace_back(without_slash(name));
    if (!container.id.empty()) listed.push_back(std::move(container));
  }
  return listed;
}

Result<std::string> read_created(std::string_view body) {
  const auto object = NOMAD_TRY(read_object(body, "id"));
  auto id = Members{object}.text("Id");
  if (id.empty()) return Error{Errc::corrupt, "the engine did not say what it has made"};
  return id;
}

// -- usage ----------------------------------------------------------------------------------------

namespace {

CpuCounters read_counters(const Members& from) {
  const auto usage = from.object("cpu_usage");
  return {.total = usage.count("total_usage"),
          .user = usage.count("usage_in_usermode"),
          .kernel = usage.count("usage_in_kernelmode"),
          .system = from.count("system_cpu_usage")};
}

}  // namespace

Result<Usage> read_usage(std::string_view body) {
  const auto object = NOMAD_TRY(read_object(body, "statistics"));
  const Members members{object};
  const auto memory = members.object("memory_stats");
  const auto details = memory.object("stats");
  const auto cpu = members.object("cpu_stats");
  const auto throttled = cpu.object("throttling_data");
  Usage usage{.timestamp = 0,
              .rss = details.count("rss"),
              .cache = details.count("cache"),
              .swap = details.count("swap"),
              .mapped_file = details.count("mapped_file"),
              .usage = memory.count("usage"),
              .max_usage = memory.count("max_usage"),
              .throttled_periods = throttled.count("throttled_periods"),
              .throttled_time = throttled.count("throttled_time"),
              .cpu = read_counters(cpu),
              .before = read_counters(members.object("precpu_stats"))};
  usage.is_cgroup2 = !details.has("rss") && !memory.has("max_usage");
  if (usage.is_cgroup2) {
    usage.cache = details.count("file");
    usage.mapped_file = details.count("file_mapped");
  }
  if (const auto read = parse_rfc3339(members.text("read"))) usage.timestamp = *read;
  return usage;
}

double cpu_percent(std::uint64_t now,
                   std::uint64_t before,
                   std::uint64_t whole_now,
                   std::uint64_t whole_before,
                   unsigned cores) {
  if (now <= before || whole_now <= whole_before) return 0;
  return static_cast<double>(now - before) / static_cast<double>(whole_now - whole_before) * cores
         * 100;
}

// -- pulls ----------------------------------------------------------------------------------------

namespace {

/// "12.5MiB", as Docker writes sizes.
std::string size_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < units.size(); ++unit)
    size /= 1024;
  return fmt::format("{:.4g}{}", size, units[unit]);
}

constexpr std::size_t most_layers = 1024;

}  // namespace

Result<> PullProgress::take(std::string_view bytes) {
  rest_ += bytes;
  std::size_t begin = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    NOMAD_TRY(take_line(std::string_view{rest_}.substr(begin, end - begin)));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  if (rest_.size() > longest_line)
    return Error{Errc::corrupt, "the engine reports progress in a line without an end"};
  return {};
}

Result<> PullProgress::take_line(std::string_view line) {
  if (trim(line).empty()) return {};
  const auto object = NOMAD_TRY(read_object(line, "progress"));
  const Members members{object};
  if (failure_.empty() && (members.has("error") || members.has("errorDetail"))) {
    failure_ = members.object("errorDetail").text("message");
    if (failure_.empty()) failure_ = members.text("error", "unknown");
    failure_ = escape_controls(failure_.substr(0, longest_complaint));
  }
  const auto id = members.text("id");
  const auto status = members.text("status");
  if (id.empty() || status.starts_with("Pulling from")) return {};
  if (layers_.size() >= most_layers && !layers_.contains(id)) return {};
  auto& layer = layers_[id];
  layer.status = status;
  const auto detail = members.object("progressDetail");
  if (detail.has("total")) layer.total = detail.count("total");
  if (detail.has("current") && status == "Downloading") layer.current = detail.count("current");
  if (status == "Download complete" || status == "Pull complete") layer.current = layer.total;
  return {};
}

std::string PullProgress::summary() const {
  if (layers_.empty()) return "No progress";
  int pulled = 0;
  int pulling = 0;
  int waiting = 0;
  std::uint64_t current = 0;
  std::uint64_t total = 0;
  for (const auto& [id, layer] : layers_) {
    if (layer.status == "Pulling fs layer" || layer.status == "Waiting")
      ++waiting;
    else if (layer.status == "Downloading" || layer.status == "Verifying Checksum")
      ++pulling;
    else
      ++pulled;
    current += layer.current;
    total += layer.total;
  }
  return fmt::format("Pulled {}/{} ({}/{}) layers: {} waiting/{} pulling", pulled, layers_.size(),
                     size_text(current), size_text(total), waiting, pulling);
}

}  // namespace nomad::docker
