#include "runtime/plugin/sdk/plugin.hpp"

#include <charconv>
#include <optional>

namespace nomad::plugin {
namespace {

/// Reads the JSON that an agent has made of a plugin's configuration: whole, and of known types.
class Scanner {
public:
  explicit Scanner(std::string_view json) : rest_{json} {}

  /// The value of a member of the object at hand, as it stands there.
  std::optional<std::string_view> member(std::string_view name) {
    if (!take('{')) return std::nullopt;
    while (!at('}')) {
      const auto key = text();
      take(':');
      const auto begin = rest_.data();
      skip();
      if (key == name)
        return std::string_view{begin, static_cast<std::size_t>(rest_.data() - begin)};
      if (!take(',')) break;
    }
    return std::nullopt;
  }

  std::string text() {
    std::string made;
    if (!take('"')) return made;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\' && rest_.size() > 1)
        unescape(made);
      else
        made += next();
    }
    take('"');
    return made;
  }

  std::vector<std::string> texts() {
    std::vector<std::string> made;
    if (!take('[')) return made;
    while (!at(']')) {
      made.push_back(text());
      if (!take(',')) break;
    }
    return made;
  }

  /// The values of a list, as they stand there.
  std::vector<std::string_view> elements() {
    std::vector<std::string_view> made;
    if (!take('[')) return made;
    while (!at(']')) {
      made.push_back(value());
      if (!take(',')) break;
    }
    return made;
  }

  std::map<std::string, std::string> entries() {
    std::map<std::string, std::string> made;
    if (!take('{')) return made;
    while (!at('}')) {
      auto name = text();
      take(':');
      const auto given = value();
      made[std::move(name)] = given.starts_with('"') ? Scanner{given}.text() : std::string{given};
      if (!take(',')) break;
    }
    return made;
  }

private:
  std::string_view value() {
    blanks();
    const auto* const begin = rest_.data();
    skip();
    return {begin, static_cast<std::size_t>(rest_.data() - begin)};
  }

  char next() {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }

  void blanks() {
    while (!rest_.empty()
           && std::string_view{" \t\r\n"}.find(rest_.front()) != std::string_view::npos)
      rest_.remove_prefix(1);
  }

  bool at(char wanted) {
    blanks();
    return rest_.empty() || rest_.front() == wanted;
  }

  bool take(char wanted) {
    blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    blanks();
    return true;
  }

  void unescape(std::string& into) {
    next();
    const char kind = next();
    constexpr std::string_view from = "nrtbf", to = "\n\r\t\b\f";
    if (const auto position = from.find(kind); position != std::string_view::npos) {
      into += to[position];
    } else if (kind == 'u' && rest_.size() >= 4) {
      unsigned code = 0;
      std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
      rest_.remove_prefix(4);
      if (code < 0x80)
        into += static_cast<char>(code);
      else if (code < 0x800)
        (into += static_cast<char>(0xc0 | (code >> 6))) += static_cast<char>(0x80 | (code & 0x3f));
      else
        ((into += static_cast<char>(0xe0 | (code >> 12)))
         += static_cast<char>(0x80 | ((code >> 6) & 0x3f)))
            += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      into += kind;
    }
  }

  /// Over one value.
  void skip() {
    blanks();
    int depth = 0;
    do {
      if (rest_.empty()) return;
      if (rest_.front() == '"') {
        text();
      } else if (const char sign = next(); sign == '{' || sign == '[') {
        ++depth;
      } else if (sign == '}' || sign == ']') {
        --depth;
      } else if (depth == 0) {
        while (!rest_.empty()
               && std::string_view{",]} \n"}.find(rest_.front()) == std::string_view::npos)
          rest_.remove_prefix(1);
        return;
      }
      if (depth > 0) blanks();
    } while (depth > 0);
  }

  std::string_view rest_;
};

std::optional<std::string_view> member_of(const std::string& json, std::string_view name) {
  return Scanner{json}.member(name);
}

}  // namespace

std::string Config::text(std::string_view name, std::string_view instead) const {
  const auto found = member_of(json_, name);
  return found ? Scanner{*found}.text() : std::string{instead};
}

std::int64_t Config::number(std::string_view name, std::int64_t instead) const {
  if (const auto found = member_of(json_, name))
    std::from_chars(found->data(), found->data() + found->size(), instead);
  return instead;
}

bool Config::boolean(std::string_view name, bool instead) const {
  const auto found = member_of(json_, name);
  return found ? found->starts_with("true") : instead;
}

Nanoseconds Config::duration(std::string_view name, Nanoseconds instead) const {
  return Nanoseconds{number(name, instead.count())};
}

std::vector<std::string> Config::texts(std::string_view name) const {
  const auto found = member_of(json_, name);
  return found ? Scanner{*found}.texts() : std::vector<std::string>{};
}

bool Config::has(std::string_view name) const {
  const auto found = member_of(json_, name);
  return found && *found != "null";
}

Config Config::block(std::string_view name) const {
  const auto found = member_of(json_, name);
  return found && found->starts_with('{') ? Config{std::string{*found}} : Config{};
}

std::vector<Config> Config::blocks(std::string_view name) const {
  std::vector<Config> made;
  if (const auto found = member_of(json_, name))
    for (const auto each : Scanner{*found}.elements())
      made.emplace_back(std::string{each});
  return made;
}

std::map<std::string, std::string> Config::map(std::string_view name) const {
  const auto found = member_of(json_, name);
  return found ? Scanner{*found}.entries() : std::map<std::string, std::string>{};
}

Plugin& Plugin::is(std::string its_name, std::string its_version) {
  name = std::move(its_name);
  version = std::move(its_version);
  return *this;
}

Plugin& Plugin::config(std::vector<ConfigField> its_fields) {
  fields = std::move(its_fields);
  return *this;
}

Plugin& Plugin::on_configure(std::function<Result<>(const Config&)> take) {
  configure = std::move(take);
  return *this;
}

Plugin& Plugin::task_hook(HookSpec spec, HookFactory factory) {
  task_hooks.push_back({std::move(spec), std::move(factory)});
  return *this;
}

Plugin& Plugin::alloc_hook(HookSpec spec, HookFactory factory) {
  alloc_hooks.push_back({std::move(spec), std::move(factory)});
  return *this;
}

Plugin& Plugin::driver(std::string its_name, DriverFactory factory) {
  drivers.push_back({std::move(its_name), std::move(factory)});
  return *this;
}

Plugin& Plugin::fingerprinter(std::string its_name, Nanoseconds interval, Fingerprinter run) {
  fingerprinters.push_back({{std::move(its_name), interval}, std::move(run)});
  return *this;
}

Plugin& Plugin::actor(std::string its_name, ActorFactory factory) {
  actors.push_back({std::move(its_name), std::move(factory)});
  return *this;
}

namespace {

/// What all groups of the kind that the task has got come to, together.
Result<HookAnswer> reserve_all(const DeviceSpec& spec,
                               const DeviceReserver& reserve,
                               HookRunner& runner,
                               const HookCall& call) {
  HookAnswer all;
  for (const auto task : call.alloc.getAllocatedResources().getTasks()) {
    if (view(task.getKey()) != view(call.target.getTask())) continue;
    for (const auto device : task.getValue().getDevices()) {
      if (view(device.getVendor()) != spec.vendor || view(device.getType()) != spec.type) continue;
      ReservedDevices reserved{.name = copy(device.getName())};
      for (const auto id : device.getDeviceIds())
        reserved.ids.push_back(copy(id));
      auto one = reserve(runner, call, reserved);
      if (!one) return one.error();
      all.environment.merge(one->environment);
      all.mounts.insert(all.mounts.end(), one->mounts.begin(), one->mounts.end());
      all.devices.insert(all.devices.end(), one->devices.begin(), one->devices.end());
    }
  }
  return all;
}

}  // namespace

Plugin& Plugin::devices(const std::string& its_name,
                        const DeviceSpec& spec,
                        DeviceFinder find,
                        const DeviceReserver& reserve) {
  device_finders.push_back({{its_name, spec}, std::move(find)});
  return task_hook(
      {.name = its_name, .phases = {Phase::PRESTART}, .devices = spec.vendor + '/' + spec.type},
      hook_of([spec, reserve](HookRunner& runner, const HookCall& call) {
        return reserve_all(spec, reserve, runner, call);
      }));
}

Plugin& Plugin::scheduler(SchedulerSpec spec, Scheduler run) {
  schedulers.push_back({std::move(spec), std::move(run)});
  return *this;
}

Plugin& Plugin::service_provider(ServiceProviderSpec spec, ServiceProviderFactory factory) {
  service_providers.push_back({std::move(spec), std::move(factory)});
  return *this;
}

Scheduler scheduler_of(SchedulerFunction function) {
  return [function = std::move(function)](Agent& agent, schema::plugin::Scheduling::Reader question,
                                          const DecisionReply& reply) {
    reply(function(agent, question));
  };
}

bool counts(schema::plugin::PlacedAlloc::Reader alloc) {
  const auto status = alloc.getStatus();
  return status != schema::ClientStatus::COMPLETE && status != schema::ClientStatus::FAILED
         && status != schema::ClientStatus::LOST;
}

}  // namespace nomad::plugin
