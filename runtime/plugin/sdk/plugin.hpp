// Plugin: what a plugin's library says of itself. Its author writes one function and names it:
//
//     void describe(nomad::plugin::Plugin& plugin) {
//       plugin.is("stamp", "1.0.0");
//       plugin.task_hook({.name = "stamp", .phases = {Phase::PRESTART}}, hook_of(stamp));
//     }
//     NOMADCTL_PLUGIN(describe)
//
// The function is called once, before the plugin is configured; it declares, and does nothing else.
// Factories are called later, on the same thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plugin/sdk/host.hpp"
#include "runtime/plugin/sdk/kinds.hpp"
#include "runtime/plugin/sdk/mark.hpp"

namespace nomad::plugin {

using ConfigKind = schema::plugin::ConfigField::Kind;

/// What may stand in `plugin "name" { config { … } }`.
struct ConfigField {
  std::string name;
  ConfigKind kind = ConfigKind::TEXT;
  bool required = false;
  std::vector<ConfigField> fields{};  ///< Of a block.
};

/// What was configured, checked against the fields. JSON, with durations as nanoseconds. A block is
/// read as the whole is: `config.block("limits").number("rate")`, and so is any object of JSON,
/// such as an answer of the API: `Config{answer.body}.blocks("TaskGroups")`.
class Config {
public:
  Config() = default;

  explicit Config(std::string json) : json_(std::move(json)) {}

  const std::string& json() const { return json_; }

  /// Of the outermost level; the default if it is not there.
  std::string text(std::string_view name, std::string_view instead = {}) const;
  std::int64_t number(std::string_view name, std::int64_t instead = 0) const;
  bool boolean(std::string_view name, bool instead = false) const;
  Nanoseconds duration(std::string_view name, Nanoseconds instead = {}) const;
  std::vector<std::string> texts(std::string_view name) const;

  /// What the kinds BLOCK, BLOCKS and MAP give; of an ANY, whichever it is.
  bool has(std::string_view name) const;
  Config block(std::string_view name) const;  ///< Empty if it is not there.
  std::vector<Config> blocks(std::string_view name) const;
  std::map<std::string, std::string> map(std::string_view name) const;

private:
  std::string json_ = "{}";
};

class Plugin {
public:
  template <class Spec, class Factory>
  struct Named {
    Spec spec;
    Factory factory;
  };

  struct OfFingerprinter {
    std::string name;
    Nanoseconds interval;
  };

  struct OfDevices {
    std::string name;
    DeviceSpec spec;
  };

  /// The name is also that of its file: "stamp.so", or "libstamp.so".
  Plugin& is(std::string name, std::string version);

  Plugin& config(std::vector<ConfigField> fields);

  /// Called with what is configured, before anything is made; an error refuses it.
  Plugin& on_configure(std::function<Result<>(const Config&)> take);

  Plugin& task_hook(HookSpec spec, HookFactory factory);
  Plugin& alloc_hook(HookSpec spec, HookFactory factory);
  Plugin& driver(std::string name, DriverFactory factory);
  Plugin& fingerprinter(std::string name, Nanoseconds interval, Fingerprinter run);
  Plugin& actor(std::string name, ActorFactory factory);

  /// `name` is that of a fingerprinter and of a task hook, which come of it.
  Plugin& devices(const std::string& name,
                  const DeviceSpec& spec,
                  DeviceFinder find,
                  const DeviceReserver& reserve);
  Plugin& scheduler(SchedulerSpec spec, Scheduler run);
  Plugin& service_provider(ServiceProviderSpec spec, ServiceProviderFactory factory);

  // -- for whoever runs it

  std::string name, version;
  std::vector<ConfigField> fields;
  std::function<Result<>(const Config&)> configure;
  std::vector<Named<HookSpec, HookFactory>> task_hooks, alloc_hooks;
  std::vector<Named<std::string, DriverFactory>> drivers;
  std::vector<Named<OfFingerprinter, Fingerprinter>> fingerprinters;
  std::vector<Named<std::string, ActorFactory>> actors;
  std::vector<Named<OfDevices, DeviceFinder>> device_finders;
  std::vector<Named<SchedulerSpec, Scheduler>> schedulers;
  std::vector<Named<ServiceProviderSpec, ServiceProviderFactory>> service_providers;
};

}  // namespace nomad::plugin

/// Exports `describe`, a `void(nomad::plugin::Plugin&)`, as this library's plugin. Once per
/// library. The function reads the mark, so that no linker takes that for unused.
#define NOMADCTL_PLUGIN(describe)                                                             \
  __attribute__((                                                                             \
      used,                                                                                   \
      section(".nomadctl_plugin"))) static constexpr nomad::plugin::Mark nomadctl_plugin_mark \
      = nomad::plugin::own_mark();                                                            \
  extern "C" __attribute__((visibility("default"))) void nomadctl_plugin_describe(            \
      nomad::plugin::Plugin& plugin) {                                                        \
    static_cast<void>(*static_cast<const volatile char*>(nomadctl_plugin_mark.magic));        \
    describe(plugin);                                                                         \
  }
